package venue

import (
	"duplex/core"
	"duplex/core/book"
)

const noBudget core.Pips = -1

// taker is an order on its way through the book.
type taker struct {
	cmd           *core.PlaceOrder
	market        *market
	left          core.Qty
	limit         core.Tick // YES space
	bid           bool
	rate          core.Rate
	budget        core.Pips // what a market buy may still spend, or noBudget
	reason        core.Reason
	releasedBySTP core.Pips // in a walk that is only looked at: of own orders that stp_maker would end
}

// reaches tells whether the taker's limit allows a fill at tick t of YES.
func (t *taker) reaches(at core.Tick) bool {
	if t.bid {
		return at <= t.limit
	}
	return at >= t.limit
}

// crosses tells whether the best price of the other side is within the taker's limit.
func (t *taker) crosses() bool {
	at, ok := t.market.book.BestTick(!t.bid)
	return ok && t.reaches(at)
}

// matchResult is what happens between a taker and the next resting order.
type matchResult struct {
	qty     core.Qty    // that trades
	allowed core.Qty    // of the maker, ≥ qty: less than it offers where reduce_only binds
	evict   core.Reason // the maker leaves without a fill
	stop    bool        // the taker goes no further after this
	reason  core.Reason // why it stops
}

// computeMatch decides, and changes nothing. sold is what the maker's account has already
// given up of the other outcome in a walk that is only looked at.
func (v *Venue) computeMatch(t *taker, o *book.Order, sold core.Qty) matchResult {
	var x matchResult
	if o.User == t.cmd.User {
		if t.cmd.Flags.Has(core.StpMaker) {
			x.evict = core.SelfTradePrevention
		} else {
			x.stop, x.reason = true, core.SelfTradePrevention
		}
		return x
	}
	x.allowed = core.Qty(o.Left)
	if o.Flags().Has(core.ReduceOnly) && o.Side() == core.Buy {
		h := v.ledger.HoldingRef(o.User, o.Market())
		x.allowed = min(x.allowed, h.Held[o.Outcome().Other()]-sold)
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

// match takes the taker through the book.
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

// PreviewFill is one fill as it would be.
type PreviewFill struct {
	Maker   core.OrderID
	TickYes core.Tick
	Qty     core.Qty
	Fee     core.Pips
	Path    core.Path

	user    core.UserID
	side    core.Side
	outcome core.Outcome
}

// simulate walks the book as match would and changes nothing. What would fill is
// appended to seen, where given. The taker it gives is the one at the end.
func (v *Venue) simulate(t taker, seen *[]PreviewFill) taker {
	b := t.market.book
	var own []PreviewFill
	if seen == nil {
		seen = &own
	}
	for r := b.Best(!t.bid); r != book.None && t.left > 0; r = b.Next(r) {
		o := v.pool.At(r)
		if !t.reaches(o.TickYes()) {
			break
		}
		x := v.computeMatch(&t, o, soldInWalk(*seen, o))
		if x.evict != core.NoReason {
			if o.User == t.cmd.User {
				t.releasedBySTP += core.Pips(o.Left) * core.Pips(o.Unit)
			}
			continue
		}
		if x.qty > 0 {
			p := core.InYes(t.cmd.Outcome, o.TickYes())
			fee := core.Fee(t.rate, x.qty, p)
			*seen = append(*seen, PreviewFill{o.ID, o.TickYes(), x.qty, fee, core.PathOf(t.cmd.Side, o.Side()), o.User, o.Side(), o.Outcome()})
			t.left -= x.qty
			if t.budget != noBudget {
				t.budget -= core.Pips(x.qty)*core.Pips(p) + fee
			}
		}
		if x.stop {
			t.reason = x.reason
			break
		}
	}
	return t
}

// soldInWalk is what the account of a resting reduce_only buy has given up of the other
// outcome earlier in a walk.
func soldInWalk(seen []PreviewFill, o *book.Order) (n core.Qty) {
	if !o.Flags().Has(core.ReduceOnly) {
		return 0
	}
	for i := range seen {
		if g := &seen[i]; g.user == o.User && g.side == core.Sell && g.outcome == o.Outcome().Other() {
			n += g.Qty
		}
	}
	return n
}

// fill trades x.qty contracts between the taker and a resting order, at the
// maker's price.
func (v *Venue) fill(t *taker, r book.Ref, o *book.Order, x matchResult) {
	c, l, n := t.cmd, v.ledger, x.qty
	tick, path := o.TickYes(), core.PathOf(c.Side, o.Side())
	tp, mp := core.InYes(c.Outcome, tick), core.InYes(o.Outcome(), tick)
	f := v.ev.Filled()
	f.Taker, f.TakerUser, f.TakerSide, f.TakerOutcome = core.OrderID(v.now.Seq), c.User, c.Side, c.Outcome
	f.Maker, f.MakerUser, f.MakerSide, f.MakerOutcome = o.ID, o.User, o.Side(), o.Outcome()
	f.Market, f.Generation, f.TickYes, f.Qty, f.Path = c.Market, t.market.Generation, tick, n, path
	f.TakerFee, f.MakerFee, f.Rebate, f.Referral = core.Fee(t.rate, n, tp), core.Fee(o.MakerRate, n, mp), 0, 0
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
	t.left -= n
	t.market.lastTick = tick
	t.market.volume += n
	f.MakerLeft, f.MakerReason = core.Qty(o.Left)-n, core.NoReason
	if f.MakerLeft == 0 && o.Clipped() {
		f.MakerReason = core.ReduceOnlyExceeded
	}
	v.reduceMaker(t.market, r, o, n, x.allowed-n)
}

// distributeFee pays the maker's rebate and the referrer's share out of a taker's fee
// (docs/rules/money.md#fee-shares).
func (v *Venue) distributeFee(f *core.Filled) {
	if f.TakerFee == 0 || v.fees.RebatePct == 0 && v.fees.ReferPct == 0 {
		return
	}
	if p := core.Percent(f.TakerFee, v.fees.RebatePct); p > 0 {
		f.Rebate = p
		v.ledger.PayFromFees(f.MakerUser, p, core.CauseRebate)
	}
	if ref := v.accounts[f.TakerUser].Referrer; ref != 0 {
		if p := core.Percent(f.TakerFee, v.fees.ReferPct); p > 0 {
			f.Referral = p
			v.ledger.PayFromFees(ref, p, core.CauseReferral)
		}
	}
}

// reduceMaker takes filled contracts off a maker, which leaves the book when none are
// left. What reduce_only no longer allows is canceled with it, and the order remembers.
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
		if v.rules.Revision >= core.RevisionStrict {
			o.Clip()
		}
		v.reduceOrder(r, left-allowed, core.CauseCancel)
	}
}
