package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"duplex/core/journal"
)

// The number of a proposal is life<<32 | n. The log counts the lives of the node, one for each
// start. No proposal of an earlier life can be mistaken for a new one, although it may still be
// on its way to the log:
//
//   - The log stored the life durably before anything was proposed in it, also if nothing came of
//     that life. So no two runs propose under the same number.
//   - Every number of an earlier life is lower than every number of this one. If such a group is
//     delivered before the first group of this life, it is applied as what it is: a group whose
//     callers are gone. If it is delivered later, every node skips it (replica.Apply).
//
// The log of one machine gives life 0, and its proposals are numbered on from the highest applied
// one, as they were before there were lives. So the groups of an older journal and their hashes
// stay valid. This is safe, because nothing of an earlier run can still be on its way: the start
// has read each group from disk and applied it, or has cut it as a torn tail. In life 0 n may pass
// 32 bits. A node of a log of several never has life 0, and never the node number of one machine.

// The pauses between two attempts to propose a group, doubled from the least to the greatest.
const (
	proposePauseMin = 5 * time.Millisecond
	proposePauseMax = 160 * time.Millisecond
)

// beginLife sets the number of the next proposal. The start calls it after the replay, and the
// sequencer when the numbers of a life are used up.
func (e *Engine) beginLife(ctx context.Context) error {
	life, err := e.log.NewLife(ctx)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	e.mu.RLock()
	applied := e.replica.State.Proposals[e.opt.Node]
	e.mu.RUnlock()
	base := uint64(life) << 32
	switch {
	case life == 0:
		e.next, e.lastOfLife = applied+1, math.MaxUint64
	case base <= applied:
		return fmt.Errorf("the log begins life %d of node %d, but proposal %d of life %d is applied: the file that counts the lives was replaced by an older one", life, e.opt.Node, uint32(applied), applied>>32)
	case e.opt.Node == 0:
		return errors.New("node 0 is that of one machine; the nodes of a log of several are numbered from 1")
	default:
		e.next, e.lastOfLife = base+1, base+math.MaxUint32
	}
	e.firstProposal.CompareAndSwap(0, e.next)
	return nil
}

// persist proposes a sealed group to the log, which makes it durable. It proposes the group
// again, under the same number, until the log confirms it or has delivered it. If ctx ends first,
// it returns an error.
func (e *Engine) persist(ctx context.Context, g *group) error {
	size := 0
	for _, r := range g.order {
		size += len(r.wire)
	}
	g.body = make([]byte, 0, size)
	for _, r := range g.order {
		g.body = append(g.body, r.wire...)
	}
	e.recentCallers.record(g.callers)
	begun := time.Now()
	g.proposedAt = begun
	e.pending.Store(e.next, g)
	if err := e.propose(ctx, g); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	e.stats.sync(time.Since(begun), len(g.order), len(g.body))
	e.next++
	return nil
}

// propose proposes a group until the log confirms it. No other group may be proposed before that:
// if the log delivered the other one first, this one would be skipped.
func (e *Engine) propose(ctx context.Context, g *group) error {
	for pause := proposePauseMin; ; pause = min(2*pause, proposePauseMax) {
		err := e.log.Propose(ctx, journal.Group{Node: e.opt.Node, Proposal: e.next, Body: g.body})
		if !errors.Is(err, journal.ErrUnconfirmed) {
			return err
		}
		select {
		case <-g.done: // delivered: only the confirmation was lost
			return nil
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		e.stats.ProposedAgain.Add(1)
	}
}

// ownGroup returns the group of this run that the log delivers for the first time; nil if g is
// not one. It returns an error if the log broke its contract: if the group differs from what was
// proposed, if an earlier proposal still waits, or if nobody in this process has proposed it.
func (e *Engine) ownGroup(g *journal.Group) (*group, error) {
	first := e.firstProposal.Load()
	before := e.replica.State.Proposals[e.opt.Node]
	if g.Node != e.opt.Node || g.Proposal <= before || first == 0 || g.Proposal < first {
		return nil, nil
	}
	p, ok := e.pending.Load(g.Proposal)
	if !ok {
		return nil, fmt.Errorf("group %d is proposal %d of node %d, which this process has not made: another one runs as the same node", g.Number, g.Proposal, g.Node)
	}
	own := p.(*group)
	if !bytes.Equal(g.Body, own.body) {
		return nil, fmt.Errorf("group %d differs from what this node proposed as %d", g.Number, g.Proposal)
	}
	if g.Proposal > before+1 {
		lower := false
		e.pending.Range(func(k, _ any) bool {
			lower = k.(uint64) < g.Proposal
			return !lower
		})
		if lower {
			return nil, fmt.Errorf("group %d is proposal %d of this node, of which the log has not delivered an earlier one", g.Number, g.Proposal)
		}
	}
	return own, nil
}
