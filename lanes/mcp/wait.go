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
	waitMax = 25 * time.Second
	// waitRoom bounds an answer, in bytes of its events: the next call goes on behind.
	waitRoom = 6500
)

// waitForEvent is the one tool that is not an operation of REST: there sockets do it.
func (l *Lane) waitForEvent() *tools.Op[schemas.WaitForEvent, schemas.WaitedEvents] {
	return &tools.Op[schemas.WaitForEvent, schemas.WaitedEvents]{
		Facts: tools.Facts{
			Name: "wait_for_event", Title: "Wait for an event", Scope: core.ScopeRead,
			Doc: "Your events (orders, fills, balance, …) and round transitions after a seq: at once if there are any, else when the first comes, else none after timeout_ms. Start with the as_of_seq or seq of any answer, then pass next_seq: nothing is missed. Use it instead of polling. market_ids leaves only what is about those markets.",
		},
		Do: l.hub.wait,
	}
}

// wait returns what an account has missed since a seq, or waits for the first.
func (h *hub) wait(ctx context.Context, v *tools.Venue, who tools.Caller, in *schemas.WaitForEvent) (out schemas.WaitedEvents, err error) {
	patience := waitMax
	if in.TimeoutMs != nil {
		patience = time.Duration(*in.TimeoutMs) * time.Millisecond
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	w := &watch{user: who.User, rounds: wants(in, "round")}
	h.enter(w)
	defer h.leave(w)
	for after := uint64(in.AfterSeq); ; after = uint64(out.NextSeq) {
		found := h.after(who.User, after, in)
		found.Missed = found.Missed || out.Missed
		if out = found; len(out.Events) > 0 || out.Missed {
			return out, nil
		}
		select {
		case <-w.wake:
			if k := v.Engine.Key(who.Key.ID); k == nil || k.Revoked {
				return out, tools.Refuse("unauthorized")
			}
		case <-timer.C:
			return out, nil
		case <-h.ended:
			return out, nil
		case <-ctx.Done():
			return out, nil
		}
	}
}

// dated is an event with its place.
type dated struct {
	seq  uint64
	kind string
	msg  any
}

// after collects what there is now, oldest first, as much as an answer holds. An
// answer never ends amid a command.
func (h *hub) after(u core.UserID, seq uint64, in *schemas.WaitForEvent) (out schemas.WaitedEvents) {
	rounds, upTo := h.transitions(seq)
	mine, whole := h.userEvents(u, seq, upTo)
	found := slices.Concat(chosen(mine, in), turns(rounds, in))
	slices.SortStableFunc(found, func(a, b dated) int { return cmp.Compare(a.seq, b.seq) })
	out = schemas.WaitedEvents{Events: []schemas.WaitedEvent{}, NextSeq: schemas.U64(max(seq, upTo)), Missed: !whole}
	room := waitRoom
	for i, e := range found {
		msg := encoded(e.msg)
		room -= len(msg) + 48
		if room < 0 && i > 0 && e.seq != found[i-1].seq {
			out.NextSeq = schemas.U64(found[i-1].seq)
			return out
		}
		out.Events = append(out.Events, schemas.WaitedEvent{Seq: schemas.U64(e.seq), Kind: e.kind, Msg: msg})
	}
	return out
}

// userEvents are an account's in (seq, upTo]; false if some are no longer kept.
func (h *hub) userEvents(u core.UserID, seq, upTo uint64) (list []view.UserEvent, whole bool) {
	h.engine.Read(func(_ *venue.Venue, w *view.View) { list, whole = w.EventsAfter(u, seq) })
	end := len(list)
	for end > 0 && list[end-1].Seq > upTo {
		end--
	}
	return list[:end], whole
}

func chosen(events []view.UserEvent, in *schemas.WaitForEvent) (out []dated) {
	for i := range events {
		e := &events[i]
		if kind, msg := tools.EventOf(e); kind != "key_revoked" && wants(in, kind) && about(in, tools.EventMarket(e)) {
			out = append(out, dated{e.Seq, kind, msg})
		}
	}
	return out
}

func turns(rounds []transition, in *schemas.WaitForEvent) (out []dated) {
	for i := range rounds {
		if t := &rounds[i]; wants(in, "round") && about(in, uint32(t.round.Market)) {
			out = append(out, dated{t.seq, "round", tools.RoundOf(&t.round)})
		}
	}
	return out
}

func wants(in *schemas.WaitForEvent, kind string) bool {
	return len(in.Kinds) == 0 || slices.Contains(in.Kinds, kind)
}

func about(in *schemas.WaitForEvent, market uint32) bool {
	return len(in.MarketIDs) == 0 || slices.Contains(in.MarketIDs, schemas.Int(market))
}
