package maker

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
)

// slow is a network on which the first placement takes its time, and comes to the venue
// also when nobody waits for its answer any more.
type slow struct {
	once sync.Once
	sent chan struct{} // it is on its way
	done chan struct{} // it has come
}

func (s *slow) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	first := false
	if strings.HasSuffix(r.URL.Path, "/orders/batch") && r.Method == http.MethodPost {
		s.once.Do(func() { first = true })
	}
	if !first {
		return http.DefaultTransport.RoundTrip(r)
	}
	go func() {
		defer close(s.done)
		close(s.sent)
		time.Sleep(300 * time.Millisecond) // the network's
		resp, err = http.DefaultTransport.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
	}()
	select {
	case <-s.done:
		return resp, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// A maker that is stopped while a placement is on its way leaves no order behind: what it
// placed last does not come to the venue after it has canceled everything.
func TestStopBehindAPlacement(t *testing.T) {
	h := bourse(t)
	k := h.Key(1, core.ScopeRead|core.ScopeTrade)
	s := &slow{sent: make(chan struct{}), done: make(chan struct{})}
	c := client.New(h.URL, k.ID, k.Secret, client.HTTP(&http.Client{Transport: s}))
	c.SetClock(time.Duration(h.Now() - time.Now().UnixNano()))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- Run(ctx, c, slog.New(slog.DiscardHandler), Options{}) }()
	<-s.sent
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	<-s.done
	h.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if n := v.Resting(); n != 0 {
			t.Errorf("%d orders are left", n)
		}
	})
}
