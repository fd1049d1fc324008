package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"duplex/core"
	"duplex/core/journal"
)

// run starts the applier, waits for the replay, then sequences until ctx ends.
func (e *Engine) run(ctx context.Context, from uint64) {
	defer close(e.stopped)
	applied := make(chan struct{})
	go func() {
		defer close(applied)
		e.deliver(ctx, from+1)
	}()
	select {
	case <-e.ready:
		e.mu.RLock()
		e.next = e.replayState.Proposals[e.opt.Node] + 1 // behind all that the replay brought
		e.mu.RUnlock()
		e.sequence(ctx)
	case <-applied:
		e.markReady()
	}
	<-applied
	e.failPending()
}

// sequence seals group after group and proposes it. Between groups it sleeps until
// a command comes or something is due.
func (e *Engine) sequence(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(e.untilDue())
		select {
		case <-ctx.Done():
			return
		case <-e.queue.nonEmpty:
		case <-timer.C:
		}
		yieldToCallers()
		e.commitDelay(ctx, timer)
		if err := e.propose(e.queue.seal(e.internalCommands())); err != nil {
			e.fail(err)
			return
		}
	}
}

// yieldToCallers gives way to callers that are ready to run before a group is sealed: on busy
// processors they would otherwise all miss it and need a sync of their own. On an
// idle one it returns at once.
func yieldToCallers() {
	for range 3 {
		runtime.Gosched()
	}
}

// internalCommands gives the commands of the engine itself that go first: a Clock when
// something is due, and now and then a checkpoint; none while one is on its way.
func (e *Engine) internalCommands() (cmds []core.Command) {
	now := e.opt.Now()
	if e.nextDue.Load() <= now && e.clockPending.CompareAndSwap(false, true) {
		cmds = append(cmds, &core.Clock{})
	}
	if c := e.nextCheckpoint.Load(); c != nil && now-c.at >= int64(e.opt.CheckpointEvery) && e.nextCheckpoint.CompareAndSwap(c, nil) {
		cmds = append(cmds, &core.Checkpoint{Seq: c.seq, Hash: c.hash})
	}
	return cmds
}

func (e *Engine) untilDue() time.Duration {
	if e.clockPending.Load() {
		return time.Hour // applying it pokes the queue
	}
	wait := time.Duration(e.nextDue.Load() - e.opt.Now())
	return max(0, min(wait, time.Hour))
}

func (e *Engine) propose(g *group) error {
	if g == nil {
		return nil
	}
	if e.dropRevoked(g); len(g.order) == 0 { // every caller gave up, or may not
		e.queue.complete(g, nil)
		return nil
	}
	size := 0
	for _, r := range g.order {
		size += len(r.wire)
	}
	body := make([]byte, 0, size)
	for _, r := range g.order {
		body = append(body, r.wire...)
	}
	e.recentCallers.record(g.callers)
	e.pending.Store(e.next, g)
	begun := time.Now()
	if err := e.log.Propose(journal.Group{Node: e.opt.Node, Proposal: e.next, Body: body}); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	e.stats.sync(time.Since(begun), len(g.order), len(body))
	e.next++
	return nil
}

// deliver applies groups as the log yields them, first those on disk.
func (e *Engine) deliver(ctx context.Context, from uint64) {
	target := e.log.Last().Number
	if from > target {
		e.markReady()
	}
	for g, err := range e.log.Deliver(ctx, from) {
		if err == nil {
			err = e.apply(&g)
		}
		if err != nil {
			if ctx.Err() == nil || !errors.Is(err, journal.ErrClosed) {
				e.fail(err)
			}
			return
		}
		if g.Number <= target {
			e.opt.Progress(Progress{Replaying, g.Number - from + 1, target - from + 1})
			if g.Number == target {
				e.markReady()
			}
		}
	}
}

// markReady ends the waiting of Open, however often it is said.
func (e *Engine) markReady() { e.readyOnce.Do(func() { close(e.ready) }) }

// failPending tells everybody still waiting that the outcome is not known.
func (e *Engine) failPending() {
	e.queue.close(ErrStopped)
	e.pending.Range(func(k, g any) bool {
		e.pending.Delete(k)
		e.queue.complete(g.(*group), ErrUnknown)
		return true
	})
	if g := e.queue.seal(nil); g != nil {
		e.queue.complete(g, ErrShed)
	}
}
