package gate

import (
	"testing"

	"duplex/core"
)

func TestFlight(t *testing.T) {
	const max = 16
	var f flight
	in := func(u core.UserID, want bool) {
		t.Helper()
		if err := f.enter(u, max); (err == nil) != want {
			t.Fatalf("user %d with %d of %d in hand: %v", u, f.of[u], f.n, err)
		}
	}
	for range 8 { // one alone may have half
		in(1, true)
	}
	in(1, false)
	for u := core.UserID(2); u <= 3; u++ { // then each a quarter
		for range 4 {
			in(u, true)
		}
		if f.n < max {
			in(u, false)
		}
	}
	in(4, false)
	f.leave(1)
	in(1, false) // it still has more than its share
	in(4, true)
	for range 7 {
		f.leave(1)
	}
	for range 4 {
		f.leave(2)
		f.leave(3)
	}
	f.leave(4)
	if f.n != 0 || len(f.of) != 0 {
		t.Errorf("%d in hand, %v", f.n, f.of)
	}
}
