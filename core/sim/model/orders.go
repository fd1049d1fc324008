package model

import (
	"cmp"
	"math/big"
	"slices"

	"duplex/core"
)

// tickYes returns the order's tick as a price of YES; bid reports whether the order is a bid
// in the book of YES (docs/rules/prices.md#one-book).
func (o *order) tickYes() core.Tick {
	if o.Outcome == core.No {
		return 10000 - o.Tick
	}
	return o.Tick
}

func (o *order) bid() bool { return (o.Side == core.Buy) == (o.Outcome == core.Yes) }

// ownTick converts a price of YES to a price of outcome o.
func ownTick(o core.Outcome, yes core.Tick) core.Tick {
	if o == core.No {
		return 10000 - yes
	}
	return yes
}

// onGrid reports whether a limit order may have tick t (docs/rules/prices.md#grid).
func onGrid(g core.Grid, t core.Tick) bool {
	for _, b := range g.Bands {
		for x := b.From; x <= b.To; x += b.Step {
			if x == t {
				return true
			}
		}
	}
	return false
}

// resting returns the orders that match, by id.
func (v *Venue) resting(match func(order) bool) (list []order) {
	for _, o := range v.orders {
		if match(o) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b order) int { return cmp.Compare(a.id, b.id) })
	return list
}

// bookSide returns one side of a book by price, then time (docs/rules/prices.md#priority).
func (v *Venue) bookSide(m core.MarketID, bid bool) []order {
	list := v.resting(func(o order) bool { return o.Market == m && o.bid() == bid })
	slices.SortStableFunc(list, func(a, b order) int {
		if bid {
			return cmp.Compare(b.tickYes(), a.tickYes())
		}
		return cmp.Compare(a.tickYes(), b.tickYes())
	})
	return list
}

// bids and sells return the contracts in resting buys and sells of u.
func (v *Venue) bids(u core.UserID, l contract) core.Qty  { return v.offered(u, l, core.Buy) }
func (v *Venue) sells(u core.UserID, l contract) core.Qty { return v.offered(u, l, core.Sell) }

func (v *Venue) offered(u core.UserID, l contract, s core.Side) (n core.Qty) {
	for _, o := range v.orders {
		if o.User == u && o.Market == l.market && o.Outcome == l.outcome && o.Side == s {
			n += o.left
		}
	}
	return n
}

func (v *Venue) held(u core.UserID, l contract) core.Qty { return v.users[u].held[l].n }

func (v *Venue) unsold(u core.UserID, l contract) core.Qty { return v.held(u, l) - v.sells(u, l) }

// close ends a resting order and releases its reservation. An order from which reduce_only
// took contracts ends canceled for that reason.
func (v *Venue) close(o order, s core.OrderStatus, why core.Reason) {
	if o.clipped {
		s, why = core.Canceled, core.ReduceOnlyExceeded
	}
	v.refund(o, o.left)
	delete(v.orders, o.id)
	v.out.Ended[o.id] = End{s, why, o.left}
}

// refund releases the cash reserved for n contracts of a resting buy.
func (v *Venue) refund(o order, n core.Qty) {
	if o.Side == core.Buy {
		v.pay(o.User, v.reserve(o, n))
	}
}

func (v *Venue) reserve(o order, n core.Qty) *big.Int {
	return new(big.Int).Mul(integer(int64(n)), reservePerContract(o.maker, o.Tick))
}

// setLeft stores the order with left contracts.
func (v *Venue) setLeft(o order, left core.Qty) {
	o.left = left
	v.orders[o.id] = o
}

// pay adds n, which may be negative, to the free cash of u.
func (v *Venue) pay(u core.UserID, n *big.Int) { v.users[u].cash = plus(v.users[u].cash, n) }

func (v *Venue) cancel(c *core.CancelOrder) core.Reject {
	o, ok := v.orders[c.Order]
	x, waits := v.asks[uint64(c.Order)]
	switch {
	case waits && x.Place.User == c.User:
		v.noteAsk(x, core.AskChanged{Status: core.AskCanceled, Reason: core.UserCancel})
		return core.OK
	case !ok || o.User != c.User:
		return core.UnknownOrder
	}
	v.close(o, core.Canceled, core.UserCancel)
	return core.OK
}

func (v *Venue) cancelAll(c *core.CancelAll) core.Reject {
	if !v.userExists(c.User) {
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
	v.sweepAsks(why, func(c core.PlaceOrder) bool { return match(order{PlaceOrder: c}) })
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
		v.setLeft(o, left)
	}
	return core.OK
}

// arm arms the dead-man switch of an account, or of a group; 0 ms disarms it.
func (v *Venue) arm(u core.UserID, id, ms uint32) core.Reject {
	switch {
	case !v.userExists(u):
		return core.UnknownUser
	case id != 0 && v.rules.Revision < core.RevisionMakers:
		return core.UnknownGroup
	case ms == 0:
		delete(v.deadmen, groupID{u, id})
	case !v.mayHave(groupID{u, id}):
		return core.GroupLimitReached
	default:
		v.deadmen[groupID{u, id}] = deadman{ms, v.now.Ts + int64(ms)*1_000_000}
	}
	return core.OK
}
