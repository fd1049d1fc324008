package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/journal"
)

// Receipt is what became of a command. Events are its own, in order; they may be
// kept, and must not be changed.
type Receipt struct {
	Stamp  core.Stamp
	Reject core.Reject
	Events []core.Event
}

// request is a command on its way.
type request struct {
	cmd     core.Command
	key     *core.Key // it was sent with; nil: none
	wire    []byte    // as the log keeps it
	wireBuf [wireBufSize]byte
	state   atomic.Uint32 // waiting, taken, given up or screened
	receipt Receipt
	err     error // set before the group is done
}

// wireBufSize is more than an order or a cancel takes in the log.
const wireBufSize = 64

// newRequest encodes the command, in its caller's time and not the sequencer's.
func newRequest(cmd core.Command, key *core.Key) (*request, error) {
	r := &request{cmd: cmd, key: key}
	var err error
	if r.wire, err = journal.AppendCommand(r.wireBuf[:0], cmd); err != nil {
		return nil, fmt.Errorf("a command that cannot be kept: %w", err)
	}
	return r, nil
}

const (
	waiting uint32 = iota
	taken
	abandoned
	dropped // taken, and not sequenced: it came behind the revocation of its key
)

// group is commands that become durable together.
type group struct {
	reqs     [core.Classes][]*request
	size     int
	callers  int
	openedAt time.Time  // when its first command came
	order    []*request // once sealed
	done     chan struct{}
	err      error // set before done is closed
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// queue is the open group and its bounds.
type queue struct {
	mu              sync.Mutex
	max             int
	open            *group
	users           map[core.UserID]int // commands of each account in the open group
	closedErr       error               // why nothing more is taken
	unfinished      int                 // groups sealed and not yet applied
	drained         chan struct{}
	nonEmpty        chan struct{} // one token: there is something to seal
	expectedCallers int           // callers that are waited for; 0: none
	callersArrived  chan struct{} // one token: they are here
}

func (q *queue) init(max int) {
	q.max, q.open, q.users = max, newGroup(), map[core.UserID]int{}
	q.nonEmpty, q.callersArrived = make(chan struct{}, 1), make(chan struct{}, 1)
}

func (q *queue) signal() {
	select {
	case q.nonEmpty <- struct{}{}:
	default:
	}
}

// add joins the open group. One account holds at most a quarter of the queue.
func (q *queue) add(rs []*request, c core.Class, u core.UserID) (*group, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	g := q.open
	if q.closedErr != nil {
		return nil, q.closedErr
	}
	if c != core.ClassSystem { // the venue's own commands are few and must not be starved
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

// seal takes the open group, with what its callers have not given up on, in order.
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
		r, err := newRequest(cmd, nil)
		if err != nil {
			panic(err) // the engine's own commands always encode
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

// complete tells the callers of a sealed group that it is over.
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

// depth is how many commands wait to be sealed.
func (q *queue) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open.size
}

// waitDrained waits until nothing is under way. The queue must be closed.
func (q *queue) waitDrained(ctx context.Context) error {
	q.mu.Lock()
	if q.unfinished == 0 && q.open.size == 0 {
		q.mu.Unlock()
		return nil
	}
	if q.drained == nil {
		q.drained = make(chan struct{})
	}
	calm := q.drained
	q.mu.Unlock()
	select {
	case <-calm:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Submit hands a command over and waits until it is durable and applied. A refusal
// by a rule is in the receipt. Errors: ErrShed (also for a placement while the disk
// is nearly full, or of a group that the log delivered behind a later one) and
// ErrDraining (surely not done), ErrUnknown (handed to the log, outcome not known when ctx
// ended), ErrStopped.
func (e *Engine) Submit(ctx context.Context, cmd core.Command) (Receipt, error) {
	return e.SubmitBy(ctx, nil, cmd)
}

// SubmitBy is Submit of a command that came with a key: behind the key's revocation
// in the log nothing of it is sequenced, and the error is ErrRevoked.
func (e *Engine) SubmitBy(ctx context.Context, key *core.Key, cmd core.Command) (Receipt, error) {
	r, err := newRequest(cmd, key)
	if err != nil {
		return Receipt{}, err
	}
	c, u := core.ClassOf(cmd)
	if c == core.ClassPlacement && e.DiskNearlyFull() {
		return Receipt{}, e.countShed(ErrShed)
	}
	g, err := e.queue.add([]*request{r}, c, u)
	if err != nil {
		return Receipt{}, e.countShed(err)
	}
	return e.awaitReceipt(ctx, g, r)
}

// Outcome is one command's end in SubmitAll.
type Outcome struct {
	Receipt Receipt
	Err     error
}

// SubmitAll hands over commands of one account and class that came with a key: they
// keep their order and share a group, and are otherwise independent. The error is
// that surely none was done.
func (e *Engine) SubmitAll(ctx context.Context, key *core.Key, cmds []core.Command) ([]Outcome, error) {
	if len(cmds) == 0 {
		return nil, nil
	}
	rs := make([]*request, len(cmds))
	for i, cmd := range cmds {
		r, err := newRequest(cmd, key)
		if err != nil {
			return nil, err
		}
		rs[i] = r
	}
	c, u := core.ClassOf(cmds[0])
	if c == core.ClassPlacement && e.DiskNearlyFull() {
		return nil, e.countShed(ErrShed)
	}
	g, err := e.queue.add(rs, c, u)
	if err != nil {
		return nil, e.countShed(err)
	}
	out := make([]Outcome, len(rs))
	for i, r := range rs {
		out[i].Receipt, out[i].Err = e.awaitReceipt(ctx, g, r)
	}
	for _, err := range []error{ErrShed, ErrRevoked} {
		if !slices.ContainsFunc(out, func(o Outcome) bool { return o.Err != err }) {
			return nil, err
		}
	}
	return out, nil
}

func (e *Engine) countShed(err error) error {
	if err == ErrShed {
		e.stats.Shed.Add(1)
	}
	return err
}

func (e *Engine) awaitReceipt(ctx context.Context, g *group, r *request) (Receipt, error) {
	select {
	case <-g.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) || r.state.Load() == dropped {
			return Receipt{}, e.countShed(ErrShed) // never reached the log
		}
		select {
		case <-g.done: // both came at once: the outcome is there
		default:
			return Receipt{}, ErrUnknown
		}
	}
	switch {
	case r.err != nil && g.err != nil: // the revocation before it may be gone
		return Receipt{}, e.countShed(ErrShed)
	case r.err != nil:
		return Receipt{}, r.err
	}
	return r.receipt, e.countShed(g.err)
}
