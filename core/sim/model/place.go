package model

import (
	"math/big"

	"duplex/core"
)

// place is NEW_ORDER: the checks in the order of the contract, then matching.
func (v *Venue) place(c core.PlaceOrder) core.Reject {
	switch {
	case !v.known(c.User):
		return core.UnknownUser
	case c.ClientID == 0 && c.Fault != core.OK:
		return c.Fault
	case c.ClientID == 0:
		return core.ClientOrderIDRequired
	case v.users[c.User].used[c.ClientID]:
		return core.DuplicateClientOrderID
	}
	v.users[c.User].used[c.ClientID] = true
	if r := v.admit(&c); r != core.OK {
		return r
	}
	need := new(big.Int).Mul(whole(int64(c.Qty)), unit(v.fees.Taker, c.Tick))
	limit := new(big.Int).SetUint64(c.MaxCost)
	if c.Side == core.Buy && c.Type == core.Limit && c.MaxCost > 0 && less(limit, need) {
		v.ended(c.Qty, core.MaxCostInfeasible)
		return core.OK
	}
	if c.Side == core.Buy && c.Type == core.Market && less(limit, need) {
		need = limit
	}
	if c.Side == core.Buy && less(v.users[c.User].cash, need) {
		return core.InsufficientBalance
	}
	t := taker{PlaceOrder: c, left: c.Qty, rate: v.fees.Taker}
	if c.Side == core.Buy && c.Type == core.Market {
		t.budget = limit
	}
	v.trade(&t)
	return core.OK
}

// ended notes that the order just placed is canceled with so many contracts left.
func (v *Venue) ended(left core.Qty, why core.Reason) {
	v.out.Ended[core.OrderID(v.now.Seq)] = End{core.Canceled, why, left}
}

// admit makes the checks between the client_order_id and the money.
func (v *Venue) admit(c *core.PlaceOrder) core.Reject {
	m, opened := v.markets[c.Market]
	this, that := lot{c.Market, c.Outcome}, lot{c.Market, 1 - c.Outcome}
	open := v.resting(func(o order) bool { return o.User == c.User && o.Market == c.Market })
	switch {
	case c.Fault != core.OK:
		return c.Fault
	case !opened:
		return core.UnknownMarket
	case c.Generation != 0 && c.Generation != m.Generation:
		return core.StaleGeneration
	case v.users[c.User].suspended:
		return core.UserSuspended
	case m.Status != core.Trading:
		return core.MarketNotTrading
	case v.now.Ts >= m.CloseTs && v.rules.Revision >= core.RevisionStrict:
		return core.MarketNotTrading
	case v.paused(m):
		return core.MarketPaused
	case c.Tick < 1 || c.Tick > 9999 || c.Type == core.Limit && !legal(v.rules.Grid, c.Tick):
		return core.BadPriceTick
	case c.Qty < 1 || c.Qty > 1_000_000:
		return core.BadQty
	case c.TIF == core.GTT && c.Expiry <= v.now.Ts:
		return core.BadExpiry
	case c.Flags.Has(core.ReduceOnly) && c.Side == core.Sell && c.Qty > v.unsold(c.User, this):
		return core.ReduceOnlyViolation
	case c.Flags.Has(core.ReduceOnly) && c.Side == core.Buy && c.Qty > v.held(c.User, that):
		return core.ReduceOnlyViolation
	case c.Side == core.Sell && c.Qty > v.unsold(c.User, this):
		return core.InsufficientPosition
	case c.Type == core.Limit && (c.TIF == core.GTC || c.TIF == core.GTT) && len(open) >= int(v.rules.OpenOrders):
		return core.OpenOrderLimit
	case c.Side == core.Buy && v.held(c.User, this)+v.bids(c.User, this)+c.Qty > min(v.rules.Contracts, contractsMax):
		return core.PerMarketLimit
	}
	return core.OK
}

// contractsMax bounds what rules may allow (docs/decisions.md).
const contractsMax = 1<<31 - 1

// taker is the order on its way through the book.
type taker struct {
	core.PlaceOrder
	left   core.Qty
	rate   core.Rate
	budget *big.Int // what a market buy may still spend; nil: no cap
}

func (t *taker) bid() bool { return (t.Side == core.Buy) == (t.Outcome == core.Yes) }

func (t *taker) reaches(o *order) bool {
	if t.bid() {
		return o.yes() <= own(t.Outcome, t.Tick)
	}
	return o.yes() >= own(t.Outcome, t.Tick)
}

// trade matches the order and lets what is left rest or end.
func (v *Venue) trade(t *taker) {
	why := core.NoReason
	switch {
	case t.Flags.Has(core.PostOnly):
		if q := v.queue(t.Market, !t.bid()); len(q) > 0 && t.reaches(&q[0]) {
			why = core.PostOnlyCross
		}
	case t.TIF == core.FOK && !v.fills(*t):
		why = core.FokInfeasible
	default:
		why = v.walk(t)
	}
	rests := t.TIF == core.GTC || t.TIF == core.GTT
	switch {
	case t.left == 0:
	case why == core.NoReason && rests:
		o := order{id: core.OrderID(v.now.Seq), PlaceOrder: t.PlaceOrder, left: t.left, maker: v.fees.Maker}
		v.orders[o.id] = o
		if o.Side == core.Buy {
			v.pay(o.User, new(big.Int).Neg(v.reserve(o, o.left)))
		}
	case why == core.NoReason:
		v.ended(t.left, core.IocRemainder)
	default:
		v.ended(t.left, why)
	}
}

// fills tries on a copy whether the order would fill to its end.
func (v *Venue) fills(t taker) bool {
	v.copy().walk(&t)
	return t.left == 0
}

// walk meets one resting order after the other. It gives the reason for which the
// rest of the taker is canceled, if there is one.
func (v *Venue) walk(t *taker) core.Reason {
	for t.left > 0 {
		q := v.queue(t.Market, !t.bid())
		if len(q) == 0 || !t.reaches(&q[0]) {
			return core.NoReason
		}
		o := q[0]
		if o.User == t.User && !t.Flags.Has(core.StpMaker) {
			return core.SelfTradePrevention
		}
		if o.User == t.User {
			v.close(o, core.Canceled, core.SelfTradePrevention)
			continue
		}
		may := o.left
		if o.Flags.Has(core.ReduceOnly) && o.Side == core.Buy {
			may = min(may, v.held(o.User, lot{o.Market, 1 - o.Outcome}))
		}
		if may <= 0 {
			v.close(o, core.Canceled, core.ReduceOnlyExceeded)
			continue
		}
		n, offered := min(t.left, may), min(t.left, may)
		if t.budget != nil {
			n = affordable(t.budget, t.rate, own(t.Outcome, o.yes()), offered)
		}
		if n > 0 {
			v.fill(t, o, n, may)
		}
		if n < offered {
			return core.MaxCostInfeasible
		}
	}
	return core.NoReason
}

// fill trades n contracts at the maker's price; the maker may trade `may` of what it
// has left.
func (v *Venue) fill(t *taker, o order, n, may core.Qty) {
	f := Fill{Maker: o.id, TickYes: o.yes(), Qty: n}
	f.TakerFee = v.side(t.User, t.Market, t.Side, t.Outcome, n, o.yes(), t.rate)
	f.MakerFee = v.side(o.User, o.Market, o.Side, o.Outcome, n, o.yes(), o.maker)
	v.refund(o, n) // a resting buy paid out of what it had reserved
	switch {
	case t.Side == core.Buy && o.Side == core.Buy:
		f.Path = core.Mint
	case t.Side == core.Sell && o.Side == core.Sell:
		f.Path = core.Merge
	}
	v.collected = plus(v.collected, whole(int64(f.TakerFee+f.MakerFee)))
	f.Rebate = v.share(o.User, f.TakerFee, v.fees.RebatePct)
	f.Referral = v.share(v.users[t.User].referrer, f.TakerFee, v.fees.ReferPct)
	v.out.Fills = append(v.out.Fills, f)
	if t.budget != nil {
		t.budget = minus(t.budget, plus(cost(n, own(t.Outcome, o.yes())), whole(int64(f.TakerFee))))
	}
	t.left -= n
	m := v.markets[t.Market]
	m.lastTick, m.volume = o.yes(), m.volume+n
	v.markets[t.Market] = m
	v.after(o, n, may)
}

// after is what becomes of a maker that has traded n.
func (v *Venue) after(o order, n, may core.Qty) {
	o.left -= n
	switch may -= n; {
	case o.left == 0 && o.clipped:
		v.close(o, core.Canceled, core.ReduceOnlyExceeded)
	case o.left == 0:
		delete(v.orders, o.id)
	case may == 0:
		v.close(o, core.Canceled, core.ReduceOnlyExceeded)
	default:
		o.clipped = o.clipped || may < o.left && v.rules.Revision >= core.RevisionStrict
		v.refund(o, o.left-may)
		v.keep(o, may)
	}
}

// side books one side of a fill and gives its fee.
func (v *Venue) side(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, yes core.Tick, rate core.Rate) core.Pips {
	p, l := own(o, yes), lot{m, o}
	charge := fee(rate, n, p)
	had := v.stake(u, l)
	if s == core.Buy {
		paid := plus(cost(n, p), charge)
		v.pay(u, new(big.Int).Neg(paid))
		v.users[u].held[l] = stake{had.n + n, plus(had.cost, paid)}
	} else {
		v.pay(u, minus(cost(n, p), charge))
		v.give(u, l, n)
	}
	return core.Pips(charge.Int64())
}

func (v *Venue) stake(u core.UserID, l lot) stake {
	if s, ok := v.users[u].held[l]; ok {
		return s
	}
	return stake{0, whole(0)}
}

// give takes contracts away with their share of what was paid for all.
func (v *Venue) give(u core.UserID, l lot, n core.Qty) {
	had := v.stake(u, l)
	gone := floor(new(big.Int).Mul(had.cost, whole(int64(n))), int64(had.n))
	v.users[u].held[l] = stake{had.n - n, minus(had.cost, gone)}
}

// share passes pct percent of a taker's fee on, rounded down.
func (v *Venue) share(to core.UserID, of core.Pips, pct uint8) core.Pips {
	if to == 0 {
		return 0
	}
	n := floor(times(int64(of), int64(pct)), 100)
	v.pay(to, n)
	v.collected = minus(v.collected, n)
	return core.Pips(n.Int64())
}
