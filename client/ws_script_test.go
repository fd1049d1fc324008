package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/schemas"
)

// scriptedServer is a venue with a script for each connection.
type scriptedServer struct {
	t       *testing.T
	mu      sync.Mutex
	scripts []func(*scriptedConn)
	free    chan struct{} // closed to end connections without a script
	time    func() string // the answer to GET /v1/time; nil: none
	open    sync.WaitGroup
}

// scriptedConn is the venue's end of a connection.
type scriptedConn struct {
	t  *testing.T
	ws *websocket.Conn
}

// streamOf follows a scripted venue. Connections after the last script stay open.
func streamOf(t *testing.T, channels []string, scripts ...func(*scriptedConn)) *streamRecorder {
	d := &scriptedServer{t: t, scripts: scripts, free: make(chan struct{})}
	s := httptest.NewServer(d)
	f := follow(t, Must(New(s.URL, "k", make([]byte, schemas.SecretLen))), quick, channels...)
	t.Cleanup(func() { f.stop(); close(d.free); s.Close(); d.open.Wait() })
	return f
}

func (d *scriptedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != streamPath {
		if d.time == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, d.time())
		return
	}
	d.open.Add(1)
	defer d.open.Done()
	d.mu.Lock()
	play := func(*scriptedConn) { <-d.free }
	if len(d.scripts) > 0 {
		play, d.scripts = d.scripts[0], d.scripts[1:]
	}
	d.mu.Unlock()
	if !schemas.Verify(make([]byte, schemas.SecretLen), r.Header.Get(schemas.HeaderTimestamp), "GET", r.RequestURI, nil, r.Header.Get(schemas.HeaderSignature)) {
		d.t.Error("wrong signature")
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer ws.CloseNow() //nolint:errcheck // it may be closed already
	play(&scriptedConn{d.t, ws})
}

// expect requires that the next command is want.
func (s *scriptedConn) expect(want string) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if _, raw, err := s.ws.Read(ctx); err != nil || string(raw) != want {
		s.t.Errorf("%s, %v; want %s", raw, err, want)
	}
}

// expectIdle waits until the peer disconnects, and requires that it sends no command.
func (s *scriptedConn) expectIdle() {
	if _, raw, err := s.ws.Read(context.Background()); err == nil {
		s.t.Errorf("unexpected command %s", raw)
	}
}

func (s *scriptedConn) send(lines ...string) {
	for _, l := range lines {
		if err := s.ws.Write(context.Background(), websocket.MessageText, []byte(l)); err != nil {
			s.t.Error(err)
		}
	}
}

// closes closes the connection after the peer has read everything.
func (s *scriptedConn) closes(code websocket.StatusCode) { _ = s.ws.Close(code, "") }

const (
	subscribeBook = `{"id":1,"cmd":"subscribe","params":{"channels":["orderbook_delta"],"market_ids":[1]}}`
	subscribeUser = `{"id":1,"cmd":"subscribe","params":{"channels":["user"],"market_ids":[1]}}`
	getSnapshot   = `"cmd":"update_subscription","params":{"sid":1,"action":"get_snapshot","market_ids":[1]}}`
)

func userSince(seq string) string {
	return `{"id":1,"cmd":"subscribe","params":{"channels":["user"],"market_ids":[1],"since_seq":"` + seq + `"}}`
}

func bookAt(seq, prev, generation int, yes string) string {
	return fmt.Sprintf(`{"type":"orderbook_snapshot","sid":1,"seq":"%d","prev_seq":"%d","msg":{"market_id":1,"generation":%d,"round_number":"1","tick_size":{"name":"narrow","bands":[]},"yes":%s,"no":[]}}`, seq, prev, generation, yes)
}

func deltaAt(seq, prev, generation, tick, qty int) string {
	return fmt.Sprintf(`{"type":"orderbook_delta","sid":1,"seq":"%d","prev_seq":"%d","msg":{"market_id":1,"generation":%d,"changes":[{"outcome":"yes","tick":%d,"delta":1,"qty":%d}]}}`, seq, prev, generation, tick, qty)
}

func accountAt(seq, prev, cash int) string {
	return fmt.Sprintf(`{"type":"user_snapshot","sid":1,"seq":"%d","prev_seq":"%d","msg":{"as_of_seq":"%d","cash":"%d","reserved":"0","positions":[],"orders":[],"deadman":{"armed":false,"timeout_ms":0,"deadline_ts":"0"}}}`, seq, prev, seq, cash)
}

func balanceAt(seq, prev, cash int) string {
	return fmt.Sprintf(`{"type":"user","sid":1,"seq":"%d","prev_seq":"%d","msg":{"event":"balance","ts":"1","cash":"%d","reserved":"0","change":"1","cause":"deposit"}}`, seq, prev, cash)
}

const (
	bookIs        = `{"id":1,"type":"subscribed","msg":{"channel":"orderbook_delta","sid":1}}`
	userIs        = `{"id":1,"type":"subscribed","msg":{"channel":"user","sid":1,"resumed":false}}`
	userIsResumed = `{"id":1,"type":"subscribed","msg":{"channel":"user","sid":1,"resumed":true}}`
)

// bookIsNow waits until the book is as of seq and compares it.
func (f *streamRecorder) bookIsNow(seq schemas.U64, want string) {
	f.t.Helper()
	f.until("the book", func() bool { _, at, ok := f.Book(1); return ok && at == seq })
	if b, _, _ := f.Book(1); fmt.Sprint(b.Generation, b.Yes) != want {
		f.t.Errorf("%d %v, want %s", b.Generation, b.Yes, want)
	}
}

// TestNewGeneration tests that a snapshot begins a generation, and that a delta of a
// generation without a snapshot is a gap. The gap requests one snapshot, also when the
// request is rate limited and more deltas arrive.
func TestNewGeneration(t *testing.T) {
	f := streamOf(t, []string{"orderbook_delta"}, func(s *scriptedConn) {
		s.expect(subscribeBook)
		s.send(bookIs, bookAt(10, 0, 1, "[[4700,1]]"), bookAt(20, 10, 2, "[]"), deltaAt(21, 20, 2, 5000, 3), deltaAt(31, 21, 3, 4000, 1), deltaAt(32, 31, 3, 4100, 1))
		s.expect(`{"id":2,` + getSnapshot)
		s.send(`{"id":2,"type":"error","msg":{"code":9,"name":"rate_limited","retry_after_ms":"1"}}`)
		s.expect(`{"id":2,` + getSnapshot)
		s.send(bookAt(32, 32, 3, "[[4000,1]]"), deltaAt(33, 32, 3, 3900, 2))
		s.expectIdle()
	})
	f.bookIsNow(33, "3 [[4000 1] [3900 2]]")
	f.until("its delta", func() bool { return len(f.messages("orderbook_delta")) >= 4 })
	if n := len(f.messages("orderbook_delta")); n != 4 {
		t.Errorf("%d deltas were delivered", n)
	}
	f.stop()
	_ = f.ended()
}

// TestLateBook tests that a change of a book that is older than two seconds, by the venue's clock, makes
// the book unknown until a snapshot and is reported, and that one of an arena or of a venue whose
// clock is not known does not. The local clock is an hour behind.
func TestLateBook(t *testing.T) {
	const ahead = time.Hour
	at := func(ago time.Duration) schemas.U64 { return schemas.U64(time.Now().Add(ahead - ago).UnixNano()) }
	deltaOf := func(seq, prev, tick int, ago time.Duration) string {
		return strings.Replace(deltaAt(seq, prev, 1, tick, 1), `}]}`, fmt.Sprintf(`}],"ts":"%d"}`, at(ago)), 1)
	}
	wall := func() string { return fmt.Sprintf(`{"server_time":"%d","clock":"wall"}`, at(0)) }
	virtual := func() string { return fmt.Sprintf(`{"server_time":"%d","clock":"virtual"}`, at(0)) }
	const long = time.Minute // no machine is that slow
	for name, c := range map[string]struct {
		time  func() string
		drops bool
	}{"wall": {wall, true}, "virtual": {virtual, false}, "unknown": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			d := &scriptedServer{t: t, free: make(chan struct{}), time: c.time, scripts: []func(*scriptedConn){func(s *scriptedConn) {
				s.expect(subscribeBook)
				s.send(bookIs, bookAt(10, 0, 1, "[]"), deltaOf(11, 10, 5000, -long), deltaOf(12, 11, 4900, long), deltaOf(13, 12, 4800, long))
				if c.drops {
					s.expect(`{"id":2,` + getSnapshot)
					s.send(bookAt(13, 13, 1, "[[5000,1],[4900,1],[4800,1]]"), deltaOf(14, 13, 4700, -long))
				} else {
					s.send(deltaOf(14, 13, 4700, long))
				}
				s.expectIdle()
			}}}
			srv := httptest.NewServer(d)
			var late []time.Duration
			f := &streamRecorder{t: t, done: make(chan error, 1), bell: make(chan struct{}, 1)}
			f.Stream = Must(New(srv.URL, "k", make([]byte, schemas.SecretLen))).Stream(StreamOptions{Channels: []string{"orderbook_delta"}, MarketIDs: []uint32{1}, OnEvent: f.on, OnLate: func(market uint32, age time.Duration) {
				if _, _, known := f.Book(market); market != 1 || known {
					t.Errorf("market %d is late and known: %v", market, known)
				}
				f.note(func() { late = append(late, age) })
			}})
			f.timing = quick
			ctx, cancel := context.WithCancel(t.Context())
			f.stop = cancel
			go func() { f.done <- f.Run(ctx) }()
			t.Cleanup(func() { f.stop(); close(d.free); srv.Close(); d.open.Wait() })
			f.bookIsNow(14, "1 [[5000 1] [4900 1] [4800 1] [4700 1]]")
			f.stop()
			_ = f.ended()
			if c.drops != (len(late) == 1) || c.drops && (late[0] < long/2 || late[0] > 2*long) { // the venue's clock is known to half a round trip
				t.Errorf("late: %v", late)
			}
		})
	}
}

// TestClockWhileAStreamIsOpen tests that a clock which is wrong by now, such as after a sleep of the machine, is
// measured again before a change counts as late, once for a while.
func TestClockWhileAStreamIsOpen(t *testing.T) {
	for name, off := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			var measures atomic.Int32
			now := func() string {
				measures.Add(1)
				return fmt.Sprintf(`{"server_time":"%d","clock":"wall"}`, time.Now().UnixNano())
			}
			deltaOf := func(seq int, ago time.Duration) string {
				return strings.Replace(deltaAt(seq, seq-1, 1, 5000, seq), `}]}`, fmt.Sprintf(`}],"ts":"%d"}`, time.Now().Add(-ago).UnixNano()), 1)
			}
			change, jumped := make(chan struct{}), make(chan struct{})
			d := &scriptedServer{t: t, free: make(chan struct{}), time: now, scripts: []func(*scriptedConn){func(s *scriptedConn) {
				s.expect(subscribeBook)
				s.send(bookIs, bookAt(10, 0, 1, "[]"))
				close(change)
				<-jumped
				s.send(deltaOf(11, 0), deltaOf(12, 0))
				s.expectIdle()
			}}}
			srv := httptest.NewServer(d)
			w := quick
			w.measured = 0
			f := follow(t, Must(New(srv.URL, "k", make([]byte, schemas.SecretLen))), w, "orderbook_delta")
			t.Cleanup(func() { f.stop(); close(d.free); srv.Close(); d.open.Wait() })
			<-change
			f.bookIsNow(10, "1 []")
			before := measures.Load()
			f.client.SetClock(off)
			close(jumped)
			f.bookIsNow(12, "1 [[5000 12]]")
			if n := measures.Load() - before; n < 2 {
				t.Errorf("the clock was read %d times, want twice for a measure", n)
			}
			if got := time.Until(f.client.Now()).Abs(); got > time.Minute {
				t.Errorf("the clock is wrong by %v", got)
			}
			f.stop()
			_ = f.ended()
		})
	}
}

// TestResumeWithinACommand tests that a connection that breaks between the events of one
// command resumes before that command without repeating its events.
func TestResumeWithinACommand(t *testing.T) {
	f := streamOf(t, []string{"user"},
		func(s *scriptedConn) {
			s.expect(subscribeUser)
			s.send(userIs, accountAt(5, 0, 100), balanceAt(6, 5, 101), balanceAt(7, 6, 102), balanceAt(7, 7, 103))
			s.closes(4408)
		},
		func(s *scriptedConn) { // breaks while it replays
			s.expect(userSince("6"))
			s.send(userIsResumed, balanceAt(7, 0, 102))
			s.closes(1012)
		},
		func(s *scriptedConn) {
			s.expect(userSince("6"))
			s.send(userIsResumed, balanceAt(7, 0, 102), balanceAt(7, 7, 103), balanceAt(7, 7, 104), balanceAt(8, 7, 105))
			s.expectIdle()
		})
	f.until("the last", func() bool { a, _ := f.Account(); return a.Cash == 105 })
	f.stop()
	_ = f.ended()
	f.wants(101, 102, 103, 104, 105)
}

// TestApprovalsOfTheAccount tests that the account has what waits for the owner: of the snapshot, and of the events since.
func TestApprovalsOfTheAccount(t *testing.T) {
	row := func(id int, status string) string {
		return fmt.Sprintf(`{"approval_id":"%d","user_id":7,"agent":"bot","status":%q,"client_order_id":"1","cost":"5124"}`, id, status)
	}
	event := func(seq, prev, id int, status string) string {
		return fmt.Sprintf(`{"type":"user","sid":1,"seq":"%d","prev_seq":"%d","msg":{"event":"approval","ts":"1","approval":%s}}`, seq, prev, row(id, status))
	}
	f := streamOf(t, []string{"user"}, func(s *scriptedConn) {
		s.expect(subscribeUser)
		first := strings.Replace(accountAt(5, 0, 100), `"orders":[]`, `"orders":[],"approvals":[`+row(4, waiting)+","+row(3, waiting)+"]", 1)
		s.send(userIs, first, event(6, 5, 6, waiting), event(7, 6, 4, "placed"), event(8, 7, 9, "expired"), balanceAt(9, 8, 101))
		s.expectIdle()
	})
	f.until("the last", func() bool { a, _ := f.Account(); return a.Cash == 101 })
	a, _ := f.Account()
	if ids := slices.Sorted(maps.Keys(a.Approvals)); !slices.Equal(ids, []schemas.U64{3, 6}) || a.Approvals[6].Agent != "bot" {
		t.Errorf("what waits is %+v, want the approvals 3 and 6 of bot", a.Approvals)
	}
	delete(a.Approvals, 3)
	if again, _ := f.Account(); len(again.Approvals) != 2 {
		t.Error("a change of the copy changed the account")
	}
}

// wants compares the balances that were delivered.
func (f *streamRecorder) wants(cash ...int) {
	f.t.Helper()
	got := f.messages("user")
	if len(got) != len(cash) {
		f.t.Fatalf("%d events: %s", len(got), got)
	}
	for i, c := range cash {
		if !strings.Contains(got[i], fmt.Sprintf(`"cash":"%d"`, c)) {
			f.t.Errorf("event %d is %s, not %d", i, got[i], c)
		}
	}
}

// TestSubscribeIsLimited tests that a rate-limited subscribe is repeated on the same
// connection, and that unknown messages are ignored.
func TestSubscribeIsLimited(t *testing.T) {
	f := streamOf(t, []string{"orderbook_delta"}, func(s *scriptedConn) {
		s.expect(subscribeBook)
		s.send(`{"id":1,"type":"error","msg":{"code":9,"name":"rate_limited","retry_after_ms":"1"}}`)
		s.expect(subscribeBook)
		s.send(bookIs, `{"type":"weather","sid":9,"msg":{"sun":true}}`, bookAt(10, 0, 1, "[]"))
		s.expectIdle()
	})
	f.bookIsNow(10, "1 []")
	if n := f.Disconnects(); n != 0 {
		t.Errorf("%d breaks", n)
	}
	f.stop()
	_ = f.ended()
}

// TestLimitedAtTheEnd tests that a command that waits for tokens ends with the stream.
func TestLimitedAtTheEnd(t *testing.T) {
	f := streamOf(t, []string{"orderbook_delta"}, func(s *scriptedConn) {
		s.expect(subscribeBook)
		s.send(`{"id":1,"type":"error","msg":{"code":9,"name":"rate_limited","retry_after_ms":"3600000"}}`, bookAt(10, 0, 1, "[]"))
		s.expectIdle()
	})
	f.bookIsNow(10, "1 []")
	f.stop()
	if err := f.ended(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestFinal tests the errors after which a stream does not reconnect.
func TestFinal(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(*scriptedConn)
		ok   func(error) bool
	}{
		{"revoked", func(s *scriptedConn) { s.closes(4401) }, func(err error) bool { return websocket.CloseStatus(err) == 4401 }},
		{"rejected command", func(s *scriptedConn) {
			s.send(`{"id":1,"type":"error","msg":{"code":7,"name":"unknown_market"}}`)
			s.expectIdle()
		}, func(err error) bool { var r *CommandError; return errors.As(err, &r) && r.Code == 7 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := streamOf(t, []string{"orderbook_delta"}, func(s *scriptedConn) { s.expect(subscribeBook); c.play(s) })
			if err := f.ended(); !c.ok(err) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestNoMessage tests that a connection on which something else than a message arrives is left, like one that broke.
func TestNoMessage(t *testing.T) {
	for _, garbage := range []string{`{"type":`, `null`, `5`, `[]`, `{}`, `{"type":"trade"}`, `{"type":"trade","msg":5}`, `{"type":"user_snapshot","msg":{"cash":true}}`, `{"type":"orderbook_delta","msg":{"market_id":"x"}}`, `{"type":"error","msg":{"name":5}}`} {
		t.Run(garbage, func(t *testing.T) {
			f := streamOf(t, []string{"orderbook_delta"},
				func(s *scriptedConn) {
					s.expect(subscribeBook)
					s.send(bookIs, bookAt(10, 0, 1, "[]"), garbage)
					s.expectIdle()
				},
				func(s *scriptedConn) {
					s.expect(subscribeBook)
					s.send(bookIs, bookAt(11, 0, 1, "[]"))
					s.expectIdle()
				})
			f.bookIsNow(11, "1 []")
			f.stop()
			_ = f.ended()
			if len(f.disconnects) != 1 || !errors.Is(f.disconnects[0], errNoVenue) {
				t.Errorf("the connections ended with %v", f.disconnects)
			}
		})
	}
}

// TestHandshakeRefused tests that temporary errors of the handshake are retried and that
// a permanent one ends the stream.
func TestHandshakeRefused(t *testing.T) {
	s := &script{t: t, answers: []string{"too_many_connections", "rate_limited", "draining", "lost", "missing_scope"}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	fresh := WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}) // net/http would repeat a request on a reused connection
	f := follow(t, Must(New(srv.URL, "k", make([]byte, schemas.SecretLen), fresh)), quick, "trades")
	err := f.ended()
	var e *Error
	if !errors.As(err, &e) || e.Code != "missing_scope" || e.RequestID != "r-1" {
		t.Errorf("ended with %v", err)
	}
	got, _ := s.seen()
	if want := slices.Repeat([]string{"GET " + streamPath}, 5); !slices.Equal(got, want) {
		t.Errorf("the venue gets %v, want %v", got, want)
	}
	if len(f.disconnects) != 4 || f.Disconnects() != 0 {
		t.Errorf("%d attempts failed, %d connections ended", len(f.disconnects), f.Disconnects())
	}
}

// TestSilence tests that a connection without messages and pings ends.
func TestSilence(t *testing.T) {
	d := &scriptedServer{t: t, free: make(chan struct{})}
	srv := httptest.NewServer(d)
	w := quick
	w.silence = 10 * time.Millisecond
	f := follow(t, Must(New(srv.URL, "k", make([]byte, schemas.SecretLen))), w, "trades")
	t.Cleanup(func() { f.stop(); close(d.free); srv.Close(); d.open.Wait() })
	f.until("it broke", func() bool { return f.Disconnects() > 2 })
	f.stop()
	if err := f.ended(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
