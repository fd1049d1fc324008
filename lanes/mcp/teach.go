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
)

// refused makes a result of a refusal, with what teaches the caller to do better
// (contract mcp, Tools). Only a key that is gone ends the request itself.
func (l *Lane) refused(c *call, t *tool, in any, err error) *outcome {
	e := l.gate.Refusal(c.ID, err)
	if e.Code == "unauthorized" {
		return &outcome{fault: venueFault(e)}
	}
	r := schemas.RefusalOf(e)
	var fault *schemas.Fault
	if errors.As(err, &fault) {
		r = schemas.RefusalOfFault(fault)
	}
	if t.facts.ReadOnly() {
		r.Retryable, r.Outcome = r.Retryable || r.Outcome == "unknown", "not_done"
	}
	lesson{l.gate.Venue, c, t, in, &r}.teach()
	return &outcome{structured: encoded(&r), refused: true}
}

// lesson is a refusal being explained to the one who was refused.
type lesson struct {
	venue *tools.Venue
	call  *call
	tool  *tool
	in    any // nil where the call was refused before it was read
	*schemas.Refusal
}

// teach adds what is known at this moment: the legal ticks, what is missing, the
// order that already is, and the call to make next.
func (x lesson) teach() {
	switch code := x.Error.Code; code {
	case "missing_scope":
		x.Hint = fmt.Sprintf("%s needs the scope %s; this key has %s. %s", x.tool.facts.Name, x.tool.facts.Scope, x.call.Key.Scopes, x.Hint)
	case "unknown_market", "market_not_trading", "market_paused":
		x.then("list_markets", "status", "trading")
	case "round_not_found", "stale_generation":
		x.rounds()
	case "unknown_order", "invalid_decrease":
		x.order()
	case "unknown_field":
		x.Hint = fmt.Sprintf("%s takes no %s. %s", x.tool.facts.Name, x.Field, x.Hint)
	}
	if x.Outcome == "unknown" {
		x.unknown()
	}
	if p, ok := x.in.(*schemas.PlaceOrder); ok && p != nil {
		x.placing(p)
	}
}

// then names the call to make next, with one argument.
func (x lesson) then(tool, name string, value any) {
	x.Next = &schemas.Call{Tool: tool, Arguments: map[string]any{name: value}}
}

func (x lesson) rounds() {
	if p, ok := x.in.(*schemas.PlaceOrder); ok && p != nil {
		x.then("get_round", "market_id", int64(p.MarketID))
		return
	}
	x.then("list_rounds", "limit", 9)
}

// order points to the order that a cancel or a decrease was about.
func (x lesson) order() {
	switch in := x.in.(type) {
	case *schemas.CancelOrder:
		x.find(in.OrderID)
	case *schemas.DecreaseOrder:
		x.find(in.OrderID)
	default:
		x.then("list_orders", "limit", listSize)
	}
}

func (x lesson) find(id schemas.U64) {
	var there bool
	x.venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		there = w.Order(x.call.Key.User, core.OrderID(id)) != nil
	})
	if there {
		x.then("get_order", "order_id", id.String())
		return
	}
	x.then("list_orders", "status", "resting,partially_filled")
}

// unknown says how to find out what became of a call whose outcome is not known.
func (x lesson) unknown() {
	switch in := x.in.(type) {
	case *schemas.PlaceOrder:
		x.Hint = "The outcome is unknown: look the order up by its client_order_id, or send the same call again; it cannot be placed twice."
		x.then("list_orders", "client_order_id", in.ClientOrderID.String())
	case *schemas.CancelOrder:
		x.then("get_order", "order_id", in.OrderID.String())
	case *schemas.DecreaseOrder:
		x.then("get_order", "order_id", in.OrderID.String())
	case *schemas.Redeem:
		x.then("list_positions", "market_id", int64(in.MarketID))
	case *schemas.RequestWithdrawal:
		x.then("list_withdrawals", "limit", listSize)
	default:
		x.then("list_orders", "limit", listSize)
	}
}

// placing explains the refusals of an order.
func (x lesson) placing(p *schemas.PlaceOrder) {
	switch x.Error.Code {
	case "bad_price_tick":
		x.ticks(p)
	case "bad_qty":
		x.Field, x.Got, x.Limit = "qty", fmt.Sprint(int64(p.Qty)), "an integer from 1 to 1000000"
	case "client_order_id_required":
		x.Field, x.Limit = "client_order_id", "a string of decimal digits, not 0, new for every order"
	case "insufficient_balance":
		x.cash(p)
	case "insufficient_position", "reduce_only_violation":
		x.contracts(p)
	case "duplicate_client_order_id":
		x.duplicate(p)
	}
}

// ticks names the legal prices around the one that is not.
func (x lesson) ticks(p *schemas.PlaceOrder) {
	x.Field, x.Got = "tick", fmt.Sprint(int64(p.Bound()))
	var grid core.Grid
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) { grid = v.Rules().Grid })
	t := core.Tick(min(max(p.Bound(), 0), schemas.TickMax+1))
	below, above := grid.Nearest(t)
	switch {
	case below == 0:
		x.Limit = fmt.Sprintf("the lowest legal tick is %d", above)
	case above == 0:
		x.Limit = fmt.Sprintf("the highest legal tick is %d", below)
	default:
		x.Limit = fmt.Sprintf("the nearest legal ticks are %d and %d", below, above)
	}
	x.Hint = capital(x.Limit) + ". " + x.Hint
	if t >= 1 && t < 100 && grid.Legal(t*100) {
		x.Hint = fmt.Sprintf("%d is not cents: %d cents is %d. ", t, t, t*100) + x.Hint
	}
}

// cash tells what the order would have held and what was free.
func (x lesson) cash(p *schemas.PlaceOrder) {
	var need, have core.Pips
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		have, _ = v.Balance(x.call.Key.User)
		need = core.Pips(p.Qty) * core.Hold(v.Fees().Taker, core.Tick(p.Bound()))
	})
	if limit := core.Pips(min(uint64(p.MaxCost), math.MaxInt64)); limit > 0 && limit < need {
		need = limit
	}
	x.Field, x.Got, x.Limit = "qty", fmt.Sprintf("needs %d pips", need), fmt.Sprintf("%d pips of free cash", have)
	x.Hint = fmt.Sprintf("This order needs %d pips, fees included; free cash is %d pips. %s", need, have, x.Hint)
	x.Next = &schemas.Call{Tool: "get_balance", Arguments: map[string]any{}}
}

// contracts tells what is held and free.
func (x lesson) contracts(p *schemas.PlaceOrder) {
	var at core.Position
	x.venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if m := core.MarketID(p.MarketID.Slot()); m != 0 && m <= venue.Slots {
			at = v.Position(x.call.Key.User, m)
		}
	})
	yes, no := at.Yes-at.YesReserved, at.No-at.NoReserved
	x.Field, x.Got, x.Limit = "qty", fmt.Sprint(int64(p.Qty)), fmt.Sprintf("free contracts: %d YES, %d NO", yes, no)
	x.Hint = fmt.Sprintf("This order is for %d; free to sell in market %d are %d YES and %d NO. %s", int64(p.Qty), int64(p.MarketID), yes, no, x.Hint)
	x.then("list_positions", "market_id", int64(p.MarketID))
}

// duplicate names the order that has the id.
func (x lesson) duplicate(p *schemas.PlaceOrder) {
	var first view.Order
	x.venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if o := w.ByClientID(x.call.Key.User, uint64(p.ClientOrderID)); o != nil {
			first = *o
		}
	})
	x.Field, x.Got = "client_order_id", p.ClientOrderID.String()
	if first.ID == 0 {
		if first.Status == core.Rejected {
			x.Hint = fmt.Sprintf("The first order of this client_order_id was rejected with %s. Nothing of it stands, and the id is used up: place anew with a new one.", first.Reject)
		}
		x.then("list_orders", "client_order_id", p.ClientOrderID.String())
		return
	}
	x.Hint = fmt.Sprintf("This client_order_id is order %d, status %s, %d filled and %d left. It stands; nothing new was placed. %s", first.ID, first.Status, first.Filled, first.Left, x.Hint)
	x.then("get_order", "order_id", fmt.Sprint(uint64(first.ID)))
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
