package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"duplex/core"
)

// rows are an account's orders by rising created_seq. Resting orders are always kept; of terminal and of
// rejected ones a cap each (docs/rules/limits.md#retention). A terminal or rejected order never changes
// again, so an Image shares it.
type rows struct {
	all      []row
	evicted  int      // number of rows in all without an order
	terminal []*Order // in the order in which they ended
	rejected []*Order
}

// row is one element of the list. order is nil if it was evicted.
type row struct {
	seq   uint64
	order *Order
}

func (r *rows) add(o *Order) { r.all = append(r.all, row{o.CreatedSeq, o}) }

// below returns the number of rows whose created_seq is below seq; all for 0.
func (r *rows) below(seq uint64) int {
	if seq == 0 {
		return len(r.all)
	}
	i, _ := slices.BinarySearchFunc(r.all, seq, func(x row, seq uint64) int { return cmp.Compare(x.seq, seq) })
	return i
}

// list returns the orders that are kept, by rising created_seq.
func (r *rows) list() []*Order {
	out := make([]*Order, 0, len(r.all)-r.evicted)
	for _, x := range r.all {
		if x.order != nil {
			out = append(out, x.order)
		}
	}
	return out
}

// end records that an order of the list became terminal.
func (r *rows) end(o *Order, caps *RetentionCaps) {
	r.terminal = r.evict(append(r.terminal, o), caps.Terminal)
}

// reject records that an order of the list was rejected.
func (r *rows) reject(o *Order, caps *RetentionCaps) {
	r.rejected = r.evict(append(r.rejected, o), caps.Rejects)
}

// evict removes the oldest orders of a list beyond max. Their rows stay empty until they are more than
// 64 and a quarter of all, so that the cost per order is constant.
func (r *rows) evict(list []*Order, max int) []*Order {
	for len(list) > max {
		r.all[r.below(list[0].CreatedSeq)].order = nil
		r.evicted++
		list[0] = nil // the slice's array would still refer to it
		list = list[1:]
	}
	if r.evicted > 64 && r.evicted > len(r.all)/4 {
		r.all = slices.DeleteFunc(r.all, func(x row) bool { return x.order == nil })
		r.evicted = 0
	}
	return list
}

// restore fills empty rows with orders, which must have rising created_seqs. ended are the created_seqs
// of the terminal ones, in the order in which they ended.
func (r *rows) restore(orders []*Order, ended []uint64, caps RetentionCaps) error {
	terminal := 0
	for i, o := range orders {
		if i > 0 && o.CreatedSeq <= orders[i-1].CreatedSeq {
			return errors.New("orders are not sorted by created_seq")
		}
		if !o.Status.Live() && o.Status != core.Rejected {
			terminal++
		}
	}
	if terminal != len(ended) {
		return fmt.Errorf("%d terminal orders, %d are listed", terminal, len(ended))
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
			return fmt.Errorf("terminal order %d is missing", seq)
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
		Left: c.Qty, CreatedSeq: w.stamp.Seq, CreatedTs: w.stamp.Ts, UpdateSeq: w.stamp.Seq,
	}
	a.rows.add(o)
	if e.Reject != core.OK {
		o.Status, o.Reject, o.Left = core.Rejected, e.Reject, 0
		a.rows.reject(o, &w.caps)
	} else {
		o.ID = core.OrderID(w.stamp.Seq)
		w.placing = o
	}
	w.addOrderEvent(o)
}

// addOrderEvent appends the order's whole current state to the account's events. If the newest event is
// of the same order and command it is replaced, so that readers see only the last state.
func (w *View) addOrderEvent(o *Order) {
	if last := w.user(o.User).events.newest(); last != nil {
		if was, ok := last.What.(*Order); ok && last.Seq == w.stamp.Seq && was.CreatedSeq == o.CreatedSeq {
			*was = *o // no reader has seen it, because the command is still being folded
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
		Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Generation: e.Generation, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path,
		TakerSide: e.TakerSide, TakerOutcome: e.TakerOutcome,
	})
	f := Fill{Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Qty: e.Qty, TickYes: e.TickYes, Path: e.Path}
	taker, maker := f, f
	taker.Order, taker.Side, taker.Outcome, taker.Fee = e.Taker, e.TakerSide, e.TakerOutcome, e.TakerFee
	maker.Order, maker.Side, maker.Outcome, maker.Fee, maker.Maker = e.Maker, e.MakerSide, e.MakerOutcome, e.MakerFee, true
	w.fill(taker, core.NoReason)
	w.fill(maker, e.MakerReason)
}

// fill adds one side of a fill. If it leaves nothing of the order, the order is executed, or canceled if
// there is a reason why.
func (w *View) fill(f Fill, why core.Reason) {
	o := w.restingOrder(f.Order)
	o.Filled += f.Qty
	o.Left -= f.Qty
	o.UpdateSeq = w.stamp.Seq
	o.Status = core.PartiallyFilled
	f.ClientID = o.ClientID
	a := w.user(o.User)
	a.volume.add(w.stamp.Ts, f.Qty)
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
	o.Left, o.UpdateSeq = e.Left, w.stamp.Seq
	w.addOrderEvent(o)
}

// restingOrder returns an order that is about to change. If an image is in progress it copies the account
// first.
func (w *View) restingOrder(id core.OrderID) *Order {
	o := w.placing
	if o == nil || o.ID != id {
		o = w.resting[id]
	}
	w.user(o.User)
	return o
}

func (w *View) endOrder(o *Order, s core.OrderStatus, why core.Reason) {
	o.Status, o.Reason, o.Left, o.UpdateSeq = s, why, 0, w.stamp.Seq
	if o == w.placing {
		w.placing = nil
	} else {
		delete(w.resting, o.ID)
	}
	w.user(o.User).rows.end(o, &w.caps)
}
