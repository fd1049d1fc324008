package ws

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestSnapshotBetweenEvents checks that get_snapshot of the channel user leaves out no message: the reader has
// every event up to the seq that the snapshot is as of, also if the pump has published some after the
// snapshot was prepared and not yet those of the newest command.
func TestSnapshotBetweenEvents(t *testing.T) {
	s := newTestLane(t)
	r := s.dial(s.NewKey(1, core.ScopeRead))
	r.ask("subscribe", `{"channels":["user"]}`)
	r.until("user_snapshot")

	l := s.lane
	l.stop() // the test takes the place of the pump
	<-l.pumpStopped
	f := l.engine.Follow()
	l.mu.Lock()
	var c *conn
	for c = range l.conns {
	}
	l.mu.Unlock()
	start := c.prepareUserSnapshot(1)
	var want, got []string
	place := func(id uint64) {
		s.place(1, id, 1, "buy yes 10 @ 4700")
		want = append(want, fmt.Sprint("user ", l.engine.Seq()))
	}
	publish := func() {
		for l.hasBatch(f) {
			l.publishBatch(f)
		}
	}
	place(1)
	publish()
	place(2)
	want = append(want, fmt.Sprint("user_snapshot ", l.engine.Seq()))
	l.mu.Lock()
	l.resendUserSnapshot(c.subs[0], start)
	l.mu.Unlock()
	place(3)
	publish()
	for len(got) == 0 || got[len(got)-1] != want[len(want)-1] {
		m := r.next()
		got = append(got, fmt.Sprint(m.Type, " ", m.Seq))
	}
	if got = slices.Compact(got); !slices.Equal(got, want) { // an order has several messages
		t.Errorf("the reader has %q, want %q", got, want)
	}
}

// TestMinSeq checks that subscribe and get_snapshot wait for min_seq, and fail if it does not come in
// time, which changes nothing.
func TestMinSeq(t *testing.T) {
	s := newTestLane(t)
	s.Gate.Venue.Config.ResponseBudget = 300 // ms
	r := s.dial(s.NewKey(1, core.ScopeRead))
	next := s.lane.engine.Seq() + 1
	late := fmt.Sprintf(`{"channels":["orderbook_snapshot"],"market_ids":[1],"min_seq":"%d"}`, next+1000)
	if m := r.ask("subscribe", late); m.Type != "error" || !strings.Contains(string(m.Msg), `"code":13,"name":"sequencing_timeout"`) {
		t.Errorf("a seq that does not come: %+v", m)
	}
	if m := r.ask("list_subscriptions", `{}`); !strings.Contains(string(m.Msg), `"subscriptions":[]`) {
		t.Errorf("a command that failed left %s", m.Msg)
	}
	s.Gate.Venue.Config.ResponseBudget = 30_000
	for i, command := range []string{
		`"subscribe","params":{"channels":["orderbook_snapshot"],"market_ids":[1]`, `"update_subscription","params":{"sid":1,"action":"get_snapshot"`,
	} {
		r.send(fmt.Sprintf(`{"id":%d,"cmd":%s,"min_seq":"%d"}}`, 10+i, command, s.lane.engine.Seq()+1))
		time.Sleep(50 * time.Millisecond) // gives an answer that wrongly does not wait the time to be made
		s.place(1, uint64(i+1), 1, "buy yes 10 @ 4700")
		placed := s.lane.engine.Seq()
		if m := r.until("orderbook_snapshot"); uint64(m.Seq) < placed {
			t.Errorf("%s: a snapshot as of seq %d, want at least %d", command, m.Seq, placed)
		}
	}
	if m := r.ask("update_subscription", `{"sid":1,"action":"delete_markets","market_ids":[1],"min_seq":"1"}`); m.Type != "error" || !strings.Contains(string(m.Msg), `"code":2`) {
		t.Errorf("min_seq with another action: %+v", m)
	}
}
