package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	machine "duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// streamRecorder runs a stream and records its events and errors.
type streamRecorder struct {
	*Stream
	t    *testing.T
	done chan error
	stop context.CancelFunc
	bell chan struct{} // signaled after each record

	mu          sync.Mutex
	events      []StreamEvent
	disconnects []error
}

var quick = streamTiming{minBackoff: time.Millisecond, maxBackoff: 4 * time.Millisecond, silence: time.Minute, first: time.Minute, measured: time.Hour}

// follow runs a stream until the test ends.
func follow(t *testing.T, c *Client, w streamTiming, channels ...string) *streamRecorder {
	f := &streamRecorder{t: t, done: make(chan error, 1), bell: make(chan struct{}, 1)}
	f.Stream = c.Stream(StreamOptions{Channels: channels, MarketIDs: []uint32{1}, OnEvent: f.on, OnDisconnect: f.onDisconnected, Log: slog.New(slog.DiscardHandler)})
	f.timing = w
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = cancel
	go func() { f.done <- f.Run(ctx) }()
	return f
}

func (f *streamRecorder) on(e StreamEvent) { f.note(func() { f.events = append(f.events, e) }) }
func (f *streamRecorder) onDisconnected(e error, _ time.Time) {
	f.note(func() { f.disconnects = append(f.disconnects, e) })
}

func (f *streamRecorder) note(what func()) {
	f.mu.Lock()
	what()
	f.mu.Unlock()
	select {
	case f.bell <- struct{}{}:
	default:
	}
}

// until waits until ok returns true. It checks after each record.
func (f *streamRecorder) until(what string, ok func() bool) {
	f.t.Helper()
	for end := time.After(3 * time.Minute); !ok(); {
		select {
		case <-f.bell:
		case err := <-f.done:
			f.t.Fatalf("%s: the stream ended: %v", what, err)
		case <-end:
			f.t.Fatalf("%s: timeout", what)
		}
	}
}

// ended waits for the end of the stream and requires that no goroutine of it is left.
func (f *streamRecorder) ended() error {
	f.t.Helper()
	select {
	case err := <-f.done:
		var running bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&running, 2); err != nil {
			f.t.Fatal(err)
		}
		for _, g := range strings.Split(running.String(), "\n\n") {
			if strings.Contains(g, "client.(*streamConn)") || strings.Contains(g, "client.(*Stream)") {
				f.t.Errorf("goroutine left:\n%s", g)
			}
		}
		return err
	case <-time.After(3 * time.Minute):
		f.t.Fatal("the stream does not end")
		return nil
	}
}

// messages returns seq and msg of the messages of a type.
func (f *streamRecorder) messages(typ string) (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		if e.Type == typ {
			out = append(out, fmt.Sprint(e.Seq, " ", string(e.Msg)))
		}
	}
	return out
}

// breakingConn is a connection that ends after left bytes.
type breakingConn struct {
	net.Conn
	left int
}

func (f *breakingConn) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.Conn.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// withBreakingConns sends over connections that end at random bytes.
func withBreakingConns(seed uint64) Option {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		mu.Lock()
		defer mu.Unlock()
		return &breakingConn{c, 500 + rnd.IntN(6000)}, err
	}}})
}

// eventsOf returns the venue's own events of an account, in the form of messages.
func eventsOf(h *lanetest.Server, u core.UserID, after uint64) (out []string) {
	h.Engine.Read(func(_ *machine.Venue, w *view.View) {
		list, whole := w.EventsAfter(u, after)
		if !whole {
			h.T.Fatal("the venue kept too few events")
		}
		for i := range list {
			_, msg := tools.EventOf(&list[i])
			raw, err := schemas.Append(nil, msg)
			if err != nil {
				h.T.Fatal(err)
			}
			out = append(out, fmt.Sprint(list[i].Seq, " ", string(raw)))
		}
	})
	return out
}

// agrees waits until a stream has every event once and in order, and compares its book
// and account with those of REST.
func (f *streamRecorder) agrees(h *lanetest.Server, c *Client) {
	f.t.Helper()
	f.mu.Lock()
	first := f.events[slices.IndexFunc(f.events, func(e StreamEvent) bool { return e.Type == "user_snapshot" })]
	f.mu.Unlock()
	want := eventsOf(h, 1, uint64(first.Seq))
	f.until("all events", func() bool { return len(f.messages("user")) >= len(want) })
	if got := f.messages("user"); !slices.Equal(got, want) {
		f.t.Errorf("%d events were delivered, want %d", len(got), len(want))
	}
	if n := len(f.messages("user_snapshot")); n != 1 {
		f.t.Errorf("%d snapshots of the account", n)
	}
	rest, err := c.Orderbook(f.t.Context(), schemas.GetOrderbook{MarketID: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	f.until("the book", func() bool {
		b, _, ok := f.Book(1)
		return ok && fmt.Sprint(b.Generation, b.Yes, b.No) == fmt.Sprint(rest.Generation, rest.Yes, rest.No)
	})
	a, _ := f.Account()
	if cash, err := c.Balance(f.t.Context()); err != nil || a.Cash != cash.Cash || a.Reserved != cash.Reserved {
		f.t.Errorf("%d and %d reserved, REST has %+v (%v)", a.Cash, a.Reserved, cash, err)
	}
	orders, err := c.Orders(f.t.Context(), schemas.ListOrders{Status: "resting,partially_filled"})
	if err != nil || len(a.Orders) != len(orders.Orders) {
		f.t.Errorf("%d orders, REST has %d (%v)", len(a.Orders), len(orders.Orders), err)
	}
	for _, o := range orders.Orders {
		if got := a.Orders[*o.OrderID]; got.RemainingQty != o.RemainingQty {
			f.t.Errorf("order %d: %d remain, REST has %d", *o.OrderID, got.RemainingQty, o.RemainingQty)
		}
	}
	pos, err := c.Positions(f.t.Context(), schemas.ListPositions{})
	if err != nil || len(pos.Positions) != 1 || a.Positions[1] != pos.Positions[0] {
		f.t.Errorf("%+v held, REST has %+v (%v)", a.Positions, pos.Positions, err)
	}
}

// trading starts a venue with two accounts without tight rate limits, and returns a
// function that trades between them.
func trading(t *testing.T) (h *lanetest.Server, alice *Client, trade func(from, to int)) {
	h, alice, bob := venue(t)
	h.Venue.Config.ReadRate, h.Venue.Config.WriteFloor, h.Venue.Config.WriteCap = 100_000, 10_000, 10_000
	return h, alice, func(from, to int) {
		t.Helper()
		for n := from; n < to; n++ {
			_, err := alice.PlaceOrder(t.Context(), limit(uint64(n+1), "yes", 4000+100*(n%20), 3))
			_, err2 := bob.PlaceOrder(t.Context(), limit(uint64(n+1), "no", 4000+100*(n%20), 2))
			var err3 error
			if n%10 == 9 {
				_, err3 = alice.CancelAll(t.Context(), schemas.CancelAll{})
			}
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// as returns a client of another address with the same key.
func (c *Client) as(base string, o Option) *Client {
	out := Must(New(base, c.credentials.Load().key, c.credentials.Load().secret, o))
	out.clock.Store(c.clock.Load())
	return out
}

// TestStreamOverBreaks tests a stream over connections that end within a message or
// between the events of one command: each event is delivered once and in order, and book
// and account agree with REST. A revoked key ends the stream.
func TestStreamOverBreaks(t *testing.T) {
	h, alice, trade := trading(t)
	lane := ws.Mount(h.Routes, h.Gate)
	t.Cleanup(func() { _ = lane.Close(context.Background()) })
	f := follow(t, alice.as(h.URL, withBreakingConns(7)), quick, "user", "orderbook_delta", "trades")
	f.until("the first snapshot", func() bool { _, ok := f.Account(); return ok })
	trade(0, 60)
	f.agrees(h, alice)
	if f.Disconnects() < 5 {
		t.Errorf("only %d connections ended", f.Disconnects())
	}
	h.Submit(&core.RevokeKey{User: 1})
	err := f.ended()
	var refused *Error
	if websocket.CloseStatus(err) != 4401 && (!errors.As(err, &refused) || refused.Status != 401) {
		t.Errorf("ended with %v", err)
	}
}

// switchableFront is a listener of a venue whose event lane can be closed and mounted again.
type switchableFront struct {
	h    *lanetest.Server
	mu   sync.Mutex
	edge http.Handler
	lane *ws.Lane
	*httptest.Server
}

func newFront(h *lanetest.Server) *switchableFront {
	f := &switchableFront{h: h}
	f.mount()
	f.Server = httptest.NewServer(f)
	h.T.Cleanup(func() { _ = f.lane.Close(context.Background()); f.Server.Close() })
	return f
}

func (f *switchableFront) mount() {
	routes := f.h.Gate.NewRoutes()
	lane := ws.Mount(routes, f.h.Gate)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lane, f.edge = lane, f.h.Gate.Edge(routes)
}

func (f *switchableFront) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	edge := f.edge
	f.mu.Unlock()
	edge.ServeHTTP(w, r)
}

// TestStreamOverARestart tests that a stream that was closed with 1012 and rejected while
// the venue was down reconnects and resumes, and delivers the events in between once.
func TestStreamOverARestart(t *testing.T) {
	h, alice, trade := trading(t)
	at := newFront(h)
	f := follow(t, alice.as(at.URL, WithHTTPClient(&http.Client{})), quick, "orderbook_delta", "user")
	f.until("the first snapshot", func() bool { _, ok := f.Account(); return ok })
	trade(0, 10)
	for round := range 3 {
		f.until("the stream is back", func() bool { _, _, known := f.Book(1); return known })
		if err := at.lane.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.until("the connection ended", func() bool { return f.Disconnects() > round })
		if _, _, known := f.Book(1); known {
			t.Error("a book is known between connections")
		}
		trade(10+5*round, 15+5*round)
		at.mount()
	}
	f.agrees(h, alice)
	if code := websocket.CloseStatus(f.disconnects[0]); code != websocket.StatusServiceRestart {
		t.Errorf("the connection ended with %v", f.disconnects[0])
	}
	f.stop()
	if err := f.ended(); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
}

// TestSwitchOfTheAccount tests that Account keeps the dead-man switch of the account when that of a group fires.
func TestSwitchOfTheAccount(t *testing.T) {
	var a Account
	for _, event := range []string{
		`{"event":"deadman","ts":"1","armed":true,"fired":false,"timeout_ms":5000,"deadline_ts":"9","group_id":0}`,
		`{"event":"deadman","ts":"2","armed":false,"fired":true,"timeout_ms":0,"deadline_ts":"0","group_id":7}`,
	} {
		if err := a.apply([]byte(event)); err != nil {
			t.Fatal(err)
		}
		if a.Deadman.DeadlineTs != 9 {
			t.Errorf("after %s: %+v", event, a.Deadman)
		}
	}
}
