package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// replace cancels a resting order and places another in its stead (docs/rules/orders.md#replace).
// The checks of the placement count the old order as canceled already. A placement that is rejected
// leaves it as it is, with its place in the queue. Both orders are on the same side of the book, so the
// placement cannot meet the old order.
func (v *Venue) replace(c *core.ReplaceOrder) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	a, r := &v.accounts[c.User], v.replaceable(c)
	p := v.replacement(c, r)
	switch {
	case c.ClientID == 0:
		why := rejectOr(c.Fault, core.ClientOrderIDRequired)
		if r != book.None {
			v.recordRejected(p, why)
		}
		return why
	case r == book.None && a.ids.has(c.ClientID):
		return core.DuplicateClientOrderID
	case r == book.None:
		return core.UnknownOrder // the client_order_id stays free
	case !a.ids.add(c.ClientID):
		return core.DuplicateClientOrderID
	}
	o := v.pool.At(r)
	left, unit := core.Qty(o.Left), core.Pips(o.Unit)
	var t taker
	a.resting--
	v.ledger.SetAside(c.User, c.Market, c.Side, c.Outcome, left, unit)
	why := v.admit(p, v.now.Ts, &t)
	if why == core.OK && t.violation != nil {
		why = core.MandateViolation // a replace never waits
	}
	a.resting++
	if why != core.OK {
		v.ledger.PutBack(c.User, c.Market, c.Side, c.Outcome, left, unit)
		v.recordRejected(p, why).Violation = t.violation
		return why
	}
	v.removeClosed(r, o, core.Canceled, core.Replaced)
	v.removeFromAccount(r, o)
	v.ledger.ConfirmAside(c.User, c.Market, c.Side)
	v.level = nil // the new order has an event of its own, whose total shows its place in the queue
	v.enter(p, &t)
	if len(v.tripped) > 0 {
		v.cancelTripped()
	}
	return core.OK
}

// replacement returns the placement of a replace. Its quantity does not count what the old order has lost
// since the caller read it.
func (v *Venue) replacement(c *core.ReplaceOrder, old book.Ref) *core.PlaceOrder {
	if c.Seen == 0 || old == book.None || v.rules.Revision < core.RevisionReplaceSeen {
		return &c.PlaceOrder
	}
	p := c.PlaceOrder // a copy: the log has the command as it came
	p.Qty -= max(0, c.Seen-core.Qty(v.pool.At(old).Left))
	return &p
}

// replaceable returns the order that a replace cancels, or book.None. A replace for another market,
// side or outcome finds none.
func (v *Venue) replaceable(c *core.ReplaceOrder) book.Ref {
	if v.rules.Revision < core.RevisionReplace {
		return book.None
	}
	r := v.ownOrder(c.User, c.Old)
	if r == book.None {
		return book.None
	}
	if o := v.pool.At(r); o.Market() != c.Market || o.Side() != c.Side || o.Outcome() != c.Outcome {
		return book.None
	}
	return r
}
