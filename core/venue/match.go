package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// noBudget is the budget of a taker whose cost has no bound.
const noBudget core.Pips = -1

// taker is an incoming order while it is matched.
type taker struct {
	cmd           *core.PlaceOrder
	market        *market
	family        core.UserID
	tick          core.Tick       // worst price, in the taker's own outcome
	violation     *core.Violation // the bound of a mandate that rejects the placement
	left          core.Qty
	limit         core.Tick // worst price, YES space
	bid           bool
	rate          core.Rate
	budget        core.Pips   // what a market buy can still spend, or noBudget
	reason        core.Reason // why what is left is canceled; NoReason while it can match or rest
	releasedBySTP core.Pips   // in a simulation: reservations of own orders that stp_maker would cancel

	releasedInGroup core.Pips // the part of releasedBySTP that is of the taker's group
}

// reaches reports whether the taker's limit allows a fill at a tick of YES space.
func (t *taker) reaches(at core.Tick) bool {
	if t.bid {
		return at <= t.limit
	}
	return at >= t.limit
}

// crosses reports whether the best price of the other side is within the taker's limit.
func (t *taker) crosses() bool {
	at, ok := t.market.book.BestTick(!t.bid)
	return ok && t.reaches(at)
}

// matchResult is what happens between a taker and one resting order, the maker.
type matchResult struct {
	qty     core.Qty    // contracts to fill; can be 0
	allowed core.Qty    // contracts that the maker can fill, ≥ qty; reduce_only can make it less than Left
	evict   core.Reason // if set, the maker is canceled for this reason, without a fill
	stop    bool        // matching ends after the fill
	reason  core.Reason // with stop: why what is left of the taker is canceled
}

// computeMatch decides what happens between t and the resting order o, and changes nothing: the
// rules are docs/rules/orders.md#self-trade-prevention, #reduce-only and #max-cost. sold is how many
// contracts of the other outcome the maker's account has sold earlier in a simulation, which its
// holding does not show; 0 in a real match.
func (v *Venue) computeMatch(t *taker, o *book.Order, sold core.Qty) matchResult {
	var x matchResult
	if v.family(o.User) == t.family {
		if o.User == t.cmd.User && t.cmd.Flags.Has(core.StpMaker) {
			x.evict = core.SelfTradePrevention
		} else {
			x.stop, x.reason = true, core.SelfTradePrevention
		}
		return x
	}
	x.allowed = core.Qty(o.Left)
	if o.Flags().Has(core.ReduceOnly) && o.Side() == core.Buy {
		h := v.ledger.HoldingRef(o.User, o.Market())
		x.allowed = min(x.allowed, h.Contracts(o.Outcome().Other())-sold)
		if x.allowed <= 0 {
			x.evict = core.ReduceOnlyExceeded
			return x
		}
	}
	x.qty = min(t.left, x.allowed)
	if t.budget != noBudget {
		p := core.InYes(t.cmd.Outcome, o.TickYes())
		if n := core.Affordable(t.budget, t.rate, p); n < x.qty {
			x.qty, x.stop, x.reason = n, true, core.MaxCostInfeasible
		}
	}
	return x
}

// match fills the taker from the best price on until it is done, its limit is reached or a rule stops
// it. It sets t.left and t.reason.
func (v *Venue) match(t *taker) {
	b := t.market.book
	switch {
	case t.cmd.Flags.Has(core.PostOnly):
		if t.crosses() {
			t.reason = core.PostOnlyCross
		}
		return
	case t.cmd.TIF == core.FOK:
		if v.simulate(*t, nil).left > 0 {
			t.reason = core.FokInfeasible
			return
		}
	}
	for t.left > 0 && t.crosses() {
		r := b.Best(!t.bid)
		o := v.pool.At(r)
		x := v.computeMatch(t, o, 0)
		if x.evict != core.NoReason {
			v.closeOrder(r, core.Canceled, x.evict, core.CauseCancel)
			continue
		}
		if x.qty > 0 {
			v.fill(t, r, o, x)
		}
		if x.stop {
			t.reason = x.reason
			return
		}
	}
}

// fill trades x.qty contracts between the taker and a resting order, at the maker's price
// (docs/rules/prices.md#paths), and emits the fill.
func (v *Venue) fill(t *taker, r book.Ref, o *book.Order, x matchResult) {
	c, l, n := t.cmd, v.ledger, x.qty
	tick, path := o.TickYes(), core.PathOf(c.Side, o.Side())
	tp, mp := core.InYes(c.Outcome, tick), core.InYes(o.Outcome(), tick)
	f := v.ev.Filled()
	f.Taker, f.TakerUser, f.TakerSide, f.TakerOutcome = core.OrderID(v.now.Seq), c.User, c.Side, c.Outcome
	f.Maker, f.MakerUser, f.MakerSide, f.MakerOutcome = o.ID, o.User, o.Side(), o.Outcome()
	f.Market, f.Generation, f.TickYes, f.Qty, f.Path = c.Market, t.market.Generation, tick, n, path
	f.TakerFee, f.MakerFee, f.Rebate, f.Referral, f.Referrer = core.Fee(t.rate, n, tp), core.Fee(o.MakerRate, n, mp), 0, 0, 0
	takes, makes := core.Pips(n)*core.Pips(tp), core.Pips(n)*core.Pips(mp)
	if c.Side == core.Buy {
		l.Buy(c.User, c.Market, c.Outcome, n, takes, f.TakerFee)
		if t.budget != noBudget {
			t.budget -= takes + f.TakerFee
		}
	} else {
		l.Sell(c.User, c.Market, c.Outcome, n, takes, f.TakerFee, false)
	}
	if o.Side() == core.Buy {
		l.BuyFromReservation(o.User, c.Market, o.Outcome(), n, makes, f.MakerFee, core.Pips(n)*core.Pips(o.Unit))
	} else {
		l.Sell(o.User, c.Market, o.Outcome(), n, makes, f.MakerFee, true)
	}
	switch path {
	case core.Mint:
		l.AddPairs(c.Market, n)
	case core.Merge:
		l.AddPairs(c.Market, -n)
	}
	l.CollectFees(f.TakerFee + f.MakerFee)
	v.distributeFee(f)
	if v.bounded {
		v.countFills(c, r, n)
	}
	t.left -= n
	t.market.lastTick = tick
	t.market.volume += n
	f.MakerLeft, f.MakerReason = core.Qty(o.Left)-n, core.NoReason
	if f.MakerLeft == 0 && o.Clipped() {
		f.MakerReason = core.ReduceOnlyExceeded
	}
	v.reduceMaker(t.market, r, o, n, x.allowed-n)
}

// reduceMaker takes filled contracts off a maker, and removes it from the book if none are left. Only
// allowed more contracts can fill under reduce_only; the others are canceled, which clips the order
// (docs/rules/orders.md#reduce-only).
func (v *Venue) reduceMaker(m *market, r book.Ref, o *book.Order, filled, allowed core.Qty) {
	tick, bid := o.TickYes(), o.Bid()
	v.emitLevelChange(m, bid, tick, -filled, m.book.Reduce(r, filled))
	left := core.Qty(o.Left)
	switch {
	case left == 0:
		v.removeFilled(r, o)
	case allowed == 0:
		v.closeOrder(r, core.Canceled, core.ReduceOnlyExceeded, core.CauseCancel)
	case allowed < left:
		o.Clip()
		v.reduceOrder(r, left-allowed, core.CauseCancel)
	}
}
