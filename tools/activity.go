package tools

import (
	"iter"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// ActivityListOf returns a page of an agent's activity, newest first, with the orders and the transfers that memory keeps.
func ActivityListOf(v *Venue, agent core.UserID, in *schemas.ListActivity) (out schemas.ActivityList, err error) {
	v.Engine.Read(func(m *venue.Venue, w *view.View) {
		x := activityReader{m: m, w: w, agent: agent}
		defer x.close()
		walk := func(from uint64) iter.Seq2[uint64, *view.Activity] { return w.Activity(agent, from) }
		out.Activity, out.PageEnd, err = PageOf(m, "activity", Caller{User: agent}, in, walk, KeepAll, x.show)
	})
	return out, err
}

// activityReader converts the activity of an agent, newest first.
type activityReader struct {
	m     *venue.Venue
	w     *view.View
	agent core.UserID

	next func() (uint64, *view.LedgerRow, bool) // rows of the ledger, newest first; nil before the first transfer
	stop func()
	row  *view.LedgerRow // read and not passed yet; nil at the end
}

func (x *activityReader) close() {
	if x.stop != nil {
		x.stop()
	}
}

func (x *activityReader) show(a *view.Activity) schemas.Activity {
	out := ActivityOf(a, x.w.KeyID(x.agent, a.Key))
	switch {
	case a.Ask():
		out.Order = x.asked(uint64(a.Order))
	case a.ClientID != 0: // a placement, also one in the stead of another: its seq is the id
		out.Order = x.placed(a.Seq)
	case a.Order != 0:
		out.Order = x.placed(uint64(a.Order))
	case a.MovesMoney():
		out.Amount = x.moved(a.Seq)
	}
	return out
}

// placed returns the order of the placement with a seq, also a rejected one; nil if memory has it no more.
func (x *activityReader) placed(seq uint64) *schemas.ActivityOrder {
	var o *view.Order
	for newest := range x.w.Orders(x.agent, seq+1) {
		o = newest
		break
	}
	if o == nil || o.CreatedSeq != seq {
		return nil
	}
	out := &schemas.ActivityOrder{
		MarketID: uint32(o.Market), Generation: o.Generation, Category: x.category(o.Market, o.Generation), Side: o.Side.String(), Outcome: o.Outcome.String(), Type: o.Type.String(),
		Tick: int64(o.Tick), Qty: int64(o.Qty), FilledQty: int64(o.Filled), Status: o.Status.String(),
	}
	switch {
	case o.Reject != core.OK:
		out.Reason = o.Reject.String()
	case o.Reason != core.NoReason:
		out.Reason = o.Reason.String()
	}
	return out
}

// asked returns what the agent asked with an id: the order if it was placed.
func (x *activityReader) asked(id uint64) *schemas.ActivityOrder {
	for a := range x.w.Asks(x.agent) {
		switch {
		case a.Ask.ID != id:
			continue
		case a.Order != 0:
			return x.placed(uint64(a.Order))
		}
		p := &a.Ask.Place
		return &schemas.ActivityOrder{
			MarketID: uint32(p.Market), Generation: p.Generation, Category: a.Ask.Category, Side: p.Side.String(), Outcome: p.Outcome.String(), Type: p.Type.String(),
			Tick: int64(p.Tick), Qty: int64(p.Qty), Status: a.Status.String(), Reason: a.Why(),
		}
	}
	return nil
}

// category returns the series of a round; 0 if it is not the newest of its market.
func (x *activityReader) category(m core.MarketID, generation uint32) uint16 {
	if r := x.w.Round(m); r != nil && r.Generation == generation {
		return r.Category
	}
	return 0
}

// moved returns the amount of the transfer with a seq. It reads the ledger once for all entries of a page, because both
// are newest first.
func (x *activityReader) moved(seq uint64) *schemas.Signed {
	if x.next == nil {
		x.next, x.stop = iter.Pull2(x.w.Ledger(x.agent, 0))
		_, x.row, _ = x.next()
	}
	for ; x.row != nil && x.row.Seq >= seq; _, x.row, _ = x.next() {
		if x.row.Seq == seq && x.row.Kind == view.LedgerTransfer {
			return schemas.Ptr(schemas.Signed(x.row.Amount))
		}
	}
	return nil
}
