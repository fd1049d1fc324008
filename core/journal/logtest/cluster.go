package logtest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"duplex/core/journal"
)

// Faults says how often, in a thousand attempts to propose, something happens, and how long
// messages take.
type Faults struct {
	Lost      int           // the attempt never reaches the log
	ReplyLost int           // the log has the group, the proposer does not learn it
	Late      int           // the attempt reaches the log after the proposer has given it up
	Twice     int           // the log takes the group, and once more later
	Delay     time.Duration // greatest time of a message between a node and the log
	LateBy    time.Duration // greatest time by which an attempt is late
}

// Hostile are frequent faults.
func Hostile() Faults {
	return Faults{Lost: 60, ReplyLost: 60, Late: 60, Twice: 60, Delay: 3 * time.Millisecond, LateBy: 2 * time.Second}
}

// Cluster is a replicated log in memory. Its groups survive the close and the crash of every
// node. Attempts to propose that are on their way survive them too.
type Cluster struct {
	Now func() int64 // time of the proposers' clocks, ns; set before the first Open

	mu      sync.Mutex
	r       *rand.Rand
	faults  Faults
	groups  []journal.Group
	last    journal.Position
	lives   map[uint32]uint32
	changed chan struct{} // closed when a group is added, or the faults change
	counts  Counts
}

// Counts has how often each fault has happened.
type Counts struct{ Lost, ReplyLost, Late, Twice int }

// BodyMax is the longest body that a Cluster takes, in bytes.
const BodyMax = 1 << 20

// NewCluster returns an empty log whose faults follow from the seed and the order of the calls.
func NewCluster(seed uint64, f Faults) *Cluster {
	return &Cluster{
		Now: func() int64 { return time.Now().UnixNano() },
		r:   rand.New(rand.NewPCG(seed, 0x10c)), faults: f, lives: map[uint32]uint32{}, changed: make(chan struct{}),
	}
}

// SetFaults replaces the faults. Attempts that are late stay late.
func (c *Cluster) SetFaults(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
}

// Counts returns how often each fault has happened.
func (c *Cluster) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Groups returns the whole log.
func (c *Cluster) Groups() []journal.Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.groups[:len(c.groups):len(c.groups)]
}

// add appends a group to the log.
func (c *Cluster) add(g journal.Group) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g = c.last.Next(g)
	c.groups, c.last = append(c.groups, g), g.After()
	close(c.changed)
	c.changed = make(chan struct{})
}

// upTo returns a random duration up to d.
func (c *Cluster) upTo(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(c.r.Int64N(int64(d) + 1))
}

// Node is the Log of one node of a Cluster.
type Node struct {
	c    *Cluster
	node uint32
	head uint64

	mu      sync.Mutex
	closed  chan struct{}
	trimmed uint64 // groups with lower numbers are gone here
	busy    bool
	cut     chan struct{} // not closed while the node is cut off; nil: it is connected
	cutAt   time.Time
	newest  uint64 // when the node was cut off
}

var _ journal.Log = (*Node)(nil)

// Open returns the Log of a node. A node number may be opened again before its old Log is
// closed, as two processes with a copied data directory would.
func (c *Cluster) Open(node uint32) *Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &Node{c: c, node: node, head: c.last.Number, closed: make(chan struct{})}
}

// Cut separates the node from the log, or connects it again. Attempts that are on their way
// arrive, but their replies do not.
func (n *Node) Cut(off bool) {
	_, newest := n.Contact()
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case off && n.cut == nil:
		n.cut, n.cutAt, n.newest = make(chan struct{}), time.Now(), newest
	case !off && n.cut != nil:
		close(n.cut)
		n.cut = nil
	}
}

// Contact returns when the node was last connected with the log, and the number of its newest group
// then.
func (n *Node) Contact() (at time.Time, newest uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut != nil {
		return n.cutAt, n.newest
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	return time.Now(), n.c.last.Number
}

// connected returns a channel that is closed when the node is connected; nil if it is.
func (n *Node) connected() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

// attemptTimeout is when an attempt without a reply is given up.
const attemptTimeout = 500 * time.Millisecond

func unconfirmed(why string) error { return fmt.Errorf("%w: %s", journal.ErrUnconfirmed, why) }

// Propose implements journal.Log.
func (n *Node) Propose(ctx context.Context, g journal.Group) error {
	if len(g.Body) > BodyMax {
		return journal.ErrTooBig
	}
	select {
	case <-n.closed:
		return journal.ErrClosed
	default:
	}
	timeout := time.NewTimer(attemptTimeout)
	defer timeout.Stop()
	wait := func(reply <-chan struct{}) error {
		select {
		case <-reply:
			return nil
		case <-ctx.Done():
			return unconfirmed(ctx.Err().Error())
		case <-timeout.C:
			return unconfirmed("no reply")
		case <-n.closed:
			return journal.ErrClosed
		}
	}
	if n.connected() != nil {
		return wait(nil)
	}
	g.Body = bytes.Clone(g.Body)
	if err := wait(n.send(&g)); err != nil {
		return err
	}
	if n.connected() != nil {
		return wait(nil)
	}
	return nil
}

// send starts an attempt. The channel is closed when a reply arrives.
func (n *Node) send(g *journal.Group) <-chan struct{} {
	c, reply := n.c, make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	g.Stamp = c.Now()
	f, there, back, late := c.faults, c.upTo(c.faults.Delay), c.upTo(c.faults.Delay), c.upTo(c.faults.LateBy)
	fault := c.r.IntN(1000)
	is := func(often int) bool {
		fault -= often
		return fault < 0 && fault >= -often
	}
	switch {
	case is(f.Lost):
		c.counts.Lost++
	case is(f.ReplyLost):
		c.counts.ReplyLost++
		after(there, func() { c.add(*g) })
	case is(f.Late):
		c.counts.Late++
		after(attemptTimeout+late, func() { c.add(*g) })
	case is(f.Twice):
		c.counts.Twice++
		after(there+late, func() { c.add(*g) })
		fallthrough
	default:
		after(there, func() {
			c.add(*g)
			after(back, func() { close(reply) })
		})
	}
	return reply
}

// after calls f after d, by a timer only if it is not due at once: in a synctest bubble under the race
// detector Go 1.26 crashes in such a timer.
func after(d time.Duration, f func()) {
	if d <= 0 {
		go f()
		return
	}
	time.AfterFunc(d, f)
}

// NewLife implements journal.Log.
func (n *Node) NewLife(context.Context) (uint32, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.c.lives[n.node]++
	return n.c.lives[n.node], nil
}

// Head implements journal.Log.
func (n *Node) Head() uint64 { return n.head }

// Deliver implements journal.Log.
func (n *Node) Deliver(ctx context.Context, from uint64) iter.Seq2[journal.Group, error] {
	return func(yield func(journal.Group, error) bool) {
		if !n.enter() {
			yield(journal.Group{}, journal.ErrBusy)
			return
		}
		defer n.leave()
		if err := n.deliver(ctx, max(from, 1), yield); err != nil {
			yield(journal.Group{}, err)
		}
	}
}

func (n *Node) enter() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.busy
	n.busy = true
	return !was
}

func (n *Node) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy = false
}

// deliver returns the error to yield last; nil if ctx has ended or the consumer has stopped.
func (n *Node) deliver(ctx context.Context, next uint64, yield func(journal.Group, error) bool) error {
	first := true
	for ctx.Err() == nil {
		select {
		case <-n.closed:
			return journal.ErrClosed
		default:
		}
		if cut := n.connected(); cut != nil {
			if err := n.pause(ctx, cut, nil); err != nil || ctx.Err() != nil {
				return err
			}
			continue
		}
		n.mu.Lock()
		trimmed := n.trimmed
		n.mu.Unlock()
		n.c.mu.Lock()
		last, changed, lag := n.c.last.Number, n.c.changed, n.c.upTo(n.c.faults.Delay)
		var live []journal.Group
		if next <= last {
			live = n.c.groups[next-1 : last]
		}
		n.c.mu.Unlock()
		if first && (next < trimmed || next > last+1) {
			return fmt.Errorf("%w: group %d; the last is %d", journal.ErrTrimmed, next, last)
		}
		first = false
		if len(live) == 0 {
			if err := n.pause(ctx, changed, nil); err != nil {
				return err
			}
			continue
		}
		if lag > 0 {
			if err := n.pause(ctx, nil, time.After(lag)); err != nil {
				return err
			}
		}
		for _, g := range live {
			if ctx.Err() != nil || !yield(g, nil) {
				return nil
			}
			next++
		}
	}
	return nil
}

// pause waits for a signal or a time. It returns an error if the log is closed first.
func (n *Node) pause(ctx context.Context, signal <-chan struct{}, timer <-chan time.Time) error {
	select {
	case <-signal:
	case <-timer:
	case <-ctx.Done():
	case <-n.closed:
		return journal.ErrClosed
	}
	return nil
}

// Trim implements journal.Log.
func (n *Node) Trim(below uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.trimmed = max(n.trimmed, below)
	return nil
}

// Close implements journal.Log. It is also the crash of a node: nothing is written.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}
