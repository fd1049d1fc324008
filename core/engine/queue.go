package engine

import (
	"context"
	"fmt"
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

// newRequest encodes the command, so that the caller's goroutine does this work and not the
// sequencer's.
func newRequest(cmd core.Command) (*request, error) {
	r := &request{cmd: cmd}
	var err error
	if r.wire, err = journal.AppendCommand(r.wireBuf[:0], cmd); err != nil {
		return nil, fmt.Errorf("the command cannot be encoded: %w", err)
	}
	return r, nil
}

// group is the commands that become durable together.
type group struct {
	reqs     [core.Classes][]*request
	size     int // requests that joined
	callers  int // calls of add
	openedAt time.Time
	order    []*request // what is sequenced, in order; set by seal
	done     chan struct{}
	err      error // set before done is closed
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// queue is the open group and its bounds.
type queue struct {
	mu              sync.Mutex
	max             int // most requests in the open group, the system's not counted
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

// add adds requests of one account and class to the open group. u is the owner of the account's
// family, which may have at most a quarter of the queue (docs/rules/limits.md#queue). It returns
// ErrShed if they do not fit.
func (q *queue) add(rs []*request, c core.Class, u core.UserID) (*group, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.open
	if q.closedErr != nil {
		return nil, q.closedErr
	}
	if c != core.ClassSystem { // the venue's own commands are few, and are never shed
		if g.size+len(rs) > q.max || q.users[u]+len(rs) > q.max/4 {
			return nil, ErrShed
		}
		q.users[u] += len(rs)
	}
	if g.size == 0 {
		g.openedAt = time.Now()
	}
	g.size += len(rs)
	g.callers++
	g.reqs[c] = append(g.reqs[c], rs...)
	if g.callers == 1 {
		q.signal()
	}
	if g.callers == q.expectedCallers {
		q.callersArrived <- struct{}{}
	}
	return g, nil
}

// seal closes the open group and opens the next. The order of the sealed group is first, then
// the classes, without abandoned requests. It returns nil if there is nothing to seal.
func (q *queue) seal(first []core.Command) *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.open
	if g.size == 0 && len(first) == 0 {
		return nil
	}
	q.open, q.expectedCallers = newGroup(), 0
	clear(q.users)
	q.unfinished++
	g.order = make([]*request, 0, g.size+len(first))
	for _, cmd := range first {
		r, err := newRequest(cmd)
		if err != nil {
			panic(err) // the engine's own commands can always be encoded
		}
		r.state.Store(taken)
		g.order = append(g.order, r)
	}
	for _, rs := range g.reqs {
		for _, r := range rs {
			if r.state.CompareAndSwap(waiting, taken) {
				g.order = append(g.order, r)
			}
		}
	}
	return g
}

// complete wakes the callers of a sealed group. A non-nil err is the outcome of all of them.
func (q *queue) complete(g *group, err error) {
	g.err = err
	close(g.done)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unfinished--; q.drained != nil && q.unfinished == 0 && q.open.size == 0 {
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

// depth is the number of requests in the open group.
func (q *queue) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open.size
}

// waitDrained waits until every group is complete, or until ctx ends. The queue must be
// closed.
func (q *queue) waitDrained(ctx context.Context) error {
	q.mu.Lock()
	if q.unfinished == 0 && q.open.size == 0 {
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
