package ws

import (
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestAbreast: what a caller was told on any lane is in what he is then sent here, however
// far behind the pump is: what he asked for is answered when it has come.
func TestAbreast(t *testing.T) {
	s := newStream(t)
	k := s.Key(1, core.ScopeRead)
	open, late, other := s.dial(k), s.dial(k), s.dial(k)
	open.ask("subscribe", `{"channels":["orderbook_snapshot"],"market_ids":[1]}`)
	open.until("orderbook_snapshot")

	l := s.lane
	l.stop() // from here on the test is the pump
	<-l.pumped
	l.mu.Lock()
	l.over = false
	l.mu.Unlock()
	f := l.engine.Follow()

	s.place(1, 1, 1, "buy yes 10 @ 4700")
	placed := l.engine.Seq()
	open.say(`{"id":2,"cmd":"update_subscription","params":{"sid":1,"action":"get_snapshot"}}`)
	late.say(`{"id":2,"cmd":"subscribe","params":{"channels":["orderbook_snapshot"],"market_ids":[1]}}`)
	for range 100 { // an answer to the two that did not wait would be out by now
		other.ask("list_subscriptions", `{}`)
	}
	for l.ready(f) {
		l.take(f)
	}
	for _, r := range []*reader{open, late} {
		m := r.until("orderbook_snapshot")
		if b := into[schemas.Orderbook](t, m); uint64(m.Seq) < placed || len(b.Yes) != 1 {
			t.Errorf("as of %d, placed at %d: %s", m.Seq, placed, m.Msg)
		}
	}
}
