package mcp

import (
	"fmt"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// hintDuplicate shows the first order of a client_order_id. The same order again is a replay: the result
// shows the first order, and its outcome is done. A different order with the same id was not placed.
func (x *hintBuilder) hintDuplicate(p *schemas.PlaceOrder) {
	x.Field = "client_order_id"
	var first *view.Order
	var asked *view.Ask
	agent := x.venue.Engine.Owner(x.call.Key.User) != x.call.Key.User
	x.venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if o := w.ByClientID(x.call.Key.User, uint64(p.ClientOrderID)); o != nil {
			first = schemas.Ptr(*o)
		}
		for a := range w.Asks(x.call.Key.User) {
			if a.Ask.Place.ClientID == uint64(p.ClientOrderID) {
				asked = schemas.Ptr(*a)
			}
		}
	})
	if first == nil && asked != nil {
		x.hintAsked(p, asked)
		return
	}
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
	x.computeAsFirst(p, first)
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

// computeAsFirst gives p the quantity and the expiry of the first order where the caller sent dollars and expires_in_ms.
// The book and the clock have changed since, so they would give other values now. max_cost has the dollars to compare.
func (x *hintBuilder) computeAsFirst(p *schemas.PlaceOrder, first *view.Order) {
	sent := x.named()
	if p != x.input {
		return
	}
	if sent["dollars"] != nil {
		p.Qty = schemas.Int(first.Qty)
	}
	if sent["expires_in_ms"] != nil && first.TIF == core.GTT {
		p.ExpiryTs = schemas.Ptr(schemas.U64(first.Expiry))
	}
}

// hintAsked shows what a client_order_id asked the owner. Whether that is placed is open only for the same order, while
// it waits.
func (x *hintBuilder) hintAsked(p *schemas.PlaceOrder, asked *view.Ask) {
	a := &asked.Ask.Place
	first := &view.Order{
		Market: a.Market, Generation: a.Generation, Side: a.Side, Outcome: a.Outcome, Type: a.Type, Tick: a.Tick, Qty: a.Qty, TIF: a.TIF,
		Expiry: a.Expiry, MaxCost: a.MaxCost, Group: a.Group, Flags: a.Flags,
	}
	x.computeAsFirst(p, first)
	x.Differs = tools.Differs(p, first, true)
	row := fmt.Sprintf("approval %d, which is %s.", asked.Ask.ID, asked.Status)
	switch {
	case len(x.Differs) > 0:
		x.say("This client_order_id asked your owner for another order, as "+row, "Nothing was placed: differs names the fields. Use a new client_order_id.")
	default:
		x.say("This client_order_id asked your owner, as "+row, "Nothing new was placed or asked.")
		if asked.Status == core.AskWaiting && !x.tool.spec.ReadOnly() {
			x.Outcome = schemas.OutcomeUnknown
		}
	}
	x.Next = &schemas.NextCall{Tool: tools.ListApprovals.Name, Arguments: map[string]any{}}
}
