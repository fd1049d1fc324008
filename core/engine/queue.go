package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/journal"
)

// The queue is the open group: commands join it, and the sequencer seals it. A channel for
// each caller would cost more to wake than matching the order does, so a group has one
// channel, which is closed when the group is complete.

// request is a command in the pipeline.
type request struct {
	cmd     core.Command
	wire    []byte // its encoding in the journal
	wireBuf [wireBufSize]byte
	state   atomic.Uint32 // waiting, taken or abandoned
	receipt Receipt
	err     error // set before group.done is closed
}

// The states of a request.
const (
	waiting   uint32 = iota // in the open group
	taken                   // sealed
	abandoned               // its caller gave up before it was sealed
)

// wireBufSize, in bytes, has room for the encoding of any order or cancel.
const wireBufSize = 64

// The limits of a group and of a command, with system commands included
// (docs/rules/limits.md#groups). Every machine of a log of several receives whole groups, so they
// are bounded for each log.
const (
	groupCommands = 4096
	groupBytes    = 1 << 20
	commandBytes  = 128 << 10
)

// ErrTooLarge means that a command, or the commands of one SubmitAll together, pass the limits of
// a group. They were not executed.
var ErrTooLarge = errors.New("the command is too large")

// newRequest encodes the command, so that the caller's goroutine does this work and not the
// sequencer's. It returns ErrTooLarge if the encoding is longer than commandBytes.
func newRequest(cmd core.Command) (*request, error) {
	r := &request{cmd: cmd}
	var err error
	if r.wire, err = journal.AppendCommand(r.wireBuf[:0], cmd); err != nil {
		return nil, fmt.Errorf("the command cannot be encoded: %w", err)
	}
	if len(r.wire) > commandBytes {
		return nil, fmt.Errorf("%w: its encoding has %d bytes, at most %d fit", ErrTooLarge, len(r.wire), commandBytes)
	}
	return r, nil
}

// group is the commands that become durable together.
type group struct {
	reqs     [core.Classes][]*request
	size     int // requests that joined
	bytes    int // of their encodings
	callers  int // calls of add
	openedAt time.Time
	order    []*request // what is sequenced, in order; set by seal
	body     []byte     // the encoding of order that was proposed; set by persist
	done     chan struct{}

	proposedAt time.Time // set by persist
	err        error     // set before done is closed

	users map[core.UserID]int // of a full group, as queue.users; nil while it is open
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// fits reports whether a group has room for n more requests of the given length in bytes.
func (g *group) fits(n, bytes int) bool {
	return g.size+n <= groupCommands && g.bytes+bytes <= groupBytes
}

// queue is the open group and its bounds. A request that does not fit into the open group begins
// the next one; full groups are sealed first.
type queue struct {
	mu              sync.Mutex
	max             int // most requests that wait, the system's not counted
	waiting         int // requests in full and open
	full            []*group
	open            *group
	users           map[core.UserID]int // requests of each family in the open group, by its owner
	closedErr       error               // why nothing more may join; nil: open
	unfinished      int                 // groups that are sealed and not complete
	drained         chan struct{}       // closed when nothing is left; nil: nobody waits for it
	nonEmpty        chan struct{}       // one token: there is something to seal
	expectedCallers int                 // callers that commitDelay waits for; 0: it does not wait
	callersArrived  chan struct{}       // one token: they have arrived
}

func (q *queue) init(max int) {
	q.max, q.open, q.users = max, newGroup(), map[core.UserID]int{}
	q.nonEmpty, q.callersArrived = make(chan struct{}, 1), make(chan struct{}, 1)
}

// signal wakes the sequencer.
func (q *queue) signal() {
	select {
	case q.nonEmpty <- struct{}{}:
	default:
	}
}

// endCommitDelay wakes the sequencer if it waits for callers.
func (q *queue) endCommitDelay() {
	if q.expectedCallers > 0 {
		q.expectedCallers = 0
		q.callersArrived <- struct{}{} // has room: expectCallers emptied it
	}
}

// add adds requests of one account and class to the open group. u is the owner of the account's
// family, which may have at most a quarter of the queue (docs/rules/limits.md#queue). It returns
// ErrShed if the queue has no room for them, and ErrTooLarge if no group has.
func (q *queue) add(rs []*request, c core.Class, u core.UserID) (*group, error) {
	bytes := 0
	for _, r := range rs {
		bytes += len(r.wire)
	}
	if len(rs) > groupCommands || bytes > groupBytes {
		return nil, ErrTooLarge
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// The connections of a member that stops end while it drains, and so cancel what is bound to them.
	if _, ends := rs[0].cmd.(*core.EndConnection); q.closedErr != nil && !(ends && q.closedErr == ErrDraining) {
		return nil, q.closedErr
	}
	// The venue's own commands are few, and are never shed.
	if c != core.ClassSystem && (q.waiting+len(rs) > q.max || q.waitingOf(u)+len(rs) > q.max/4) {
		return nil, ErrShed
	}
	if !q.open.fits(len(rs), bytes) {
		q.open.users, q.users = q.users, map[core.UserID]int{}
		q.full = append(q.full, q.open)
		q.open = newGroup()
		q.endCommitDelay()
	}
	if c != core.ClassSystem {
		q.users[u] += len(rs)
	}
	g := q.open
	if g.size == 0 {
		g.openedAt = time.Now()
	}
	q.waiting += len(rs)
	g.size += len(rs)
	g.bytes += bytes
	g.callers++
	g.reqs[c] = append(g.reqs[c], rs...)
	if g.callers == 1 {
		q.signal()
	}
	if g.callers == q.expectedCallers {
		q.endCommitDelay()
	}
	return g, nil
}

// waitingOf is the number of requests of a family that wait.
func (q *queue) waitingOf(u core.UserID) int {
	n := q.users[u]
	for _, g := range q.full {
		n += g.users[u]
	}
	return n
}

// seal closes the oldest group that collects, and opens the next if it was the open one. The order
// of the sealed group is first, then the classes, without abandoned requests. If first does not fit
// into it, the sealed group has nothing else. It returns nil if there is nothing to seal.
func (q *queue) seal(first []core.Command) *group {
	own, bytes := make([]*request, len(first)), 0
	for i, cmd := range first {
		r, err := newRequest(cmd)
		if err != nil {
			panic(err) // the engine's own commands can always be encoded
		}
		r.state.Store(taken)
		own[i], bytes = r, bytes+len(r.wire)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 && len(own) == 0 {
		return nil
	}
	g := q.takeOldest(len(own), bytes)
	q.unfinished++
	if q.waiting > 0 {
		q.signal()
	}
	g.order = append(make([]*request, 0, g.size+len(own)), own...)
	for _, rs := range g.reqs {
		for _, r := range rs {
			if r.state.CompareAndSwap(waiting, taken) {
				g.order = append(g.order, r)
			}
		}
	}
	return g
}

// takeOldest removes the oldest group that collects, or returns an empty one if that has no room
// for n more requests.
func (q *queue) takeOldest(n, bytes int) *group {
	g := q.open
	if len(q.full) > 0 {
		g = q.full[0]
	}
	switch {
	case !g.fits(n, bytes):
		return newGroup()
	case g == q.open:
		q.open, q.expectedCallers = newGroup(), 0
		clear(q.users)
	default:
		q.full = slices.Delete(q.full, 0, 1)
	}
	q.waiting -= g.size
	return g
}

// complete wakes the callers of a sealed group. A non-nil err is the outcome of all of them.
func (q *queue) complete(g *group, err error) {
	g.err = err
	close(g.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unfinished--; q.drained != nil && q.unfinished == 0 && q.waiting == 0 {
		close(q.drained)
		q.drained = nil
	}
}

// close refuses further requests with why. The first reason stays, except that ErrStopped
// replaces any other.
func (q *queue) close(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closedErr == nil || why == ErrStopped {
		q.closedErr = why
	}
}

func (q *queue) closedReason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closedErr
}

// depth is the number of requests that wait to be sealed.
func (q *queue) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// waitDrained waits until every group is complete, or until ctx ends. The queue must be
// closed.
func (q *queue) waitDrained(ctx context.Context) error {
	q.mu.Lock()
	if q.unfinished == 0 && q.waiting == 0 {
		q.mu.Unlock()
		return nil
	}
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	drained := q.drained
	q.mu.Unlock()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
