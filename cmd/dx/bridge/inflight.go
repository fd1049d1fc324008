package bridge

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
)

// inFlightRequest is a request without a response yet.
type inFlightRequest struct {
	*message
	header   http.Header
	ctx      context.Context
	cancel   context.CancelFunc
	writes   bool // calls a tool that may change something
	partial  bool // the host got part of the response
	unknown  bool // an earlier node may have executed it
	node     *client.Node
	canceled atomic.Bool // the host canceled the request
	closed   atomic.Bool // the host closed its end; a stream ends in an orderly way
}

// inFlightRequests holds the requests in flight by id.
type inFlightRequests struct {
	mu  sync.Mutex
	all map[string]*inFlightRequest
}

func (s *inFlightRequests) add(ctx context.Context, m *message, header http.Header) *inFlightRequest {
	f := &inFlightRequest{message: m, header: header}
	f.ctx, f.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[string(m.id)] = f
	return f
}

func (s *inFlightRequests) remove(f *inFlightRequest) {
	f.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[string(f.id)] == f {
		delete(s.all, string(f.id))
	}
}

// cancel cancels a request, if it is in flight.
func (s *inFlightRequests) cancel(id jsontext.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.all[string(id)]; f != nil && id != nil {
		f.canceled.Store(true)
		f.cancel()
	}
}

// close ends the event streams, which do not end by themselves.
func (s *inFlightRequests) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		if f.method == "subscriptions/listen" {
			f.closed.Store(true)
			f.cancel()
		}
	}
}
