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
func (c *idempotencyCache) begin(repeat string, now tools.WallTime) (f *idempotentCall, isFirst bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.byExpiry) > 0 && c.byExpiry[0].expiresAt < now {
		delete(c.entries, c.byExpiry[0].key)
		c.byExpiry[0] = nil
		c.byExpiry = c.byExpiry[1:]
	}
	if f, ok := c.entries[repeat]; ok {
		return f, false
	}
	f = &idempotentCall{key: repeat, expiresAt: now + tools.WallTime(idempotencyTTL), done: make(chan struct{})}
	c.entries[repeat] = f
	c.byExpiry = append(c.byExpiry, f)
	return f, true
}

// run calls do for the first of several exact repeats and returns its result to
// all of them. If the command is marked and its outcome is unknown, or that of one in a batch, a repeat
// executes again: it gets the receipt of the first, or is the first itself.
func (c *idempotencyCache) run(repeat string, now tools.WallTime, marked bool, do func() (any, error)) (any, error) {
	f, isFirst := c.begin(repeat, now)
	if !isFirst {
		<-f.done // bounded by the time budget of the first request
		return f.out, f.err
	}
	defer close(f.done)
	f.err = tools.NewError("internal") // what repeats get if do panics
	out, err := do()
	f.out, f.err = out, err
	some, batch := out.(interface{ Unfinished() bool })
	if marked && (errors.Is(err, engine.ErrUnknown) || err == nil && batch && some.Unfinished()) || err != nil && schemas.ErrorInfoOf(tools.ErrorOf(err).Code).Retry == schemas.Safe {
		c.forget(repeat) // surely no effect: a repeat executes again
	}
	return out, err
}

func (c *idempotencyCache) forget(repeat string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, repeat)
}
