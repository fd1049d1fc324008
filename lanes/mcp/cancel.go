package mcp

import (
	"context"
	"net/http"
	"slices"
	"sync"
)

// cancelRegistry holds the requests in progress, which notifications/cancelled can name.
type cancelRegistry struct {
	mu  sync.Mutex
	all map[requestID][]*context.CancelFunc
}

// requestID identifies a request of a key.
type requestID struct{ key, id string }

// trackRequest sets the context of a call and registers it until untrack is called. On the
// modern revision a client cancels its request by disconnecting. On the older ones only
// notifications/cancelled does (docs/rules/agents.md#revisions).
func (l *Lane) trackRequest(r *http.Request, c *call) (untrack func()) {
	base := r.Context()
	if !c.modern() {
		base = context.WithoutCancel(base)
	}
	ctx, cancel := context.WithCancel(base)
	c.ctx = ctx
	at := requestID{c.Key.ID, string(c.id)}
	mine := l.cancelable.add(at, cancel)
	return func() {
		l.cancelable.remove(at, mine)
		cancel()
	}
}

func (r *cancelRegistry) add(at requestID, cancel context.CancelFunc) *context.CancelFunc {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[requestID][]*context.CancelFunc{}
	}
	r.all[at] = append(r.all[at], &cancel)
	return &cancel
}

func (r *cancelRegistry) remove(at requestID, mine *context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[at] = slices.DeleteFunc(r.all[at], func(c *context.CancelFunc) bool { return c == mine })
	if len(r.all[at]) == 0 {
		delete(r.all, at)
	}
}

// cancel cancels the request of a key with this id. If several have the id, which is
// possible without sessions, it cancels none.
func (r *cancelRegistry) cancel(at requestID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.all[at]; len(c) == 1 {
		(*c[0])()
	}
}
