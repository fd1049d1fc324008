package ws

import (
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestSubscribeWaitsForAppliedSeq checks that a snapshot includes every event that any lane
// returned before the command, even if the pump is behind: the answer waits for the pump.
func TestSubscribeWaitsForAppliedSeq(t *testing.T) {
	s := newTestLane(t)
	k := s.NewKey(1, core.ScopeRead)
	open, late, other := s.dial(k), s.dial(k), s.dial(k)
	open.ask("subscribe", `{"channels":["orderbook_snapshot"],"market_ids":[1]}`)
	open.until("orderbook_snapshot")

	l := s.lane
	l.stop() // the test takes the place of the pump
	<-l.pumpStopped
	l.mu.Lock()
	l.pumpDone = false
	l.mu.Unlock()
	f := l.engine.Follow()

	s.place(1, 1, 1, "buy yes 10 @ 4700")
	placed := l.engine.Seq()
	open.send(`{"id":2,"cmd":"update_subscription","params":{"sid":1,"action":"get_snapshot"}}`)
	late.send(`{"id":2,"cmd":"subscribe","params":{"channels":["orderbook_snapshot"],"market_ids":[1]}}`)
	for range 100 { // gives answers that wrongly do not wait the time to be sent
		other.ask("list_subscriptions", `{}`)
	}
	for l.hasBatch(f) {
		l.publishBatch(f)
	}
	for _, r := range []*testReader{open, late} {
		m := r.until("orderbook_snapshot")
		if b := into[schemas.Orderbook](t, m); uint64(m.Seq) < placed || len(b.Yes) != 1 {
			t.Errorf("snapshot as of seq %d, want at least %d with one level: %s", m.Seq, placed, m.Msg)
		}
	}
}
