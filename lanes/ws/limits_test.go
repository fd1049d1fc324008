package ws

import (
	"strconv"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestSubscriptionLimit checks the limit of subscriptions per connection. The test server has
// too few markets to reach it over the wire, so the test adds most subscriptions directly.
func TestSubscriptionLimit(t *testing.T) {
	s := newTestLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead))
	r.ask("subscribe", `{"channels":["trades"],"market_ids":[1]}`)
	s.fill()
	if m := r.ask("subscribe", `{"channels":["oracle","rounds"]}`); into[schemas.WSError](t, m) != (schemas.WSError{Code: 12, Name: "too_many_subscriptions"}) {
		t.Errorf("%s", m.Msg)
	}
	if m := r.ask("subscribe", `{"channels":["oracle"]}`); m.Type != "subscribed" {
		t.Errorf("%s", m.Msg)
	}
}

// fill adds subscriptions to every connection up to one less than the limit.
func (s *testLane) fill() {
	s.lane.each(func(c *conn) {
		for len(c.subs) < maxSubscriptions-1 {
			c.lastSid++
			x := newSub(c, c.lastSid, trades, marketBit(0))
			c.subs = append(c.subs, x)
			s.lane.topics.change(x, x.markets, with)
		}
	})
}

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
				t.Fatalf("%s", m.Msg)
			}
			limited++
		}
	}
	if limited == 0 {
		t.Error("no command was rate limited")
	}
}
