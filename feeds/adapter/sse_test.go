package adapter

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

// send writes text and flushes it.
func send(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text) // the reader may be gone
	w.(http.Flusher).Flush()
}

func TestEventStreamEnds(t *testing.T) {
	slowly := func(parts ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			send(w, "")
			for _, p := range parts {
				time.Sleep(time.Second)
				send(w, p)
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
		{"half a line, then silence", slowly("data:"), ErrStalled, 10 * time.Second, "[]"},
		{"no answer at all", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrStalled, 10 * time.Second, "[]"},
		{"comments reset the stall timer", slowly(":\n", ":\n", ":\n", ":\n"), ErrStalled, 14 * time.Second, "[]"},
		{"an incomplete event is dropped", slowly("data:1\n\n", "data:22\n", ""), io.EOF, 3 * time.Second, "[1]"},
		{"the venue requests a new connection", slowly("data:1\n\ndata:again\n\ndata:1\n\n"), ErrReconnectRequested, time.Second, "[1]"},
		{"the venue rejects the request", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no key", http.StatusUnauthorized) }, ErrRejected, 0, "[]"},
		{"a line too long", slowly("data:1\n\n", "data:"+strings.Repeat("1", 2000)+"\n\n"), bufio.ErrTooLong, 2 * time.Second, "[1]"},
		{"many lines too long", slowly(strings.Repeat("data:"+strings.Repeat("1", 300)+"\n", 4) + "\n"), bufio.ErrTooLong, time.Second, "[]"},
		{"the stream ends within a line", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			send(w, "data:1\n\ndata:1")
		}, io.ErrUnexpectedEOF, 0, "[1]"},
	} {
		t.Run(c.story, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, stop := served(c.server)
				defer stop()
				var got caught
				start := time.Now()
				err := New(plain(stream), o).Run(t.Context(), got.out)
				if took := time.Since(start); !errors.Is(err, c.want) || took != c.after || fmt.Sprint(got.prices) != c.prices {
					t.Errorf("%v after %s, prices %v", err, took, got.prices)
				}
			})
		})
	}
}

func TestEventStreamSendsItsKeyOnlyToTheVenue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, stop := served(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sesame" || r.Header.Get("Accept") != "text/event-stream" || r.URL.Path != "/prices" {
				t.Errorf("the request is %s with %v, want the key, an event stream, and /prices", r.URL, r.Header)
			}
			http.Redirect(w, r, "http://elsewhere.test/", http.StatusTemporaryRedirect)
		})
		defer stop()
		codec := plain(stream)
		codec.Header = http.Header{"Authorization": {"Bearer sesame"}}
		err := New(codec, o).Run(t.Context(), nil)
		if !errors.Is(err, ErrRejected) || strings.Contains(err.Error(), "sesame") {
			t.Error(err)
		}
	})
}

func TestEventStreamEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, stop := served(func(w http.ResponseWriter, r *http.Request) {
			send(w, "data:1\n\n")
			<-r.Context().Done()
		})
		defer stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var got caught
		if err := New(plain(stream), o).Run(ctx, got.out); !errors.Is(err, context.DeadlineExceeded) || len(got.prices) != 1 {
			t.Errorf("the stream ends with %v and prices %v, want DeadlineExceeded and one price", err, got.prices)
		}
	})
}

// TestEventStreamOverTLS reads a stream over TLS by HTTP/1.1 and HTTP/2.
func TestEventStreamOverTLS(t *testing.T) {
	for _, two := range []bool{false, true} {
		before := runtime.NumGoroutine()
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoAtLeast(2, 0) != two {
				t.Error(r.Proto)
			}
			send(w, "data:123\n\n")
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
			t.Errorf("the stream ends with %v and prices %v, want Canceled and the price 3", err, got.prices)
		}
		for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%d goroutines left", runtime.NumGoroutine()-before)
			}
		}
	}
}
