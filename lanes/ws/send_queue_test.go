package ws

import (
	"testing"

	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// lowLimits conflates a queue that holds a single snapshot.
var lowLimits = limits{snapshotInterval: defaultLimits.snapshotInterval, maxQueueBytes: 4 << 20, conflateBytes: 256, socketBufferBytes: defaultLimits.socketBufferBytes}

// fillBooks gives every market a book whose snapshot exceeds lowLimits.conflateBytes.
func (s *testLane) fillBooks() {
	s.T.Helper()
	for m := core.MarketID(1); m <= 3; m++ {
		for n := range 40 {
			if r := s.Submit(&core.PlaceOrder{User: 1, ClientID: uint64(m)*1000 + uint64(n), Market: m, Qty: 1, Tick: core.Tick(1000 + 100*n)}); r.Reject != core.OK {
				s.T.Fatal(r.Reject)
			}
		}
	}
	s.published()
}

// published waits until the pump has published every applied command.
func (s *testLane) published() {
	s.T.Helper()
	s.eventually(func() bool { s.lane.mu.Lock(); defer s.lane.mu.Unlock(); return s.lane.last.Seq >= s.Engine.Seq() })
}

// TestSnapshotsBeyondConflateBytes checks a reader whose first snapshots together exceed
// conflateBytes: it receives them, follows the changing books to their final state, and then
// its connection is no longer scheduled.
func TestSnapshotsBeyondConflateBytes(t *testing.T) {
	s := newTestLaneWith(t, lowLimits)
	s.fillBooks()
	r := s.dial(s.NewKey(2, core.ScopeRead))
	r.ask("subscribe", `{"channels":["orderbook_delta"]}`)
	for n := range 60 {
		s.place(2, uint64(n+1), 1, "buy no 1 @ 600")
	}
	want := map[uint32]string{}
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m <= 3; m++ {
			slot, _ := v.Market(m)
			b := tools.BookOf(v, &slot, 1<<20)
			want[uint32(m)] = text(b.Generation, b.Yes, b.No)
		}
	})
	m := &modelReader{testLane: s, history: &bookHistory{}, books: map[uint32]schemas.WSBook{}, last: map[string]schemas.U64{}, sids: map[int]string{1: "orderbook_delta"}}
	for right := 0; right < len(want); {
		msg := r.next()
		m.take(&msg)
		right = 0
		for id, b := range m.books {
			if text(b.Generation, b.Yes, b.No) == want[id] {
				right++
			}
		}
	}
	s.published()
	s.lane.each(func(c *conn) {
		s.eventually(func() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.scheduled && !c.hasStaleBooks })
	})
	if s.lane.Stats.Conflated.Load() == 0 {
		t.Error("no queue was conflated")
	}
}

// TestStaleSnapshotsAreNotConflated checks that messages queued after a reader's fresh
// snapshots do not cause those to be dropped. Otherwise a reader of busy books would receive
// nothing.
func TestStaleSnapshotsAreNotConflated(t *testing.T) {
	s := newTestLaneWith(t, lowLimits)
	s.fillBooks()
	c := &conn{lane: s.lane, call: &gate.Call{Key: &core.Key{ID: "k", User: 2, Scopes: core.ScopeRead}}, flushed: make(chan struct{}), conflateAt: lowLimits.conflateBytes, scheduled: true} // the test is the writer
	c.handleCommand([]byte(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta"]}}`))
	t.Cleanup(func() {
		s.lane.mu.Lock()
		defer s.lane.mu.Unlock()
		for _, x := range c.subs {
			s.lane.remove(x)
		}
	})
	c.nextBatch() // the answer; conflation has dropped the snapshots after it
	for n := range 5 {
		batch := s.lane.staleSnapshots(c)
		s.lane.publishMuch()
		got := map[uint32]bool{}
		for i := range batch {
			var m message
			if err := json.Unmarshal(payloadOf(&batch[i]), &m); err != nil {
				t.Fatal(err)
			}
			if m.Type == "orderbook_snapshot" {
				got[into[schemas.WSBook](t, m).MarketID] = true
			}
		}
		if len(got) != 3 {
			t.Fatalf("round %d: %d of 3 snapshots in %d frames", n, len(got), len(batch))
		}
	}
}

// publishMuch publishes enough deltas of all books to conflate the queue of every slow
// reader.
func (l *Lane) publishMuch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 100 {
		for m := core.MarketID(1); m <= 3; m++ {
			l.publish(frameOf(deltas, "orderbook_delta", m, l.last.Seq, &schemas.WSBookDelta{MarketID: uint32(m)}))
		}
	}
}
