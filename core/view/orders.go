package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"duplex/core"
)

// rows are an account's orders by created_seq. Those that ended or were rejected are
// kept up to a cap each, and never change again: images share them.
type rows struct {
	all      []row
	evicted  int      // rows of all that are empty
	terminal []*Order // in the order they ended
	rejected []*Order
}

// row is one place of the list; order is nil once it was evicted.
type row struct {
	seq   uint64
	order *Order
}

func (r *rows) add(o *Order) { r.all = append(r.all, row{o.CreatedSeq, o}) }

// below gives the index of the first row not below a created_seq (0: the end).
func (r *rows) below(seq uint64) int {
	if seq == 0 {
		return len(r.all)
	}
	i, _ := slices.BinarySearchFunc(r.all, seq, func(x row, seq uint64) int { return cmp.Compare(x.seq, seq) })
	return i
}

// list gives the orders that are kept.
func (r *rows) list() []*Order {
	out := make([]*Order, 0, len(r.all)-r.evicted)
	for _, x := range r.all {
		if x.order != nil {
			out = append(out, x.order)
		}
	}
	return out
}

func (r *rows) end(o *Order, caps *RetentionCaps) {
	r.terminal = r.evict(append(r.terminal, o), caps.Terminal)
}

func (r *rows) reject(o *Order, caps *RetentionCaps) {
	r.rejected = r.evict(append(r.rejected, o), caps.Rejects)
}

// evict drops the oldest of a list that are beyond max. Their rows are swept when they
// are a quarter of all.
func (r *rows) evict(list []*Order, max int) []*Order {
	for len(list) > max {
		r.all[r.below(list[0].CreatedSeq)].order = nil
		r.evicted++
		list[0] = nil // the array behind the slice would keep it
		list = list[1:]
	}
	if r.evicted > 64 && r.evicted > len(r.all)/4 {
		r.all = slices.DeleteFunc(r.all, func(x row) bool { return x.order == nil })
		r.evicted = 0
	}
	return list
}

// restore fills empty rows with orders by created_seq; ended are the created_seqs of
// those that ended, in the order they did.
func (r *rows) restore(orders []*Order, ended []uint64, caps RetentionCaps) error {
	terminal := 0
	for i, o := range orders {
		if i > 0 && o.CreatedSeq <= orders[i-1].CreatedSeq {
			return errors.New("orders are not in the order of their created_seq")
		}
		if !o.Status.Live() && o.Status != core.Rejected {
			terminal++
		}
	}
	if terminal != len(ended) {
		return fmt.Errorf("%d orders ended, %d are listed", terminal, len(ended))
	}
	for _, o := range orders {
		r.add(o)
		if o.Status == core.Rejected {
			r.reject(o, &caps)
		}
	}
	for _, seq := range ended {
		i := r.below(seq)
		if i == len(r.all) || seq == 0 || r.all[i].seq != seq || r.all[i].order == nil || r.all[i].order.Status.Live() || r.all[i].order.Status == core.Rejected {
			return fmt.Errorf("order %d ended and is not there", seq)
		}
		r.end(r.all[i].order, &caps)
	}
	return nil
}

func (w *View) placed(e *core.OrderPlaced) {
	c, a := e.Place, w.user(e.Place.User)
	o := &Order{
		ClientID: c.ClientID, User: c.User, Market: c.Market, Generation: e.Generation, Side: c.Side, Outcome: c.Outcome,
		Type: c.Type, Tick: c.Tick, Qty: c.Qty, TIF: c.TIF, Expiry: c.Expiry, MaxCost: c.MaxCost, Group: c.Group, Flags: c.Flags,
		Left: c.Qty, CreatedSeq: w.at.Seq, CreatedTs: w.at.Ts, UpdateSeq: w.at.Seq,
	}
	a.rows.add(o)
	if e.Reject != core.OK {
		o.Status, o.Reject, o.Left = core.Rejected, e.Reject, 0
		a.rows.reject(o, &w.caps)
	} else {
		o.ID = core.OrderID(w.at.Seq)
		w.placing = o
	}
	w.addOrderEvent(o)
}

// addOrderEvent enters the whole order as it is now, after the events of the same
// order before it in the same command gave way: only the last state is told.
func (w *View) addOrderEvent(o *Order) {
	if last := w.user(o.User).events.newest(); last != nil {
		if was, ok := last.What.(*Order); ok && last.Seq == w.at.Seq && was.CreatedSeq == o.CreatedSeq {
			*was = *o // nobody has seen it: its command is under way
			return
		}
	}
	w.addEvent(o.User, ptr(*o))
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
	w.fill(taker, core.NoReason)
	w.fill(maker, e.MakerReason)
}

// fill enters one side of a fill. An order that it leaves nothing of is executed, or
// canceled with the reason why.
func (w *View) fill(f Fill, why core.Reason) {
	o := w.restingOrder(f.Order)
	o.Filled += f.Qty
	o.Left -= f.Qty
	o.UpdateSeq = w.at.Seq
	o.Status = core.PartiallyFilled
	f.ClientID = o.ClientID
	a := w.user(o.User)
	a.volume.add(w.at.Ts, f.Qty)
	a.fills.add(f, &w.scratch)
	w.addEvent(o.User, &f)
	switch {
	case o.Left == 0 && why != core.NoReason:
		w.endOrder(o, core.Canceled, why)
	case o.Left == 0:
		w.endOrder(o, core.Executed, core.NoReason)
	}
	w.addOrderEvent(o)
}

func (w *View) closed(e *core.OrderClosed) {
	o := w.restingOrder(e.Order)
	w.endOrder(o, e.Status, e.Reason)
	w.addOrderEvent(o)
}

func (w *View) decreased(e *core.OrderDecreased) {
	o := w.restingOrder(e.Order)
	o.Left, o.UpdateSeq = e.Left, w.at.Seq
	w.addOrderEvent(o)
}

// restingOrder gives an order that is about to change.
func (w *View) restingOrder(id core.OrderID) *Order {
	o := w.placing
	if o == nil || o.ID != id {
		o = w.resting[id]
	}
	w.user(o.User)
	return o
}

func (w *View) endOrder(o *Order, s core.OrderStatus, why core.Reason) {
	o.Status, o.Reason, o.Left, o.UpdateSeq = s, why, 0, w.at.Seq
	if o == w.placing {
		w.placing = nil
	} else {
		delete(w.resting, o.ID)
	}
	w.user(o.User).rows.end(o, &w.caps)
}
