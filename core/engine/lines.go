package engine

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"duplex/core"
)

// beatEvery is the time between two beats of a process to whose connections orders are bound, in a log of several
// machines (docs/rules/orders.md#cancel-on-disconnect).
const beatEvery = time.Second

// lines are the connections of this process to which orders are bound.
type lines struct {
	session uint64       // a random number of this process
	open    atomic.Int64 // connections to which something is bound
	next    atomic.Int64 // when the next beat is due, ns
	lost    atomic.Bool  // orders are bound to an earlier process of this machine
}

// newSession returns a random number that is not 0.
func newSession() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never returns an error
	return binary.LittleEndian.Uint64(b[:]) | 1
}

// Line returns the name of a connection of this process, by its number.
func (e *Engine) Line(conn uint64) core.Line {
	return core.Line{Node: e.opt.Node, Session: e.lines.session, Conn: conn}
}

// HoldLines counts n connections more, or fewer, to which orders are bound. While there is one, a member of several
// machines says that it lives: else what is bound to them is canceled.
func (e *Engine) HoldLines(n int64) {
	if e.lines.open.Add(n) == n { // the first
		e.queue.signal()
	}
}

// beat returns the beat that is due at now, in ns, or nil: one before the first command of a process if orders are
// bound to an earlier one, so that they are canceled before any placement, then one a second.
func (e *Engine) beat(now int64) core.Command {
	due := e.lines.lost.CompareAndSwap(true, false)
	if e.several() && e.lines.open.Load() > 0 && e.lines.next.Load() <= now {
		due = true
	}
	if !due {
		return nil
	}
	e.lines.next.Store(now + int64(beatEvery))
	return &core.Beat{Node: e.opt.Node, Session: e.lines.session}
}

// untilBeat is the time from now, in ns, until the next beat, at most an hour.
func (e *Engine) untilBeat(now int64) time.Duration {
	switch {
	case e.lines.lost.Load():
		return 0
	case e.several() && e.lines.open.Load() > 0:
		return time.Duration(e.lines.next.Load() - now)
	}
	return time.Hour
}

// noteLost notes at the start whether orders are bound to an earlier process of this machine.
func (e *Engine) noteLost() {
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.lines.lost.Store(e.replica.Venue.Bound(e.opt.Node))
}
