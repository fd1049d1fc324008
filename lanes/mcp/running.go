package mcp

import (
	"context"
	"net/http"
	"sync"
)

// running are the requests in hand that notifications/cancelled can name.
type running struct {
	mu  sync.Mutex
	all map[requestID][]*context.CancelFunc
}

// requestID names a request among those of its key.
type requestID struct{ key, id string }

// enter gives a call its context and keeps it until leave. A client that goes away
// has canceled its request on the modern revision; on the older ones the request
// goes on, and only notifications/cancelled ends it (contract mcp, Transport).
func (l *Lane) enter(r *http.Request, c *call) (leave func()) {
	base := r.Context()
	if !c.modern() {
		base = context.WithoutCancel(base)
	}
	ctx, cancel := context.WithCancel(base)
	c.ctx = ctx
	at := requestID{c.Key.ID, string(c.id)}
	mine := l.running.add(at, cancel)
	return func() {
		l.running.drop(at, mine)
		cancel()
	}
}

func (r *running) add(at requestID, cancel context.CancelFunc) *context.CancelFunc {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[requestID][]*context.CancelFunc{}
	}
	r.all[at] = append(r.all[at], &cancel)
	return &cancel
}

func (r *running) drop(at requestID, mine *context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.all[at][:0]
	for _, c := range r.all[at] {
		if c != mine {
			kept = append(kept, c)
		}
	}
	if r.all[at] = kept; len(kept) == 0 {
		delete(r.all, at)
	}
}

// cancel ends the request of a key that has this id. Where several have it, for
// there are no sessions, none is meant surely, and all go on.
func (r *running) cancel(at requestID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.all[at]; len(c) == 1 {
		(*c[0])()
	}
}
