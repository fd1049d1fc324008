package model

import (
	"math/big"

	"duplex/core"
)

// place executes a placement: the checks in the order of docs/rules/orders.md#order-of-checks, then
// matching.
func (v *Venue) place(c core.PlaceOrder) core.Reject {
	switch {
	case !v.userExists(c.User):
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
	need := new(big.Int).Mul(amount(int64(c.Qty)), unit(v.fees.Taker, c.Tick))
	limit := new(big.Int).SetUint64(c.MaxCost)
	if c.Side == core.Buy && c.Type == core.Limit && c.MaxCost > 0 && less(limit, need) {
		v.cancelTaker(c.Qty, core.MaxCostInfeasible)
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
	v.matchOrRest(&t)
	return core.OK
}

// cancelTaker records that the order being placed is canceled with so many contracts left.
func (v *Venue) cancelTaker(left core.Qty, why core.Reason) {
	v.out.Ended[core.OrderID(v.now.Seq)] = End{core.Canceled, why, left}
}

// admit makes the checks after the client_order_id and before the money.
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
	case c.Flags.Has(core.ReduceOnly) && c.Side == core.Sell && c.Qty > v.sellable(c.User, this):
		return core.ReduceOnlyViolation
	case c.Flags.Has(core.ReduceOnly) && c.Side == core.Buy && c.Qty > v.held(c.User, that):
		return core.ReduceOnlyViolation
	case c.Side == core.Sell && c.Qty > v.sellable(c.User, this):
		return core.InsufficientPosition
	case c.Type == core.Limit && (c.TIF == core.GTC || c.TIF == core.GTT) && len(open) >= int(v.rules.OpenOrders):
		return core.OpenOrderLimit
	case c.Side == core.Buy && v.held(c.User, this)+v.bids(c.User, this)+c.Qty > min(v.rules.Contracts, contractsMax):
		return core.PerMarketLimit
	}
	return core.OK
}

// contractsMax bounds the contracts of an account in a market, whatever the rules allow.
const contractsMax = 1<<31 - 1

// taker is the incoming order while it is matched.
type taker struct {
	core.PlaceOrder
	left   core.Qty
	rate   core.Rate
	budget *big.Int // what a market buy can still spend; nil: no bound
}

func (t *taker) bid() bool { return (t.Side == core.Buy) == (t.Outcome == core.Yes) }

// reaches reports whether the taker's limit allows a fill against o.
func (t *taker) reaches(o *order) bool {
	if t.bid() {
		return o.yes() <= own(t.Outcome, t.Tick)
	}
	return o.yes() >= own(t.Outcome, t.Tick)
}

// matchOrRest matches the order, and lets what is left rest or cancels it.
func (v *Venue) matchOrRest(t *taker) {
	why := core.NoReason
	switch {
	case t.Flags.Has(core.PostOnly):
		if q := v.queue(t.Market, !t.bid()); len(q) > 0 && t.reaches(&q[0]) {
			why = core.PostOnlyCross
		}
	case t.TIF == core.FOK && !v.fillsCompletely(*t):
		why = core.FokInfeasible
	default:
		why = v.match(t)
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
		v.cancelTaker(t.left, core.IocRemainder)
	default:
		v.cancelTaker(t.left, why)
	}
}

// fillsCompletely reports whether the order would fill completely, by matching it in a copy.
func (v *Venue) fillsCompletely(t taker) bool {
	v.copy().match(&t)
	return t.left == 0
}

// match fills the taker against one resting order after the other. It returns the reason for which what is
// left is canceled, or NoReason.
func (v *Venue) match(t *taker) core.Reason {
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
			v.closeOrder(o, core.Canceled, core.SelfTradePrevention)
			continue
		}
		may := o.left
		if o.Flags.Has(core.ReduceOnly) && o.Side == core.Buy {
			may = min(may, v.held(o.User, lot{o.Market, 1 - o.Outcome}))
		}
		if may <= 0 {
			v.closeOrder(o, core.Canceled, core.ReduceOnlyExceeded)
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

// fill trades n contracts at the maker's price. may is how many contracts of the maker reduce_only allows
// to fill.
func (v *Venue) fill(t *taker, o order, n, may core.Qty) {
	f := Fill{Maker: o.id, TickYes: o.yes(), Qty: n}
	f.TakerFee = v.bookSide(t.User, t.Market, t.Side, t.Outcome, n, o.yes(), t.rate)
	f.MakerFee = v.bookSide(o.User, o.Market, o.Side, o.Outcome, n, o.yes(), o.maker)
	v.refund(o, n) // bookSide took the price from free cash, so the reservation is released
	switch {
	case t.Side == core.Buy && o.Side == core.Buy:
		f.Path = core.Mint
	case t.Side == core.Sell && o.Side == core.Sell:
		f.Path = core.Merge
	}
	v.collected = plus(v.collected, amount(int64(f.TakerFee+f.MakerFee)))
	f.Rebate = v.payShare(o.User, f.TakerFee, v.fees.RebatePct)
	f.Referral = v.payShare(v.users[t.User].referrer, f.TakerFee, v.fees.ReferPct)
	v.out.Fills = append(v.out.Fills, f)
	if t.budget != nil {
		t.budget = minus(t.budget, plus(tradePrice(n, own(t.Outcome, o.yes())), amount(int64(f.TakerFee))))
	}
	t.left -= n
	m := v.markets[t.Market]
	m.lastTick, m.volume = o.yes(), m.volume+n
	v.markets[t.Market] = m
	v.reduceMaker(o, n, may)
}

// reduceMaker removes n filled contracts from the maker, and those that reduce_only no longer allows.
func (v *Venue) reduceMaker(o order, n, may core.Qty) {
	o.left -= n
	switch may -= n; {
	case o.left == 0 && o.clipped:
		v.closeOrder(o, core.Canceled, core.ReduceOnlyExceeded)
	case o.left == 0:
		delete(v.orders, o.id)
	case may == 0:
		v.closeOrder(o, core.Canceled, core.ReduceOnlyExceeded)
	default:
		o.clipped = o.clipped || may < o.left && v.rules.Revision >= core.RevisionStrict
		v.refund(o, o.left-may)
		v.storeOrder(o, may)
	}
}

// bookSide books one side of a fill and returns its fee.
func (v *Venue) bookSide(u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, yes core.Tick, rate core.Rate) core.Pips {
	p, l := own(o, yes), lot{m, o}
	charge := fee(rate, n, p)
	had := v.stake(u, l)
	if s == core.Buy {
		paid := plus(tradePrice(n, p), charge)
		v.pay(u, new(big.Int).Neg(paid))
		v.users[u].held[l] = stake{had.n + n, plus(had.cost, paid)}
	} else {
		v.pay(u, minus(tradePrice(n, p), charge))
		v.removeContracts(u, l, n)
	}
	return core.Pips(charge.Int64())
}

// stake returns what u holds of a lot.
func (v *Venue) stake(u core.UserID, l lot) stake {
	if s, ok := v.users[u].held[l]; ok {
		return s
	}
	return stake{0, amount(0)}
}

// removeContracts removes n contracts of a lot with their share of the cost, rounded down.
func (v *Venue) removeContracts(u core.UserID, l lot, n core.Qty) {
	had := v.stake(u, l)
	gone := floor(new(big.Int).Mul(had.cost, amount(int64(n))), int64(had.n))
	v.users[u].held[l] = stake{had.n - n, minus(had.cost, gone)}
}

// payShare pays pct percent of a taker's fee to an account, rounded down.
func (v *Venue) payShare(to core.UserID, of core.Pips, pct uint8) core.Pips {
	if to == 0 {
		return 0
	}
	n := floor(times(int64(of), int64(pct)), 100)
	v.pay(to, n)
	v.collected = minus(v.collected, n)
	return core.Pips(n.Int64())
}
