package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// removeFilled takes an order without contracts left out of the book and the pool.
func (v *Venue) removeFilled(r book.Ref, o *book.Order) {
	v.markets[o.Market()].book.Remove(r)
	v.ledger.RemoveResting(o.User, o.Market(), o.Side(), o.Outcome(), 0)
	v.pool.RemoveFromAccount(&v.accounts[o.User].orders, r)
	v.pool.Free(r)
}

// closeOrder closes a resting order and gives back what it reserved. An order that reduce_only
// took contracts from ends for that reason, whatever ends what is left of it.
func (v *Venue) closeOrder(r book.Ref, s core.OrderStatus, why core.Reason, cause core.Cause) {
	o := v.pool.At(r)
	m, left := &v.markets[o.Market()], core.Qty(o.Left)
	if o.Clipped() {
		s, why = core.Canceled, core.ReduceOnlyExceeded
	}
	e := v.ev.Closed()
	e.Order, e.User, e.Status, e.Reason, e.Left = o.ID, o.User, s, why, left
	v.emitLevelChange(m, o.Bid(), o.TickYes(), -left, m.book.Remove(r))
	v.ledger.RemoveResting(o.User, o.Market(), o.Side(), o.Outcome(), left)
	if o.Side() == core.Buy {
		v.ledger.Release(o.User, core.Pips(left)*core.Pips(o.Unit), cause)
	}
	v.pool.RemoveFromAccount(&v.accounts[o.User].orders, r)
	v.pool.Free(r)
}

// reduceOrder lowers a resting order by n contracts, fewer than it has.
func (v *Venue) reduceOrder(r book.Ref, n core.Qty, cause core.Cause) {
	o := v.pool.At(r)
	m := &v.markets[o.Market()]
	v.emitLevelChange(m, o.Bid(), o.TickYes(), -n, m.book.Reduce(r, n))
	v.ledger.ReduceResting(o.User, o.Market(), o.Side(), o.Outcome(), n)
	if o.Side() == core.Buy {
		v.ledger.Release(o.User, core.Pips(n)*core.Pips(o.Unit), cause)
	}
	*v.ev.Decreased() = core.OrderDecreased{Order: o.ID, User: o.User, Left: core.Qty(o.Left)}
}

// ownOrder finds a resting order of u. Someone else's looks like one that never was.
func (v *Venue) ownOrder(u core.UserID, id core.OrderID) book.Ref {
	if r := v.pool.Find(id); r != book.None && v.pool.At(r).User == u {
		return r
	}
	return book.None
}

func (v *Venue) cancel(c *core.CancelOrder) core.Reject {
	r := v.ownOrder(c.User, c.Order)
	if r == book.None {
		return core.UnknownOrder
	}
	v.closeOrder(r, core.Canceled, core.UserCancel, core.CauseCancel)
	return core.OK
}

func (v *Venue) cancelAll(c *core.CancelAll) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	v.cancelAccountOrders(c.User, core.MassCancel, func(r book.Ref, o *book.Order) bool {
		return (c.Market == 0 || o.Market() == c.Market) && (c.Group == 0 || v.pool.Terms(r).Group == c.Group)
	})
	return core.OK
}

// cancelAccountOrders cancels the account's resting orders that match, newest first.
func (v *Venue) cancelAccountOrders(u core.UserID, why core.Reason, match func(book.Ref, *book.Order) bool) {
	for r := range v.pool.NewestFirst(&v.accounts[u].orders) {
		if match(r, v.pool.At(r)) {
			v.closeOrder(r, core.Canceled, why, core.CauseCancel)
		}
	}
}

func anyOrder(book.Ref, *book.Order) bool { return true }

// cancelMarketOrders cancels a market's resting orders that match, bids first, in price-time
// order.
func (v *Venue) cancelMarketOrders(m *market, why core.Reason, match func(book.Ref, *book.Order) bool) {
	for _, bid := range [2]bool{true, false} {
		for r := m.book.Best(bid); r != book.None; {
			next := m.book.Next(r)
			if match(r, v.pool.At(r)) {
				v.closeOrder(r, core.Canceled, why, core.CauseCancel)
			}
			r = next
		}
	}
}

func cancelsOnPause(_ book.Ref, o *book.Order) bool { return o.Flags().Has(core.CancelOnPause) }

// decrease lowers what remains of an order and keeps its time priority. Of an
// order of the caller's that is over, and of an amount that does not lower it,
// it is InvalidDecrease; the engine tells a terminal order from an unknown one.
func (v *Venue) decrease(c *core.DecreaseOrder) core.Reject {
	r := v.ownOrder(c.User, c.Order)
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
		v.closeOrder(r, core.Canceled, core.DecreasedToZero, core.CauseDecrease)
	default:
		v.reduceOrder(r, by, core.CauseDecrease)
	}
	return core.OK
}

// setDeadman sets the dead-man switch to fire after ms; 0 takes it off.
func (v *Venue) setDeadman(u core.UserID, ms uint32) core.Reject {
	if !v.userExists(u) {
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
