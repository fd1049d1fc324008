package mcp

import (
	"errors"
	"fmt"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"

	"github.com/go-json-experiment/json/jsontext"
)

// errorResult returns the result of a rejected operation, with hints
// (docs/rules/agents.md#errors). Only a revoked key is an error of the request itself.
func (l *Lane) errorResult(c *call, t *tool, in any, err error) *toolResult {
	e := l.gate.ReportError(c.ID, err)
	if e.Code == "unauthorized" || e.Code == "missing_scope" && c.Bearer() { // a client asks for more by the answer's WWW-Authenticate
		return &toolResult{fault: faultOf(e)}
	}
	r := schemas.ToolErrorOf(e)
	fault, ok := errors.AsType[*schemas.Fault](err)
	if ok {
		r = schemas.ToolErrorOfFault(fault)
	}
	if t.spec.ReadOnly() {
		r.Retryable, r.Outcome = r.Retryable || r.Outcome == schemas.OutcomeUnknown, schemas.NotDone
	}
	if fault != nil && e.Code == "unknown_field" && fault.Instead == "" {
		r.Hint = fmt.Sprintf("%s takes no %s. %s", t.spec.Name, r.Field, r.Hint)
	}
	l.hintsFor(c, t, in, wholeCall, &r).addHints()
	return &toolResult{structured: mustEncode(&r), isError: true}
}

// wholeCall is the item of a call that is no batch.
const wholeCall = -1

// hintBuilder adds hints to a tool error.
type hintBuilder struct {
	venue *tools.Venue
	call  *call
	tool  *tool
	item  int // of a batch, or wholeCall
	input any // nil if the call was rejected before it was decoded
	*schemas.ToolError
	general string // the end of the hint, which is the same for all errors of a code
}

func (l *Lane) hintsFor(c *call, t *tool, in any, item int, r *schemas.ToolError) *hintBuilder {
	switch a := in.(type) { // a tool's arguments have the hints of their route's
	case *schemas.OrderArguments:
		if a != nil {
			return &hintBuilder{l.gate.Venue, c, t, item, &a.PlaceOrder, r, schemas.GeneralHint(r.Error.Code)}
		}
	case *schemas.ForecastArguments:
		if a != nil {
			in = &a.SubmitForecast
		}
	}
	return &hintBuilder{l.gate.Venue, c, t, item, in, r, schemas.GeneralHint(r.Error.Code)}
}

// say sets the hint: a part for this call, then a part for all errors of its kind.
func (x *hintBuilder) say(specific, general string) {
	x.Hint, x.general = strings.TrimSpace(specific+" "+general), general
}

// addHints adds facts from the current state: the faulty argument, the legal ticks, the missing amount, the
// first order of a duplicate id, the market of now, and the next call.
func (x *hintBuilder) addHints() {
	switch code := x.Error.Code; code {
	case "missing_scope":
		x.Hint = fmt.Sprintf("%s needs the scope %s; this key has %s. %s", x.tool.spec.Name, x.tool.spec.Scope, x.call.Key.Scopes, x.Hint)
	case "unknown_market", "market_not_trading", "market_paused", "round_not_found", "stale_generation":
		x.suggestSeries()
	case "unknown_order", "invalid_decrease":
		x.suggestOrder()
	case "sequencing_timeout":
		if x.tool.spec.ReadOnly() {
			x.Field, x.Limit = "min_seq", fmt.Sprintf("the venue is at seq %d", x.venue.Engine.Seq())
			x.say("", "The venue has not applied min_seq in time. Send the same call again, if that seq is one of this venue.")
			x.Next = x.sameCall()
		}
	}
	switch {
	case x.Outcome == schemas.OutcomeUnknown:
		x.hintUnknownOutcome()
	case x.Retryable:
		x.Next = x.sameCall()
	}
	switch p := x.input.(type) {
	case *schemas.PlaceOrder:
		if p != nil {
			x.hintPlacement(p)
		}
	case *schemas.PlaceOrders:
		if p != nil {
			x.hintBatch(p)
		}
	case *schemas.Quote:
		x.hintQuote(p)
	case *schemas.RequestWithdrawal:
		if p != nil && x.Error.Code == "insufficient_balance" {
			x.hintWithdrawal(p)
		}
	case *schemas.Redeem:
		if p != nil {
			x.hintRedeem(p)
		}
	case *schemas.SubmitForecast:
		if p != nil && x.Error.Code == "schema_violation" {
			x.hintForecast(p)
		}
	case *schemas.ReplaceOrder:
		if p != nil && x.Error.Code != "unknown_order" {
			x.hintPlacement(x.venue.Placement(x.caller(), p))
		}
	}
	x.complete()
}

func (x *hintBuilder) caller() tools.Caller {
	if x.call.Call == nil || x.call.Key == nil {
		return tools.Caller{}
	}
	return tools.Caller{User: x.call.Key.User, Key: x.call.Key}
}

// suggestCall sets the next call, with one argument.
func (x *hintBuilder) suggestCall(tool, name string, value any) {
	x.Next = &schemas.NextCall{Tool: tool, Arguments: map[string]any{name: value}}
}

// suggestSeries suggests the read that shows where the series trades now: the series of the call's
// round if it is known, else all.
func (x *hintBuilder) suggestSeries() {
	x.Next = &schemas.NextCall{Tool: "list_series", Arguments: map[string]any{}}
	if x.input == nil {
		return
	}
	var market, generation schemas.Int
	switch in := x.input.(type) {
	case *schemas.PlaceOrder:
		market, generation = in.MarketID, in.Generation
	case *schemas.ReplaceOrder:
		p := x.venue.Placement(x.caller(), in)
		market, generation = p.MarketID, p.Generation
	case *schemas.SubmitForecast:
		market, generation = in.MarketID, in.Generation
	case *schemas.Quote:
		market, generation = in.MarketID, in.Generation
	case *schemas.Redeem:
		market = in.MarketID
	}
	x.venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		r := w.Round(core.MarketID(market.MarketID()))
		if r != nil && (generation == 0 || schemas.Int(r.Generation) == generation) {
			x.suggestCall("list_series", "category", int64(r.Category))
		}
	})
}

// suggestOrder suggests a read of the order of a cancel or a decrease.
func (x *hintBuilder) suggestOrder() {
	switch in := x.input.(type) {
	case *schemas.CancelOneOrder:
		if in.ClientOrderID != nil {
			x.suggestCall("list_orders", "client_order_id", in.ClientOrderID.String())
		} else if in.OrderID != nil {
			x.suggestOrderLookup(*in.OrderID)
		}
	case *schemas.DecreaseOrder:
		x.suggestOrderLookup(in.OrderID)
	case *schemas.ReplaceOrder:
		x.suggestOrderLookup(in.OrderID)
	default:
		x.suggestCall("list_orders", "limit", defaultPageSize)
	}
}

func (x *hintBuilder) suggestOrderLookup(id schemas.U64) {
	var there bool
	x.venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		there = w.Order(x.call.Key.User, core.OrderID(id)) != nil
	})
	if there {
		x.suggestCall("list_orders", "order_id", id.String())
		return
	}
	x.suggestCall("list_orders", "status", openStatuses)
}

// hintUnknownOutcome suggests a read that shows the outcome of a call.
func (x *hintBuilder) hintUnknownOutcome() {
	switch in := x.input.(type) {
	case *schemas.PlaceOrder:
		x.say("", "The outcome is unknown: look the order up by its client_order_id, or send the same call again; it cannot be placed twice.")
		x.suggestCall("list_orders", "client_order_id", in.ClientOrderID.String())
	case *schemas.ReplaceOrder:
		x.say("", "The outcome is unknown: look the new order up by its client_order_id, or send the same call again; it cannot be placed twice.")
		x.suggestCall("list_orders", "client_order_id", in.ClientOrderID.String())
	case *schemas.PutQuotes, *schemas.Quote:
		x.say("", "The outcome is unknown: read what rests, then quote again with new client_order_ids.")
		x.suggestCall("list_orders", "status", openStatuses)
	case *schemas.CancelOneOrder:
		x.say("", "The outcome is unknown: send the same call again, which cancels nothing twice, or read the order.")
		if in.ClientOrderID != nil {
			x.suggestCall("list_orders", "client_order_id", in.ClientOrderID.String())
		} else {
			x.suggestCall("list_orders", "order_id", in.OrderID.String())
		}
	case *schemas.CancelAll:
		x.say("", "The outcome is unknown: send the same call again, or read what still rests.")
		x.suggestCall("list_orders", "status", openStatuses)
	case *schemas.DecreaseOrder:
		x.say("", "The outcome is unknown: read the order before you decrease it again.")
		x.suggestCall("list_orders", "order_id", in.OrderID.String())
	case *schemas.Redeem:
		x.say("", "The outcome is unknown: read the position before you redeem again.")
		x.suggestCall("list_positions", "market_id", int64(in.MarketID))
	case *schemas.RequestWithdrawal:
		x.say("", "The outcome is unknown: look the withdrawal up by its client_withdrawal_id, or send the same call again; it is requested once.")
		x.suggestCall("list_withdrawals", "limit", defaultPageSize)
	case *schemas.SubmitForecast: // the toolset core has no list of forecasts
		x.say("", "The outcome is unknown: send the same call again; of the same forecast twice the last one counts.")
		x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: map[string]any{"market_id": int64(in.MarketID), "generation": int64(in.Generation), "p": int64(in.P)}}
	default:
		x.suggestCall("list_orders", "limit", defaultPageSize)
	}
}

// hintRedeem names the pairs that are free, and suggests to redeem those.
func (x *hintBuilder) hintRedeem(p *schemas.Redeem) {
	switch x.Error.Code {
	case "insufficient_position", "bad_qty":
	default:
		return
	}
	var pairs core.Qty
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if m := core.MarketID(p.MarketID.MarketID()); m != 0 && m <= venue.Slots {
			at := v.Position(x.caller().User, m)
			pairs = min(at.Yes-at.YesReserved, at.No-at.NoReserved)
		}
	})
	x.Field, x.Limit = "qty", fmt.Sprintf("%d free pairs", pairs)
	x.say(fmt.Sprintf("Market %d has %d free pairs of yours: contracts of YES and of NO that no sell reserves.", int64(p.MarketID), pairs), "Redeem fewer, or cancel resting sells.")
	if x.Next = nil; pairs > 0 && int64(pairs) < int64(p.Qty) {
		x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: map[string]any{"market_id": int64(p.MarketID), "qty": int64(pairs)}}
		return
	}
	x.suggestCall(tools.ListPositions.Name, "market_id", int64(p.MarketID))
}

// hintForecast suggests the forecast that was probably meant by a p in another unit.
func (x *hintBuilder) hintForecast(p *schemas.SubmitForecast) {
	sent := x.named()["p"]
	meant, ok := forecastOf(sent)
	if x.Field != "p" || !ok || p.MarketID == 0 || p.Generation == 0 {
		return
	}
	if now := x.venue.MarketNow(core.MarketID(p.MarketID.MarketID())); now == nil || int64(now.Generation) != int64(p.Generation) || now.SecsToClose <= 0 {
		x.suggestSeries() // a forecast of that round would be rejected, whatever p is
		return
	}
	x.Hint = fmt.Sprintf("p is in basis points: %s is sent as %d. %s", textOf(sent), meant, x.Hint)
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: map[string]any{"market_id": int64(p.MarketID), "generation": int64(p.Generation), "p": meant}}
}

// canceledHints say what to do after an order that a price canceled at once, by its reason
// (docs/rules/orders.md#reasons).
var canceledHints = map[string]string{
	core.PostOnlyCross.String():     "It would have filled at once. Quote further from the other side, or leave post_only out.",
	core.FokInfeasible.String():     "The book does not offer all of it at this price. Take less, pay more, or use ioc.",
	core.IocRemainder.String():      "The book offers no more within tick or worst_tick.",
	core.MaxCostInfeasible.String(): "max_cost does not pay for qty at these prices. Raise it, or take less.",
}

// canceledOrder is what the result of a canceled order gains.
type canceledOrder struct {
	Hint string            `json:"hint"`
	Next *schemas.NextCall `json:"next"`
}

// hintCanceled adds a hint and the next call to the result of an order that a price
// canceled, so that the model does not send it again as it was.
func hintCanceled(result jsontext.Value, in *schemas.PlaceOrder, reason string) jsontext.Value {
	hint := canceledHints[reason]
	if hint == "" || in == nil {
		return result
	}
	more := mustEncode(canceledOrder{hint, &schemas.NextCall{Tool: tools.GetOrderbook.Name, Arguments: map[string]any{"market_id": int64(in.MarketID), "depth": 5}}})
	return append(append(result[:len(result)-1], ','), more[1:]...)
}

// hintWaiting adds what to do about an order that waits for the owner.
func hintWaiting(result jsontext.Value, w *schemas.Waiting) jsontext.Value {
	more := mustEncode(canceledOrder{
		"Not placed. Your owner decides, at approve_url alone. Do not place it again; wait for the decision.",
		&schemas.NextCall{Tool: tools.WaitForEvent, Arguments: map[string]any{"after_seq": w.Seq.String(), "kinds": []string{"approval"}}},
	})
	return append(append(result[:len(result)-1], ','), more[1:]...)
}
