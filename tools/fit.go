package tools

import (
	"cmp"
	"math/rand/v2"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// Fit returns an order like in that the venue would accept now, or nil if no change helps. It may have
// another client_order_id, the generation of now, fewer contracts, a lower max_cost, a price on the grid
// that is not worse, an expiry of a minute, and what the caller's mandate needs, but never another market,
// side or outcome (docs/rules/agents.md#errors).
func (v *Venue) Fit(caller Caller, in *schemas.PlaceOrder) (fit *schemas.PlaceOrder) {
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		o := *in
		if _, ok := m.Market(marketID(in.MarketID)); !ok { // no slot has it, and no holding
			return
		}
		o.Fault, o.ClientOrderID = core.OK, FreeClientOrderID(m, caller.User, in.ClientOrderID)
		for range maxFits {
			c, now := placeCommand(caller, &o), v.Config.Now()
			p, r := m.Preview(c, now)
			if r == core.OK {
				fit = &o
				return
			}
			before := o
			if !fitReject(m, c, now, r, p.Violation, &o) || o == before {
				return
			}
		}
	})
	return fit
}

// Accepts reports whether the venue would accept an order now, and would not cancel it at once.
func (v *Venue) Accepts(caller Caller, in *schemas.PlaceOrder) (ok bool) {
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		p, r := m.Preview(placeCommand(caller, in), v.Config.Now())
		ok = r == core.OK && p.Status != core.Canceled
	})
	return ok
}

// MarketNow returns what a slot trades now, or nil if no round ever opened in it.
func (v *Venue) MarketNow(id core.MarketID) (out *schemas.MarketNow) {
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		s, ok := m.Market(id)
		if !ok {
			return
		}
		r := liveRound(m, &s)
		out = &schemas.MarketNow{
			MarketID: r.MarketID, Generation: r.Generation, RoundNumber: r.RoundNumber, StrikeDecimal: r.StrikeDecimal,
			SecsToClose: r.SecsToClose, YesBid: r.YesBid, YesAsk: r.YesAsk,
		}
		if x, ok := core.SeriesOf(s.Category); ok {
			out.Series = SeriesName(x)
		}
	})
	return out
}

// maxFits bounds the changes of Fit: each reject and each rule of a mandate is met about once.
const maxFits = 24

// fitExpiry is how long an order that Fit gives an expiry rests.
const fitExpiry = int64(time.Minute)

// fitReject changes an order so that it passes the check that rejected it, or returns false.
func fitReject(m *venue.Venue, c *core.PlaceOrder, now int64, r core.Reject, x *core.Violation, o *schemas.PlaceOrder) bool {
	h := m.Holding(c.User, c.Market)
	switch r {
	case core.StaleGeneration:
		s, _ := m.Market(c.Market)
		o.Generation = schemas.Int(s.Generation)
	case core.BadPriceTick:
		return fitTick(m.Rules().Grid, o)
	case core.BadExpiry:
		o.ExpiryTs = schemas.Ptr(ns(now + fitExpiry))
	case core.BadQty:
		o.Qty = min(o.Qty, schemas.QtyMax)
	case core.ReduceOnlyViolation:
		if c.Side == core.Buy {
			return fitQty(h.Contracts(c.Outcome.Other()), o)
		}
		return fitQty(h.Free(c.Outcome), o)
	case core.InsufficientPosition:
		return fitQty(h.Free(c.Outcome), o)
	case core.PerMarketLimit:
		return fitQty(m.Rules().Contracts-h.Exposure(c.Outcome), o)
	case core.InsufficientBalance:
		cash, _ := m.Balance(c.User)
		return fitCost(m, c, uint64(cash), o)
	case core.MandateViolation:
		return x != nil && fitRule(m, c, x, o)
	default:
		return false
	}
	return true
}

// fitQty lowers the quantity to n.
func fitQty(n core.Qty, o *schemas.PlaceOrder) bool {
	o.Qty = min(o.Qty, schemas.Int(n))
	return n > 0
}

// fitTick sets the nearest price on the grid that is not worse, or if there is none, the nearest.
func fitTick(grid core.Grid, o *schemas.PlaceOrder) bool {
	t := min(max(o.LimitTick(), schemas.TickMin), schemas.TickMax)
	if o.IsMarket() {
		o.WorstTick = &t
		return true
	}
	below, above := grid.Nearest(core.Tick(t))
	if o.Side == "sell" {
		below, above = above, below
	}
	o.Tick = schemas.Ptr(schemas.Int(cmp.Or(below, above)))
	return true
}

// FreeClientOrderID returns a client_order_id that the account has not used: one of the next after id,
// or else a random one, so that an account with long runs of used ids costs no more than others.
func FreeClientOrderID(m *venue.Venue, u core.UserID, id schemas.U64) schemas.U64 {
	for range 100 {
		if id != 0 && !m.UsedID(u, uint64(id)) {
			return id
		}
		id++
	}
	for id == 0 || m.UsedID(u, uint64(id)) {
		id = schemas.U64(rand.Uint64())
	}
	return id
}

// fitRule changes an order so that it passes the rule that rejected it, or returns false.
func fitRule(m *venue.Venue, c *core.PlaceOrder, x *core.Violation, o *schemas.PlaceOrder) bool {
	switch x.Rule {
	case core.RuleReduceOnly:
		o.ReduceOnly = true
	case core.RuleOrderQty:
		o.Qty = schemas.Int(x.Limit)
	case core.RulePriceCollar:
		return fitCollar(m.Rules().Grid, core.Tick(x.Limit), o)
	case core.RuleOpenOrders:
		if o.PostOnly {
			return false
		}
		o.TIF, o.ExpiryTs = "ioc", nil
	case core.RuleOrderCost, core.RuleMarketCost, core.RuleOpenCost, core.RuleDailyLoss:
		return fitCost(m, c, x.Headroom(), o)
	default:
		return false
	}
	return true
}

// fitCollar sets the last price that a collar allows: of a limit order the last on the grid.
func fitCollar(grid core.Grid, last core.Tick, o *schemas.PlaceOrder) bool {
	if o.IsMarket() {
		o.WorstTick = schemas.Ptr(schemas.Int(last))
		return true
	}
	tick, above := grid.Nearest(last)
	if o.Side == "sell" {
		tick = above
	}
	o.Tick = schemas.Ptr(schemas.Int(tick))
	return tick != 0
}

// fitCost lowers the max_cost of a market order to headroom pips, and the qty of any order to what these pay for.
func fitCost(m *venue.Venue, c *core.PlaceOrder, headroom uint64, o *schemas.PlaceOrder) bool {
	if o.IsMarket() {
		less := *c
		less.MaxCost = headroom
		if n, _ := m.Offered(&less); n > 0 {
			o.Qty = min(o.Qty, schemas.Int(n))
		}
		o.MaxCost = schemas.U64(headroom)
		return headroom > 0
	}
	n := headroom / uint64(core.ReservationPerContract(m.Fees().Taker, core.Tick(o.LimitTick())))
	o.Qty = min(o.Qty, schemas.Int(min(n, schemas.QtyMax)))
	return n > 0
}
