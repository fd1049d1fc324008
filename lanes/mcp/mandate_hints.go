package mcp

import (
	"fmt"
	"math"
	"strconv"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// hintMandate names a value that the agent's mandate allows, where there is one
// (docs/rules/agent-accounts.md#rejections).
func (x *hintBuilder) hintMandate(p *schemas.PlaceOrder) {
	x.Next = &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: map[string]any{}}
	if x.Error.Details == nil {
		return
	}
	d := *x.Error.Details
	number := func(name string) uint64 {
		n, err := strconv.ParseUint(d[name], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	switch d["rule"] {
	case core.RuleHalted.String():
		x.Hint = "The owner has halted this account: no order is accepted until the owner resumes it. Cancels and reads work."
	case core.RuleExpires.String():
		x.Hint = "The mandate has expired: no order is accepted until the owner sets another. Cancels and reads work."
	case core.RuleCategories.String():
		x.Hint = "The mandate does not allow this series. get_account lists the categories that it allows; list_series shows their markets."
	case core.RuleReduceOnly.String():
		x.Hint = "The mandate allows only sales, and buys with reduce_only: true."
	case core.RuleOrderQty.String():
		x.Field, x.Got, x.Limit = "qty", mustEncode(p.Qty), "at most "+d["limit"]
		x.Hint = fmt.Sprintf("The mandate allows at most %s contracts an order.", d["limit"])
	case core.RulePriceCollar.String():
		x.hintCollar(p, d["limit"])
	case core.RuleOpenOrders.String():
		x.Hint = fmt.Sprintf("%s orders rest and the mandate allows %s: cancel one first, or use ioc.", d["used"], d["limit"])
	case core.RuleOrdersPerDay.String():
		x.Hint = fmt.Sprintf("The mandate allows %s orders a day and they are used up. The count starts again at UTC midnight.", d["limit"])
	default:
		x.hintCost(p, d["rule"], number("asked"), number("headroom"))
	}
}

// hintCollar names the last tick that the price collar allows.
func (x *hintBuilder) hintCollar(p *schemas.PlaceOrder, last string) {
	name, bound := "tick", "at most "
	if p.IsMarket() {
		name = "worst_tick"
	}
	if p.Side == "sell" {
		bound = "at least "
	}
	tick := p.LimitTick()
	x.Field, x.Got, x.Limit = name, sent(p, &tick), bound+last
	x.Hint = fmt.Sprintf("The mandate's price collar allows a %s of %s%s now; the grid may need a tick on the near side of it.", name, bound, last)
}

// hintCost names the greatest quantity whose cost the mandate allows.
func (x *hintBuilder) hintCost(p *schemas.PlaceOrder, rule string, asked, headroom uint64) {
	var unit core.Pips
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		unit = core.ReservationPerContract(v.Fees().Taker, core.Tick(p.LimitTick()))
	})
	n := min(headroom/uint64(max(unit, 1)), math.MaxInt64)
	x.Field, x.Got = "qty", mustEncode(p.Qty)
	x.Hint = fmt.Sprintf("This order costs up to %d pips and %s leaves %d.", asked, rule, headroom)
	switch {
	case n > 0:
		x.Limit = fmt.Sprintf("at most %d", n)
		x.Hint += fmt.Sprintf(" At this price a qty of %d passes.", n)
	case p.IsMarket() && headroom > 0:
		x.Field, x.Got, x.Limit = "max_cost", mustEncode(p.MaxCost), fmt.Sprintf("at most %d", headroom)
		x.Hint += fmt.Sprintf(" A max_cost of %d passes.", headroom)
	default:
		x.Hint += " No buy at this price passes: sell, wait for a settlement, or ask the owner."
	}
}
