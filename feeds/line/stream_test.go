package line

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
)

var quiet = log.New(io.Discard, "", 0)

const stream = "http://venue.test/prices"

// tell sends text at once.
func tell(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text) // the reader may be gone
	w.(http.Flusher).Flush()
}

func TestHowAStreamEnds(t *testing.T) {
	slowly := func(parts ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			tell(w, "")
			for _, p := range parts {
				time.Sleep(time.Second)
				tell(w, p)
			}
			if parts[len(parts)-1] != "" {
				<-r.Context().Done()
			}
		}
	}
	for _, c := range []struct {
		story  string
		server http.HandlerFunc
		want   error
		after  time.Duration
		prices string
	}{
		{"events of all shapes", slowly(": hello\n\n", "event: price\nid: 7\ndata:12345\n\n", "data: 123\r\n\r\n", "data:1\ndata:1\n\n", "data\nother:1\n\n"), ErrStalled, 15 * time.Second, "[5 3 3]"},
		{"silence from the start, but for half a line", slowly("data:"), ErrStalled, 10 * time.Second, "[]"},
		{"no answer at all", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrStalled, 10 * time.Second, "[]"},
		{"comments are a sign of life", slowly(":\n", ":\n", ":\n", ":\n"), ErrStalled, 14 * time.Second, "[]"},
		{"half an event is none", slowly("data:1\n\n", "data:22\n", ""), io.EOF, 3 * time.Second, "[1]"},
		{"a new connection is asked for", slowly("data:1\n\ndata:again\n\ndata:1\n\n"), ErrAsked, time.Second, "[1]"},
		{"refused", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no key", http.StatusUnauthorized) }, ErrRefused, 0, "[]"},
		{"a line too long", slowly("data:1\n\n", "data:"+strings.Repeat("1", 2000)+"\n\n"), bufio.ErrTooLong, 2 * time.Second, "[1]"},
		{"many lines too long", slowly(strings.Repeat("data:"+strings.Repeat("1", 300)+"\n", 4) + "\n"), bufio.ErrTooLong, time.Second, "[]"},
		{"cut amid a line", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			tell(w, "data:1\n\ndata:1")
		}, io.ErrUnexpectedEOF, 0, "[1]"},
	} {
		t.Run(c.story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, stop := served(c.server)
				defer stop()
				var got caught
				begun := time.Now()
				err := New(plain(stream), o).Run(t.Context(), got.out)
				if took := time.Since(begun); !errors.Is(err, c.want) || took != c.after || fmt.Sprint(got.prices) != c.prices {
					t.Errorf("%v after %s, prices %v", err, took, got.prices)
				}
			})
		})
	}
}

func TestStreamShowsItsKeyToTheVenueAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, stop := served(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sesame" || r.Header.Get("Accept") != "text/event-stream" || r.URL.Path != "/prices" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusTemporaryRedirect)
		})
		defer stop()
		talk := plain(stream)
		talk.Header = http.Header{"Authorization": {"Bearer sesame"}}
		err := New(talk, o).Run(t.Context(), nil)
		if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), "sesame") {
			t.Error(err)
		}
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, stop := served(func(w http.ResponseWriter, r *http.Request) {
			tell(w, "data:1\n\n")
			<-r.Context().Done()
		})
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var got caught
		if err := New(plain(stream), o).Run(ctx, got.out); !errors.Is(err, context.DeadlineExceeded) || len(got.prices) != 1 {
			t.Errorf("%v, %v", err, got.prices)
		}
	})
}

// Over TLS, in whichever version of HTTP they agree on.
func TestStreamOverTLS(t *testing.T) {
	for _, two := range []bool{false, true} {
		before := runtime.NumGoroutine()
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoAtLeast(2, 0) != two {
				t.Error(r.Proto)
			}
			tell(w, "data:123\n\n")
			<-r.Context().Done()
		}))
		s.EnableHTTP2 = two
		s.StartTLS()
		trusted := x509.NewCertPool()
		trusted.AddCert(s.Certificate())
		ctx, cancel := context.WithCancel(t.Context())
		l := New(plain(s.URL), Options{HTTP: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: two, DisableKeepAlives: true}})
		var got caught
		err := l.Run(ctx, func(p core.Price, at time.Time) { got.out(p, at); cancel() })
		s.Close()
		if !errors.Is(err, context.Canceled) || fmt.Sprint(got.prices) != "[3]" {
			t.Errorf("%v, %v", err, got.prices)
		}
		for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines left", runtime.NumGoroutine()-before)
			}
		}
	}
}
