package mcp

import (
	"fmt"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// hintMandate says which bound rejected an order, and names values that pass, where there are some
// (docs/rules/agent-accounts.md#rejections).
func (x *hintBuilder) hintMandate(p *schemas.PlaceOrder) {
	x.Next = &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: map[string]any{}}
	if x.Error.Details == nil {
		return
	}
	d := *x.Error.Details
	none := "No order like this one passes."
	switch d["rule"] {
	case core.RuleHalted.String():
		x.Hint, none = "The owner has halted this account: no order is accepted until the owner resumes it. Cancels and reads work.", ""
	case core.RuleExpires.String():
		x.Hint, none = "The mandate has expired: no order is accepted until the owner sets another. Cancels and reads work.", ""
	case core.RuleCategories.String():
		x.Hint, none = fmt.Sprintf("The mandate allows only the categories %s. list_series shows their markets.", x.allowedCategories()), ""
	case core.RuleReduceOnly.String():
		x.Hint = "The mandate allows only sales, and buys with reduce_only: true."
	case core.RuleOrderQty.String():
		x.Hint = fmt.Sprintf("The mandate allows at most %s contracts an order.", d["limit"])
	case core.RulePriceCollar.String():
		bound := "at most"
		if p.Side == "sell" {
			bound = "at least"
		}
		x.Hint = fmt.Sprintf("The price collar of the mandate allows a price of %s %s now.", bound, d["limit"])
	case core.RuleOpenOrders.String():
		x.Hint = fmt.Sprintf("%s orders rest and the mandate allows %s: cancel one first.", d["used"], d["limit"])
	case core.RuleOrdersPerDay.String():
		x.Hint, none = fmt.Sprintf("The mandate allows %s orders a day and they are used up. The count starts again at UTC midnight.", d["limit"]), ""
	case core.RuleAskAbove.String():
		x.hintUnasked()
		return
	default:
		x.Hint = fmt.Sprintf("This order costs up to %s pips and %s leaves %s.", d["asked"], d["rule"], d["headroom"])
		none = "No buy at this price passes: sell, wait for a settlement, or ask the owner."
	}
	if _, replaces := x.input.(*schemas.ReplaceOrder); replaces {
		return // what passes beside the old order is not what passes in its stead
	}
	fit := x.venue.Fit(x.caller(), p)
	if fit == nil {
		x.Hint = strings.TrimSpace(x.Hint + " " + none)
		return
	}
	x.hintFit(p, fit)
	x.suggestPreview(fit)
}

// hintUnasked says that a replace or a quote, which never wait, is above the mandate's ask_above.
func (x *hintBuilder) hintUnasked() {
	if d := x.Error.Details; d != nil && (*d)["rule"] == core.RuleAskAbove.String() {
		x.Hint = fmt.Sprintf("This costs up to %s pips and ask_above leaves %s. Above it only place_order asks the owner.", (*d)["asked"], (*d)["headroom"])
	}
}

// hintFit names the fields in which an order that passes differs from the rejected one.
func (x *hintBuilder) hintFit(p, fit *schemas.PlaceOrder) {
	var changes []string
	change := func(name string, got, passes any) {
		if x.Field == "" {
			x.Field, x.Got, x.Limit = name, mustEncode(got), fmt.Sprint(passes, " passes")
		}
		changes = append(changes, fmt.Sprintf("%s %v", name, passes))
	}
	tick, worst := p.LimitTick(), fit.LimitTick()
	switch {
	case tick == worst:
	case p.IsMarket():
		change("worst_tick", tick, int64(worst))
	default:
		change("tick", tick, int64(worst))
	}
	if p.Qty != fit.Qty {
		change("qty", p.Qty, int64(fit.Qty))
	}
	if p.MaxCost != fit.MaxCost {
		change("max_cost", p.MaxCost, fit.MaxCost)
	}
	if p.TIF != fit.TIF {
		change("tif", p.EffectiveTIF(), fit.TIF)
		if p.TIF == "gtt" {
			changes = append(changes, "without expiry_ts")
		}
	}
	if p.ReduceOnly != fit.ReduceOnly {
		change("reduce_only", p.ReduceOnly, fit.ReduceOnly)
	}
	if len(changes) == 0 { // the usage has fallen since
		x.Hint += " It passes now."
		return
	}
	x.Hint += fmt.Sprintf(" It passes with %s.", strings.Join(changes, ", "))
}

// allowedCategories lists the categories of the caller's mandate.
func (x *hintBuilder) allowedCategories() string {
	var m schemas.Mandate
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if u, ok := v.User(x.call.Key.User); ok && u.Agent != nil {
			m = schemas.MandateOf(&u.Agent.Mandate)
		}
	})
	text := make([]string, len(m.Categories))
	for i, c := range m.Categories {
		text[i] = fmt.Sprint(int64(c))
	}
	return strings.Join(text, ", ")
}
