package view

import (
	"slices"

	"duplex/core"
)

// rows are an account's orders by created_seq. Terminal and rejected rows beyond
// their caps are marked and swept when they make up half.
type rows struct {
	all      []*Order
	terminal []*Order // in the order they ended
	rejected []*Order
	evicted  int
}

func (r *rows) evict(list []*Order, max int) []*Order {
	for len(list) > max {
		list[0].evicted = true
		r.evicted++
		list = list[1:]
	}
	if r.evicted > 64 && r.evicted > len(r.all)/2 {
		r.all = slices.DeleteFunc(r.all, func(o *Order) bool { return o.evicted })
		r.evicted = 0
	}
	return list
}

func (w *View) placed(e *core.OrderPlaced) {
	c, a := e.Place, w.user(e.Place.User)
	o := &Order{
		ClientID: c.ClientID, User: c.User, Market: c.Market, Generation: e.Generation, Side: c.Side, Outcome: c.Outcome,
		Type: c.Type, Tick: c.Tick, Qty: c.Qty, TIF: c.TIF, Expiry: c.Expiry, MaxCost: c.MaxCost, Group: c.Group, Flags: c.Flags,
		Left: c.Qty, CreatedSeq: w.at.Seq, CreatedTs: w.at.Ts, UpdateSeq: w.at.Seq,
	}
	a.rows.all = append(a.rows.all, o)
	if e.Reject != core.OK {
		o.Status, o.Reject, o.Left = core.Rejected, e.Reject, 0
		a.rows.rejected = a.rows.evict(append(a.rows.rejected, o), w.caps.Rejects)
	} else {
		o.ID = core.OrderID(w.at.Seq)
		w.fresh = o
	}
	w.noteOrder(o)
}

// noteOrder enters the whole order as it is now, after the events of the same
// order before it in the same command gave way: only the last state is told.
func (w *View) noteOrder(o *Order) {
	ring := &w.user(o.User).events
	if n := len(ring.buf); n > 0 {
		last := ring.at(ring.next - 1)
		if was, ok := last.What.(*Order); ok && last.Seq == w.at.Seq && was.CreatedSeq == o.CreatedSeq {
			*was = *o // nobody has seen it: its command is under way
			return
		}
	}
	w.note(o.User, ptr(*o))
}

func (w *View) filled(e *core.Filled) {
	tape := w.tapes[e.Market]
	if tape == nil {
		tape = ptr(newRing[Trade](w.caps.Tape))
		w.tapes[e.Market] = tape
	}
	tape.add(Trade{
		Seq: w.at.Seq, Ts: w.at.Ts, Market: e.Market, Generation: e.Generation, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path,
		TakerSide: e.TakerSide, TakerOutcome: e.TakerOutcome,
	})
	f := Fill{Seq: w.at.Seq, Ts: w.at.Ts, Market: e.Market, Qty: e.Qty, TickYes: e.TickYes, Path: e.Path}
	taker, maker := f, f
	taker.Order, taker.Side, taker.Outcome, taker.Fee = e.Taker, e.TakerSide, e.TakerOutcome, e.TakerFee
	maker.Order, maker.Side, maker.Outcome, maker.Fee, maker.Maker = e.Maker, e.MakerSide, e.MakerOutcome, e.MakerFee, true
	w.fill(taker)
	w.fill(maker)
}

func (w *View) fill(f Fill) {
	o := w.resting(f.Order)
	o.Filled += f.Qty
	o.Left -= f.Qty
	o.UpdateSeq = w.at.Seq
	o.Status = core.PartiallyFilled
	f.ClientID = o.ClientID
	a := w.user(o.User)
	a.volume.add(w.at.Ts, f.Qty)
	a.fills.add(f)
	w.note(o.User, &f)
	if o.Left == 0 {
		w.finish(o, core.Executed, core.NoReason)
	}
	w.noteOrder(o)
}

func (w *View) closed(e *core.OrderClosed) {
	o := w.resting(e.Order)
	w.finish(o, e.Status, e.Reason)
	w.noteOrder(o)
}

func (w *View) decreased(e *core.OrderDecreased) {
	o := w.resting(e.Order)
	o.Left, o.UpdateSeq = e.Left, w.at.Seq
	w.noteOrder(o)
}

// resting gives an order that is about to change.
func (w *View) resting(id core.OrderID) *Order {
	o := w.fresh
	if o == nil || o.ID != id {
		o = w.live[id]
	}
	w.user(o.User)
	return o
}

func (w *View) finish(o *Order, s core.OrderStatus, why core.Reason) {
	o.Status, o.Reason, o.Left, o.UpdateSeq = s, why, 0, w.at.Seq
	if o == w.fresh {
		w.fresh = nil
	} else {
		delete(w.live, o.ID)
	}
	r := &w.user(o.User).rows
	r.terminal = r.evict(append(r.terminal, o), w.caps.Terminal)
}
