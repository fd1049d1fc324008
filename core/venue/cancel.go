package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// removeFilled takes an order that has filled completely out of the book and the pool.
func (v *Venue) removeFilled(r book.Ref, o *book.Order) {
	v.markets[o.Market()].book.Remove(r)
	v.ledger.RemoveResting(o.User, o.Market(), o.Side(), o.Outcome(), 0, 0)
	v.removeFromAccount(r, o)
}

// closeOrder ends a resting order and releases what it reserved. A clipped order ends as
// canceled with reason reduce_only, whatever ends its remaining contracts
// (docs/rules/orders.md#reduce-only).
func (v *Venue) closeOrder(r book.Ref, s core.OrderStatus, why core.Reason, cause core.Cause) {
	o := v.pool.At(r)
	left := core.Qty(o.Left)
	v.removeClosed(r, o, s, why)
	v.ledger.RemoveResting(o.User, o.Market(), o.Side(), o.Outcome(), left, core.Pips(o.Unit))
	if o.Side() == core.Buy {
		v.ledger.Release(o.User, core.Pips(left)*core.Pips(o.Unit), cause)
	}
	v.removeFromAccount(r, o)
}

// removeClosed takes an order that ends out of its book, and emits its end.
func (v *Venue) removeClosed(r book.Ref, o *book.Order, s core.OrderStatus, why core.Reason) {
	m, left := &v.markets[o.Market()], core.Qty(o.Left)
	if o.Clipped() {
		s, why = core.Canceled, core.ReduceOnlyExceeded
	}
	e := v.ev.Closed()
	e.Order, e.User, e.Status, e.Reason, e.Left = o.ID, o.User, s, why, left
	v.emitLevelChange(m, o.Bid(), o.TickYes(), -left, m.book.Remove(r))
}

// removeFromAccount removes an order from its account and frees its slot.
func (v *Venue) removeFromAccount(r book.Ref, o *book.Order) {
	a := &v.accounts[o.User]
	a.resting--
	v.pool.RemoveFromAccount(&a.orders, r)
	v.pool.Free(r)
}

// reduceOrder takes n contracts off a resting order, which keeps its place. n is less than what
// the order has left.
func (v *Venue) reduceOrder(r book.Ref, n core.Qty, cause core.Cause) {
	o := v.pool.At(r)
	m := &v.markets[o.Market()]
	v.emitLevelChange(m, o.Bid(), o.TickYes(), -n, m.book.Reduce(r, n))
	v.ledger.ReduceResting(o.User, o.Market(), o.Side(), o.Outcome(), n, core.Pips(o.Unit))
	if o.Side() == core.Buy {
		v.ledger.Release(o.User, core.Pips(n)*core.Pips(o.Unit), cause)
	}
	*v.ev.Decreased() = core.OrderDecreased{Order: o.ID, User: o.User, Left: core.Qty(o.Left)}
}

// ownOrder returns u's resting order with this id, or book.None. Another account's order is not
// found, so that ids reveal nothing about other accounts.
func (v *Venue) ownOrder(u core.UserID, id core.OrderID) book.Ref {
	if r := v.pool.Find(id); r != book.None && v.pool.At(r).User == u {
		return r
	}
	return book.None
}

func (v *Venue) cancel(c *core.CancelOrder) core.Reject {
	r := v.ownOrder(c.User, c.Order)
	if r == book.None {
		return v.cancelAsk(c)
	}
	v.closeOrder(r, core.Canceled, core.UserCancel, core.CauseCancel)
	return core.OK
}

// cancelAll cancels the account's orders, of one market if Market is set and of one group if
// Group is set (docs/rules/orders.md#cancel-all).
func (v *Venue) cancelAll(c *core.CancelAll) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	v.cancelAccountOrders(c.User, core.MassCancel, scope{c.Market, c.Group})
	return core.OK
}

// scope selects orders of an account. 0 is any market and any group.
type scope struct {
	market core.MarketID
	group  uint32
}

var allOrders scope

func (s scope) has(m core.MarketID, group uint32) bool {
	return (s.market == 0 || m == s.market) && (s.group == 0 || group == s.group)
}

// cancelAccountOrders cancels the account's resting orders in a scope, newest first, and those that wait for its
// owner.
func (v *Venue) cancelAccountOrders(u core.UserID, why core.Reason, s scope) {
	for r := range v.pool.NewestFirst(&v.accounts[u].orders) {
		if s == allOrders || s.has(v.pool.At(r).Market(), v.pool.Terms(r).Group) {
			v.closeOrder(r, core.Canceled, why, core.CauseCancel)
		}
	}
	v.cancelAsks(u, why, func(p *core.PlaceOrder) bool { return s.has(p.Market, p.Group) })
}

// cancelMarketOrders cancels a market's resting orders, bids before asks, each side in price-time order, then those
// that wait for an owner. If why is Paused, only orders with cancel_on_pause are canceled.
func (v *Venue) cancelMarketOrders(m *market, why core.Reason) {
	ends := func(f core.Flags) bool { return why != core.Paused || f.Has(core.CancelOnPause) }
	for _, bid := range [2]bool{true, false} {
		for r := m.book.Best(bid); r != book.None; {
			next := m.book.Next(r)
			if ends(v.pool.At(r).Flags()) {
				v.closeOrder(r, core.Canceled, why, core.CauseCancel)
			}
			r = next
		}
	}
	v.cancelAsksInMarket(m.Market, why, ends)
}

// decrease reduces an order's remaining quantity by an amount or to one, and keeps its time
// priority (docs/rules/orders.md#decrease). An amount that does not reduce the order is
// InvalidDecrease. An order that does not rest is UnknownOrder here; package tools answers
// InvalidDecrease instead if the view has the account's order and it has ended.
func (v *Venue) decrease(c *core.DecreaseOrder) core.Reject {
	if v.usedRequest(c.User, c.RequestID) {
		return core.DuplicateClientRequestID
	}
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
	v.useRequest(c.User, c.RequestID)
	return core.OK
}
