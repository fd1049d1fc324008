package adapter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/adapter/adaptertest"
)

const anywhere = "ws://venue.test/"

// inBubble runs a test and its server in virtual time. A synctest bubble fails if a
// goroutine is left at its end, so each of these tests also checks that Run leaves none.
func inBubble(t *testing.T, do func(ctx context.Context, c *websocket.Conn), test func(t *testing.T, o Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o, stop := venue(do)
		defer stop()
		test(t, o)
	})
}

func TestWebSocketEnds(t *testing.T) {
	// talk sends one word a second.
	talk := func(words ...string) func(context.Context, *websocket.Conn) {
		return func(ctx context.Context, c *websocket.Conn) {
			for _, w := range words {
				time.Sleep(time.Second)
				say(ctx, c, w)
			}
			<-ctx.Done()
		}
	}
	const within = -1 // no exact time: the library performs the closing handshake first
	for _, c := range []struct {
		story  string
		server func(context.Context, *websocket.Conn)
		want   error
		after  time.Duration
		prices string
	}{
		{"silence from the start", hang, ErrStalled, 10 * time.Second, "[]"},
		{"silence after a price", talk("12345", "123"), ErrStalled, 12 * time.Second, "[5 3]"},
		{"the venue requests a new connection", talk("1", "again", "22"), ErrReconnectRequested, 2 * time.Second, "[1]"},
		{"the venue rejects the subscription", talk("no"), ErrRejected, time.Second, "[]"},
		{"a heartbeat resets the stall timer", talk("beat", "beat", "beat"), ErrStalled, 13 * time.Second, "[]"},
		{"a message that arrives byte by byte", func(ctx context.Context, c *websocket.Conn) {
			w, err := c.Writer(ctx, websocket.MessageText)
			for err == nil {
				_, err = w.Write([]byte("1"))
				time.Sleep(time.Second)
			}
		}, ErrStalled, 10 * time.Second, "[]"},
		{"a message above the limit", talk("1", strings.Repeat("1", 1001), "1"), websocket.ErrMessageTooBig, within, "[1]"},
		{"a message at the limit", talk(strings.Repeat("1", 1000)), ErrStalled, 11 * time.Second, "[1000]"},
	} {
		t.Run(c.story, func(t *testing.T) {
			inBubble(t, func(ctx context.Context, conn *websocket.Conn) {
				if _, hello, err := conn.Read(ctx); err != nil || string(hello) != "hello" {
					t.Errorf("the first message is %q, %v, want hello", hello, err)
				}
				c.server(ctx, conn)
			}, func(t *testing.T, o Options) {
				var got caught
				start := time.Now()
				err := New(plain(anywhere), o).Run(t.Context(), got.out)
				if took := time.Since(start); !errors.Is(err, c.want) || c.after != within && took != c.after || took > 2*stallTimeout || fmt.Sprint(got.prices) != c.prices {
					t.Errorf("%v after %s, prices %v", err, took, got.prices)
				}
			})
		})
	}
}

// TestHalfOpenBeforeTheHandshake connects to a server that never answers.
func TestHalfOpenBeforeTheHandshake(t *testing.T) {
	for _, c := range []struct {
		url   string
		want  error
		after time.Duration
	}{{anywhere, context.DeadlineExceeded, dialTimeout}, {stream, ErrStalled, stallTimeout}} {
		synctest.Test(t, func(t *testing.T) {
			transport, stop := adaptertest.ServeNothing()
			defer stop()
			start := time.Now()
			l := New(plain(c.url), Options{HTTP: transport})
			err := l.Run(t.Context(), nil)
			if took := time.Since(start); !errors.Is(err, c.want) || took != c.after || l.Counts() != (feeds.Counts{}) {
				t.Errorf("%s: %v after %s", c.url, err, took)
			}
		})
	}
}

// TestHalfOpenAfterTheHandshake connects to a server that stops reading, so that the
// subscription cannot be sent.
func TestHalfOpenAfterTheHandshake(t *testing.T) {
	inBubble(t, hang, func(t *testing.T, o Options) {
		start := time.Now()
		err := New(plain(anywhere), o).Run(t.Context(), nil)
		if took := time.Since(start); !errors.Is(err, ErrStalled) || took != stallTimeout {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestConnectionEndsWithinADay(t *testing.T) {
	inBubble(t, func(ctx context.Context, c *websocket.Conn) {
		for say(ctx, c, "beat") {
			time.Sleep(9 * time.Second)
		}
	}, func(t *testing.T, o Options) {
		start := time.Now()
		codec := plain(anywhere)
		codec.Subscribe = ""
		err := New(codec, o).Run(t.Context(), nil)
		if took := time.Since(start); !errors.Is(err, ErrMaxAge) || took < maxConnectionAge || took >= 24*time.Hour {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// TestHeartbeats checks that heartbeats keep a connection to a quiet venue alive.
func TestHeartbeats(t *testing.T) {
	inBubble(t, func(ctx context.Context, c *websocket.Conn) {
		for range 10 {
			_, text, err := c.Read(ctx)
			if err != nil || string(text) != "beat" && string(text) != "hello" {
				t.Errorf("the message is %q, %v, want a heartbeat or hello", text, err)
			}
			say(ctx, c, "beat")
		}
		<-ctx.Done()
	}, func(t *testing.T, o Options) {
		start := time.Now()
		codec := plain(anywhere)
		codec.Heartbeat = "beat"
		l := New(codec, o)
		err := l.Run(t.Context(), nil)
		if took := time.Since(start); !errors.Is(err, ErrStalled) || took != 9*heartbeatInterval+stallTimeout || l.Counts().Messages != 10 {
			t.Errorf("%v after %s, %+v", err, took, l.Counts())
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, hello := range []string{"", "hello"} { // during a read, or during a blocked write
		inBubble(t, hang, func(t *testing.T, o Options) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			codec := plain(anywhere)
			codec.Subscribe, codec.Heartbeat = hello, "beat"
			start := time.Now()
			err := New(codec, o).Run(ctx, nil)
			if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
				t.Errorf("%v after %s", err, took)
			}
		})
	}
}

func TestTooManyDropsEndTheConnection(t *testing.T) {
	inBubble(t, func(ctx context.Context, c *websocket.Conn) {
		for range maxConsecutiveDrops - 1 {
			say(ctx, c, "junk")
		}
		say(ctx, c, "1")
		for say(ctx, c, "junk") {
		}
	}, func(t *testing.T, o Options) {
		codec := plain(anywhere)
		codec.Subscribe = ""
		l := New(codec, o)
		err := l.Run(t.Context(), new(caught).out)
		if h := l.Counts(); !errors.Is(err, ErrTooManyDrops) || h.Messages != 2*maxConsecutiveDrops || h.Values[feeds.Garbled] != 2*maxConsecutiveDrops-1 || h.Values[feeds.NotDropped] != 1 {
			t.Errorf("the connection ends with %v and counts %+v, want ErrTooManyDrops, one price and garbled messages", err, h)
		}
	})
}

// TestPosterReconnects checks that a Poster reconnects and resubscribes after a cut, and
// waits longer after each run without a price.
func TestPosterReconnects(t *testing.T) {
	var hellos []time.Duration
	start := time.Time{}
	inBubble(t, func(ctx context.Context, c *websocket.Conn) {
		if _, _, err := c.Read(ctx); err != nil {
			return
		}
		hellos = append(hellos, time.Since(start))
		if len(hellos) <= 3 {
			say(ctx, c, "12345")
			return // cut
		}
	}, func(t *testing.T, o Options) {
		start = time.Now()
		l := New(plain(anywhere), o)
		p, err := feeds.NewPoster(func(context.Context, core.Command) error { return nil }, l)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p.Run(ctx)
		s := p.States()[0]
		if s.Reconnects() != uint64(len(hellos))-1 || s.Source.Counts[0] != 3 || s.Counts.Messages != 3 || s.Counts.Values[feeds.NotDropped] != 3 {
			t.Errorf("%+v, %d subscriptions", s, len(hellos))
		}
		// Three waits of at most 0.5 s, then of at most 1, 2, 4, 8, 16 and 30 s, each at
		// least half of that.
		if n := len(hellos); n < 7 || n > 11 {
			t.Errorf("%d subscriptions in a minute: %v", n, hellos)
		}
		for i := 1; i < len(hellos); i++ {
			wait := 500 * time.Millisecond << max(0, i-3)
			if got := hellos[i] - hellos[i-1]; got < min(wait, 30*time.Second)/2 || got > wait {
				t.Errorf("wait %d was %s, want %s at most", i, got, wait)
			}
		}
	})
}

// TestTLSError connects to a server with an untrusted certificate, and to one without TLS.
func TestTLSError(t *testing.T) {
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the server received a request") })
	s, unencrypted := httptest.NewUnstartedServer(handler), httptest.NewServer(handler)
	defer unencrypted.Close()
	s.Config.ErrorLog = quiet
	s.StartTLS()
	defer s.Close()
	for _, scheme := range []string{"wss", "https"} {
		for url, want := range map[string]string{s.URL: "certificate", unencrypted.URL: "HTTP response to HTTPS client"} {
			_, address, _ := strings.Cut(url, ":")
			l := New(plain(scheme+":"+address), Options{})
			if err := l.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) || l.Counts() != (feeds.Counts{}) {
				t.Errorf("%s: %v, want %s", scheme, err, want)
			}
		}
	}
}

// TestDialErrors dials a server that rejects the handshake, one that redirects, and a
// port without a listener.
func TestDialErrors(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		if r.URL.Path != "/" {
			t.Errorf("unexpected request of %s", r.URL.Path)
		}
		http.Error(w, "forbidden", http.StatusForbidden)
	}))
	defer s.Close()
	for _, c := range []struct{ url, want string }{
		{s.URL + "/", "403"},
		{s.URL + "/moved", "302"},
		{"http://127.0.0.1:1/", "refused"},
	} {
		for _, scheme := range []string{"ws", "http"} {
			url := strings.Replace(c.url, "http", scheme, 1)
			err := New(plain(url), Options{}).Run(t.Context(), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", url, err, c.want)
			}
		}
	}
}
