package view

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"duplex/core"
)

// rows are an account's orders by created_seq. Orders in a final status and rejected orders
// are kept up to a cap each; they never change again, so images share them.
type rows struct {
	all      []row
	evicted  int      // entries of all without an order
	terminal []*Order // in the order they ended
	rejected []*Order
	released Released // of all, by created_seq
}

// row is one entry of the list; order is nil once it was evicted.
type row struct {
	seq   uint64
	order *Order
}

func (r *rows) add(o *Order) { r.all = append(r.all, row{o.CreatedSeq, o}) }

// indexBelow returns the index of the first row with a created_seq of at least seq (0: the
// length), so that the rows before the index are those below seq.
func (r *rows) indexBelow(seq uint64) int {
	if seq == 0 {
		return len(r.all)
	}
	i, _ := slices.BinarySearchFunc(r.all, seq, func(x row, seq uint64) int { return cmp.Compare(x.seq, seq) })
	return i
}

// list returns the orders kept, by created_seq.
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

// evict drops the oldest orders of list beyond max. It compacts the rows once more than a
// quarter of them are empty.
func (r *rows) evict(list []*Order, max int) []*Order {
	for len(list) > max {
		r.released.note(list[0].CreatedSeq, list[0].UpdateSeq)
		r.all[r.indexBelow(list[0].CreatedSeq)].order = nil
		r.evicted++
		list[0] = nil // otherwise the backing array keeps the order in memory
		list = list[1:]
	}
	if r.evicted > 64 && r.evicted > len(r.all)/4 {
		r.all, r.evicted = slices.DeleteFunc(r.all, func(x row) bool { return x.order == nil }), 0
		most := len(r.all)*4/3 + 65 // as long as it gets before it is compacted again
		if cap(r.all) > most*5/4 {
			r.all = append(make([]row, 0, most), r.all...)
		}
	}
	return list
}

// restore fills empty rows with orders by created_seq. ended lists the created_seq of those
// that ended, in the order they ended.
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
		return fmt.Errorf("%d orders have ended, but %d are listed as ended", terminal, len(ended))
	}
	for _, o := range orders {
		r.add(o)
		if o.Status == core.Rejected {
			r.reject(o, &caps)
		}
	}
	for _, seq := range ended {
		i := r.indexBelow(seq)
		if i == len(r.all) || seq == 0 || r.all[i].seq != seq || r.all[i].order == nil || r.all[i].order.Status.Live() || r.all[i].order.Status == core.Rejected {
			return fmt.Errorf("order %d is listed as ended and is not in the rows", seq)
		}
		r.end(r.all[i].order, &caps)
	}
	return nil
}

func (w *View) foldPlaced(e *core.OrderPlaced) {
	c, a := e.Place, w.mutableAccount(e.Place.User)
	o := &Order{
		ClientID: c.ClientID, User: c.User, Market: c.Market, Generation: e.Generation, Side: c.Side, Outcome: c.Outcome,
		Type: c.Type, Tick: e.Tick, Qty: c.Qty, TIF: c.TIF, Expiry: c.Expiry, MaxCost: c.MaxCost, Group: c.Group, Flags: c.Flags,
		Key: c.Key, APIKey: a.keys.id(c.Key), Left: c.Qty, CreatedSeq: w.stamp.Seq, CreatedTs: w.stamp.Ts, UpdateSeq: w.stamp.Seq,
	}
	a.rows.add(o)
	if e.Reject != core.OK {
		o.Status, o.Reject, o.Left = core.Rejected, e.Reject, 0
		a.rows.reject(o, &w.caps)
	} else {
		o.ID = core.OrderID(w.stamp.Seq)
		w.incoming = o
	}
	w.addOrderEvent(o)
}

// addOrderEvent adds an event with the whole order as it is now. It replaces an event of the
// same order in the same command if that event is the newest, so the account sees only the
// last state.
func (w *View) addOrderEvent(o *Order) {
	if w.sink != nil {
		w.sink.Order(o)
	}
	if last := w.mutableAccount(o.User).events.newest(); last != nil {
		if was, ok := last.What.(*Order); ok && last.Seq == w.stamp.Seq && was.CreatedSeq == o.CreatedSeq {
			*was = *o // no reader has seen it yet
			return
		}
	}
	w.addEvent(o.User, new(*o))
}

func (w *View) foldFilled(e *core.Filled) {
	w.contracts += uint64(e.Qty)
	tape := w.tapes[e.Market]
	if tape == nil {
		tape = new(newRing[Trade](w.caps.Tape))
		w.tapes[e.Market] = tape
	}
	t := Trade{
		Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Generation: e.Generation, TickYes: e.TickYes, Qty: e.Qty, Path: e.Path,
		TakerSide: e.TakerSide, TakerOutcome: e.TakerOutcome,
	}
	tape.add(t)
	if w.sink != nil {
		w.sink.Trade(tape.next-1, tape.at(tape.next-1))
	}
	f := Fill{Seq: w.stamp.Seq, Ts: w.stamp.Ts, Market: e.Market, Qty: e.Qty, TickYes: e.TickYes, Path: e.Path}
	if r := w.rounds.newestOf[e.Market]; r != nil {
		f.Generation, f.Number, f.Category = r.Generation, r.Number, r.Category
	}
	taker, maker := f, f
	taker.Order, taker.Side, taker.Outcome, taker.Fee = e.Taker, e.TakerSide, e.TakerOutcome, e.TakerFee
	maker.Order, maker.Side, maker.Outcome, maker.Fee, maker.Maker = e.Maker, e.MakerSide, e.MakerOutcome, e.MakerFee, true
	w.foldFillSide(taker, core.NoReason)
	w.foldFillSide(maker, e.MakerReason)
	w.foldFeeShares(e)
}

// foldFillSide applies one side of a fill. An order with nothing left is executed, or
// canceled if why gives a reason.
func (w *View) foldFillSide(f Fill, why core.Reason) {
	o := w.mutableOrder(f.Order)
	o.Filled += f.Qty
	o.Left -= f.Qty
	o.UpdateSeq = w.stamp.Seq
	o.Status = core.PartiallyFilled
	f.ClientID, f.Key, f.APIKey, f.Group = o.ClientID, o.Key, o.APIKey, o.Group
	a := w.mutableAccount(o.User)
	a.volume.add(w.stamp.Ts, f.Qty)
	f.N = a.fills.end()
	a.fills.add(f, &w.scratch)
	if w.sink != nil {
		row := f
		w.sink.Fill(o.User, &row)
	}
	w.addEvent(o.User, &f)
	w.foldFillMoney(o.User, &f)
	w.foldFillRound(o.User, &f)
	switch {
	case o.Left == 0 && why != core.NoReason:
		w.endOrder(o, core.Canceled, why)
	case o.Left == 0:
		w.endOrder(o, core.Executed, core.NoReason)
	}
	w.addOrderEvent(o)
}

func (w *View) foldClosed(e *core.OrderClosed) {
	o := w.mutableOrder(e.Order)
	w.endOrder(o, e.Status, e.Reason)
	w.addOrderEvent(o)
}

func (w *View) foldDecreased(e *core.OrderDecreased) {
	o := w.mutableOrder(e.Order)
	o.Left, o.UpdateSeq = e.Left, w.stamp.Seq
	w.addOrderEvent(o)
}

// mutableOrder returns an order that has not ended and that the caller may change.
func (w *View) mutableOrder(id core.OrderID) *Order {
	o := w.incoming
	if o == nil || o.ID != id {
		o = w.resting[id]
	}
	w.mutableAccount(o.User)
	return o
}

func (w *View) endOrder(o *Order, s core.OrderStatus, why core.Reason) {
	o.Status, o.Reason, o.Left, o.UpdateSeq = s, why, 0, w.stamp.Seq
	if o == w.incoming {
		w.incoming = nil
	} else {
		delete(w.resting, o.ID)
	}
	w.mutableAccount(o.User).rows.end(o, &w.caps)
}

// numberFills numbers the restored fills that are not encoded. It does so before readers share them.
func (a *account) numberFills() {
	tail := a.fills.unencoded()
	for i := range tail {
		tail[i].N = a.fills.end() - uint64(len(tail)-i)
	}
}
