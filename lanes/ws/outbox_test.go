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

// tight has room for no snapshot before it thins.
var tight = bounds{every: defaultBounds.every, queue: 4 << 20, thin: 256, room: defaultBounds.room}

// deep gives every market a book that is larger than tight allows.
func (s *stream) deep() {
	s.T.Helper()
	for m := core.MarketID(1); m <= 3; m++ {
		for n := range 40 {
			if r := s.Do(&core.PlaceOrder{User: 1, ClientID: uint64(m)*1000 + uint64(n), Market: m, Qty: 1, Tick: core.Tick(1000 + 100*n)}); r.Reject != core.OK {
				s.T.Fatal(r.Reject)
			}
		}
	}
	s.published()
}

// published waits until all that was done is handed to the readers.
func (s *stream) published() {
	s.T.Helper()
	s.eventually(func() bool { s.lane.mu.Lock(); defer s.lane.mu.Unlock(); return s.lane.at >= s.Engine.Seq() })
}

// TestSnapshotsBeyondTheThinBound: a reader whose snapshots are together larger than
// what thins a queue gets them, follows while the books change, has what is true in
// the end, and then the writer rests.
func TestSnapshotsBeyondTheThinBound(t *testing.T) {
	s := newStreamWith(t, tight)
	s.deep()
	r := s.dial(s.Key(2, core.ScopeRead))
	r.ask("subscribe", `{"channels":["orderbook_delta"]}`)
	for n := range 60 {
		s.place(2, uint64(n+1), 1, "buy no 1 @ 600")
	}
	want := map[uint32]string{}
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m <= 3; m++ {
			slot, _ := v.Slot(m)
			b := tools.BookOf(v, &slot, 1<<20)
			want[uint32(m)] = text(b.Generation, b.Yes, b.No)
		}
	})
	m := &mirror{stream: s, tr: &truth{}, books: map[uint32]schemas.WSBook{}, last: map[string]schemas.U64{}, sids: map[int]string{1: "orderbook_delta"}}
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
		s.eventually(func() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.writing && !c.stale })
	})
	if s.lane.Stats.Thinned.Load() == 0 {
		t.Error("nothing was thinned")
	}
}

// TestSnapshotsAreInHand: what comes after a reader's snapshots were made cannot thin
// them, or under enough of it the writer would go round and the reader get nothing.
func TestSnapshotsAreInHand(t *testing.T) {
	s := newStreamWith(t, tight)
	s.deep()
	c := &conn{lane: s.lane, call: &gate.Call{Key: &core.Key{ID: "k", User: 2, Scopes: core.ScopeRead}}, flushed: make(chan struct{}), thinAt: tight.thin, writing: true} // nobody writes but this test
	c.command([]byte(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta"]}}`))
	t.Cleanup(func() {
		s.lane.mu.Lock()
		defer s.lane.mu.Unlock()
		for _, x := range c.subs {
			s.lane.remove(x)
		}
	})
	c.take() // the answer: the snapshots behind it were thinned
	for n := range 5 {
		batch := s.lane.refresh(c)
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
			t.Fatalf("turn %d: %d snapshots of 3 in %d frames", n, len(got), len(batch))
		}
	}
}

// publishMuch hands out deltas of all books until every reader that is behind was
// thinned.
func (l *Lane) publishMuch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range 100 {
		for m := core.MarketID(1); m <= 3; m++ {
			l.publish(frameOf(deltas, "orderbook_delta", m, l.at, &schemas.WSBookDelta{MarketID: uint32(m)}))
		}
	}
}
