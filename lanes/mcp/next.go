package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// openStatuses selects the orders that rest.
const openStatuses = "resting,partially_filled"

// complete adds what every refusal has: the field at fault, its value as it was sent, the next call, and the
// market of a placement (docs/rules/agents.md#errors).
func (x *hintBuilder) complete() {
	sent := x.named()
	if x.Field == "" {
		for _, name := range schemas.FaultyFields[x.Error.Code] {
			if x.Field == "" || sent[x.Field] == nil && sent[name] != nil {
				x.Field = name
			}
		}
	}
	if name := sentFor(sent, x.Field); name != x.Field {
		x.Field, x.Got = name, nil
	}
	for i, name := range x.Differs {
		x.Differs[i] = sentFor(sent, name)
	}
	if x.Got == nil && x.Field != "" {
		if v := valueAt(x.arguments(), x.Field); v != nil && v.Kind() != 'n' {
			x.Got = jsontext.Value(schemas.Shown(v))
		}
	}
	if x.Next == nil {
		x.Next = cmp.Or(x.correctedRead(), x.fallback())
	}
	x.addMarket()
}

// sentFor returns the member of an order that was sent in place of one, such as dollars for max_cost, or that one.
func sentFor(sent map[string]jsontext.Value, name string) string {
	for _, m := range schemas.Members(reflect.TypeFor[schemas.OrderArguments]()) {
		if sent[name] == nil && sent[m.Name] != nil && slices.Contains(m.Replaces, name) {
			return m.Name
		}
	}
	return name
}

// addMarket adds the slot of a placement or a replace as it is now, and where the round is at fault says what
// the slot trades now.
func (x *hintBuilder) addMarket() {
	var id schemas.Int
	places := true
	switch in := x.input.(type) {
	case *schemas.PlaceOrders:
		if n, ok := x.faultyItem(); ok && n < len(in.Orders) {
			id = in.Orders[n].MarketID
		}
	case *schemas.SubmitForecast:
		id, places = in.MarketID, false
	default:
		if p := x.placement(); p != nil {
			id = p.MarketID
		}
	}
	now := x.venue.MarketNow(core.MarketID(id.MarketID()))
	if now == nil || x.Error.Code == "duplicate_client_order_id" {
		return
	}
	if strings.HasSuffix(x.Field, "generation") {
		x.Hint = fmt.Sprintf("Market %d is %s now: round %d, generation %d, strike %s, %d s to close. ", now.MarketID, now.Series, now.RoundNumber, now.Generation, now.StrikeDecimal, now.SecsToClose) + x.Hint
	}
	if places {
		x.Market = now
	}
}

// faultyItem returns the index of the order of a batch that is at fault.
func (x *hintBuilder) faultyItem() (n int, ok bool) {
	i, ok := strings.CutPrefix(x.Field, "orders[")
	n, err := strconv.Atoi(i[:max(strings.IndexByte(i, ']'), 0)])
	return n, ok && err == nil
}

// placement returns the order of a placement or a replace, or nil.
func (x *hintBuilder) placement() *schemas.PlaceOrder {
	switch in := x.input.(type) {
	case *schemas.PlaceOrder:
		return in
	case *schemas.Quote:
		return &schemas.PlaceOrder{MarketID: in.MarketID, Generation: in.Generation}
	case *schemas.ReplaceOrder:
		if in != nil {
			return x.venue.Placement(x.caller(), in)
		}
	}
	return nil
}

// arguments returns the arguments of the call, or of the item of a batch, as they were sent.
func (x *hintBuilder) arguments() jsontext.Value {
	if x.item == wholeCall {
		return x.call.meta.Args
	}
	if x.tool.spec == &tools.CancelOrders.Spec {
		return mustEncode(map[string]jsontext.Value{"order_id": valueAt(x.call.meta.Args, fmt.Sprintf("order_ids[%d]", x.item))})
	}
	if x.tool.spec == &tools.PutQuotes.Spec {
		return x.quoteArguments()
	}
	return valueAt(x.call.meta.Args, fmt.Sprintf("orders[%d]", x.item))
}

// quoteArguments returns the arguments of a side of a quote, as they were sent, beside those of both sides.
func (x *hintBuilder) quoteArguments() jsontext.Value {
	var all, side map[string]jsontext.Value
	quote := valueAt(x.call.meta.Args, fmt.Sprintf("quotes[%d]", x.item/2))
	_ = json.Unmarshal(quote, &all)                                                // it was decoded before
	_ = json.Unmarshal(valueAt(quote, [...]string{"bid", "ask"}[x.item%2]), &side) // null has none
	delete(all, "bid")
	delete(all, "ask")
	maps.Copy(all, side)
	return mustEncode(all)
}

// named returns the arguments by name.
func (x *hintBuilder) named() (out map[string]jsontext.Value) {
	if json.Unmarshal(x.arguments(), &out) != nil {
		return nil
	}
	return out
}

// objectOf decodes an object, with integers that stay exact. It returns nil for anything else.
func objectOf(v jsontext.Value) map[string]any {
	var named map[string]jsontext.Value
	if json.Unmarshal(v, &named) != nil {
		return nil
	}
	out := make(map[string]any, len(named))
	for name, v := range named {
		out[name] = v
	}
	return out
}

var pathStep = regexp.MustCompile(`[^.\[\]]+`)

// valueAt returns the value at a path such as orders[2].qty, or nil.
func valueAt(v jsontext.Value, path string) jsontext.Value {
	for _, step := range pathStep.FindAllString(path, -1) {
		var named map[string]jsontext.Value
		var items []jsontext.Value
		i, err := strconv.Atoi(step)
		switch {
		case json.Unmarshal(v, &named) == nil:
			v = named[step]
		case err == nil && json.Unmarshal(v, &items) == nil && i < len(items):
			v = items[i]
		default:
			return nil
		}
	}
	return v
}

// sameCall returns the call, or that of the item of a batch, as it was sent.
func (x *hintBuilder) sameCall() *schemas.NextCall {
	tool, arguments := x.tool.spec.Name, objectOf(x.arguments())
	if x.item != wholeCall && tool == tools.PlaceOrders.Name {
		tool = tools.PlaceOrder.Name
	}
	if x.item != wholeCall && tool == tools.PutQuotes.Name {
		arguments = map[string]any{"quotes": []any{valueAt(x.call.meta.Args, fmt.Sprintf("quotes[%d]", x.item/2))}}
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	return &schemas.NextCall{Tool: tool, Arguments: arguments}
}

// fallback is the read that shows what to put where nothing can be corrected.
func (x *hintBuilder) fallback() *schemas.NextCall {
	none := map[string]any{}
	p := x.placement()
	switch x.Error.Code {
	case "user_suspended", "missing_scope", "mandate_violation":
		return &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: none}
	case "bad_qty":
		if p != nil && p.Side == "sell" {
			return &schemas.NextCall{Tool: tools.ListPositions.Name, Arguments: map[string]any{"market_id": int64(p.MarketID)}}
		}
		return &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: none}
	}
	switch x.tool.spec {
	case &tools.CancelOneOrder.Spec, &tools.CancelOrders.Spec, &tools.CancelAllOrders.Spec, &tools.DecreaseOrder.Spec, &tools.ReplaceOrder.Spec,
		&tools.ListOrders.Spec, &tools.GetOrder.Spec, &tools.ListFills.Spec:
		return &schemas.NextCall{Tool: tools.ListOrders.Name, Arguments: map[string]any{"status": openStatuses}}
	case &tools.RedeemPairs.Spec, &tools.ListPositions.Spec, &tools.GetPnL.Spec:
		return &schemas.NextCall{Tool: tools.ListPositions.Name, Arguments: none}
	case &tools.SetGroup.Spec, &tools.ResetGroup.Spec, &tools.DeleteGroup.Spec, &tools.ListGroups.Spec:
		return &schemas.NextCall{Tool: tools.ListGroups.Name, Arguments: none}
	case &tools.ArmDeadman.Spec, &tools.DisarmDeadman.Spec, &tools.RequestWithdrawal.Spec, &tools.ListWithdrawals.Spec, &tools.ListDeposits.Spec,
		&tools.ListLedger.Spec, &tools.ListSettlements.Spec, &tools.GetBalance.Spec, &tools.GetAccount.Spec, &tools.GetLimits.Spec, &tools.GetDepositAddress.Spec:
		return &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: none}
	case &tools.ListApprovals.Spec:
		return &schemas.NextCall{Tool: tools.ListApprovals.Name, Arguments: none}
	case &tools.GetVenue.Spec:
		return &schemas.NextCall{Tool: tools.GetVenue.Name, Arguments: none}
	}
	return &schemas.NextCall{Tool: tools.ListSeries.Name, Arguments: none}
}
