package live

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/feeds/adapter"
	"duplex/feeds/adapter/adaptertest"
)

// silent handles a connection by sending one price and then neither reading nor writing.
func silent(ctx context.Context, v venueScript, start time.Time) http.HandlerFunc {
	frame := v.price("100", start, 1)
	return func(w http.ResponseWriter, r *http.Request) {
		if v.subscribe == "" {
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
		_ = c.Write(r.Context(), websocket.MessageText, []byte(frame)) // fails if the client has disconnected
		<-ctx.Done()
	}
}

// TestStall checks that a connection ends 10 s after the last message of its venue. The
// synctest bubble also checks that no goroutine is left.
func TestStall(t *testing.T) {
	for name, v := range venueScripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				transport, stop := adaptertest.Serve(silent(ctx, v, start))
				defer stop()
				defer cancel()
				prices := 0
				l := adapter.New(v.codec("ws://venue.test"), adapter.Options{HTTP: transport})
				err := l.Run(t.Context(), func(core.Price, time.Time) { prices++ })
				if took := time.Since(start); !errors.Is(err, adapter.ErrStalled) || took != 10*time.Second || prices != 1 {
					t.Errorf("%v after %s, %d prices", err, took, prices)
				}
			})
		})
	}
}
