package ws

import (
	"context"
	"errors"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/internal/backoff"
	"duplex/schemas"
	"duplex/tools"
)

// boundPingEvery is the time between two pings of a connection to which orders are bound
// (docs/rules/orders.md#cancel-on-disconnect).
const boundPingEvery = 5 * time.Second

// endRetry is the wait before the end of a connection is submitted again, because the venue was too busy. A lane that
// closes does so endTries times at most: without a majority no try succeeds.
const (
	endRetry = 50 * time.Millisecond
	endTries = 20
)

// binding is what is bound to a connection.
type binding struct {
	line core.Line
	once sync.Once // ends the binding

	mu    sync.Mutex // held while a command is on its way, so that the end of the connection comes after it
	bound bool       // something is, or may be
	ended bool
}

// cancelOnDisconnect binds the orders of the account, or of a group, to the connection, or releases them
// (docs/rules/orders.md#cancel-on-disconnect). A response that is unknown counts as bound.
func (c *conn) cancelOnDisconnect(id schemas.Int, p *schemas.WSCancelOnDisconnect) error {
	if !c.call.Key.Scopes.Has(core.ScopeTrade) {
		return commandError("missing_scope")
	}
	b, l := &c.binding, c.lane
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return commandError("shed")
	}
	if p.Enabled && !b.bound {
		b.bound = true
		l.engine.HoldLines(1)
		l.bound(c)
	}
	ctx, cancel := context.WithTimeout(l.ctx, l.gate.Budget())
	defer cancel()
	r, err := tools.Accepted(l.engine.Submit(ctx, &core.BindOrders{
		User: c.call.Key.User, Key: c.call.Key.Number, Group: uint32(p.GroupID), Release: !p.Enabled, Line: b.line,
	}))
	switch {
	case errors.Is(err, engine.ErrDraining), errors.Is(err, engine.ErrStopped):
		return commandError("shed")
	case err != nil:
		return err
	}
	c.answer(id, "ok", schemas.WSBound{Enabled: p.Enabled, GroupID: uint32(p.GroupID), Seq: schemas.U64(r.Stamp.Seq)})
	return nil
}

// bound pings a connection as often as one to which orders are bound.
func (l *Lane) bound(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.pingEvery = boundPingEvery
}

// endBinding cancels what is bound to the connection, once. It does not wait for the venue, because the caller
// may hold locks.
func (c *conn) endBinding() {
	c.binding.once.Do(func() {
		c.lane.openConns.Add(1)
		go func() {
			defer c.lane.openConns.Done()
			c.submitEnd()
		}()
	})
}

// submitEnd submits the end of the connection until it is sequenced; a second one cancels nothing. If the venue stops before, or stays without a
// majority, the next process of this machine cancels, or the other machines do once this one sends no beats.
func (c *conn) submitEnd() {
	b, e := &c.binding, c.lane.engine
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if !b.bound {
		return
	}
	defer e.HoldLines(-1)
	ctx := context.Background() // that of the lane ends before its connections
	for closing := 0; closing < endTries; {
		try, cancel := context.WithTimeout(ctx, c.lane.gate.Budget())
		_, err := e.Submit(try, &core.EndConnection{User: c.call.Key.User, Line: b.line})
		cancel()
		closes := c.lane.ctx.Err() != nil
		if !errors.Is(err, engine.ErrShed) && (closes || !errors.Is(err, engine.ErrUnknown)) {
			return
		}
		if closes {
			closing++
		}
		backoff.Sleep(ctx, endRetry)
	}
}
