package model

import (
	"math/big"
	"slices"

	"duplex/core"
)

// place makes the checks of a placement in their order (docs/rules/orders.md#order-of-checks),
// then matches the order.
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
	return v.execute(c, v.waits)
}

// execute checks and matches a placement whose client_order_id is new. unasked is the last check of a buy.
func (v *Venue) execute(c core.PlaceOrder, unasked judge) core.Reject {
	if r := v.admit(&c); r != core.OK {
		return r
	}
	if v.out.Violation = v.checkMandate(&c); v.out.Violation != nil {
		return core.MandateViolation
	}
	need := v.admissionCost(&c)
	limit := new(big.Int).SetUint64(c.MaxCost)
	if c.Side == core.Buy && c.Type == core.Limit && c.MaxCost > 0 && less(limit, need) {
		v.countPlacement(&c)
		v.cancelTaker(c.Qty, core.MaxCostInfeasible)
		return core.OK
	}
	if c.Side == core.Buy && less(v.users[c.User].cash, need) {
		return core.InsufficientBalance
	}
	if c.Side == core.Buy {
		if r, done := unasked(&c, need); done {
			return r
		}
	}
	v.countPlacement(&c)
	t := taker{PlaceOrder: c, left: c.Qty, rate: v.fees.Taker}
	if c.Side == core.Buy && c.Type == core.Market {
		t.budget = limit
	}
	v.trade(&t)
	v.trip(v.filledIn)
	return core.OK
}

// replace ends an order and places another; if that is rejected, it undoes the end
// (docs/rules/orders.md#replace).
func (v *Venue) replace(c *core.ReplaceOrder) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	old, found := v.orders[c.Old]
	same := old.User == c.User && old.Market == c.Market && old.Side == c.Side && old.Outcome == c.Outcome
	switch {
	case c.ClientID == 0 || v.users[c.User].used[c.ClientID]:
		return v.place(c.PlaceOrder)
	case !found || !same || v.rules.Revision < core.RevisionReplace:
		return core.UnknownOrder
	}
	v.users[c.User].used[c.ClientID] = true
	p := c.PlaceOrder
	if c.Seen != 0 && v.rules.Revision >= core.RevisionReplaceSeen {
		p.Qty -= max(0, c.Seen-old.left)
	}
	cash := v.users[c.User].cash
	v.close(old, core.Canceled, core.Replaced)
	r := v.execute(p, v.refused)
	if r != core.OK {
		v.orders[c.Old], v.users[c.User].cash = old, cash
		delete(v.out.Ended, c.Old)
	}
	return r
}

// admissionCost returns what a buy reserves before it can fill, at the taker rate: for a market
// buy at most max_cost.
func (v *Venue) admissionCost(c *core.PlaceOrder) *big.Int {
	need := new(big.Int).Mul(integer(int64(c.Qty)), reservePerContract(v.fees.Taker, c.Tick))
	if limit := new(big.Int).SetUint64(c.MaxCost); c.Type == core.Market && less(limit, need) {
		return limit
	}
	return need
}

// countPlacement counts a placement that is not rejected.
func (v *Venue) countPlacement(c *core.PlaceOrder) {
	v.out.Tick = c.Tick
	v.users[c.User].ordersOn[v.today()]++
}

// cancelTaker records that the order just placed is canceled with left contracts
// unfilled.
func (v *Venue) cancelTaker(left core.Qty, why core.Reason) {
	v.out.Ended[core.OrderID(v.now.Seq)] = End{core.Canceled, why, left}
}

// admit makes the checks that come after the client_order_id and before the money.
func (v *Venue) admit(c *core.PlaceOrder) core.Reject {
	m, opened := v.markets[c.Market]
	this, that := contract{c.Market, c.Outcome}, contract{c.Market, 1 - c.Outcome}
	open := v.resting(func(o order) bool { return o.User == c.User && o.Market == c.Market })
	switch {
	case c.NotAfter != 0 && c.NotAfter < v.now.Ts && v.rules.Revision >= core.RevisionMakers:
		return core.TooLate
	case c.Fault != core.OK:
		return c.Fault
	case !opened:
		return core.UnknownMarket
	case c.Generation != 0 && c.Generation != m.Generation:
		return core.StaleGeneration
	case v.suspended(c.User):
		return core.UserSuspended
	case v.groups[groupID{c.User, c.Group}].tripped:
		return core.GroupTripped
	case m.Status != core.Trading:
		return core.MarketNotTrading
	case v.now.Ts >= m.CloseTs:
		return core.MarketNotTrading
	case v.paused(m):
		return core.MarketPaused
	case c.Tick < 1 || c.Tick > 9999 || c.Type == core.Limit && !onGrid(v.rules.Grid, c.Tick):
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

// contractsMax is the highest contracts limit that rules can set
// (docs/rules/limits.md#contracts).
const contractsMax = 1<<31 - 1

// taker is an order while it is matched.
type taker struct {
	core.PlaceOrder
	left   core.Qty
	rate   core.Rate
	budget *big.Int // what a market buy may still spend; nil: no limit
}

func (t *taker) bid() bool { return (t.Side == core.Buy) == (t.Outcome == core.Yes) }

func (t *taker) reaches(o *order) bool {
	if t.bid() {
		return o.tickYes() <= ownTick(t.Outcome, t.Tick)
	}
	return o.tickYes() >= ownTick(t.Outcome, t.Tick)
}

// trade matches the order, then lets the remainder rest or end.
func (v *Venue) trade(t *taker) {
	why := core.NoReason
	switch {
	case t.Flags.Has(core.PostOnly):
		if q := v.bookSide(t.Market, !t.bid()); len(q) > 0 && t.reaches(&q[0]) {
			why = core.PostOnlyCross
		}
	case t.TIF == core.FOK && !v.wouldFill(*t):
		why = core.FokInfeasible
	default:
		why = v.match(t)
	}
	rests := t.TIF == core.GTC || t.TIF == core.GTT
	switch {
	case t.left == 0:
	case why == core.NoReason && rests && v.filledIn[groupID{t.User, t.Group}] && slices.Contains(v.reached(), groupID{t.User, t.Group}):
		v.cancelTaker(t.left, core.GroupLimit)
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

// wouldFill reports whether the order fills completely, by matching it on a copy.
func (v *Venue) wouldFill(t taker) bool {
	v.copy().match(&t)
	return t.left == 0
}

// match matches the taker with resting orders in their priority. It returns the reason for
// which the remainder is canceled, or NoReason.
func (v *Venue) match(t *taker) core.Reason {
	for t.left > 0 {
		q := v.bookSide(t.Market, !t.bid())
		if len(q) == 0 || !t.reaches(&q[0]) {
			return core.NoReason
		}
		o := q[0]
		if v.family(o.User, t.User) && (o.User != t.User || !t.Flags.Has(core.StpMaker)) {
			return core.SelfTradePrevention
		}
		if o.User == t.User {
			v.close(o, core.Canceled, core.SelfTradePrevention)
			continue
		}
		tradable := o.left
		if o.Flags.Has(core.ReduceOnly) && o.Side == core.Buy {
			tradable = min(tradable, v.held(o.User, contract{o.Market, 1 - o.Outcome}))
		}
		if tradable <= 0 {
			v.close(o, core.Canceled, core.ReduceOnlyExceeded)
			continue
		}
		n, offered := min(t.left, tradable), min(t.left, tradable)
		if t.budget != nil {
			n = affordable(t.budget, t.rate, ownTick(t.Outcome, o.tickYes()), offered)
		}
		if n > 0 {
			v.fill(t, o, n, tradable)
		}
		if n < offered {
			return core.MaxCostInfeasible
		}
	}
	return core.NoReason
}

// fill trades n contracts at the maker's price. tradable is the number of contracts that
// reduce_only leaves the maker.
func (v *Venue) fill(t *taker, o order, n, tradable core.Qty) {
	f := Fill{Maker: o.id, TickYes: o.tickYes(), Qty: n}
	f.TakerFee = v.applySide(core.OrderID(v.now.Seq), t.User, t.Market, t.Side, t.Outcome, n, o.tickYes(), t.rate)
	f.MakerFee = v.applySide(o.id, o.User, o.Market, o.Side, o.Outcome, n, o.tickYes(), o.maker)
	for _, id := range []groupID{{t.User, t.Group}, {o.User, o.Group}} {
		v.countFill(id.user, id.id, n)
		v.filledIn[id] = true
	}
	v.refund(o, n) // a resting buy pays from its reservation
	switch {
	case t.Side == core.Buy && o.Side == core.Buy:
		f.Path = core.Mint
	case t.Side == core.Sell && o.Side == core.Sell:
		f.Path = core.Merge
	}
	v.feesCollected = plus(v.feesCollected, integer(int64(f.TakerFee+f.MakerFee)))
	f.Rebate = v.payShare("rebate", o.Market, o.User, f.TakerFee, v.fees.RebatePct)
	f.Referral = v.payShare("referral", o.Market, v.users[t.User].referrer, f.TakerFee, v.fees.ReferPct)
	v.out.Fills = append(v.out.Fills, f)
	if t.budget != nil {
		t.budget = minus(t.budget, plus(cost(n, ownTick(t.Outcome, o.tickYes())), integer(int64(f.TakerFee))))
	}
	t.left -= n
	m := v.markets[t.Market]
	m.lastTick, m.volume = o.tickYes(), m.volume+n
	v.markets[t.Market] = m
	v.updateMaker(o, n, tradable)
}

// updateMaker updates or ends the maker after it has traded n contracts.
func (v *Venue) updateMaker(o order, n, tradable core.Qty) {
	o.left -= n
	switch tradable -= n; {
	case o.left == 0 && o.clipped:
		v.close(o, core.Canceled, core.ReduceOnlyExceeded)
	case o.left == 0:
		delete(v.orders, o.id)
	case tradable == 0:
		v.close(o, core.Canceled, core.ReduceOnlyExceeded)
	default:
		o.clipped = o.clipped || tradable < o.left
		v.refund(o, o.left-tradable)
		v.setLeft(o, tradable)
	}
}

// applySide applies one side of a fill, that of an order, and returns its fee.
func (v *Venue) applySide(id core.OrderID, u core.UserID, m core.MarketID, s core.Side, o core.Outcome, n core.Qty, yes core.Tick, rate core.Rate) core.Pips {
	p, l := ownTick(o, yes), contract{m, o}
	charge := fee(rate, n, p)
	had := v.position(u, l)
	v.users[u].fills++
	row := v.inRound(m)
	row.Order, row.FillN = id, v.users[u].fills
	if s == core.Buy {
		paid := plus(cost(n, p), charge)
		v.pay(u, new(big.Int).Neg(paid))
		v.users[u].held[l] = position{had.n + n, plus(had.cost, paid)}
		v.enter(u, "fill", new(big.Int).Neg(cost(n, p)), row)
	} else {
		proceeds := minus(cost(n, p), charge)
		v.pay(u, proceeds)
		v.realize(u, m, minus(proceeds, v.removeContracts(u, l, n)))
		v.enter(u, "fill", cost(n, p), row)
	}
	v.enter(u, "fee", new(big.Int).Neg(charge), row)
	v.users[u].fees = plus(v.users[u].fees, charge)
	return core.Pips(charge.Int64())
}

func (v *Venue) position(u core.UserID, l contract) position {
	if s, ok := v.users[u].held[l]; ok {
		return s
	}
	return position{0, integer(0)}
}

// removeContracts removes contracts with their share of the cost, rounded down, and returns
// that share (docs/rules/money.md#average-cost).
func (v *Venue) removeContracts(u core.UserID, l contract, n core.Qty) *big.Int {
	had := v.position(u, l)
	gone := floor(new(big.Int).Mul(had.cost, integer(int64(n))), int64(had.n))
	v.users[u].held[l] = position{had.n - n, minus(had.cost, gone)}
	return gone
}

// payShare pays pct percent of a taker's fee, rounded down, to an account
// (docs/rules/money.md#fee-shares).
func (v *Venue) payShare(kind string, m core.MarketID, to core.UserID, of core.Pips, pct uint8) core.Pips {
	if to == 0 {
		return 0
	}
	n := floor(times(int64(of), int64(pct)), 100)
	v.pay(to, n)
	v.enter(to, kind, n, v.inRound(m))
	v.users[to].rebates = plus(v.users[to].rebates, n)
	v.feesCollected = minus(v.feesCollected, n)
	return core.Pips(n.Int64())
}
