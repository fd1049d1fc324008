package ws

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
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

// truth is what the venue itself says: every book at every seq it was looked at.
type truth struct {
	mu    sync.Mutex
	books map[string]string // market and seq → book
}

func at(m uint32, seq uint64) string { return fmt.Sprintf("%d@%d", m, seq) }

// look writes down all books as they are now.
func (tr *truth) look(s *stream) {
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if slot, ok := v.Slot(m); ok {
				b := tools.BookOf(v, &slot, 1<<20)
				tr.books[at(b.MarketID, v.Now().Seq)] = text(b.Generation, b.Yes, b.No)
			}
		}
	})
}

func text(generation uint32, yes, no []schemas.Level) string {
	return fmt.Sprint(generation, yes, no)
}

// mirror is a reader that keeps books and an account, over a bad connection.
type mirror struct {
	*stream
	tr    *truth
	key   lanetest.Key
	rnd   *rand.Rand
	lags  bool
	pulse func() <-chan struct{}

	books   map[uint32]schemas.WSBook
	last    map[string]schemas.U64 // chain → seq
	sids    map[int]string
	log     []logged // of the account
	held    []held
	resumed int
	holes   int
}

type logged struct {
	seq schemas.U64
	msg string
}

// complete is the last seq all of whose events are surely here. What a command did to
// an account is several events of one seq, and a connection may break between them.
func (m *mirror) complete() schemas.U64 {
	for i := len(m.log) - 1; i >= 0; i-- {
		if m.log[i].seq != m.log[len(m.log)-1].seq {
			return m.log[i].seq
		}
	}
	return 0
}

func (m *mirror) connect() *reader {
	dialer := &net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, addr)
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetReadBuffer(4096) // so that falling behind shows soon
		}
		return c, err
	}}
	var ws *websocket.Conn
	var err error
	for range 100 { // the venue's clock leaps, and a signature may be late
		if ws, _, err = websocket.Dial(context.Background(), m.URL+path, &websocket.DialOptions{HTTPHeader: m.handshake(m.key), HTTPClient: &http.Client{Transport: transport}}); err == nil {
			break
		}
	}
	if err != nil {
		m.T.Error(err)
		return nil
	}
	ws.SetReadLimit(-1)
	m.books, m.last, m.sids = map[uint32]schemas.WSBook{}, map[string]schemas.U64{}, map[int]string{}
	r := &reader{t: m.T, ws: ws}
	since := m.complete()
	m.log = slices.DeleteFunc(m.log, func(l logged) bool { return l.seq > since })
	r.say(`{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta","trades","oracle","rounds"]}}`)
	r.say(`{"id":2,"cmd":"subscribe","params":{"channels":["user"],"since_seq":"` + since.String() + `"}}`)
	return r
}

// run reads until done tells that all has come.
func (m *mirror) run(done func(*mirror) bool) {
	r := m.connect()
	if r == nil {
		return
	}
	defer func() {
		if r != nil {
			_ = r.ws.CloseNow()
		}
	}()
	for began := time.Now(); !done(m); {
		if time.Since(began) > time.Minute {
			m.T.Error("it never came to an end")
			return
		}
		raw, err := r.raw()
		if websocket.CloseStatus(err) == 4408 { // too slow for its user events: it may resume
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
			m.T.Errorf("%s: %v", raw, err)
			return
		}
		m.take(&msg)
		switch n := m.rnd.IntN(400); {
		case n == 0:
			_ = r.ws.CloseNow()
			if r = m.connect(); r == nil {
				return
			}
		case n < 3 && m.lags:
			<-m.pulse()
		}
	}
}

func (m *mirror) take(msg *message) {
	switch msg.Type {
	case "subscribed":
		x := into[schemas.WSSubscribed](m.T, *msg)
		m.sids[int(x.Sid)] = x.Channel
		if x.Resumed != nil && *x.Resumed {
			m.resumed++
		} else if x.Resumed != nil {
			m.T.Error("it was not resumed")
		}
	case "orderbook_snapshot":
		b := into[schemas.WSBook](m.T, *msg)
		m.chain(msg, b.MarketID)
		m.books[b.MarketID] = b
		m.hold(b, msg.Seq)
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
		m.books[d.MarketID] = b
		m.hold(b, msg.Seq)
	case "trade", "oracle", "round":
		m.chain(msg, 0)
	case "user":
		m.chain(msg, 0)
		m.log = append(m.log, logged{msg.Seq, string(msg.Msg)})
	default:
		m.T.Errorf("%s %s", msg.Type, msg.Msg)
	}
}

// chain holds prev_seq against the last seq. Only oracle and rounds may have holes.
func (m *mirror) chain(msg *message, market uint32) {
	key := fmt.Sprint(msg.Sid, " ", market)
	if msg.PrevSeq != m.last[key] {
		if ch := m.sids[msg.Sid]; ch != "oracle" && ch != "rounds" {
			m.T.Errorf("%s: prev_seq %d after %d", msg.Type, msg.PrevSeq, m.last[key])
		}
		m.holes++
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

// hold keeps a book to be compared with what the venue said at the same seq.
func (m *mirror) hold(b schemas.WSBook, seq schemas.U64) {
	m.held = append(m.held, held{at(b.MarketID, uint64(seq)), text(b.Generation, b.Yes, b.No)})
}

// judge compares all books that were held.
func (m *mirror) judge() (compared int) {
	m.tr.mu.Lock()
	defer m.tr.mu.Unlock()
	for _, h := range m.held {
		want, known := m.tr.books[h.at]
		if !known {
			continue
		}
		if compared++; h.text != want {
			m.T.Errorf("book %s:\n got %s\nwant %s", h.at, h.text, want)
		}
	}
	return compared
}

type held struct{ at, text string }

// caughtUp tells whether all books and events are here that there are now.
func (m *mirror) caughtUp() (yes bool) {
	events, _ := m.events(m.key.User)
	m.Engine.Read(func(v *venue.Venue, w *view.View) {
		n := 0
		yes = len(m.log) >= len(events)
		for id := core.MarketID(1); id <= venue.Slots; id++ {
			if slot, ok := v.Slot(id); ok {
				b, mine := tools.BookOf(v, &slot, 1<<20), m.books[uint32(id)]
				yes = yes && text(b.Generation, b.Yes, b.No) == text(mine.Generation, mine.Yes, mine.No)
				n++
			}
		}
		yes = yes && n == len(m.books)
	})
	return yes
}

// said is the account's log, as events gives what the venue has.
func (m *mirror) said() (out []string) {
	for _, l := range m.log {
		out = append(out, fmt.Sprint(uint64(l.seq), l.msg))
	}
	return out
}

func (s *stream) events(u core.UserID) (out []string, whole bool) {
	s.Engine.Read(func(_ *venue.Venue, w *view.View) {
		list, all := w.EventsAfter(u, 0)
		whole = all
		for i := range list {
			_, msg := tools.EventOf(&list[i])
			raw, _ := schemas.Append(nil, msg)
			out = append(out, fmt.Sprint(list[i].Seq, string(raw)))
		}
	})
	return out, whole
}

func (s *stream) slot(m core.MarketID) (slot venue.Slot, ok bool) {
	s.Engine.Read(func(v *venue.Venue, _ *view.View) { slot, ok = v.Slot(m) })
	return slot, ok
}

// TestModel trades at random under readers that drop, lag, reconnect and resume. In
// the end and on the way every book is the venue's at the same seq, and every
// account's events were seen once and in order.
//
// It runs at the pace of real sockets, so on a busy machine it takes long: it is
// asked for with DX_LONG=1.
func TestModel(t *testing.T) {
	onlyLong(t)
	s := newStreamWith(t, bounds{every: defaultBounds.every, queue: 4 << 20, thin: 8 << 10, room: 4096})
	tr := &truth{books: map[string]string{}}
	var mu sync.Mutex
	pulse := make(chan struct{})
	var over atomic.Bool
	done := func(m *mirror) bool { return over.Load() && m.caughtUp() }
	var wait sync.WaitGroup
	var mirrors []*mirror
	for i := range 6 {
		m := &mirror{stream: s, tr: tr, key: s.Key(core.UserID(i%2+1), core.ScopeRead), rnd: rand.New(rand.NewPCG(uint64(i), 7)), lags: i >= 3}
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
	trade(s, tr, beat)
	over.Store(true)
	stop := make(chan struct{})
	go func() { // nobody lags any more
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				beat()
			}
		}
	}()
	s.Tick(6_500_000_000_000) // something to read for those who have all
	wait.Wait()
	close(stop)
	for i, m := range mirrors {
		want, whole := s.events(m.key.User)
		if got := m.said(); !whole || len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("reader %d saw %d events, there are %d", i, len(got), len(want))
		}
		t.Logf("reader %d: %d events, %d books compared, %d resumes, %d holes", i, len(m.log), m.judge(), m.resumed, m.holes)
	}
	if slot, _ := s.slot(1); slot.Generation == 1 {
		t.Error("no slot came to a second life")
	}
	t.Logf("thinned %d times", s.lane.Stats.Thinned.Load())
}

// trade lets two accounts do what comes to mind, through many lives of the slots.
func trade(s *stream, tr *truth, beat func()) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var id uint64
	var placed []core.OrderID
	for n := range 1500 {
		u, open := core.UserID(1+rnd.IntN(2)), trading(s)
		switch k := rnd.IntN(10); {
		case k < 7:
			id++
			r := s.Do(&core.PlaceOrder{
				User: u, ClientID: id, Market: open[rnd.IntN(len(open))], Side: core.Side(rnd.IntN(5) / 4), Outcome: core.Outcome(rnd.IntN(2)),
				Tick: core.Tick(4400 + 100*rnd.IntN(12)), Qty: core.Qty(1 + rnd.IntN(20)),
			})
			placed = append(placed, core.OrderID(r.Stamp.Seq))
		case len(placed) == 0:
		case k < 9:
			s.Do(&core.CancelOrder{User: u, Order: placed[rnd.IntN(len(placed))]})
		default:
			s.Do(&core.DecreaseOrder{User: u, Order: placed[rnd.IntN(len(placed))], To: true, Amount: core.Qty(1 + rnd.IntN(5))})
		}
		tr.look(s)
		if n%25 == 24 { // a minute later: rounds end, others open
			now := s.Now()
			minute := now - now%int64(time.Minute) + int64(time.Minute)
			s.Skip(time.Duration(minute - now + int64(time.Second)))
			s.Tick(core.Price(6_500_000_000_000 + rnd.Int64N(1_000_000_000)))
			tr.look(s)
		}
		if n%100 == 99 {
			beat()
		}
	}
}

// trading lists the markets that take orders, and one that does not.
func trading(s *stream) []core.MarketID {
	out := []core.MarketID{venue.Slots}
	s.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for m := core.MarketID(1); m < venue.Slots; m++ {
			if slot, ok := v.Slot(m); ok && slot.Status == core.Trading {
				out = append(out, m)
			}
		}
	})
	return out
}

// onlyLong skips a test that fills real sockets until they stand still.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv("DX_LONG") == "" {
		t.Skip("waits on real sockets: DX_LONG=1 go test ./lanes/ws")
	}
}
