package client

import (
	"bytes"
	"context"
	"log/slog"
	"net"
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

// unused returns an address of this machine at which nothing listens.
func unused(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestNotExecuted checks that a request which got no connection is known as not executed, also a placement, and that
// one which was sent is not.
func TestNotExecuted(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	cut := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cut.Close()
	for _, c := range []struct {
		name, url string
		maybe     bool
	}{
		{"refused", "http://" + unused(t), false},
		{"TLS to a plain port", strings.Replace(plain.URL, "http:", "https:", 1), false},
		{"a certificate that nobody knows", secure.URL, false},
		{"another server", plain.URL, false},
		{"cut", cut.URL, true},
	} {
		for name, err := range map[string]error{
			"place":  second(Must(New(c.url, "k", make([]byte, 32), MaxAttempts(2))).PlaceOrder(t.Context(), limit(1, "yes", 5000, 1))),
			"cancel": second(Must(New(c.url, "k", make([]byte, 32), MaxAttempts(1))).Cancel(t.Context(), 1)),
		} {
			if err == nil || MayBeDone(err) != c.maybe {
				t.Errorf("%s, %s: %v may be done %v, want %v", c.name, name, err, MayBeDone(err), c.maybe)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestFirstConnection checks that a stream which gets no first connection ends with an error: at once if the server is
// no venue, else after its time.
func TestFirstConnection(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, c := range []struct {
		name, url, want string
	}{
		{"refused", "http://" + unused(t), "no stream for"},
		{"TLS to a plain port", strings.Replace(plain.URL, "http:", "https:", 1), "no stream for"},
		{"another server", plain.URL, "status 404"},
	} {
		w := quick
		w.first = 20 * time.Millisecond
		f := follow(t, Must(New(c.url, "k", make([]byte, schemas.SecretLen))), w, "trades")
		if err := f.ended(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: ended with %v, want %q", c.name, err, c.want)
		}
	}
}

// TestFirstMessage checks that a first connection is one that brings a message: a server that only accepts it, says
// nothing, or sends something else ends the stream in its time.
func TestFirstMessage(t *testing.T) {
	for name, play := range map[string]func(*scriptedConn){
		"closes":    func(s *scriptedConn) { s.closes(1000) },
		"is silent": func(s *scriptedConn) { _, _, _ = s.ws.Read(context.Background()); s.expectIdle() },
		"sends garbage": func(s *scriptedConn) {
			_ = s.ws.Write(context.Background(), websocket.MessageText, []byte("[]")) // the client may have left in time
			_, _, _ = s.ws.Read(context.Background())
			s.expectIdle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := &scriptedServer{t: t, free: make(chan struct{}), scripts: slices.Repeat([]func(*scriptedConn){play}, 10_000)}
			srv := httptest.NewServer(d)
			w := quick
			w.first = 50 * time.Millisecond
			var log bytes.Buffer
			s := Must(New(srv.URL, "k", make([]byte, schemas.SecretLen))).Stream(StreamOptions{Channels: []string{"trades"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
			s.timing = w
			err := s.Run(t.Context())
			close(d.free)
			srv.Close()
			d.open.Wait()
			if err == nil || !strings.Contains(err.Error(), "no stream for") || log.Len() > 0 {
				t.Errorf("ended with %v, and the log has %q", err, log.String())
			}
		})
	}
}

const tradesAre = `{"id":1,"type":"subscribed","msg":{"channel":"trades","sid":1}}`

// TestLostStreamIsSaid checks that the log has one line when a stream is lost and one when it is back, however many
// attempts are between, and that the callback hears of each attempt and since when.
func TestLostStreamIsSaid(t *testing.T) {
	var answers atomic.Int32
	d := &scriptedServer{t: t, free: make(chan struct{}), scripts: []func(*scriptedConn){
		func(s *scriptedConn) {
			s.expect(`{"id":1,"cmd":"subscribe","params":{"channels":["trades"],"market_ids":[1]}}`)
			s.send(tradesAre)
		},
		func(s *scriptedConn) {
			s.expect(`{"id":1,"cmd":"subscribe","params":{"channels":["trades"],"market_ids":[1]}}`)
			s.send(tradesAre)
			s.expectIdle()
		},
	}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := answers.Add(1); n > 1 && n < 5 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		d.ServeHTTP(w, r)
	}))
	var mu sync.Mutex
	var log bytes.Buffer
	var since []time.Time
	back := make(chan struct{}, 1)
	s := Must(New(srv.URL, "k", make([]byte, schemas.SecretLen))).Stream(StreamOptions{
		Channels: []string{"trades"}, MarketIDs: []uint32{1}, OnDisconnect: func(_ error, at time.Time) { since = append(since, at) },
		Log: slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if bytes.Contains(b, []byte("is back")) {
				back <- struct{}{}
			}
			return log.Write(b)
		}), nil)),
	})
	s.timing = quick
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() { close(d.free); srv.Close(); d.open.Wait() })
	<-back
	stop()
	<-done
	mu.Lock()
	defer mu.Unlock()
	text := log.String()
	if strings.Count(text, "level=WARN msg=\"the stream is lost") != 1 || strings.Count(text, "level=INFO msg=\"the stream is back\"") != 1 || !strings.Contains(text, "since=") {
		t.Errorf("the log has\n%s", text)
	}
	if len(since) != 4 || since[0] != since[3] {
		t.Errorf("the callback heard of %v, want four times the same", since)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestSilentConnectionIsAsked checks that a stream asks on a connection on which nothing arrives.
func TestSilentConnectionIsAsked(t *testing.T) {
	pings := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool {
			pings <- struct{}{}
			return true
		}})
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow() //nolint:errcheck // it may be closed already
		for err == nil {
			_, _, err = ws.Read(r.Context())
		}
	}))
	defer srv.Close()
	w := quick
	w.silence = 400 * time.Millisecond // a machine that is held up for 200 ms leaves the connection, and asks on the next
	f := follow(t, Must(New(srv.URL, "k", make([]byte, schemas.SecretLen))), w, "trades")
	for range 3 {
		<-pings
	}
	f.stop()
	if err := f.ended(); err == nil {
		t.Error("the stream ended without an error")
	}
}
