package tools

import (
	"math/rand/v2"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// FitMandate returns an order like in that the venue would accept now, with another qty, tick,
// worst_tick, max_cost, tif or reduce_only for the caller's mandate. It returns nil if no such change
// helps. Its client_order_id is free (docs/rules/agent-accounts.md#rejections).
func (v *Venue) FitMandate(caller Caller, in *schemas.PlaceOrder) (fit *schemas.PlaceOrder) {
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		o := *in
		o.ClientOrderID = FreeClientOrderID(m, caller.User, in.ClientOrderID)
		for range core.MandateRules() { // each rule is met at most once
			p, r := m.Preview(placeCommand(caller, &o), v.Config.Now())
			if r == core.OK {
				fit = &o
			}
			if p.Violation == nil || !fitRule(m, p.Violation, &o) {
				return
			}
		}
	})
	return fit
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
func fitRule(m *venue.Venue, x *core.Violation, o *schemas.PlaceOrder) bool {
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
		return fitCost(m.Fees(), x.Headroom(), o)
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

// fitCost lowers the max_cost of a market order, or the qty of a limit order, to what costs at most
// headroom pips.
func fitCost(fees core.Fees, headroom uint64, o *schemas.PlaceOrder) bool {
	if o.IsMarket() {
		o.MaxCost = schemas.U64(headroom)
		return headroom > 0
	}
	n := headroom / uint64(core.ReservationPerContract(fees.Taker, core.Tick(o.LimitTick())))
	o.Qty = min(o.Qty, schemas.Int(min(n, schemas.QtyMax)))
	return n > 0
}
