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
	"duplex/core/venue"
)

// The commit pipeline takes a command from Submit to its receipt, in five stages. The first
// runs on the caller's goroutine, sequence and persist on the sequencer's, apply and publish
// on the applier's:
//
//	collect    add the command to the open group, then wait for the group
//	sequence   seal the open group: its commands get their order
//	persist    propose the sealed group to the log until it is durable (propose.go)
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
//  4. The proposals of a node are numbered upward, and no number is used for two groups. The next
//     group is proposed only after the log has confirmed or delivered the one before. A delivered
//     group whose number is not above the highest applied number of its node is skipped. So no
//     group is applied twice, and none is overtaken by a later group of the same node.
//  5. A request leaves the state waiting once: its caller abandons it, or the sequencer takes
//     it. An abandoned request never reaches the log.
//  6. A receipt is of a command that was applied, in the group that this process proposed,
//     compared byte by byte, or of the first command with its mark. ErrShed, ErrDraining,
//     ErrStopped and ErrTooLarge mean that the command never reached the log, ErrRevoked,
//     ErrExpired and ErrRepeated that it was delivered without effect. In every other case the
//     error is ErrUnknown, and the command may still be applied.
//  7. Venue and view change together under Engine.mu, a whole group at a time. Nothing is
//     published before its group is applied as a whole.
//  8. The venue decides in sequence whether a command's key is valid and whether its mark is the
//     first. A command of a revoked key, a late one and a repeat take no seq. The key is gone
//     from Engine.Key before the revocation is answered.
//  9. The first failure of persist or apply stops the pipeline for good. Every caller that
//     still waits then gets ErrUnknown if its group was proposed, else ErrShed. A group that the
//     log does not confirm is no failure: it is proposed again.

// Receipt is the outcome of a command that was applied. Events are its own, in order. They
// are shared and read-only, and stay valid.
type Receipt struct {
	Stamp  core.Stamp
	Reject core.Reject // OK, or the rule that refused the command
	Events []core.Event
	Repeat bool // it is that of the first command with the mark, with the events that a response shows
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
//	             full, the disk is nearly full, this member is suspect, or ctx ended early
//	ErrDraining  the command was not executed: the engine is closing
//	ErrStopped   the command was not executed: the engine has stopped
//	ErrRevoked   the command was not executed: its key was revoked before it was sequenced
//	             (docs/rules/accounts.md#revocation)
//	ErrExpired   the command was not executed: it was signed too long ago, or too many marks
//	             are kept (docs/rules/accounts.md#marks)
//	ErrRepeated  the command was not executed: one with its mark was before, and the repeat of
//	             an order or a cancel gets no receipt
//	ErrTooLarge  the command was not executed: its encoding is longer than 128 KiB
//	ErrReadOnly  the command was not executed: this is a follower
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
// executed. It is ErrTooLarge if they are more than 4,096 or longer than 1 MiB.
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
	for _, err := range []error{ErrShed, ErrRevoked, ErrExpired, ErrRepeated} {
		if !slices.ContainsFunc(out, func(o Outcome) bool { return o.Err != err }) {
			return nil, err
		}
	}
	return out, nil
}

// collect adds requests of one account and class to the open group.
func (e *Engine) collect(rs []*request) (*group, error) {
	if e.opt.Follower {
		return nil, ErrReadOnly
	}
	class, user := core.ClassOf(rs[0].cmd)
	if !e.takesCommands() && e.queue.closedReason() == nil || class == core.ClassPlacement && e.DiskNearlyFull() {
		return nil, e.countShed(ErrShed, len(rs))
	}
	if _, ok := rs[0].cmd.(*core.Marked); ok && e.marks.Load() > core.MarksMax/8*7 {
		return nil, e.countShed(ErrShed, len(rs))
	}
	g, err := e.queue.add(rs, class, e.Owner(user))
	return g, e.countShed(err, len(rs))
}

// countShed counts n commands if err is ErrShed.
func (e *Engine) countShed(err error, n int) error {
	if err == ErrShed {
		e.stats.Shed.Add(uint64(n))
	}
	return err
}

// awaitReceipt waits until the group of r is complete, or until ctx ends.
func (e *Engine) awaitReceipt(ctx context.Context, g *group, r *request) (Receipt, error) {
	select {
	case <-g.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) {
			return Receipt{}, e.countShed(ErrShed, 1) // never reached the log
		}
		select {
		case <-g.done: // ctx ended at the same time: the outcome is known
		default:
			return Receipt{}, ErrUnknown
		}
	}
	if g.err != nil {
		return Receipt{}, e.countShed(g.err, 1)
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
		if !e.opt.Follower {
			e.noteLost()
			e.sequence(ctx)
		}
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
		if e.next == e.lastOfLife {
			if err := e.beginLife(ctx); err != nil {
				e.fail(err)
				return
			}
		}
		timer.Reset(e.untilDue())
		select {
		case <-ctx.Done():
			return
		case <-e.queue.nonEmpty:
		case <-timer.C:
		}
		yieldToCallers()
		e.commitDelay(ctx, timer)
		if e.stampIsOff() {
			e.shedQueue()
			continue
		}
		g := e.queue.seal(e.internalCommands())
		if g == nil {
			continue
		}
		if len(g.order) == 0 { // every caller gave up before the group was sealed
			e.queue.complete(g, nil)
			continue
		}
		if err := e.persist(ctx, g); err != nil {
			if ctx.Err() == nil || !errors.Is(err, journal.ErrUnconfirmed) {
				e.fail(err)
			}
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

// applyDelivered applies the groups that the log delivers: first those on disk, then each new
// one. The engine is ready once the last group that was on disk at the start is applied.
func (e *Engine) applyDelivered(ctx context.Context, from uint64) {
	target := e.log.Head()
	stop := func(err error) {
		if ctx.Err() == nil || !errors.Is(err, journal.ErrClosed) {
			e.fail(err)
		}
	}
	if from > target {
		if err := e.endReplay(ctx); err != nil {
			stop(err)
			return
		}
	}
	for g, err := range e.log.Deliver(ctx, from) {
		if err == nil {
			if err = e.apply(&g); err != nil {
				err = e.final(err)
			}
		} else {
			err = e.finalIfDamage(err)
		}
		if err == nil && g.Number <= target {
			e.opt.Progress(Progress{Replaying, g.Number - from + 1, target - from + 1})
			if g.Number == target {
				err = e.endReplay(ctx)
			}
		}
		if err != nil {
			stop(err)
			return
		}
	}
}

// endReplay begins the life of this run. Then Open returns, and the sequencer starts.
func (e *Engine) endReplay(ctx context.Context) error {
	if e.opt.Follower { // it proposes nothing
		e.markReady()
		return nil
	}
	if err := e.beginLife(ctx); err != nil {
		return err
	}
	e.markReady()
	return nil
}

// markReady lets Open return. Further calls are no-ops.
func (e *Engine) markReady() { e.readyOnce.Do(func() { close(e.ready) }) }

// apply applies a delivered group, then publishes what it did and answers its callers.
func (e *Engine) apply(g *journal.Group) error {
	own, err := e.ownGroup(g)
	if err != nil {
		return err
	}
	cmds, err := commandsOf(g, own)
	if err != nil {
		return err
	}
	b := &Batch{Number: g.Number}
	begun, due := time.Now(), e.nextDue.Load()
	if err := e.applyGroup(g, cmds, b); err != nil {
		return err
	}
	if e.several() {
		e.delivered(g, own, len(cmds), due)
	}
	if b.Repeat {
		e.stats.RepeatsDropped.Add(1)
		return nil
	}
	took := time.Since(begun)
	e.stats.apply(took, len(b.Applied))
	if e.attestations != nil {
		if err := e.compareAttests(g.Node, b.Applied); err != nil {
			return fmt.Errorf("group %d: %w", g.Number, err)
		}
	}
	e.publish(b)
	if own == nil && e.several() {
		e.callForeign(g, cmds)
	}
	e.maybeSnapshot(len(b.Applied), took)
	if own != nil {
		e.pending.Delete(g.Proposal)
		e.deliverReceipts(own, b)
	}
	return nil
}

// commandsOf returns the commands of a delivered group. If this process has proposed it, as own,
// they are the submitted commands; else it decodes the body.
func commandsOf(g *journal.Group, own *group) ([]core.Command, error) {
	if own == nil {
		return replica.Commands(g)
	}
	cmds := make([]core.Command, len(own.order))
	for i, r := range own.order {
		cmds[i] = r.cmd
	}
	return cmds, nil
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

// setDue stores when the next Clock is due, and whether a revision is in force. The next command gets a
// stamp of at least Ts+1: what is due by then is due now, whatever the wall clock says.
func (e *Engine) setDue() {
	at := e.replica.Venue.Due()
	if ts := e.replica.Venue.Now().Ts; at <= ts+1 {
		at = 0
		if e.several() {
			at = ts // the members of higher rank wait from then on
		}
	}
	e.nextDue.Store(at)
	e.marks.Store(int64(e.replica.Venue.MarkCount()))
	e.activated.Store(e.replica.Venue.Rules().Revision != core.RevisionNone)
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
				if ev.TokenWas != ([32]byte{}) {
					e.tokens.Delete(ev.TokenWas)
				}
			}
		}
	}
	if len(b.Applied)+len(b.Refused) > 0 {
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
		e.storeKey(k)
		return
	}
	e.keys.Delete(k.ID)
	e.numbered.Delete(k.Number)
	if f := e.onRevoke.Load(); f != nil {
		(*f)(k.ID)
	}
}

// deliverReceipts gives each caller its receipt and wakes them all at once.
func (e *Engine) deliverReceipts(g *group, b *Batch) {
	applied, refused := b.Applied, b.Refused
	for _, r := range g.order {
		if len(refused) > 0 && refused[0].Command == r.cmd {
			r.refused(&refused[0])
			refused = refused[1:]
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

// refused sets the outcome of a command that took no seq.
func (r *request) refused(why *replica.Refusal) {
	switch {
	case why.Judgment == venue.Unauthorized:
		r.err = ErrRevoked
	case why.Judgment == venue.Late:
		r.err = ErrExpired
	case why.First == nil:
		r.err = ErrRepeated
	default:
		r.receipt = Receipt{Stamp: why.First.Stamp, Reject: why.First.Reject, Events: why.First.Events, Repeat: true}
	}
}

// failPending ends the wait of every caller when the pipeline has stopped.
func (e *Engine) failPending() {
	e.queue.close(ErrStopped)
	e.pending.Range(func(k, g any) bool {
		e.pending.Delete(k)
		e.queue.complete(g.(*group), ErrUnknown)
		return true
	})
	e.shedQueue()
}

// shedQueue ends the wait of every caller whose group is not sealed.
func (e *Engine) shedQueue() {
	for g := e.queue.seal(nil); g != nil; g = e.queue.seal(nil) {
		e.queue.complete(g, ErrShed)
	}
}
