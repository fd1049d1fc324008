package client

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"duplex/schemas"
)

// TestWrongClockOfSeveralCalls tests that calls which were signed before the first 401 came are all signed again.
func TestWrongClockOfSeveralCalls(t *testing.T) {
	const calls = 8
	var first sync.WaitGroup // all have been sent with the wrong clock
	first.Add(calls)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ms, err := strconv.ParseInt(r.Header.Get(schemas.HeaderTimestamp), 10, 64)
		if err != nil {
			t.Error(err)
		}
		if time.Since(time.UnixMilli(ms)).Abs() < 30*time.Minute {
			_, _ = w.Write([]byte(`{"server_time":"1"}`))
			return
		}
		first.Done()
		first.Wait()
		b, _ := schemas.Append(nil, schemas.ErrorBody{Error: schemas.ErrorOf("unauthorized")})
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write(b)
	}))
	defer srv.Close()
	c := Must(New(srv.URL, "k", make([]byte, schemas.SecretLen)))
	c.SetClock(time.Hour)
	errs := make(chan error)
	for range calls {
		go func() { _, err := c.Time(context.Background()); errs <- err }()
	}
	for range calls {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestNowIsMonotonic tests that the venue's time goes on by the monotonic clock: it has no reading of the wall clock
// that could be compared with another one.
func TestNowIsMonotonic(t *testing.T) {
	c := Must(New("http://127.0.0.1:1", "k", nil))
	c.SetClock(time.Hour)
	m := *c.clock.Load()
	if m.venue != m.venue.Round(0) || m.local == m.local.Round(0) {
		t.Errorf("the anchor is %#v, want the venue's time without, and the local one with a monotonic clock", m)
	}
	m.local = m.local.Add(-time.Minute)
	c.clock.Store(&m)
	if got := time.Until(c.Now().Add(-time.Hour)); got < 59*time.Second || got > 2*time.Minute {
		t.Errorf("a minute after the anchor the time is %v later", got)
	}
}
