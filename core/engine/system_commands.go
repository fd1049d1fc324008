package engine

import (
	"context"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
)

// The commands of the venue itself are sent by the engine (Clock, Checkpoint, Attest) and by the
// price sources and session schedulers (PostIndex, SetSession). Several members would each send
// them. The leader sends at once, and the member of rank r waits r times rankDelay for the one of a
// lower rank. If both are delivered after all, the second has no effect.

// rankDelay is the time between the members of two ranks (docs/rules/operation.md#system-commands).
const rankDelay = 150 * time.Millisecond

// systemDelay is how long this member leaves a command of the venue to the members before it. ok
// is false if this member sends none: it has no vote, or its stamps cannot be trusted.
func (e *Engine) systemDelay() (d time.Duration, ok bool) {
	if !e.several() {
		return 0, true
	}
	m := e.opt.Members()
	if !slices.Contains(m.Voters, e.opt.Node) || e.member.clockIsOff(&m.Clock, time.Now()) {
		return 0, false
	}
	if m.Leader == e.opt.Node {
		return 0, true
	}
	rank := 1
	for _, n := range m.Voters {
		switch n {
		case e.opt.Node:
			return time.Duration(rank) * rankDelay, true
		case m.Leader:
		default:
			rank++
		}
	}
	return 0, false
}

// internalCommands returns the engine's own commands, which go first: a Beat, a Clock when something
// is due, a Checkpoint every CheckpointEvery, and in a log of several machines an Attest after
// each Checkpoint. At most one of each is on its way at a time.
func (e *Engine) internalCommands() (cmds []core.Command) {
	if b := e.beat(e.opt.Now()); b != nil {
		cmds = append(cmds, b)
	}
	delay, ok := e.systemDelay()
	if !ok || e.opt.Virtual {
		return cmds
	}
	now := e.opt.Now() - int64(delay)
	if e.nextDue.Load() <= now && e.clockPending.CompareAndSwap(false, true) {
		cmds = append(cmds, &core.Clock{})
	}
	if c := e.nextCheckpoint.Load(); c != nil && now-c.at >= int64(e.opt.CheckpointEvery) && e.mayCheckpoint() && e.nextCheckpoint.CompareAndSwap(c, nil) {
		next := &core.Checkpoint{Seq: c.seq, Hash: c.hash}
		if e.several() {
			next.Hash = [32]byte{}
		}
		cmds = append(cmds, next)
	}
	if a := e.nextAttest.Swap(nil); a != nil {
		cmds = append(cmds, a)
	}
	return cmds
}

// mayCheckpoint reports whether a Checkpoint may be sent. A member sends its own without waiting for a
// command, and not before the first ActivateRules: the log of a new venue begins with that.
func (e *Engine) mayCheckpoint() bool { return !e.several() || e.activated.Load() }

// untilDue is the time until the next command of the engine itself is due, at most an hour. On one
// machine that is a Clock; a Checkpoint goes with the next command. A member looks after both,
// because the commands can be those of other members, and looks again once a second, because its
// rank may have changed.
func (e *Engine) untilDue() time.Duration {
	if e.opt.Virtual {
		return time.Hour
	}
	wait, now := time.Hour, e.opt.Now()
	if !e.clockPending.Load() { // else queue.signal wakes the sequencer when that Clock is applied
		wait = min(wait, time.Duration(e.nextDue.Load()-now))
	}
	if e.several() {
		if c := e.nextCheckpoint.Load(); c != nil && e.mayCheckpoint() {
			wait = min(wait, time.Duration(c.at-now)+e.opt.CheckpointEvery)
		}
		delay, ok := e.systemDelay()
		if wait += delay; !ok {
			wait = time.Second
		}
		wait = min(wait, time.Second)
	}
	return max(0, min(wait, e.untilBeat(now)))
}

// stampIsOff reports whether a proposal of this member could have a wrong stamp. It then proposes
// nothing.
func (e *Engine) stampIsOff() bool {
	if !e.several() || e.opt.Follower {
		return false
	}
	m := e.opt.Members()
	return e.member.clockIsOff(&m.Clock, time.Now())
}

// delivered takes an applied group of the log of several machines. own is nil if this process did
// not propose it. dueBefore is when a Clock was due before it.
func (e *Engine) delivered(g *journal.Group, own *group, commands int, dueBefore int64) {
	e.applied.Store(g.Number)
	switch {
	case own != nil:
		e.stats.Delivery.Add(uint64(max(time.Since(own.proposedAt), 0)))
	case g.Node != e.opt.Node:
		e.stats.ForeignCommands.Add(uint64(commands))
	}
	if isClosed(e.ready) {
		storeMax(&e.stats.StampAheadMaxNs, g.Stamp-e.opt.Now())
	}
	if own == nil && e.nextDue.Load() < dueBefore {
		e.queue.signal() // a Clock is due earlier than the sequencer knows
	}
}

// SubmitSystem submits a command of the venue itself, which every member submits: on one machine
// at once. A member of rank r leaves it to those before it for r times 150 ms, and submits nothing
// if there is an effect by then: if done returns true, which is called with the venue after each
// group. It returns ErrShed if this member sends none.
func (e *Engine) SubmitSystem(ctx context.Context, cmd core.Command, done func(*venue.Venue) bool) (Receipt, error) {
	delay, ok := e.systemDelay()
	if !ok {
		return Receipt{}, ErrShed
	}
	if delay > 0 {
		applied, err := e.waitFor(ctx, delay, done)
		if applied || err != nil {
			return Receipt{}, err
		}
	}
	return e.Submit(ctx, cmd)
}

// waitFor waits until done returns true, at most for d. It returns ErrShed if ctx ends first.
func (e *Engine) waitFor(ctx context.Context, d time.Duration, done func(*venue.Venue) bool) (bool, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for f := e.Follow(); ; {
		e.mu.RLock()
		is := done(e.replica.Venue)
		e.mu.RUnlock()
		if is {
			return true, nil
		}
		select {
		case <-f.Ready():
			if _, err := f.Next(ctx); err != nil {
				return false, ErrShed
			}
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, ErrShed
		}
	}
}
