package gate

import (
	"errors"
	"sync"

	"duplex/core/engine"
	"duplex/schemas"
	"duplex/tools"
)

// idempotencyCache holds the responses of deduplicated operations for idempotencyTTL. An
// exact repeat waits for the first request and gets its response
// (docs/rules/accounts.md#exact-repeats). The cache is in memory: a restart takes about as
// long as the replay window, after which a repeat is unauthorized anyway. On several machines it
// only keeps the repeats of one of them out of the log, which judges them by their marks.
type idempotencyCache struct {
	mu       sync.Mutex
	entries  map[string]*idempotentCall
	byExpiry []*idempotentCall // ascending by expiresAt
}

type idempotentCall struct {
	key       string
	expiresAt tools.WallTime
	done      chan struct{} // closed once out and err are set
	out       any
	err       error
}

// begin returns the entry of a request. isFirst is true for the caller that must execute
// it and close done.
func (o *idempotencyCache) begin(repeat string, now tools.WallTime) (f *idempotentCall, isFirst bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.byExpiry) > 0 && o.byExpiry[0].expiresAt < now {
		delete(o.entries, o.byExpiry[0].key)
		o.byExpiry[0] = nil
		o.byExpiry = o.byExpiry[1:]
	}
	if f, ok := o.entries[repeat]; ok {
		return f, false
	}
	f = &idempotentCall{key: repeat, expiresAt: now + tools.WallTime(idempotencyTTL), done: make(chan struct{})}
	o.entries[repeat] = f
	o.byExpiry = append(o.byExpiry, f)
	return f, true
}

// runIdempotent calls do for the first of several exact repeats and returns its result to
// all of them. If the command is marked and its outcome is unknown, a repeat executes again: it
// gets the receipt of the first, or is the first itself.
func runIdempotent[Out any](o *idempotencyCache, repeat string, now tools.WallTime, marked bool, do func() (Out, error)) (Out, error) {
	f, isFirst := o.begin(repeat, now)
	if !isFirst {
		<-f.done // bounded by the time budget of the first request
		out, _ := f.out.(Out)
		return out, f.err
	}
	defer close(f.done)
	f.err = tools.NewError("internal") // what repeats get if do panics
	out, err := do()
	f.out, f.err = out, err
	if marked && errors.Is(err, engine.ErrUnknown) || err != nil && schemas.ErrorInfoOf(tools.ErrorOf(err).Code).Retry == schemas.Safe {
		o.forget(repeat) // surely no effect: a repeat executes again
	}
	return out, err
}

func (o *idempotencyCache) forget(repeat string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.entries, repeat)
}
