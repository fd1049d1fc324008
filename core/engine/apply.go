package engine

import (
	"fmt"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
)

// apply lets a delivered group happen, then tells of it.
func (e *Engine) apply(g *journal.Group) error {
	mine, err := e.resolve(g)
	if err != nil {
		return err
	}
	b := &Batch{Number: g.Number}
	begun := time.Now()
	if err := e.change(g, mine, b); err != nil {
		return err
	}
	e.stats.apply(time.Since(begun), len(b.Applied))
	e.publish(b)
	e.snapshotNowAndThen()
	if g.Node == e.opt.Node {
		if p, ok := e.pending.LoadAndDelete(g.Proposal); ok {
			e.deal(p.(*group), b)
		}
	}
	return nil
}

// resolve gives the group's commands: of one of our own still waiting, the very
// commands; else those of its body.
func (e *Engine) resolve(g *journal.Group) ([]core.Command, error) {
	if g.Node == e.opt.Node {
		if p, ok := e.pending.Load(g.Proposal); ok {
			own := p.(*group)
			cmds := make([]core.Command, len(own.order))
			for i, r := range own.order {
				cmds[i] = r.cmd
			}
			return cmds, nil
		}
	}
	var cmds []core.Command
	for cmd, err := range journal.Commands(g.Body) {
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", g.Number, err)
		}
		cmds = append(cmds, cmd)
	}
	return cmds, nil
}

// change applies a group under the lock. A group that was applied before (known by
// node and proposal) does nothing.
func (e *Engine) change(g *journal.Group, cmds []core.Command, b *Batch) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			broken, ok := p.(core.Broken)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("group %d, seq %d: %w", g.Number, e.venue.Now().Seq, broken)
		}
	}()
	e.at = g.After()
	if g.Proposal <= e.done.Proposals[g.Node] {
		return nil
	}
	e.done.Proposals[g.Node] = g.Proposal
	b.Applied = make([]Applied, 0, len(cmds))
	events := core.NewEvents(len(cmds))
	for list := range slices.Chunk(cmds, venue.Group) {
		e.venue.Fetch(list)
		for _, cmd := range list {
			if err := e.one(g.Stamp, cmd, events, b); err != nil {
				return fmt.Errorf("group %d: %w", g.Number, err)
			}
		}
	}
	e.setDue()
	return nil
}

// setDue notes when the next Clock is wanted. What is due by the stamp that the next
// command will have at least is due now, whatever the wall clock says.
func (e *Engine) setDue() {
	at := e.venue.Due()
	if at <= e.venue.Now().Ts+1 {
		at = 0
	}
	e.due.Store(at)
}

// one applies one command at the next stamp.
func (e *Engine) one(stamp int64, cmd core.Command, events *core.Events, b *Batch) error {
	now := e.venue.Now()
	st := core.Stamp{Seq: now.Seq + 1, Ts: max(stamp, now.Ts+1)}
	from := len(events.List)
	rej := e.venue.Apply(st, cmd, events)
	mine := slices.Clip(events.List[from:])
	e.view.Fold(st, mine)
	e.view.Record(st, cmd, rej, mine)
	b.Applied = append(b.Applied, Applied{Stamp: st, Command: cmd, Reject: rej, Events: mine})
	if c, ok := cmd.(*core.Checkpoint); ok {
		return e.checkpoint(c)
	}
	return nil
}

// checkpoint compares the hash a checkpoint carries with the one found here, and
// begins the next: of an image, for hashing takes too long to hold up commands.
func (e *Engine) checkpoint(c *core.Checkpoint) error {
	d := &e.done
	if e.hashing != nil {
		d.Hash = e.hashing.wait()
	}
	if c.Seq != 0 && c.Seq == d.Seq && c.Hash != d.Hash {
		return fmt.Errorf("state at seq %d has hash %x, the log says %x", c.Seq, d.Hash, c.Hash)
	}
	image, err := e.venue.Image()
	if err != nil {
		return err
	}
	d.Seq, d.CheckedAt = e.venue.Now().Seq, e.venue.Now().Ts
	h, next := &hashing{over: make(chan struct{})}, checkpoint{seq: d.Seq, at: d.CheckedAt}
	e.hashing = h
	take := func() {
		defer close(h.over)
		var err error
		if h.hash, err = image.Hash(); err != nil {
			e.fail(err)
			return
		}
		next.hash = h.hash
		e.check.Store(&next)
	}
	if closed(e.ready) {
		go take()
	} else { // nobody waits for a replay's commands
		take()
	}
	return nil
}

// hashing is a state hash being made.
type hashing struct {
	over chan struct{}
	hash [32]byte
}

func (h *hashing) wait() [32]byte {
	<-h.over
	return h.hash
}

// deal gives each caller its receipt and wakes them all at once.
func (e *Engine) deal(g *group, b *Batch) {
	for i, r := range g.order {
		if i < len(b.Applied) {
			a := &b.Applied[i]
			r.receipt = Receipt{Stamp: a.Stamp, Reject: a.Reject, Events: a.Events}
		}
		if _, ok := r.cmd.(*core.Clock); ok {
			e.clock.Store(false)
		}
	}
	if g.n > 0 {
		e.stats.Sequenced.Add(uint64(max(time.Since(g.begun), 0)))
	}
	e.queue.finish(g, nil)
	e.queue.poke() // due may have changed
}
