package model

import (
	"cmp"
	"math/big"
	"slices"

	"duplex/core"
)

// yes returns the order's tick in YES space.
func (o *order) yes() core.Tick {
	if o.Outcome == core.No {
		return 10000 - o.Tick
	}
	return o.Tick
}

// bid reports whether the order is a bid in YES space.
func (o *order) bid() bool { return (o.Side == core.Buy) == (o.Outcome == core.Yes) }

// own converts a tick of YES space to the price of an outcome.
func own(o core.Outcome, yes core.Tick) core.Tick {
	if o == core.No {
		return 10000 - yes
	}
	return yes
}

// legal reports whether t is on the grid.
func legal(g core.Grid, t core.Tick) bool {
	for _, b := range g.Bands {
		for x := b.From; x <= b.To; x += b.Step {
			if x == t {
				return true
			}
		}
	}
	return false
}

// resting returns the resting orders for which match is true, by rising id.
func (v *Venue) resting(match func(order) bool) (list []order) {
	for _, o := range v.orders {
		if match(o) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b order) int { return cmp.Compare(a.id, b.id) })
	return list
}

// queue returns a side of a book in price-time order.
func (v *Venue) queue(m core.MarketID, bid bool) []order {
	list := v.resting(func(o order) bool { return o.Market == m && o.bid() == bid })
	slices.SortStableFunc(list, func(a, b order) int {
		if bid {
			return cmp.Compare(b.yes(), a.yes())
		}
		return cmp.Compare(a.yes(), b.yes())
	})
	return list
}

// bids returns the contracts of a lot that u's resting buys bid for, sells those that its resting sells
// offer.
func (v *Venue) bids(u core.UserID, l lot) core.Qty  { return v.offered(u, l, core.Buy) }
func (v *Venue) sells(u core.UserID, l lot) core.Qty { return v.offered(u, l, core.Sell) }

func (v *Venue) offered(u core.UserID, l lot, s core.Side) (n core.Qty) {
	for _, o := range v.orders {
		if o.User == u && o.Market == l.market && o.Outcome == l.outcome && o.Side == s {
			n += o.left
		}
	}
	return n
}

func (v *Venue) held(u core.UserID, l lot) core.Qty { return v.users[u].held[l].n }

// sellable returns the contracts of a lot that u holds and no resting sell reserves.
func (v *Venue) sellable(u core.UserID, l lot) core.Qty { return v.held(u, l) - v.sells(u, l) }

// closeOrder ends a resting order and releases what it reserved. A clipped order ends with reason
// reduce_only.
func (v *Venue) closeOrder(o order, s core.OrderStatus, why core.Reason) {
	if o.clipped {
		s, why = core.Canceled, core.ReduceOnlyExceeded
	}
	v.refund(o, o.left)
	delete(v.orders, o.id)
	v.out.Ended[o.id] = End{s, why, o.left}
}

// refund releases the cash that n contracts of a resting buy reserve.
func (v *Venue) refund(o order, n core.Qty) {
	if o.Side == core.Buy {
		v.pay(o.User, v.reserve(o, n))
	}
}

// reserve returns the cash that n contracts of a resting buy reserve.
func (v *Venue) reserve(o order, n core.Qty) *big.Int {
	return new(big.Int).Mul(amount(int64(n)), unit(o.maker, o.Tick))
}

// storeOrder stores a resting order with a new remaining quantity.
func (v *Venue) storeOrder(o order, left core.Qty) {
	o.left = left
	v.orders[o.id] = o
}

// pay adds n, which can be negative, to an account's free cash.
func (v *Venue) pay(u core.UserID, n *big.Int) { v.users[u].cash = plus(v.users[u].cash, n) }

func (v *Venue) cancel(c *core.CancelOrder) core.Reject {
	o, ok := v.orders[c.Order]
	if !ok || o.User != c.User {
		return core.UnknownOrder
	}
	v.closeOrder(o, core.Canceled, core.UserCancel)
	return core.OK
}

func (v *Venue) cancelAll(c *core.CancelAll) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	v.cancelWhere(core.MassCancel, func(o order) bool {
		return o.User == c.User && (c.Market == 0 || o.Market == c.Market) && (c.Group == 0 || o.Group == c.Group)
	})
	return core.OK
}

// cancelWhere cancels the resting orders for which match is true.
func (v *Venue) cancelWhere(why core.Reason, match func(order) bool) {
	for _, o := range v.resting(match) {
		v.closeOrder(o, core.Canceled, why)
	}
}

func (v *Venue) decrease(c *core.DecreaseOrder) core.Reject {
	o, ok := v.orders[c.Order]
	if !ok || o.User != c.User {
		return core.UnknownOrder
	}
	left := o.left - c.Amount
	if c.To {
		left = c.Amount
	}
	switch {
	case c.Amount < 0 || left < 0 || left >= o.left:
		return core.InvalidDecrease
	case left == 0:
		v.closeOrder(o, core.Canceled, core.DecreasedToZero)
	default:
		v.refund(o, o.left-left)
		v.storeOrder(o, left)
	}
	return core.OK
}

func (v *Venue) setDeadman(u core.UserID, ms uint32) core.Reject {
	if !v.userExists(u) {
		return core.UnknownUser
	}
	v.users[u].timeout, v.users[u].deadline = ms, 0
	if ms > 0 {
		v.users[u].deadline = v.now.Ts + int64(ms)*1_000_000
	}
	return core.OK
}
