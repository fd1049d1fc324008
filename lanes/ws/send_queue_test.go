package ws

import (
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// lowLimits conflates a queue that holds a single snapshot.
var lowLimits = func() limits {
	l := defaultLimits
	l.conflateBytes, l.conflateAge = 256, time.Hour
	return l
}()

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
	for m := core.MarketID(1); m <= 3; m++ {
		want[uint32(m)] = s.text(m)
	}
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
		s.eventually(func() bool { c.mu.Lock(); defer c.mu.Unlock(); return !c.scheduled && len(c.staleBooks) == 0 })
	})
	if s.lane.Stats.ConflatedBytes.Load() == 0 {
		t.Error("no queue was conflated")
	}
}

// subscribed returns a connection without a socket that follows all books and trades. The test is its
// writer.
func (s *testLane) subscribed() *conn {
	c := &conn{
		lane: s.lane, call: &gate.Call{Key: &core.Key{ID: "k", User: 2, Scopes: core.ScopeRead}}, flushed: make(chan struct{}),
		conflateAt: s.lane.limits.conflateBytes, scheduled: true, probe: probe{mute: true},
	}
	c.handleCommand([]byte(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","trades"]}}`))
	s.T.Cleanup(func() {
		s.lane.mu.Lock()
		defer s.lane.mu.Unlock()
		for _, x := range c.subs {
			s.lane.remove(x)
		}
	})
	return c
}

// written returns the next batch of a connection without a socket, as messages.
func (s *testLane) written(c *conn) (out []message) {
	s.T.Helper()
	batch, more := c.nextBatch()
	if !more {
		c.scheduled = true // the test remains the writer
	}
	for i := range batch {
		var m message
		if batch[i].f == probePing {
			continue
		}
		if err := json.Unmarshal(payloadOf(&batch[i]), &m); err != nil {
			s.T.Fatal(err)
		}
		out = append(out, m)
	}
	c.written(batch)
	return out
}

// TestStaleBooksRotate checks that a reader so slow that its queue is conflated before each write
// receives a snapshot of each book in turn. If a snapshot could be dropped again, or the first book
// were always the first, it would never receive some of them.
func TestStaleBooksRotate(t *testing.T) {
	tooOld := defaultLimits
	tooOld.conflateAge = -1 // any message has waited too long
	for cause, lim := range map[string]limits{"bytes": lowLimits, "age": tooOld} {
		t.Run(cause, func(t *testing.T) {
			s := newTestLaneWith(t, lim)
			s.fillBooks()
			c := s.subscribed()
			for answers := 0; answers < 2; { // conflation has dropped the snapshots between
				answers += len(s.written(c))
			}
			got := map[uint32]int{}
			for range 9 {
				s.lane.publishMuch()
				for _, m := range s.written(c) {
					if m.Type == "orderbook_snapshot" {
						got[into[schemas.WSBook](t, m).MarketID]++
					}
				}
			}
			if got[1] != 3 || got[2] != 3 || got[3] != 3 {
				t.Errorf("snapshots by market: %v, want 3 of each", got)
			}
		})
	}
}

// TestBooksBetweenTrades checks that a reader who is slower than the trades, which are never dropped, still
// receives snapshots of every book, and every trade in order.
func TestBooksBetweenTrades(t *testing.T) {
	tooOld := defaultLimits
	tooOld.conflateAge = -1
	s := newTestLaneWith(t, tooOld)
	s.fillBooks()
	c := s.subscribed()
	c.slow = true // one write takes a part of the trades of a round
	for s.written(c) != nil {
	}
	since := s.lane.clock.Load()
	s.eventually(func() bool { return s.lane.clock.Load() > since }) // what follows is queued later than the answer
	snapshots, last, trade := map[uint32]int{}, schemas.U64(0), uint64(0)
	for range 30 {
		s.lane.mu.Lock()
		for range 2 * slowWriteChunk / 100 {
			trade++
			s.lane.publish(frameOf(trades, "trade", 1, s.lane.last.Seq+trade, &schemas.Trade{MarketID: 1}))
		}
		s.lane.mu.Unlock()
		s.lane.publishMuch()
		for _, m := range s.written(c) {
			switch m.Type {
			case "orderbook_snapshot":
				snapshots[into[schemas.WSBook](t, m).MarketID]++
			case "trade":
				if m.PrevSeq != last || m.Seq <= last {
					t.Fatalf("a trade of seq %d has the prev_seq %d, want %d", m.Seq, m.PrevSeq, last)
				}
				last = m.Seq
			}
		}
	}
	if last == 0 || len(snapshots) != 3 || snapshots[1] < 3 || snapshots[2] < 3 || snapshots[3] < 3 {
		t.Errorf("after the trade %d: snapshots by market %v, want at least 3 of each", last, snapshots)
	}
}

// TestConflationByAge checks that a queue whose oldest message has waited longer than conflateAge
// keeps its trades, and in place of its deltas gets a snapshot with the time of what it shows; a
// queue that has waited less keeps everything.
func TestConflationByAge(t *testing.T) {
	for age, want := range map[time.Duration][]string{
		30 * time.Millisecond: {"trade", "orderbook_snapshot"},
		time.Hour:             {"orderbook_delta", "trade", "orderbook_delta"},
	} {
		lim := defaultLimits
		lim.conflateAge = age
		s := newTestLaneWith(t, lim)
		c := s.subscribed()
		for s.written(c) != nil {
		}
		s.place(1, 1, 1, "buy yes 1 @ 4700")
		s.published()
		s.lane.mu.Lock()
		s.lane.publish(frameOf(trades, "trade", 1, s.lane.last.Seq, &schemas.Trade{MarketID: 1}))
		s.lane.mu.Unlock()
		since := s.lane.clock.Load()
		s.eventually(func() bool { return s.lane.clock.Load() > since+int64(40*time.Millisecond) })
		s.place(1, 2, 1, "buy yes 1 @ 4700")
		s.published()
		var got []string
		for batch := s.written(c); batch != nil; batch = s.written(c) {
			for _, m := range batch {
				if got = append(got, m.Type); m.Type == "orderbook_snapshot" {
					if b := into[schemas.WSBook](t, m); b.Yes[0][1] != 2 || int64(b.Ts) != s.lane.last.Ts {
						t.Errorf("the snapshot has %v of %d, want 2 contracts of %d", b.Yes, b.Ts, s.lane.last.Ts)
					}
				}
			}
		}
		n := s.lane.Stats.ConflatedAge.Load()
		if !slices.Equal(got, want) || (n == 1) != (age < time.Hour) {
			t.Errorf("conflated after %v: got %v after %d conflations, want %v", age, got, n, want)
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
