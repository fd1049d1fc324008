package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// remove takes an order without contracts left out of the book and the pool.
func (v *Venue) remove(r book.Ref, o *book.Order) {
	v.markets[o.Market()].book.Take(r)
	v.ledger.Unrest(o.User, o.Market(), o.Side(), o.Outcome(), 0)
	v.pool.Delist(&v.accounts[o.User].orders, r)
	v.pool.Drop(r)
}

// end closes a resting order and gives back what it reserved.
func (v *Venue) end(r book.Ref, s core.OrderStatus, why core.Reason, cause core.Cause) {
	o := v.pool.At(r)
	m, left := &v.markets[o.Market()], core.Qty(o.Left)
	e := v.ev.Closed()
	e.Order, e.User, e.Status, e.Reason, e.Left = o.ID, o.User, s, why, left
	v.moved(m, o.Bid(), o.TickYes(), -left, m.book.Take(r))
	v.ledger.Unrest(o.User, o.Market(), o.Side(), o.Outcome(), left)
	if o.Side() == core.Buy {
		v.ledger.Release(o.User, core.Pips(left)*core.Pips(o.Unit), cause)
	}
	v.pool.Delist(&v.accounts[o.User].orders, r)
	v.pool.Drop(r)
}

// shrink lowers a resting order by n contracts, fewer than it has.
func (v *Venue) shrink(r book.Ref, n core.Qty, cause core.Cause) {
	o := v.pool.At(r)
	m := &v.markets[o.Market()]
	v.moved(m, o.Bid(), o.TickYes(), -n, m.book.Lower(r, n))
	v.ledger.Shrink(o.User, o.Market(), o.Side(), o.Outcome(), n)
	if o.Side() == core.Buy {
		v.ledger.Release(o.User, core.Pips(n)*core.Pips(o.Unit), cause)
	}
	*v.ev.Decreased() = core.OrderDecreased{Order: o.ID, User: o.User, Left: core.Qty(o.Left)}
}

// own finds a resting order of u. Someone else's looks like one that never was.
func (v *Venue) own(u core.UserID, id core.OrderID) book.Ref {
	if r := v.pool.Find(id); r != book.None && v.pool.At(r).User == u {
		return r
	}
	return book.None
}

func (v *Venue) cancel(c *core.CancelOrder) core.Reject {
	r := v.own(c.User, c.Order)
	if r == book.None {
		return core.UnknownOrder
	}
	v.end(r, core.Canceled, core.UserCancel, core.CauseCancel)
	return core.OK
}

func (v *Venue) cancelAll(c *core.CancelAll) core.Reject {
	if !v.known(c.User) {
		return core.UnknownUser
	}
	v.sweep(c.User, core.MassCancel, func(r book.Ref, o *book.Order) bool {
		return (c.Market == 0 || o.Market() == c.Market) && (c.Group == 0 || v.pool.Terms(r).Group == c.Group)
	})
	return core.OK
}

// sweep cancels the account's resting orders that match, newest first.
func (v *Venue) sweep(u core.UserID, why core.Reason, match func(book.Ref, *book.Order) bool) {
	for r := range v.pool.Backward(&v.accounts[u].orders) {
		if match(r, v.pool.At(r)) {
			v.end(r, core.Canceled, why, core.CauseCancel)
		}
	}
}

func anyOrder(book.Ref, *book.Order) bool { return true }

// clear cancels a market's resting orders that match, bids first, in price-time
// order.
func (v *Venue) clear(m *market, why core.Reason, match func(book.Ref, *book.Order) bool) {
	for _, bid := range [2]bool{true, false} {
		for r := m.book.Best(bid); r != book.None; {
			next := m.book.Next(r)
			if match(r, v.pool.At(r)) {
				v.end(r, core.Canceled, why, core.CauseCancel)
			}
			r = next
		}
	}
}

func pausable(_ book.Ref, o *book.Order) bool { return o.Flags().Has(core.CancelOnPause) }

// decrease lowers what remains of an order and keeps its time priority. Of an
// order of the caller's that is over, and of an amount that does not lower it,
// it is InvalidDecrease; the engine tells a terminal order from an unknown one.
func (v *Venue) decrease(c *core.DecreaseOrder) core.Reject {
	r := v.own(c.User, c.Order)
	if r == book.None {
		return core.UnknownOrder
	}
	left := core.Qty(v.pool.At(r).Left)
	by := c.Amount
	if c.To {
		by = left - c.Amount
	}
	switch {
	case c.Amount < 0 || by <= 0 || by > left:
		return core.InvalidDecrease
	case by == left:
		v.end(r, core.Canceled, core.DecreasedToZero, core.CauseDecrease)
	default:
		v.shrink(r, by, core.CauseDecrease)
	}
	return core.OK
}

// arm sets the dead-man switch to fire after ms; 0 takes it off.
func (v *Venue) arm(u core.UserID, ms uint32) core.Reject {
	if !v.known(u) {
		return core.UnknownUser
	}
	a := &v.accounts[u]
	was := a.deadline != 0
	a.timeout, a.deadline = ms, 0
	if ms > 0 {
		a.deadline = v.now.Ts + int64(ms)*core.NsPerMs
		v.deadmen.add(a.deadline, uint64(u))
	}
	if was || ms > 0 {
		v.ev.Add(&core.DeadmanChanged{User: u, Armed: ms > 0, TimeoutMs: ms, Deadline: a.deadline})
	}
	return core.OK
}
