package mcp

import (
	"errors"
	"fmt"
	"math"
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
	if e.Code == "unauthorized" {
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
			x.say("", "The venue has not applied min_seq in time. Send the same call again.")
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
	x.suggestCall("list_orders", "status", "resting,partially_filled")
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
	case *schemas.CancelOneOrder:
		x.say("", "The outcome is unknown: send the same call again, which cancels nothing twice, or read the order.")
		if in.ClientOrderID != nil {
			x.suggestCall("list_orders", "client_order_id", in.ClientOrderID.String())
		} else {
			x.suggestCall("list_orders", "order_id", in.OrderID.String())
		}
	case *schemas.CancelAll:
		x.say("", "The outcome is unknown: send the same call again, or read what still rests.")
		x.suggestCall("list_orders", "status", "resting,partially_filled")
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

// hintPlacement adds the hints for a rejected order, and suggests a preview of the order that the venue would
// accept now, or where there is none, what shows why.
func (x *hintBuilder) hintPlacement(p *schemas.PlaceOrder) {
	switch x.Error.Code {
	case "schema_violation", "unknown_field":
		x.hintArguments(p)
		return
	case "bad_price_tick":
		if p.IsMarket() && p.Tick != nil {
			x.hintMarketTick(p)
		} else {
			x.hintTicks(p)
		}
		return
	case "bad_qty":
		x.Field, x.Limit = "qty", "an integer from 1 to 1000000"
	case "client_order_id_required":
		x.Field, x.Limit = "client_order_id", "a string of decimal digits, not 0, new for every order"
	case "insufficient_balance":
		x.hintBalance(p)
	case "insufficient_position", "reduce_only_violation":
		x.hintPosition(p)
	case "bad_expiry":
		x.hintExpiry()
	case "per_market_limit":
		x.Field = "qty"
	case "mandate_violation":
		x.hintMandate(p)
		return
	case "open_order_limit":
		x.Next = &schemas.NextCall{Tool: "list_orders", Arguments: map[string]any{"market_id": int64(p.MarketID), "status": openStatuses}}
		return
	case "duplicate_client_order_id":
		x.hintDuplicate(p)
		return
	default:
		return
	}
	x.suggestFit(p)
}

// suggestFit suggests a preview of the order that the venue would accept now. If there is none, next stays.
// A replace is suggested again, since a preview would count the old order twice; only its price and its id
// can be corrected that way.
func (x *hintBuilder) suggestFit(p *schemas.PlaceOrder) {
	if x.isReplace() {
		return
	}
	fit := x.venue.Fit(x.caller(), p)
	if fit == nil {
		return
	}
	x.suggestPreview(fit)
	if x.usedUp() {
		const used = " The id is used up: next has a new one."
		x.Hint, x.general = x.Hint+used, x.general+used
	}
}

// usedUp reports whether the core rejected the order, which uses up its client_order_id.
func (x *hintBuilder) usedUp() bool {
	return x.Error.Origin == schemas.OriginCore && x.Error.Code != "client_order_id_required" && !x.tool.spec.ReadOnly()
}

func (x *hintBuilder) isReplace() bool {
	_, ok := x.input.(*schemas.ReplaceOrder)
	return ok
}

// suggestPreview suggests a preview of an order. It costs nothing if the model means something else.
func (x *hintBuilder) suggestPreview(p *schemas.PlaceOrder) {
	x.Next = &schemas.NextCall{Tool: tools.PreviewOrder.Name, Arguments: objectOf(mustEncode(p))}
}

// hintArguments adds the hints for arguments of an order that cannot be decoded. If the generation alone is
// missing, next is the same call with that of now; otherwise a preview of the order that was probably meant.
func (x *hintBuilder) hintArguments(p *schemas.PlaceOrder) {
	x.hintMaxCost(p)
	if x.Field == "generation" && x.suggestGeneration(p) {
		return
	}
	g := newGuess(x.venue, new(schemas.OrderArguments), x.arguments())
	if in := g.order(); in != nil && x.venue.Complete(x.caller(), in) == nil {
		x.suggestFit(&in.PlaceOrder)
	}
	if x.Next != nil {
		return
	}
	if _, priced := g.meant["tick"]; !priced && g.meant["market_id"] != nil && g.meant["qty"] != nil && g.meant["type"] != "market" {
		x.Next = &schemas.NextCall{Tool: tools.GetOrderbook.Name, Arguments: map[string]any{"market_id": g.meant["market_id"], "depth": 5}}
	}
}

// suggestGeneration suggests the same call with the generation of now, if the venue would accept it.
func (x *hintBuilder) suggestGeneration(p *schemas.PlaceOrder) bool {
	arguments := objectOf(x.arguments())
	if sent := x.named()["generation"]; arguments == nil || x.isReplace() || sent != nil && sent.Kind() != 'n' {
		return false
	}
	var generation uint32
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, ok := v.Market(core.MarketID(p.MarketID.MarketID())); ok {
			generation = s.Generation
		}
	})
	arguments["generation"] = int64(generation)
	in := new(schemas.OrderArguments)
	if schemas.DecodeArguments(mustEncode(arguments), in) != nil || x.venue.Complete(x.caller(), in) != nil || !x.venue.Accepts(x.caller(), &in.PlaceOrder) {
		return false
	}
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: arguments}
	return true
}

// withoutOld marks amounts of a rejected replace.
const withoutOld = " without the old order"

// replaced returns the old order of a rejected replace, which the checks of the new one count as canceled.
// It returns nil for any other call.
func (x *hintBuilder) replaced(w *view.View) *view.Order {
	if in, ok := x.input.(*schemas.ReplaceOrder); ok {
		return w.Order(x.call.Key.User, core.OrderID(in.OrderID))
	}
	return nil
}

// hintTicks names the nearest legal ticks (docs/rules/prices.md#grid).
func (x *hintBuilder) hintTicks(p *schemas.PlaceOrder) {
	x.Field = "tick"
	if p.IsMarket() {
		x.Field = "worst_tick"
	}
	var grid core.Grid
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { grid = v.Rules().Grid })
	t := core.Tick(min(max(p.LimitTick(), 0), schemas.TickMax+1))
	below, above := grid.Nearest(t)
	switch {
	case below == 0:
		x.Limit = fmt.Sprintf("the lowest legal tick is %d", above)
	case above == 0:
		x.Limit = fmt.Sprintf("the highest legal tick is %d", below)
	default:
		x.Limit = fmt.Sprintf("the nearest legal ticks are %d and %d", below, above)
	}
	x.Hint = capitalize(x.Limit) + ". " + x.Hint
	meant := *p
	if t >= 1 && t < 100 && grid.Legal(t*100) {
		x.Hint = fmt.Sprintf("%d is not cents: %d cents is %d. ", t, t, t*100) + x.Hint
		tick := schemas.Int(t * 100)
		if meant.Tick = &tick; p.IsMarket() {
			meant.Tick, meant.WorstTick = nil, &tick
		}
	}
	if in, ok := x.input.(*schemas.ReplaceOrder); ok {
		x.suggestReplace(in, &meant, below, above)
		return
	}
	x.suggestFit(&meant)
}

// suggestReplace suggests the same replace with the nearest legal tick that is not worse, under a free id.
// A price that had to be guessed becomes a preview of the new order.
func (x *hintBuilder) suggestReplace(in *schemas.ReplaceOrder, meant *schemas.PlaceOrder, below, above core.Tick) {
	better := below
	if meant.Side == "sell" {
		better = above
	}
	arguments := objectOf(x.arguments())
	if in.Tick == nil || arguments == nil || better == 0 || *meant.Tick != *in.Tick {
		if fit := x.venue.Fit(x.caller(), meant); fit != nil {
			x.suggestPreview(fit)
		}
		return
	}
	arguments["tick"], arguments["client_order_id"] = int64(better), x.freeID(meant.ClientOrderID)
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: arguments}
}

func (x *hintBuilder) freeID(id schemas.U64) (free string) {
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { free = tools.FreeClientOrderID(v, x.caller().User, id).String() })
	return free
}

// hintMarketTick suggests the same market order without a tick, which is also out of range here.
func (x *hintBuilder) hintMarketTick(p *schemas.PlaceOrder) {
	x.Field, x.Limit = "tick", "a market order has no tick"
	x.say("A market order has no tick: leave it out.", "worst_tick is the worst price to accept.")
	meant := *p
	meant.Tick = nil
	x.suggestFit(&meant)
}

// hintMaxCost names what a market buy without max_cost costs at the best price offered.
func (x *hintBuilder) hintMaxCost(p *schemas.PlaceOrder) {
	if x.Field != "max_cost" || p.Side != "buy" || !p.IsMarket() {
		return
	}
	worst := core.Tick(p.LimitTick())
	var cost core.Pips
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, ok := v.Market(core.MarketID(p.MarketID.MarketID())); ok && p.WorstTick == nil {
			worst = bestOffer(&s, p.Outcome == "no")
		}
		cost = core.Pips(p.Qty) * core.ReservationPerContract(v.Fees().Taker, worst)
	})
	x.Hint = fmt.Sprintf("A market buy needs max_cost, the most pips to spend with fees, or dollars in place of qty and max_cost; worst_tick bounds the price of each contract. %d contracts at up to %d pips cost at most %d.", int64(p.Qty), worst, cost)
}

// hintBalance names the cash that the order needs and the free cash.
func (x *hintBuilder) hintBalance(p *schemas.PlaceOrder) {
	var need, have core.Pips
	var without string
	x.venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		have, _ = v.Balance(x.call.Key.User)
		if old := x.replaced(w); old != nil {
			without = withoutOld
			have += core.Pips(old.Left) * core.ReservationPerContract(v.Fees().Maker, old.Tick)
		}
		need = core.Pips(p.Qty) * core.ReservationPerContract(v.Fees().Taker, core.Tick(p.LimitTick()))
	})
	if limit := core.Pips(min(uint64(p.MaxCost), math.MaxInt64)); limit > 0 && limit < need {
		need = limit
	}
	x.Field, x.Limit = "qty", fmt.Sprintf("%d pips of free cash; this needs %d", have, need)
	x.Hint = fmt.Sprintf("This order needs %d pips, fees included; free cash%s is %d pips. %s", need, without, have, x.Hint)
	x.Next = &schemas.NextCall{Tool: "get_account", Arguments: map[string]any{}}
}

// hintWithdrawal names the free cash.
func (x *hintBuilder) hintWithdrawal(p *schemas.RequestWithdrawal) {
	var have core.Pips
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { have, _ = v.Balance(x.call.Key.User) })
	x.Field, x.Limit = "amount", fmt.Sprintf("%d pips of free cash", have)
	x.say(fmt.Sprintf("This withdraws %d pips; free cash is %d pips.", uint64(p.Amount), have), "Withdraw less, or cancel orders that reserve cash.")
	x.Next = &schemas.NextCall{Tool: "get_account", Arguments: map[string]any{}}
}

// hintPosition names the contracts that are free to sell, or that a reduce-only buy may reduce.
func (x *hintBuilder) hintPosition(p *schemas.PlaceOrder) {
	var at core.Position
	var without string
	x.venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		if m := core.MarketID(p.MarketID.MarketID()); m != 0 && m <= venue.Slots {
			at = v.Position(x.call.Key.User, m)
		}
		if old := x.replaced(w); old != nil && old.Side == core.Sell {
			without = withoutOld
			if old.Outcome == core.Yes {
				at.YesReserved -= old.Left
			} else {
				at.NoReserved -= old.Left
			}
		}
	})
	x.suggestCall("list_positions", "market_id", int64(p.MarketID))
	if p.Side == "buy" { // reduce-only: contracts in open sells count
		held, of := at.No, "NO"
		if p.Outcome == "no" {
			held, of = at.Yes, "YES"
		}
		x.Field, x.Limit = "qty", fmt.Sprintf("at most %d, the %s held", held, of)
		x.Hint = fmt.Sprintf("This order is for %d; a reduce-only buy of %s in market %d is for at most the %d %s held. %s", int64(p.Qty), strings.ToUpper(p.Outcome), int64(p.MarketID), held, of, x.Hint)
		return
	}
	yes, no := at.Yes-at.YesReserved, at.No-at.NoReserved
	x.Field, x.Limit = "qty", fmt.Sprintf("free contracts: %d YES, %d NO", yes, no)
	x.Hint = fmt.Sprintf("This order is for %d; free to sell in market %d%s are %d YES and %d NO. %s", int64(p.Qty), int64(p.MarketID), without, yes, no, x.Hint)
}

// hintDuplicate shows the first order of a client_order_id. The same order again is a
// replay: the result shows the first order, and its outcome is done. A different order with the same id was not placed.
func (x *hintBuilder) hintDuplicate(p *schemas.PlaceOrder) {
	x.Field = "client_order_id"
	var first *view.Order
	agent := x.venue.Engine.Owner(x.call.Key.User) != x.call.Key.User
	x.venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if o := w.ByClientID(x.call.Key.User, uint64(p.ClientOrderID)); o != nil {
			first = schemas.Ptr(*o)
		}
	})
	if first == nil {
		if !x.tool.spec.ReadOnly() {
			x.Outcome = schemas.OutcomeUnknown
		}
		if x.venue.History != nil {
			x.say("", "An order with this client_order_id was placed earlier, and nothing new was placed. The next call shows its row; use a new client_order_id for another order.")
			x.suggestCall("list_orders", "client_order_id", p.ClientOrderID.String())
			return
		}
		x.say("", "An order with this client_order_id was placed earlier, and its row is no longer kept. Nothing new was placed. Look at what you hold; use a new client_order_id for another order.")
		x.suggestCall("list_positions", "market_id", int64(p.MarketID))
		return
	}
	if in, replaces := x.input.(*schemas.ReplaceOrder); replaces {
		forgotten := p.MarketID == 0 // the row of the old order
		if forgotten {
			old := tools.Terms(first)
			p = in.Placement(&old)
		}
		if in.Qty == nil || in.KeepTotal && forgotten { // counts on what the old order had then
			p.Qty = schemas.Int(first.Qty)
		}
	}
	if sent := x.named(); p == x.input { // what dollars and expires_in_ms stand for now is not what they stood for then
		if sent["dollars"] != nil {
			p.Qty = schemas.Int(first.Qty)
		}
		if sent["expires_in_ms"] != nil && first.TIF == core.GTT {
			p.ExpiryTs = schemas.Ptr(schemas.U64(first.Expiry))
		}
	}
	x.Order, x.Differs = schemas.Ptr(tools.OrderOf(first)), tools.Differs(p, first, agent)
	x.Replayed = len(x.Differs) == 0 && !x.tool.spec.ReadOnly()
	if first.ID == 0 {
		x.say(fmt.Sprintf("The first order of this client_order_id was rejected with %s.", first.Reject), "It was not placed, and the id is used up: use a new client_order_id.")
		x.suggestCall("list_orders", "client_order_id", p.ClientOrderID.String())
		return
	}
	row := fmt.Sprintf("order %d: status %s, %d filled, %d left.", first.ID, first.Status, first.Filled, first.Left)
	switch {
	case x.Replayed:
		x.Outcome = schemas.Done
		x.say("This is "+row, "It was placed by an earlier call, and nothing new was placed. Do not send it again; another order needs a new client_order_id.")
	case len(x.Differs) > 0:
		x.say("This client_order_id belongs to another order, "+row, "Nothing was placed: differs names the fields. Use a new client_order_id.")
	default:
		x.say("This client_order_id belongs to "+row, "Nothing new would be placed. Use a new client_order_id.")
	}
	x.suggestCall("list_orders", "order_id", fmt.Sprint(uint64(first.ID)))
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

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
