package maker

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core/venue"
	"duplex/core/view"
)

// slow is a transport that delays the first placement and delivers it even if the client
// has stopped waiting for the response.
type slow struct {
	transport http.RoundTripper
	once      sync.Once
	sent      chan struct{} // closed when the placement is sent
	done      chan struct{} // closed when the venue has responded
}

func (s *slow) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	first := false
	if strings.HasSuffix(r.URL.Path, "/portfolio/quotes") {
		s.once.Do(func() { first = true })
	}
	if !first {
		return s.transport.RoundTrip(r)
	}
	go func() {
		defer close(s.done)
		close(s.sent)
		time.Sleep(300 * time.Millisecond) // the delay of the network
		resp, err = s.transport.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	}()
	select {
	case <-s.done:
		return resp, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestStopDuringAPlacement stops the maker while a placement is under way and checks that
// no order is left: the placement must not arrive after the cancel-all.
func TestStopDuringAPlacement(t *testing.T) { synctest.Test(t, testStopDuringAPlacement) }

func testStopDuringAPlacement(t *testing.T) {
	h := newVenue(t)
	s := &slow{transport: h.Transport, sent: make(chan struct{}), done: make(chan struct{})}
	stop := run(t, h, s, Options{})
	<-s.sent
	stop()
	<-s.done
	h.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if n := v.Resting(); n != 0 {
			t.Errorf("%d orders are left", n)
		}
	})
}
