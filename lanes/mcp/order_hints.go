package mcp

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// hintPlacement adds the hints for a rejected order, and suggests a preview of the order that the venue would
// accept now, or where there is none, what shows why.
func (x *hintBuilder) hintPlacement(p *schemas.PlaceOrder) {
	switch x.Error.Code {
	case "schema_violation", "unknown_field":
		x.hintArguments(p)
		return
	case "bad_price_tick":
		x.Hint = x.general // the nearest ticks say more than the grid
		if p.IsMarket() && p.Tick != nil {
			x.hintMarketTick(p)
		} else {
			x.hintTicks(p)
		}
		return
	case "bad_qty":
		x.Field, x.Limit = "qty", "an integer from 1 to 1000000"
	case "client_order_id_required":
		x.Field, x.Limit = "client_order_id", "a whole number as a string, not 0, new for every order"
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
	case "approval_limit":
		x.suggestCall(tools.ListApprovals.Name, "status", core.AskWaiting.String())
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
	if fit := x.venue.Fit(x.caller(), p); fit != nil {
		x.suggestPreview(fit)
	}
}

// hintQuote adds the hints for a side of a quote. Next is a read: a preview would count the orders of the group.
func (x *hintBuilder) hintQuote(q *schemas.Quote) {
	switch x.Error.Code {
	case "shed", "draining", "sequencing_timeout", "stale_generation", "unknown_market", "market_not_trading", "market_paused", "user_suspended":
	case "mandate_violation":
		x.hintUnasked()
	case "group_tripped":
		x.Next = &schemas.NextCall{Tool: tools.ListGroups.Name, Arguments: map[string]any{}}
	case "insufficient_balance", "bad_qty":
		x.Next = &schemas.NextCall{Tool: tools.GetAccount.Name, Arguments: map[string]any{}}
	case "duplicate_client_order_id", "open_order_limit":
		x.suggestCall(tools.ListOrders.Name, "market_id", int64(q.MarketID))
	default:
		x.Next = &schemas.NextCall{Tool: tools.GetOrderbook.Name, Arguments: map[string]any{"market_id": int64(q.MarketID), "depth": 5}}
	}
	switch x.Error.Code {
	case "bad_qty":
		x.Field, x.Limit = "qty", "an integer from 1 to 1000000"
	case "client_order_id_required":
		x.Field, x.Limit = "client_order_id", "a whole number as a string, not 0, new for every order"
	case "bad_price_tick":
		x.Field, x.Hint = "tick", x.general // the nearest ticks say more than the grid
		x.nearestTicks([]*schemas.QuoteSide{q.Bid, q.Ask}[x.item%2].Tick)
	}
}

// sayUsedUp says that next has a new id, if the core rejected the order, which uses up its client_order_id.
func (x *hintBuilder) sayUsedUp() {
	if x.Error.Origin == schemas.OriginCore && x.Error.Code != "client_order_id_required" && !x.tool.spec.ReadOnly() {
		const used = " The id is used up: next has a new one."
		x.Hint, x.general = x.Hint+used, x.general+used
	}
}

func (x *hintBuilder) isReplace() bool {
	_, ok := x.input.(*schemas.ReplaceOrder)
	return ok
}

// suggestPreview suggests a preview of an order. It costs nothing if the model means something else.
func (x *hintBuilder) suggestPreview(p *schemas.PlaceOrder) {
	if now := x.venue.MarketNow(core.MarketID(p.MarketID.MarketID())); p.Generation == 0 && now != nil {
		named := *p
		named.Generation = schemas.Int(now.Generation) // tools require it
		p = &named
	}
	x.Next = &schemas.NextCall{Tool: tools.PreviewOrder.Name, Arguments: objectOf(mustEncode(p))}
	x.sayUsedUp()
}

// hintArguments adds the hints for arguments of an order that cannot be decoded. If the generation alone is
// missing, next is the same call with that of now; otherwise a preview of the order that was probably meant.
func (x *hintBuilder) hintArguments(p *schemas.PlaceOrder) {
	x.hintMaxCost(p)
	if x.isReplace() {
		x.suggestReplacedTick(p)
		return
	}
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

// suggestReplacedTick suggests a preview of the new order of a replace whose tick had to be guessed.
func (x *hintBuilder) suggestReplacedTick(p *schemas.PlaceOrder) {
	tick, ok := pipsOf(x.named()["tick"])
	if x.Field != "tick" || !ok || p.MarketID == 0 {
		return
	}
	meant := *p
	meant.Tick = schemas.Ptr(schemas.Int(tick))
	if fit := x.venue.Fit(x.caller(), &meant); fit != nil {
		x.suggestPreview(fit)
	}
}

// suggestGeneration suggests the same call with the generation of now, if the venue would accept it.
func (x *hintBuilder) suggestGeneration(p *schemas.PlaceOrder) bool {
	arguments := objectOf(x.arguments())
	now := x.venue.MarketNow(core.MarketID(p.MarketID.MarketID()))
	if sent := x.named()["generation"]; arguments == nil || now == nil || sent != nil && sent.Kind() != 'n' {
		return false
	}
	arguments["generation"] = now.Generation
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
	t, below, above, cents := x.nearestTicks(p.LimitTick())
	meant := *p
	if cents {
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

// nearestTicks names the nearest legal ticks, and returns them beside the tick, and whether that is likely cents.
func (x *hintBuilder) nearestTicks(sent schemas.Int) (t, below, above core.Tick, cents bool) {
	var grid core.Grid
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { grid = v.Rules().Grid })
	t = core.Tick(min(max(sent, 0), schemas.TickMax+1))
	below, above = grid.Nearest(t)
	switch {
	case below == 0:
		x.Limit = fmt.Sprintf("the lowest legal tick is %d", above)
	case above == 0:
		x.Limit = fmt.Sprintf("the highest legal tick is %d", below)
	default:
		x.Limit = fmt.Sprintf("the nearest legal ticks are %d and %d", below, above)
	}
	x.Hint = capitalize(x.Limit) + ". " + x.Hint
	if cents = t >= 1 && t < 100 && grid.Legal(t*100); cents {
		x.Hint = fmt.Sprintf("%d is not cents: %d cents is %d. ", t, t, t*100) + x.Hint
	}
	return t, below, above, cents
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
	meant.Tick = schemas.Ptr(schemas.Int(better))
	if meant.PostOnly && !x.venue.Accepts(x.caller(), meant) { // it would end the old order and not rest
		meant.ClientOrderID = schemas.U64(0)
		x.suggestPreview(meant)
		x.Next.Arguments["client_order_id"] = x.freeID(in.ClientOrderID)
		return
	}
	arguments["tick"], arguments["client_order_id"] = int64(better), x.freeID(meant.ClientOrderID)
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: arguments}
	x.sayUsedUp()
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

// hintExpiry names the venue's clock and its end of the round.
func (x *hintBuilder) hintExpiry() {
	now := x.venue.Config.Now()
	x.Limit = fmt.Sprintf("ns over %d, the venue's clock", now)
	x.say(fmt.Sprintf("The venue's clock is %d.", now), "expires_in_ms says how long to rest, in place of expiry_ts.")
}

// hintBatch adds the hints for a batch of orders that cannot be decoded: those of the item at fault. If a
// generation alone is missing, next is the same batch with those of now.
func (x *hintBuilder) hintBatch(in *schemas.PlaceOrders) {
	n, ok := x.faultyItem()
	if !ok {
		return
	}
	whole, field := x.item, x.Field
	defer func() { x.item, x.Field = whole, field }()
	if strings.HasSuffix(field, ".generation") && x.suggestGenerations() {
		return
	}
	p := new(schemas.PlaceOrder)
	if n < len(in.Orders) {
		p = &in.Orders[n]
	}
	x.item, x.Field = n, field[strings.LastIndexByte(field, '.')+1:]
	x.hintArguments(p)
}

// suggestGenerations suggests the same batch with the generations of now where there is none.
func (x *hintBuilder) suggestGenerations() bool {
	var orders []jsontext.Value
	if json.Unmarshal(valueAt(x.arguments(), "orders"), &orders) != nil {
		return false
	}
	list := make([]any, len(orders))
	for i, v := range orders {
		one := objectOf(v)
		var in schemas.OrderArguments
		_ = schemas.DecodeArguments(v, &in) // the market alone is read, and a batch that still fails is not suggested
		now := x.venue.MarketNow(core.MarketID(in.MarketID.MarketID()))
		if one == nil || now == nil {
			return false
		}
		if in.Generation == 0 {
			one["generation"] = now.Generation
		}
		list[i] = one
	}
	arguments := map[string]any{"orders": list}
	if schemas.DecodeArguments(mustEncode(arguments), new(schemas.PlaceOrders)) != nil {
		return false
	}
	x.Next = &schemas.NextCall{Tool: x.tool.spec.Name, Arguments: arguments}
	return true
}

func capitalize(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
