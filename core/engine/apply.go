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
	mine, err := e.commandsOf(g)
	if err != nil {
		return err
	}
	b := &Batch{Number: g.Number}
	before := e.replayState.Proposals[e.opt.Node]
	begun := time.Now()
	if err := e.applyGroup(g, mine, b); err != nil {
		return err
	}
	took := time.Since(begun)
	e.stats.apply(took, len(b.Applied))
	e.publish(b)
	e.maybeSnapshot(len(b.Applied), took)
	if g.Node == e.opt.Node {
		e.conclude(g.Proposal, before, b)
	}
	return nil
}

// conclude answers the callers of this node's groups whose outcome a delivery decides.
// before is the highest of its proposals that was applied until then. A proposal at or
// below it is skipped, and so is one below the proposal just applied, whenever the log
// delivers it: it was overtaken.
func (e *Engine) conclude(proposal, before uint64, b *Batch) {
	p, ok := e.pending.LoadAndDelete(proposal)
	switch {
	case ok && proposal > before:
		e.deliverReceipts(p.(*group), b)
	case ok:
		e.drop(p.(*group))
	}
	if proposal <= before+1 {
		return // none was overtaken
	}
	e.pending.Range(func(k, v any) bool {
		if k.(uint64) < proposal {
			e.pending.Delete(k)
			e.drop(v.(*group))
		}
		return true
	})
}

// commandsOf gives the group's commands: of one of our own still waiting, the very
// commands; else those of its body.
func (e *Engine) commandsOf(g *journal.Group) ([]core.Command, error) {
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

// applyGroup applies a group under the lock. A group does nothing if it was applied before, or
// if a later one of the same node was: its proposal is not above the highest applied.
func (e *Engine) applyGroup(g *journal.Group, cmds []core.Command, b *Batch) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			broken, ok := p.(core.InvariantViolation)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("group %d, seq %d: %w", g.Number, e.venue.Now().Seq, broken)
		}
	}()
	e.at = g.After()
	if g.Proposal <= e.replayState.Proposals[g.Node] {
		return nil
	}
	e.replayState.Proposals[g.Node] = g.Proposal
	b.Applied = make([]Applied, 0, len(cmds))
	events := core.NewEvents(len(cmds))
	for list := range slices.Chunk(cmds, venue.PrefetchMax) {
		e.venue.Prefetch(list)
		for _, cmd := range list {
			if err := e.applyCommand(g.Stamp, cmd, events, b); err != nil {
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
	e.nextDue.Store(at)
}

// applyCommand applies one command at the next stamp.
func (e *Engine) applyCommand(stamp int64, cmd core.Command, events *core.Events, b *Batch) error {
	now := e.venue.Now()
	st := core.Stamp{Seq: now.Seq + 1, Ts: max(stamp, now.Ts+1)}
	from := len(events.List)
	rej := e.venue.Apply(st, cmd, events)
	mine := slices.Clip(events.List[from:])
	e.view.Fold(st, mine)
	e.view.RecordAudit(st, cmd, rej, mine)
	b.Applied = append(b.Applied, Applied{Stamp: st, Command: cmd, Reject: rej, Events: mine})
	if c, ok := cmd.(*core.Checkpoint); ok {
		return e.checkpoint(c)
	}
	return nil
}

// checkpoint compares the hash a checkpoint carries with the one found here, and
// begins the next: of an image, for hashing takes too long to hold up commands.
func (e *Engine) checkpoint(c *core.Checkpoint) error {
	d := &e.replayState
	if e.hashing != nil {
		d.Hash = e.hashing.wait()
		e.backlog.Applying += e.hashing.took // a replay hashes as well
	}
	if c.Seq != 0 && c.Seq == d.Seq && c.Hash != d.Hash {
		return fmt.Errorf("state at seq %d has hash %x, the log says %x", c.Seq, d.Hash, c.Hash)
	}
	image, err := e.venue.Image()
	if err != nil {
		return err
	}
	d.Seq, d.CheckedAt = e.venue.Now().Seq, e.venue.Now().Ts
	h, next := &pendingHash{done: make(chan struct{})}, checkpoint{seq: d.Seq, at: d.CheckedAt}
	e.hashing = h
	take := func() {
		defer close(h.done)
		begun := time.Now()
		defer func() { h.took = time.Since(begun) }()
		var err error
		if h.hash, err = image.Hash(); err != nil {
			e.fail(err)
			return
		}
		next.hash = h.hash
		e.nextCheckpoint.Store(&next)
	}
	if isClosed(e.ready) {
		go take()
	} else { // nobody waits for a replay's commands
		take()
	}
	return nil
}

// pendingHash is a state hash being made.
type pendingHash struct {
	done chan struct{}
	hash [32]byte
	took time.Duration
}

func (h *pendingHash) wait() [32]byte {
	<-h.done
	return h.hash
}

// deliverReceipts gives each caller its receipt and wakes them all at once.
func (e *Engine) deliverReceipts(g *group, b *Batch) {
	for i, r := range g.order {
		a := &b.Applied[i]
		r.receipt = Receipt{Stamp: a.Stamp, Reject: a.Reject, Events: a.Events}
		if _, ok := r.cmd.(*core.Clock); ok {
			e.clockPending.Store(false)
		}
	}
	if g.size > 0 {
		e.stats.GroupLatency.Add(uint64(max(time.Since(g.openedAt), 0)))
	}
	e.queue.complete(g, nil)
	e.queue.signal() // due may have changed
}

// drop tells the callers of a group that is never applied that nothing of it was done. The
// engine's own commands in it come again with a later group.
func (e *Engine) drop(g *group) {
	for _, r := range g.order {
		switch c := r.cmd.(type) {
		case *core.Clock:
			e.clockPending.Store(false)
		case *core.Checkpoint:
			e.nextCheckpoint.Store(&checkpoint{seq: c.Seq, hash: c.Hash, at: e.replayState.CheckedAt})
		}
	}
	e.queue.complete(g, ErrShed)
	e.queue.signal()
}
