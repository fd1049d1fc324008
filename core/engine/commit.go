package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
)

// The commit pipeline takes a command from Submit to its receipt, in five stages. The first
// runs on the caller's goroutine, sequence and persist on the sequencer's, apply and publish
// on the applier's:
//
//	collect    add the command to the open group, then wait for the group
//	sequence   seal the open group: its commands get their order
//	persist    propose the sealed group to the log: one write, one sync
//	apply      apply each group that the log delivers, to venue and view under one lock
//	publish    keys, followers, waiting readers, then the receipts of the whole group
//
// Invariants:
//
//  1. One goroutine sequences and one applies. While the log syncs a group, the next one
//     collects commands.
//  2. Only groups that the log delivered are applied, those of this node included. They are
//     applied in the order of delivery.
//  3. Within a group the engine's own commands come first, then the classes in order. Within
//     one account and class the order is that of Submit
//     (docs/rules/operation.md#queue-order).
//  4. The proposals of a node are numbered upward. A delivered group whose number is not
//     above the highest applied number of its node is skipped. So no group is applied twice,
//     or after a later group of the same node.
//  5. A request leaves the state waiting once: its caller abandons it, or the sequencer takes
//     it. An abandoned request never reaches the log.
//  6. ErrShed, ErrDraining and ErrRevoked mean that the command will never be applied. If the
//     log may hold the command, the error is ErrUnknown.
//  7. Venue and view change together under Engine.mu, a whole group at a time. Nothing is
//     published before its group is applied as a whole.
//  8. The venue judges in sequence whether a command's key is valid. A command of a revoked key
//     takes no seq. The key is gone from Engine.Key before the revocation is answered.
//  9. The first failure of persist or apply stops the pipeline for good. Every caller that
//     still waits then gets ErrUnknown if its group was proposed, else ErrShed.

// Receipt is the outcome of a command that was applied. Events are its own, in order. They
// are shared and read-only, and stay valid.
type Receipt struct {
	Stamp  core.Stamp
	Reject core.Reject // OK, or the rule that refused the command
	Events []core.Event
}

// Outcome is the outcome of one command of SubmitAll.
type Outcome struct {
	Receipt Receipt
	Err     error
}

// Submit runs a command and waits until it is durable and applied. A refusal by a rule is in
// the receipt. The error is one of
//
//	ErrShed      the command was not executed: the queue or the account's share of it is
//	             full, the disk is nearly full, ctx ended early, or the log reordered the group
//	ErrDraining  the command was not executed: the engine is closing
//	ErrStopped   the command was not executed: the engine has stopped
//	ErrRevoked   the command was not executed: its key was revoked before it was sequenced
//	             (docs/rules/accounts.md#revocation)
//	ErrUnknown   the log may hold the command
//
// or says that the command cannot be encoded. Submit may be called by any number of
// goroutines.
func (e *Engine) Submit(ctx context.Context, cmd core.Command) (Receipt, error) {
	r, err := newRequest(cmd)
	if err != nil {
		return Receipt{}, err
	}
	g, err := e.collect([]*request{r})
	if err != nil {
		return Receipt{}, err
	}
	return e.awaitReceipt(ctx, g, r)
}

// SubmitAll is Submit of several commands of one account and one class. They keep their
// order and share a group; each has its own outcome. An error means that none of them was
// executed.
func (e *Engine) SubmitAll(ctx context.Context, cmds []core.Command) ([]Outcome, error) {
	if len(cmds) == 0 {
		return nil, nil
	}
	rs := make([]*request, len(cmds))
	for i, cmd := range cmds {
		r, err := newRequest(cmd)
		if err != nil {
			return nil, err
		}
		rs[i] = r
	}
	g, err := e.collect(rs)
	if err != nil {
		return nil, err
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

// collect adds requests of one account and class to the open group.
func (e *Engine) collect(rs []*request) (*group, error) {
	class, user := core.ClassOf(rs[0].cmd)
	if class == core.ClassPlacement && e.DiskNearlyFull() {
		return nil, e.countShed(ErrShed)
	}
	g, err := e.queue.add(rs, class, e.Owner(user))
	return g, e.countShed(err)
}

func (e *Engine) countShed(err error) error {
	if err == ErrShed {
		e.stats.Shed.Add(1)
	}
	return err
}

// awaitReceipt waits until the group of r is complete, or until ctx ends.
func (e *Engine) awaitReceipt(ctx context.Context, g *group, r *request) (Receipt, error) {
	select {
	case <-g.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) {
			return Receipt{}, e.countShed(ErrShed) // never reached the log
		}
		select {
		case <-g.done: // ctx ended at the same time: the outcome is known
		default:
			return Receipt{}, ErrUnknown
		}
	}
	if g.err != nil {
		return Receipt{}, e.countShed(g.err)
	}
	return r.receipt, r.err
}

// run starts the applier, waits until the journal is replayed, then sequences until ctx
// ends. from is the number of the last group that the restored state contains.
func (e *Engine) run(ctx context.Context, from uint64) {
	defer close(e.stopped)
	applied := make(chan struct{})
	go func() {
		defer close(applied)
		e.applyDelivered(ctx, from+1)
	}()
	select {
	case <-e.ready:
		e.mu.RLock()
		e.next = e.replica.State.Proposals[e.opt.Node] + 1
		e.mu.RUnlock()
		e.sequence(ctx)
	case <-applied:
		e.markReady()
	}
	<-applied
	e.failPending()
}

// sequence seals and persists one group after the other until ctx ends or a persist fails. It
// sleeps until a command arrives or a Clock is due.
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
		g := e.queue.seal(e.internalCommands())
		if g == nil {
			continue
		}
		if len(g.order) == 0 { // every caller gave up before the group was sealed
			e.queue.complete(g, nil)
			continue
		}
		if err := e.persist(g); err != nil {
			e.fail(err)
			return
		}
	}
}

// yieldToCallers lets callers that are ready to run join the open group. On busy processors
// they would otherwise miss it and need a sync of their own. On an idle processor it returns
// at once.
func yieldToCallers() {
	for range 3 {
		runtime.Gosched()
	}
}

// internalCommands returns the engine's own commands, which go first: a Clock when something
// is due, and a Checkpoint every CheckpointEvery. At most one of each is on its way at a
// time.
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

// untilDue is the time until the next Clock is due, at most an hour.
func (e *Engine) untilDue() time.Duration {
	if e.clockPending.Load() {
		return time.Hour // when that Clock is applied, queue.signal wakes the sequencer
	}
	wait := time.Duration(e.nextDue.Load() - e.opt.Now())
	return max(0, min(wait, time.Hour))
}

// persist proposes a sealed group to the log, which writes and syncs it.
func (e *Engine) persist(g *group) error {
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

// applyDelivered applies the groups that the log delivers: first those on disk, then each new
// one. The engine is ready once the last group that was on disk at the start is applied.
func (e *Engine) applyDelivered(ctx context.Context, from uint64) {
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

// markReady lets Open return. Further calls are no-ops.
func (e *Engine) markReady() { e.readyOnce.Do(func() { close(e.ready) }) }

// apply applies a delivered group, then publishes what it did and answers its callers.
func (e *Engine) apply(g *journal.Group) error {
	cmds, err := e.commandsOf(g)
	if err != nil {
		return err
	}
	b := &Batch{Number: g.Number}
	before := e.replica.State.Proposals[e.opt.Node]
	begun := time.Now()
	if err := e.applyGroup(g, cmds, b); err != nil {
		return err
	}
	took := time.Since(begun)
	e.stats.apply(took, len(b.Applied))
	e.publish(b)
	e.maybeSnapshot(len(b.Applied), took)
	if g.Node == e.opt.Node {
		e.answer(g.Proposal, before, b)
	}
	return nil
}

// commandsOf returns the commands of a delivered group. If this process has proposed the group,
// they are the submitted commands; else it decodes the body.
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
	return replica.Commands(g)
}

// applyGroup applies a whole group under the lock and records it in b.
func (e *Engine) applyGroup(g *journal.Group, cmds []core.Command, b *Batch) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b.Result, err = e.replica.Apply(g, cmds, e.checkpoint)
	if err == nil {
		e.setDue()
	}
	return err
}

// setDue stores when the next Clock is due. The next command gets a stamp of at least Ts+1:
// what is due by then is due now, whatever the wall clock says.
func (e *Engine) setDue() {
	at := e.replica.Venue.Due()
	if at <= e.replica.Venue.Now().Ts+1 {
		at = 0
	}
	e.nextDue.Store(at)
}

// publish makes a batch visible outside of the venue: first the keys, so that a revocation
// holds before it is answered, then the followers, then the readers that wait for a seq.
func (e *Engine) publish(b *Batch) {
	for i := range b.Applied {
		for _, ev := range b.Applied[i].Events {
			switch ev := ev.(type) {
			case *core.KeyChanged:
				e.publishKey(&ev.Key)
			case *core.UserChanged:
				e.publishUser(&ev.User)
			}
		}
	}
	if len(b.Applied)+len(b.Unauthorized) > 0 {
		e.feed.push(b)
	}
	if n := len(b.Applied); n > 0 {
		e.waiters.wake(b.Applied[n-1].Stamp.Seq)
	}
}

// publishUser makes an account's token and its owner known. An agent has no token.
func (e *Engine) publishUser(u *core.User) {
	if u.Agent != nil {
		e.owners.Store(u.ID, u.Agent.Owner)
		return
	}
	e.tokens.Store(u.TokenHash, u.ID)
}

func (e *Engine) publishKey(k *core.Key) {
	if !k.Revoked {
		e.keys.Store(k.ID, k)
		return
	}
	e.keys.Delete(k.ID)
	if f := e.onRevoke.Load(); f != nil {
		(*f)(k.ID)
	}
}

// answer completes this node's groups whose outcome is known now that the log delivered
// proposal: the group itself, and any lower proposal that still waits, because a log of
// several nodes may deliver out of order and a lower one is skipped from here on. before is
// the highest proposal of this node that was applied before this delivery.
func (e *Engine) answer(proposal, before uint64, b *Batch) {
	p, ok := e.pending.LoadAndDelete(proposal)
	switch {
	case ok && proposal > before:
		e.deliverReceipts(p.(*group), b)
	case ok:
		e.shedGroup(p.(*group))
	}
	if proposal <= before+1 {
		return // no lower proposal can wait
	}
	e.pending.Range(func(k, v any) bool {
		if k.(uint64) < proposal {
			e.pending.Delete(k)
			e.shedGroup(v.(*group))
		}
		return true
	})
}

// deliverReceipts gives each caller its receipt and wakes them all at once.
func (e *Engine) deliverReceipts(g *group, b *Batch) {
	applied, unauthorized := b.Applied, b.Unauthorized
	for _, r := range g.order {
		if len(unauthorized) > 0 && unauthorized[0] == r.cmd {
			unauthorized, r.err = unauthorized[1:], ErrRevoked
			continue
		}
		a := &applied[0]
		applied = applied[1:]
		r.receipt = Receipt{Stamp: a.Stamp, Reject: a.Reject, Events: a.Events}
		if _, ok := r.cmd.(*core.Clock); ok {
			e.clockPending.Store(false)
		}
	}
	if g.size > 0 {
		e.stats.GroupLatency.Add(uint64(max(time.Since(g.openedAt), 0)))
	}
	e.queue.complete(g, nil)
	e.queue.signal() // the next Clock may be due at another time
}

// shedGroup gives ErrShed to the callers of a group that is never applied. The engine's own
// commands of the group may be made again.
func (e *Engine) shedGroup(g *group) {
	for _, r := range g.order {
		switch c := r.cmd.(type) {
		case *core.Clock:
			e.clockPending.Store(false)
		case *core.Checkpoint:
			e.nextCheckpoint.Store(&checkpoint{seq: c.Seq, hash: c.Hash, at: e.replica.State.CheckedAt})
		}
	}
	e.queue.complete(g, ErrShed)
	e.queue.signal()
}

// failPending ends the wait of every caller when the pipeline has stopped.
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
