package ws

import (
	"strconv"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestRateLimit checks that commands draw on the key's read tokens and that rate_limited
// carries retry_after_ms.
func TestRateLimit(t *testing.T) {
	s := newTestLane(t)
	s.FreezeClock() // no token is refilled, however slow the machine
	r := s.dial(s.NewKey(1, core.ScopeRead))
	const many = 2000
	go func() {
		for i := 1; i <= many; i++ {
			_ = r.ws.Write(t.Context(), 1, []byte(`{"id":`+strconv.Itoa(i)+`,"cmd":"list_subscriptions"}`))
		}
	}()
	limited := 0
	for i := 1; i <= many; i++ {
		m := r.next()
		if m.ID != i {
			t.Fatalf("answer %d has id %d", i, m.ID)
		}
		if m.Type == "error" {
			if e := into[schemas.WSError](t, m); e.Code != 9 || e.RetryAfterMs == nil || *e.RetryAfterMs == 0 || *e.RetryAfterMs > 1000 {
				t.Fatalf("the error is %s, want code 9 and a retry_after_ms up to 1000", m.Msg)
			}
			limited++
		}
	}
	if limited == 0 {
		t.Error("no command was rate limited")
	}
}
