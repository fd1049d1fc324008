package line

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line/linetest"
)

const anywhere = "ws://venue.test/"

// A bubble of synctest panics when anything is left running in it at the end, so
// each of these tests also shows that a Run leaves nothing behind.
func inTime(t *testing.T, do func(ctx context.Context, c *websocket.Conn), test func(t *testing.T, o Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o, stop := venue(do)
		defer stop()
		test(t, o)
	})
}

func TestHowAConnectionEnds(t *testing.T) {
	// talk says each word a second after the one before.
	talk := func(words ...string) func(context.Context, *websocket.Conn) {
		return func(ctx context.Context, c *websocket.Conn) {
			for _, w := range words {
				time.Sleep(time.Second)
				say(ctx, c, w)
			}
			<-ctx.Done()
		}
	}
	const within = -1 // some bounded time: the library says goodbye first
	for _, c := range []struct {
		story  string
		server func(context.Context, *websocket.Conn)
		want   error
		after  time.Duration
		prices string
	}{
		{"silence from the start", hang, ErrStalled, 10 * time.Second, "[]"},
		{"silence after a price", talk("12345", "123"), ErrStalled, 12 * time.Second, "[5 3]"},
		{"a new connection is asked for", talk("1", "again", "22"), ErrAsked, 2 * time.Second, "[1]"},
		{"the subscription is refused", talk("no"), ErrRefused, time.Second, "[]"},
		{"a heartbeat is a sign of life", talk("beat", "beat", "beat"), ErrStalled, 13 * time.Second, "[]"},
		{"a message that trickles is none", func(ctx context.Context, c *websocket.Conn) {
			w, err := c.Writer(ctx, websocket.MessageText)
			for err == nil {
				_, err = w.Write([]byte("1"))
				time.Sleep(time.Second)
			}
		}, ErrStalled, 10 * time.Second, "[]"},
		{"one too long", talk("1", strings.Repeat("1", 1001), "1"), websocket.ErrMessageTooBig, within, "[1]"},
		{"just short enough", talk(strings.Repeat("1", 1000)), ErrStalled, 11 * time.Second, "[1000]"},
	} {
		t.Run(c.story, func(t *testing.T) {
			inTime(t, func(ctx context.Context, conn *websocket.Conn) {
				if _, hello, err := conn.Read(ctx); err != nil || string(hello) != "hello" {
					t.Errorf("%q, %v", hello, err)
				}
				c.server(ctx, conn)
			}, func(t *testing.T, o Options) {
				var got caught
				begun := time.Now()
				err := New(plain(anywhere), o).Run(t.Context(), got.out)
				if took := time.Since(begun); !errors.Is(err, c.want) || c.after != within && took != c.after || took > 2*stall || fmt.Sprint(got.prices) != c.prices {
					t.Errorf("%v after %s, prices %v", err, took, got.prices)
				}
			})
		})
	}
}

// A server that takes the connection and never answers.
func TestHalfOpenBeforeTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way, stop := linetest.Deaf()
		defer stop()
		begun := time.Now()
		o := Options{HTTP: way}
		err := New(plain(anywhere), o).Run(t.Context(), nil)
		if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != dialTime {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// A socket whose other end is gone without a word: not even the greeting gets out.
func TestHalfOpenAfterTheHandshake(t *testing.T) {
	inTime(t, hang, func(t *testing.T, o Options) {
		begun := time.Now()
		err := New(plain(anywhere), o).Run(t.Context(), nil)
		if took := time.Since(begun); !errors.Is(err, ErrStalled) || took != stall {
			t.Errorf("%v after %s", err, took)
		}
	})
}

func TestConnectionHasItsDay(t *testing.T) {
	inTime(t, func(ctx context.Context, c *websocket.Conn) {
		for say(ctx, c, "beat") {
			time.Sleep(9 * time.Second)
		}
	}, func(t *testing.T, o Options) {
		begun := time.Now()
		talk := plain(anywhere)
		talk.Hello = ""
		err := New(talk, o).Run(t.Context(), nil)
		if took := time.Since(begun); !errors.Is(err, ErrAged) || took < life || took >= 24*time.Hour {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// Where a venue says nothing between prices, asking it does.
func TestBeat(t *testing.T) {
	inTime(t, func(ctx context.Context, c *websocket.Conn) {
		for range 10 {
			_, text, err := c.Read(ctx)
			if err != nil || string(text) != "beat" && string(text) != "hello" {
				t.Errorf("%q, %v", text, err)
			}
			say(ctx, c, "beat")
		}
		<-ctx.Done()
	}, func(t *testing.T, o Options) {
		begun := time.Now()
		talk := plain(anywhere)
		talk.Beat = "beat"
		l := New(talk, o)
		err := l.Run(t.Context(), nil)
		if took := time.Since(begun); !errors.Is(err, ErrStalled) || took != 9*beatTime+stall || l.Heard().Messages != 10 {
			t.Errorf("%v after %s, %+v", err, took, l.Heard())
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	for _, hello := range []string{"", "hello"} { // amid a read, or a write nobody takes
		inTime(t, hang, func(t *testing.T, o Options) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			talk := plain(anywhere)
			talk.Hello, talk.Beat = hello, "beat"
			begun := time.Now()
			err := New(talk, o).Run(ctx, nil)
			if took := time.Since(begun); !errors.Is(err, context.DeadlineExceeded) || took != 3*time.Second {
				t.Errorf("%v after %s", err, took)
			}
		})
	}
}

func TestNothingButGarbageEndsIt(t *testing.T) {
	inTime(t, func(ctx context.Context, c *websocket.Conn) {
		for range patience - 1 {
			say(ctx, c, "junk")
		}
		say(ctx, c, "1")
		for say(ctx, c, "junk") {
		}
	}, func(t *testing.T, o Options) {
		talk := plain(anywhere)
		talk.Hello = ""
		l := New(talk, o)
		err := l.Run(t.Context(), new(caught).out)
		if h := l.Heard(); !errors.Is(err, ErrGarbage) || h.Messages != 2*patience || h.Values[feeds.Garbled] != 2*patience-1 || h.Values[feeds.Sound] != 1 {
			t.Errorf("%v, %+v", err, h)
		}
	})
}

// With a Poster: what is cut comes back, subscribes anew, and waits longer each
// time that it brings nothing.
func TestCutAndResubscribed(t *testing.T) {
	var hellos []time.Duration
	begun := time.Time{}
	inTime(t, func(ctx context.Context, c *websocket.Conn) {
		if _, _, err := c.Read(ctx); err != nil {
			return
		}
		hellos = append(hellos, time.Since(begun))
		if len(hellos) <= 3 {
			say(ctx, c, "12345")
			return // cut
		}
	}, func(t *testing.T, o Options) {
		begun = time.Now()
		l := New(plain(anywhere), o)
		p, err := feeds.NewPoster(func(context.Context, core.Command) error { return nil }, l)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p.Run(ctx)
		s := p.States()[0]
		if s.Reconnects() != uint64(len(hellos))-1 || s.Source.Counts[0] != 3 || s.Heard.Messages != 3 || s.Heard.Values[feeds.Sound] != 3 {
			t.Errorf("%+v, %d greetings", s, len(hellos))
		}
		// Three waits of at most 0.5 s, then of 1, 2, 4, 8, 16, 30 at most and half of
		// that at least.
		if n := len(hellos); n < 7 || n > 11 {
			t.Errorf("%d greetings in a minute: %v", n, hellos)
		}
		for i := 1; i < len(hellos); i++ {
			wait := 500 * time.Millisecond << max(0, i-3)
			if got := hellos[i] - hellos[i-1]; got < min(wait, 30*time.Second)/2 || got > wait {
				t.Errorf("wait %d was %s, want %s at most", i, got, wait)
			}
		}
	})
}

// A certificate nobody vouches for: no frame is read, no price comes.
func TestTLSError(t *testing.T) {
	asked := false
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	s.Config.ErrorLog = quiet
	s.StartTLS()
	defer s.Close()
	for _, scheme := range []string{"wss", "https"} {
		l := New(plain(strings.Replace(s.URL, "https", scheme, 1)), Options{})
		err := l.Run(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "certificate") || asked || l.Heard().Messages != 0 {
			t.Errorf("%s: %v", scheme, err)
		}
	}
}

// Nobody listens; the handshake is refused; the address is another one.
func TestNoVenue(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		if r.URL.Path != "/" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		http.Error(w, "forbidden", http.StatusForbidden)
	}))
	defer s.Close()
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	for _, c := range []struct{ url, want string }{
		{s.URL + "/", "403"},
		{s.URL + "/moved", "302"},
		{"http://" + dead.Addr().String() + "/", "refused"},
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
