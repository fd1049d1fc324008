package bridge

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"
)

// flight is a request under way.
type flight struct {
	*message
	header   http.Header
	ctx      context.Context
	cancel   context.CancelFunc
	told     bool        // the host was given part of an answer
	canceled atomic.Bool // the host wants no answer any more
	closed   atomic.Bool // the host is gone, and a stream ends in good order
}

// flights are the requests under way by id, for what cancels them.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

func (s *flights) enter(ctx context.Context, m *message, header http.Header) *flight {
	f := &flight{message: m, header: header}
	f.ctx, f.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[string(m.id)] = f
	return f
}

func (s *flights) leave(f *flight) {
	f.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[string(f.id)] == f {
		delete(s.all, string(f.id))
	}
}

// cancel lets go of a request that the host gave up, if it is under way.
func (s *flights) cancel(id jsontext.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.all[string(id)]; f != nil && id != nil {
		f.canceled.Store(true)
		f.cancel()
	}
}

// close ends the event streams, which would not end by themselves.
func (s *flights) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		if f.method == "subscriptions/listen" {
			f.closed.Store(true)
			f.cancel()
		}
	}
}
