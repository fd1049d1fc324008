package ws

import (
	"strconv"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestSubscriptionLimit: 64 on a connection; the lane's own markets are too few to
// get there over the wire, so the rest are put there.
func TestSubscriptionLimit(t *testing.T) {
	s := newStream(t)
	r := s.dial(s.Key(1, core.ScopeRead))
	r.ask("subscribe", `{"channels":["trades"],"market_ids":[1]}`)
	s.fill()
	if m := r.ask("subscribe", `{"channels":["oracle","rounds"]}`); into[schemas.WSError](t, m) != (schemas.WSError{Code: 12, Name: "too_many_subscriptions"}) {
		t.Errorf("%s", m.Msg)
	}
	if m := r.ask("subscribe", `{"channels":["oracle"]}`); m.Type != "subscribed" {
		t.Errorf("%s", m.Msg)
	}
}

// fill leaves every connection room for one subscription more.
func (s *stream) fill() {
	s.lane.each(func(c *conn) {
		for len(c.subs) < subsMax-1 {
			c.sids++
			x := newSub(c, c.sids, trades, bit(0))
			c.subs = append(c.subs, x)
			s.lane.topics.add(x)
		}
	})
}

// TestRateLimit: commands draw on the read bucket, and are told when to come back.
func TestRateLimit(t *testing.T) {
	s := newStream(t)
	r := s.dial(s.Key(1, core.ScopeRead))
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
			t.Fatalf("%d answers %d", m.ID, i)
		}
		if m.Type == "error" {
			if e := into[schemas.WSError](t, m); e.Code != 9 || e.RetryAfterMs == nil || *e.RetryAfterMs == 0 || *e.RetryAfterMs > 1000 {
				t.Fatalf("%s", m.Msg)
			}
			limited++
		}
	}
	if limited == 0 {
		t.Error("never limited")
	}
}
