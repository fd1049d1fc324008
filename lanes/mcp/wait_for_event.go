package mcp

import (
	"cmp"
	"context"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

const (
	maxWait = 25 * time.Second
	// maxVirtualWait bounds a call that waits for virtual time, which stands still while other
	// seats think.
	maxVirtualWait = 24 * time.Hour
	// maxWaitBytes bounds the events of a result, in bytes. The next call continues.
	maxWaitBytes = 6500
)

var longestWait = maxWait // a variable for tests

// waitForEvent returns the operation of the tool wait_for_event, which only this lane
// offers (docs/rules/agents.md#waiting).
func (l *Lane) waitForEvent() *tools.Op[schemas.WaitForEvent, schemas.WaitedEvents] {
	return &tools.Op[schemas.WaitForEvent, schemas.WaitedEvents]{
		Spec: tools.Spec{
			Name: tools.WaitForEvent, Title: "Wait for an event", Scope: core.ScopeRead,
			Doc: "Your events and round changes after a seq, at once or when one comes. Use it instead of polling.",
		},
		Do: l.dispatcher.waitForEvent,
	}
}

// waitForEvent returns the events of an account after a seq, or waits for the first. The events of
// every command that was answered before the call are among them, whatever the timeout. A seq
// ahead of the venue's belongs to another venue, or to one that lost its journal; the
// result then reports that events may be missed.
func (d *dispatcher) waitForEvent(ctx context.Context, v *tools.Venue, caller tools.Caller, in *schemas.WaitForEvent) (out schemas.WaitedEvents, err error) {
	head := v.Engine.Seq()
	if uint64(in.AfterSeq) > head {
		return schemas.WaitedEvents{Events: []schemas.WaitedEvent{}, NextSeq: schemas.U64(head), Missed: true}, nil
	}
	timeout := longestWait
	if in.TimeoutMs != nil {
		timeout = time.Duration(*in.TimeoutMs) * time.Millisecond
	}
	end := v.Config.Now() + int64(timeout)
	var ended <-chan time.Time
	if v.Virtual == nil {
		ended = time.After(timeout)
	}
	w := &watch{user: caller.User, rounds: wantsKind(in, "round")}
	d.subscribe(w)
	defer d.unsubscribe(w)
	d.catchUp(ctx, head)
	for after := uint64(in.AfterSeq); ; after = uint64(out.NextSeq) {
		found := d.collectEvents(caller.User, after, in)
		found.Missed = found.Missed || out.Missed
		if out = found; len(out.Events) > 0 || out.Missed {
			return out, nil
		}
		if v.Virtual != nil {
			reached, err := v.Virtual.Await(ctx, caller.Key.ID, end, w.wake)
			if k := v.Engine.Key(caller.Key.ID); k == nil || k.Revoked {
				return out, tools.NewError("unauthorized")
			}
			if err != nil {
				return out, nil // like the end of ctx below
			}
			d.catchUp(ctx, v.Engine.Seq())
			if reached {
				if last := d.collectEvents(caller.User, uint64(out.NextSeq), in); len(last.Events) > 0 || last.Missed {
					return last, nil
				}
				return out, nil
			}
			continue
		}
		select {
		case <-w.wake:
			if k := v.Engine.Key(caller.Key.ID); k == nil || k.Revoked {
				return out, tools.NewError("unauthorized")
			}
		case <-ended:
			return out, nil
		case <-d.done:
			return out, nil
		case <-ctx.Done():
			return out, nil
		}
	}
}

// seqEvent is an event with its seq.
type seqEvent struct {
	seq  uint64
	kind string
	msg  any
}

// collectEvents returns the events after seq, oldest first, up to maxWaitBytes. It never
// splits the events of one command. If some are no longer kept it returns none: the caller
// reads its state again, which has the others.
func (d *dispatcher) collectEvents(u core.UserID, seq uint64, in *schemas.WaitForEvent) (out schemas.WaitedEvents) {
	rounds, upTo := d.transitions(seq)
	var now int64
	d.engine.Read(func(v *venue.Venue, _ *view.View) { now = v.Now().Ts })
	mine, complete := d.userEvents(u, seq, upTo)
	if !complete {
		return schemas.WaitedEvents{Events: []schemas.WaitedEvent{}, NextSeq: schemas.U64(max(seq, upTo)), Missed: true}
	}
	found := slices.Concat(filterUserEvents(mine, roundsOf(d.engine, mine), in), roundEvents(rounds, in, now))
	slices.SortStableFunc(found, func(a, b seqEvent) int { return cmp.Compare(a.seq, b.seq) })
	out = schemas.WaitedEvents{Events: []schemas.WaitedEvent{}, NextSeq: schemas.U64(max(seq, upTo))}
	bytesLeft := maxWaitBytes
	for i, e := range found {
		msg := mustEncode(e.msg)
		bytesLeft -= len(msg) + 48
		if bytesLeft < 0 && i > 0 && e.seq != found[i-1].seq {
			out.NextSeq = schemas.U64(found[i-1].seq)
			return out
		}
		out.Events = append(out.Events, schemas.WaitedEvent{Seq: schemas.U64(e.seq), Kind: e.kind, Msg: msg})
	}
	return out
}

// userEvents returns an account's events in (seq, upTo]. It reports false if some of them
// are no longer kept.
func (d *dispatcher) userEvents(u core.UserID, seq, upTo uint64) (list []view.UserEvent, complete bool) {
	d.engine.Read(func(_ *venue.Venue, w *view.View) { list, complete = w.EventsAfter(u, seq) })
	end := len(list)
	for end > 0 && list[end-1].Seq > upTo {
		end--
	}
	return list[:end], complete
}

func filterUserEvents(events []view.UserEvent, rounds map[roundKey]*core.Round, in *schemas.WaitForEvent) (out []seqEvent) {
	for i := range events {
		e := &events[i]
		if kind, msg := shortEvent(e, rounds); kind != "key_revoked" && wantsKind(in, kind) && wantsMarket(in, tools.EventMarket(e)) {
			out = append(out, seqEvent{e.Seq, kind, msg})
		}
	}
	return out
}

func roundEvents(rounds []transition, in *schemas.WaitForEvent, now int64) (out []seqEvent) {
	for i := range rounds {
		if t := &rounds[i]; wantsKind(in, "round") && wantsMarket(in, uint32(t.round.Market)) {
			out = append(out, seqEvent{t.seq, "round", shortRound(tools.RoundOf(&t.round, now))})
		}
	}
	return out
}

func wantsKind(in *schemas.WaitForEvent, kind string) bool {
	return len(in.Kinds) == 0 || slices.Contains(in.Kinds, kind)
}

func wantsMarket(in *schemas.WaitForEvent, market uint32) bool {
	return len(in.MarketIDs) == 0 || slices.Contains(in.MarketIDs, schemas.Int(market))
}
