package model

import (
	"cmp"
	"math/big"
	"slices"

	"duplex/core"
)

// yes gives the order's tick in the space of YES, and bid whether it is a bid there.
func (o *order) yes() core.Tick {
	if o.Outcome == core.No {
		return 10000 - o.Tick
	}
	return o.Tick
}

func (o *order) bid() bool { return (o.Side == core.Buy) == (o.Outcome == core.Yes) }

// own turns a tick of YES into the space of an outcome.
func own(o core.Outcome, yes core.Tick) core.Tick {
	if o == core.No {
		return 10000 - yes
	}
	return yes
}

// legal tells whether a limit may stand at t.
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

// resting lists the orders that match, in the order of their ids.
func (v *Venue) resting(match func(order) bool) (list []order) {
	for _, o := range v.orders {
		if match(o) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b order) int { return cmp.Compare(a.id, b.id) })
	return list
}

// queue is a side of a book in the order of its turn: price, then time.
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

// bids are the contracts u bids for of a lot, sells those that sells reserve.
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

func (v *Venue) unsold(u core.UserID, l lot) core.Qty { return v.held(u, l) - v.sells(u, l) }

// close ends a resting order and gives back what it reserved. One that reduce_only took
// contracts from ends for that reason.
func (v *Venue) close(o order, s core.OrderStatus, why core.Reason) {
	if o.clipped {
		s, why = core.Canceled, core.ReduceOnlyExceeded
	}
	v.refund(o, o.left)
	delete(v.orders, o.id)
	v.out.Ended[o.id] = End{s, why, o.left}
}

// refund frees the cash that n contracts of a resting buy reserve.
func (v *Venue) refund(o order, n core.Qty) {
	if o.Side == core.Buy {
		v.pay(o.User, v.reserve(o, n))
	}
}

func (v *Venue) reserve(o order, n core.Qty) *big.Int {
	return new(big.Int).Mul(whole(int64(n)), unit(o.maker, o.Tick))
}

// keep stores what is left of a resting order after n contracts less.
func (v *Venue) keep(o order, left core.Qty) {
	o.left = left
	v.orders[o.id] = o
}

// pay adds to an account's free cash, or takes from it.
func (v *Venue) pay(u core.UserID, n *big.Int) { v.users[u].cash = plus(v.users[u].cash, n) }

func (v *Venue) cancel(c *core.CancelOrder) core.Reject {
	o, ok := v.orders[c.Order]
	if !ok || o.User != c.User {
		return core.UnknownOrder
	}
	v.close(o, core.Canceled, core.UserCancel)
	return core.OK
}

func (v *Venue) cancelAll(c *core.CancelAll) core.Reject {
	if !v.known(c.User) {
		return core.UnknownUser
	}
	v.sweep(core.MassCancel, func(o order) bool {
		return o.User == c.User && (c.Market == 0 || o.Market == c.Market) && (c.Group == 0 || o.Group == c.Group)
	})
	return core.OK
}

func (v *Venue) sweep(why core.Reason, match func(order) bool) {
	for _, o := range v.resting(match) {
		v.close(o, core.Canceled, why)
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
		v.close(o, core.Canceled, core.DecreasedToZero)
	default:
		v.refund(o, o.left-left)
		v.keep(o, left)
	}
	return core.OK
}

func (v *Venue) arm(u core.UserID, ms uint32) core.Reject {
	if !v.known(u) {
		return core.UnknownUser
	}
	v.users[u].timeout, v.users[u].deadline = ms, 0
	if ms > 0 {
		v.users[u].deadline = v.now.Ts + int64(ms)*1_000_000
	}
	return core.OK
}
