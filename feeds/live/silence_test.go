package live

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/feeds"
	"duplex/feeds/line"
	"duplex/feeds/line/linetest"
)

// silent is a venue that sends one price and then nothing, and reads nothing.
func silent(ctx context.Context, v voice, begun time.Time) http.HandlerFunc {
	frame := v.price("100", begun, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		if v.hello == "" {
			_, _ = io.WriteString(w, "data:"+frame+"\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		if _, _, err := c.Read(r.Context()); err != nil {
			return
		}
		_ = c.Write(r.Context(), websocket.MessageText, []byte(frame)) // the reader has hung up
		<-ctx.Done()
	}
}

// A venue falls silent amid a connection, or its end of the socket is gone: after
// 10 s it is given up. A bubble that ends also shows that nothing is left running.
func TestStall(t *testing.T) {
	for name, v := range voices {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				way, stop := linetest.Serve(silent(ctx, v, begun))
				defer stop()
				defer cancel()
				prices := 0
				l := line.New(v.talk("ws://venue.test"), line.Options{HTTP: way})
				err := l.Run(t.Context(), func(core.Price, time.Time) { prices++ })
				if took := time.Since(begun); !errors.Is(err, line.ErrStalled) || took != 10*time.Second || prices != 1 {
					t.Errorf("%v after %s, %d prices", err, took, prices)
				}
			})
		})
	}
}

func TestHalfOpen(t *testing.T) {
	for name, v := range voices {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way, stop := linetest.Deaf()
				defer stop()
				begun := time.Now()
				l := line.New(v.talk("ws://venue.test"), line.Options{HTTP: way})
				err := l.Run(t.Context(), nil)
				if took := time.Since(begun); err == nil || took != 10*time.Second || l.Heard() != (feeds.Heard{}) {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// A certificate that nobody vouches for, and a server that speaks no TLS at all.
func TestTLSError(t *testing.T) {
	eachVenue(t, func(t *testing.T, v voice) {
		asked := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
		s := httptest.NewUnstartedServer(asked)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		defer s.Close()
		plain := httptest.NewServer(asked)
		defer plain.Close()
		for _, c := range []struct{ url, want string }{{s.URL, "certificate"}, {strings.Replace(plain.URL, "http", "https", 1), "HTTP response to HTTPS client"}} {
			talk := v.talk(c.url)
			l := line.New(talk, line.Options{HTTP: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}})
			if err := l.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) || l.Heard() != (feeds.Heard{}) {
				t.Errorf("%v, want %s", err, c.want)
			}
		}
	})
}
