package gate

import (
	"testing"

	"duplex/core"
)

func TestInFlightLimiter(t *testing.T) {
	const max = 16
	var f inFlightLimiter
	in := func(u core.UserID, want bool) {
		t.Helper()
		if err := f.acquire(u, max); (err == nil) != want {
			t.Fatalf("user %d with %d of %d in flight: %v", u, f.byOwner[u], f.total, err)
		}
	}
	for range 8 { // one account alone gets half
		in(1, true)
	}
	in(1, false)
	for u := core.UserID(2); u <= 3; u++ { // then a quarter each
		for range 4 {
			in(u, true)
		}
		if f.total < max {
			in(u, false)
		}
	}
	in(4, false)
	f.release(1)
	in(1, false) // it still has more than a quarter
	in(4, true)
	for range 7 {
		f.release(1)
	}
	for range 4 {
		f.release(2)
		f.release(3)
	}
	f.release(4)
	if f.total != 0 || len(f.byOwner) != 0 {
		t.Errorf("%d in flight, %v", f.total, f.byOwner)
	}
}
