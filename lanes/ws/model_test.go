package ws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

// bookHistory holds the venue's own books at the seqs at which record was called.
type bookHistory struct {
	mu    sync.Mutex
	books map[string]string // by at(market, seq), as text
}

func at(m uint32, seq uint64) string { return fmt.Sprintf("%d@%d", m, seq) }

// record stores the venue's current books.
func (h *bookHistory) record(s *testLane) {
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if slot, ok := v.Market(m); ok {
				b := tools.BookOf(v, &slot, 1<<20)
				h.books[at(b.MarketID, v.Now().Seq)] = fmt.Sprint(v.Now().Ts, text(b.Generation, b.Yes, b.No))
			}
		}
	})
}

func text(generation uint32, yes, no []schemas.Level) string {
	return fmt.Sprint(generation, yes, no)
}

// text returns the venue's current book of a market.
func (s *testLane) text(m core.MarketID) (out string) {
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		slot, _ := v.Market(m)
		b := tools.BookOf(v, &slot, 1<<20)
		out = text(b.Generation, b.Yes, b.No)
	})
	return out
}

// modelReader maintains the books and the account's events from the stream. It disconnects at
// random, and resumes.
type modelReader struct {
	*testLane
	history *bookHistory
	key     lanetest.Key
	rnd     *rand.Rand
	slow    bool                   // waits for pulse at random
	pulse   func() <-chan struct{} // returns a channel that is closed at the next pulse

	books   map[uint32]schemas.WSBook
	last    map[string]schemas.U64 // last seq of each chain
	sids    map[int]string         // channel of each sid
	log     []loggedEvent          // the account's events
	seen    []seenBook             // every state of every book
	resumed int                    // successful resumes
	gaps    int                    // gaps in prev_seq
}

type loggedEvent struct {
	seq schemas.U64
	msg string
}

// complete returns the last seq whose events have certainly all been received. A command can
// cause several events of one seq, and the connection may end between them.
func (m *modelReader) complete() schemas.U64 {
	for i := len(m.log) - 1; i >= 0; i-- {
		if m.log[i].seq != m.log[len(m.log)-1].seq {
			return m.log[i].seq
		}
	}
	return 0
}

func (m *modelReader) connect() *testReader {
	client := slowClient()
	var ws *websocket.Conn
	var err error
	for range 100 { // the test advances the venue's clock, so a signature may be too old
		if ws, _, err = websocket.Dial(context.Background(), m.URL+path, &websocket.DialOptions{HTTPHeader: m.handshake(m.key), HTTPClient: client}); err == nil {
			break
		}
	}
	if err != nil {
		m.T.Error(err)
		return nil
	}
	ws.SetReadLimit(-1)
	m.books, m.last, m.sids = map[uint32]schemas.WSBook{}, map[string]schemas.U64{}, map[int]string{}
	r := &testReader{t: m.T, ws: ws}
	since := m.complete()
	m.log = slices.DeleteFunc(m.log, func(l loggedEvent) bool { return l.seq > since })
	r.send(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","trades","oracle","rounds"]}}`)
	r.send(`{"id":2,"cmd":"subscribe","params":{"channels":["user"],"since_seq":"` + since.String() + `"}}`)
	return r
}

// run reads until done returns true.
func (m *modelReader) run(done func(*modelReader) bool) {
	r := m.connect()
	if r == nil {
		return
	}
	defer func() {
		if r != nil {
			_ = r.ws.CloseNow()
		}
	}()
	for start := time.Now(); !done(m); {
		if time.Since(start) > 5*time.Minute {
			m.T.Error("the reader did not catch up within 5 minutes")
			return
		}
		raw, err := r.raw()
		if websocket.CloseStatus(err) == 4408 { // a slow consumer may resume
			_ = r.ws.CloseNow()
			if r = m.connect(); r == nil {
				return
			}
			continue
		}
		if err != nil {
			m.T.Error(err)
			return
		}
		var msg message
		if err := json.Unmarshal(raw, &msg); err != nil {
			m.T.Errorf("not a message: %s: %v", raw, err)
			return
		}
		m.take(&msg)
		switch n := m.rnd.IntN(400); {
		case n == 0:
			_ = r.ws.CloseNow()
			if r = m.connect(); r == nil {
				return
			}
		case n < 3 && m.slow:
			<-m.pulse()
		}
	}
}

func (m *modelReader) take(msg *message) {
	switch msg.Type {
	case "subscribed":
		x := into[schemas.WSSubscribed](m.T, *msg)
		m.sids[int(x.Sid)] = x.Channel
		if x.Resumed != nil && *x.Resumed {
			m.resumed++
		} else if x.Resumed != nil {
			m.T.Error("the user channel was not resumed")
		}
	case "orderbook_snapshot":
		b := into[schemas.WSBook](m.T, *msg)
		m.chain(msg, b.MarketID)
		m.books[b.MarketID] = b
		m.keepBook(b, msg.Seq)
	case "orderbook_delta":
		d := into[schemas.WSBookDelta](m.T, *msg)
		m.chain(msg, d.MarketID)
		b := m.books[d.MarketID]
		if d.Generation != b.Generation {
			m.T.Errorf("a delta of generation %d on a book of %d", d.Generation, b.Generation)
		}
		for _, c := range d.Changes {
			if c.Outcome == "yes" {
				b.Yes = changed(m.T, b.Yes, c)
			} else {
				b.No = changed(m.T, b.No, c)
			}
		}
		b.Ts = d.Ts
		m.books[d.MarketID] = b
		m.keepBook(b, msg.Seq)
	case "trade", "oracle", "round":
		m.chain(msg, 0)
	case "user":
		m.chain(msg, 0)
		m.log = append(m.log, loggedEvent{msg.Seq, string(msg.Msg)})
	default:
		m.T.Errorf("unknown message %s %s", msg.Type, msg.Msg)
	}
}

// chain compares prev_seq with the last seq. Only oracle and rounds may have gaps.
func (m *modelReader) chain(msg *message, market uint32) {
	key := fmt.Sprint(msg.Sid, " ", market)
	if msg.PrevSeq != m.last[key] {
		if ch := m.sids[msg.Sid]; ch != "oracle" && ch != "rounds" {
			m.T.Errorf("%s: prev_seq %d after %d", msg.Type, msg.PrevSeq, m.last[key])
		}
		m.gaps++
	}
	if msg.Seq < m.last[key] {
		m.T.Errorf("%s: seq %d after %d", msg.Type, msg.Seq, m.last[key])
	}
	m.last[key] = msg.Seq
}

func changed(t testing.TB, side []schemas.Level, c schemas.WSChange) []schemas.Level {
	side = slices.Clone(side)
	i := slices.IndexFunc(side, func(l schemas.Level) bool { return l[0] <= c.Tick })
	if i < 0 {
		i = len(side)
	}
	if i == len(side) || side[i][0] != c.Tick {
		side = slices.Insert(side, i, schemas.Level{c.Tick, 0})
	}
	if side[i][1] += c.Delta; side[i][1] != c.Qty {
		t.Errorf("delta %d to %d does not fit", c.Delta, c.Qty)
	}
	if c.Qty == 0 {
		side = slices.Delete(side, i, i+1)
	}
	return side
}

// keepBook stores a book, for compareBooks.
func (m *modelReader) keepBook(b schemas.WSBook, seq schemas.U64) {
	m.seen = append(m.seen, seenBook{at(b.MarketID, uint64(seq)), fmt.Sprint(b.Ts, text(b.Generation, b.Yes, b.No))})
}

// compareBooks compares the stored books with the venue's books of the same seq.
func (m *modelReader) compareBooks() (compared int) {
	m.history.mu.Lock()
	defer m.history.mu.Unlock()
	for _, b := range m.seen {
		want, known := m.history.books[b.at]
		if !known {
			continue
		}
		if compared++; b.text != want {
			m.T.Errorf("book %s:\n got %s\nwant %s", b.at, b.text, want)
		}
	}
	return compared
}

type seenBook struct{ at, text string }

// caughtUp reports whether the reader has the venue's current books and all events of the
// account.
func (m *modelReader) caughtUp() (yes bool) {
	events, _ := m.events(m.key.User)
	m.Engine.Read(func(v *venue.Venue, w *view.View) {
		n := 0
		yes = len(m.log) >= len(events)
		for id := core.MarketID(1); id <= venue.Slots; id++ {
			if slot, ok := v.Market(id); ok {
				b, mine := tools.BookOf(v, &slot, 1<<20), m.books[uint32(id)]
				yes = yes && text(b.Generation, b.Yes, b.No) == text(mine.Generation, mine.Yes, mine.No)
				n++
			}
		}
		yes = yes && n == len(m.books)
	})
	return yes
}

// logText returns the received events in the format of events.
func (m *modelReader) logText() (out []string) {
	for _, l := range m.log {
		out = append(out, fmt.Sprint(uint64(l.seq), l.msg))
	}
	return out
}

// events returns the venue's own events of an account, and whether they are complete.
func (s *testLane) events(u core.UserID) (out []string, complete bool) {
	s.Engine.Read(func(_ *venue.Venue, w *view.View) {
		list, all := w.EventsAfter(u, 0)
		complete = all
		for i := range list {
			_, msg := tools.EventOf(&list[i])
			raw, _ := schemas.Append(nil, msg)
			out = append(out, fmt.Sprint(list[i].Seq, string(raw)))
		}
	})
	return out, complete
}

func (s *testLane) slot(m core.MarketID) (slot venue.MarketState, ok bool) {
	s.Engine.Read(func(v *venue.Venue, _ *view.View) { slot, ok = v.Market(m) })
	return slot, ok
}

// TestModel trades at random while readers lag, disconnect and resume. At every seq that both
// have, a reader's books equal the venue's, and each reader receives its account's events
// once and in order.
//
// It runs at the speed of real sockets and takes long on a busy machine, so it needs DX_LONG=1.
func TestModel(t *testing.T) {
	onlyLong(t)
	s := newTestLaneWith(t, limits{
		snapshotInterval: defaultLimits.snapshotInterval, maxQueueBytes: 4 << 20, conflateBytes: 8 << 10, conflateAge: defaultLimits.conflateAge,
		socketBufferBytes: 4096, unsentBytes: 2 * slowWriteChunk,
	})
	history := &bookHistory{books: map[string]string{}}
	var mu sync.Mutex
	pulse := make(chan struct{})
	var finished atomic.Bool
	done := func(m *modelReader) bool { return finished.Load() && m.caughtUp() }
	var wait sync.WaitGroup
	var mirrors []*modelReader
	for i := range 6 {
		m := &modelReader{testLane: s, history: history, key: s.NewKey(core.UserID(i%2+1), core.ScopeRead), rnd: rand.New(rand.NewPCG(uint64(i), 7)), slow: i >= 3}
		m.pulse = func() <-chan struct{} { mu.Lock(); defer mu.Unlock(); return pulse }
		mirrors = append(mirrors, m)
		wait.Go(func() { m.run(done) })
	}
	beat := func() {
		mu.Lock()
		defer mu.Unlock()
		close(pulse)
		pulse = make(chan struct{})
	}
	tradeAtRandom(s, history, beat)
	finished.Store(true)
	stop := make(chan struct{})
	go func() { // lets slow readers continue
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				beat()
			}
		}
	}()
	s.PostIndex(6_500_000_000_000) // a message that makes each reader call done
	wait.Wait()
	close(stop)
	for i, m := range mirrors {
		want, complete := s.events(m.key.User)
		if got := m.logText(); !complete || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("reader %d: its %d events differ from the venue's %d", i, len(got), len(want))
		}
		t.Logf("reader %d: %d events, %d books compared, %d resumes, %d gaps", i, len(m.log), m.compareBooks(), m.resumed, m.gaps)
	}
	if slot, _ := s.slot(1); slot.Generation == 1 {
		t.Error("no slot reached a second generation")
	}
	t.Logf("%d conflations by bytes, %d by age", s.lane.Stats.ConflatedBytes.Load(), s.lane.Stats.ConflatedAge.Load())
}

// tradeAtRandom submits random commands of two accounts over many generations of the slots.
func tradeAtRandom(s *testLane, history *bookHistory, beat func()) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var id uint64
	var placed []core.OrderID
	for n := range 1500 {
		u, open := core.UserID(1+rnd.IntN(2)), trading(s)
		switch k := rnd.IntN(10); {
		case k < 7:
			id++
			r := s.Submit(&core.PlaceOrder{
				User: u, ClientID: id, Market: open[rnd.IntN(len(open))], Side: core.Side(rnd.IntN(5) / 4), Outcome: core.Outcome(rnd.IntN(2)),
				Tick: core.Tick(4400 + 100*rnd.IntN(12)), Qty: core.Qty(1 + rnd.IntN(20)),
			})
			placed = append(placed, core.OrderID(r.Stamp.Seq))
		case len(placed) == 0:
		case k < 9:
			s.Submit(&core.CancelOrder{User: u, Order: placed[rnd.IntN(len(placed))]})
		default:
			s.Submit(&core.DecreaseOrder{User: u, Order: placed[rnd.IntN(len(placed))], To: true, Amount: core.Qty(1 + rnd.IntN(5))})
		}
		history.record(s)
		if n%25 == 24 { // a minute passes: rounds end and others open
			now := s.Now()
			minute := now - now%int64(time.Minute) + int64(time.Minute)
			s.AdvanceClock(time.Duration(minute - now + int64(time.Second)))
			s.PostIndex(core.Price(6_500_000_000_000 + rnd.Int64N(1_000_000_000)))
			history.record(s)
		}
		if n%100 == 99 {
			beat()
		}
	}
}

// trading returns the markets that accept orders, and one that does not.
func trading(s *testLane) []core.MarketID {
	out := []core.MarketID{venue.Slots}
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m < venue.Slots; m++ {
			if slot, ok := v.Market(m); ok && slot.Status == core.Trading {
				out = append(out, m)
			}
		}
	})
	return out
}

// onlyLong skips a test that fills the buffers of real sockets, unless DX_LONG is set.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv("DX_LONG") == "" {
		t.Skip("waits on real sockets: DX_LONG=1 go test ./lanes/ws")
	}
}
