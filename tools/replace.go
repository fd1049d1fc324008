package tools

import (
	"context"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ReplaceOrder = &Op[schemas.ReplaceOrder, schemas.Replacement]{
	Spec: Spec{
		Name: "replace_order", Title: "Replace an order", Method: "POST", Path: "/v1/portfolio/orders/{order_id}/replace", Scope: core.ScopeTrade, Bucket: Write, PlacesOrders: true, SuccessStatus: 201,
		Errors: append([]string{"unknown_order"}, placeErrors...), Destructive: true, Idempotent: true,
		Doc: "Move an order to another price or more contracts. What is absent stays; if rejected, all. For fewer, decrease_order.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ReplaceOrder) (out schemas.Replacement, err error) {
		p, r, err := v.replaceOrder(ctx, &caller, in)
		if err != nil {
			return out, err
		}
		if out.Outcome, err = outcome(p, r); err != nil {
			return out, err
		}
		out.Replaced.OrderID = in.OrderID
		for _, e := range r.Events {
			if e, ok := e.(*core.OrderClosed); ok && e.Order == core.OrderID(in.OrderID) {
				out.Replaced.CanceledQty = int64(e.Left)
			}
		}
		return out, nil
	},
}

// replaceOrder replaces an order. Its placement may come before the replace and not be applied when that
// arrives, as on another member. So if the order is unknown then, it is looked up again once the venue has
// sequenced a replace behind the placement, which found none for market 0 and changed nothing.
func (v *Venue) replaceOrder(ctx context.Context, caller *Caller, in *schemas.ReplaceOrder) (p *schemas.PlaceOrder, r engine.Receipt, err error) {
	if v.unfunded(caller.User) {
		return nil, r, core.UnknownOrder // every order that it has placed was rejected
	}
	for i := range 2 {
		var seen core.Qty
		var rests bool
		p, seen, rests = v.placement(caller.User, in)
		known := p.MarketID != 0
		if i == 1 && !known {
			break
		}
		// Of an order that has ended the core says so, whatever the terms are.
		if f := p.Check(); rests && f != nil {
			return p, r, f
		}
		r, err = v.Engine.Submit(ctx, caller.marked(&core.ReplaceOrder{PlaceOrder: *placeCommand(*caller, p), Old: core.OrderID(in.OrderID), Seen: seen}, i))
		if err != nil || known || r.Reject != core.UnknownOrder {
			break
		}
	}
	return p, r, err
}

// Placement returns the new order of a replace, with what is absent in it taken from the old one. If the
// caller has no such order, the market is 0, and the core finds no order to replace.
func (v *Venue) Placement(caller Caller, in *schemas.ReplaceOrder) *schemas.PlaceOrder {
	p, _, _ := v.placement(caller.User, in)
	return p
}

// placement is Placement with what remains of the old order, if the quantity of the new one counts on it:
// what fills until the replace is sequenced comes off the new one (core.ReplaceOrder). rests reports
// whether the old order rests.
func (v *Venue) placement(u core.UserID, in *schemas.ReplaceOrder) (p *schemas.PlaceOrder, seen core.Qty, rests bool) {
	var old schemas.PlaceOrder
	var filled core.Qty
	v.Engine.Read(func(_ *venue.Venue, w *view.View) {
		o := w.Order(u, core.OrderID(in.OrderID))
		if o == nil || o.ID == 0 {
			return
		}
		old, filled = Terms(o), o.Filled
		old.Qty, rests = schemas.Int(o.Left), o.Status.Live()
	})
	p = in.Placement(&old)
	if in.KeepTotal && in.Qty != nil {
		p.Qty -= schemas.Int(filled)
	}
	if in.KeepTotal || in.Qty == nil {
		seen = core.Qty(old.Qty)
	}
	return p, seen, rests
}

// Terms returns the placement that a limit order is of.
func Terms(o *view.Order) schemas.PlaceOrder {
	p := schemas.PlaceOrder{
		MarketID: schemas.Int(o.Market), Generation: schemas.Int(o.Generation), Side: o.Side.String(), Outcome: o.Outcome.String(),
		Tick: schemas.Ptr(schemas.Int(o.Tick)), Qty: schemas.Int(o.Qty), TIF: o.TIF.String(), MaxCost: schemas.U64(o.MaxCost), GroupID: schemas.Int(o.Group),
		PostOnly: o.Flags.Has(core.PostOnly), ReduceOnly: o.Flags.Has(core.ReduceOnly), CancelOnPause: o.Flags.Has(core.CancelOnPause), StpMaker: o.Flags.Has(core.StpMaker),
	}
	if o.TIF == core.GTT {
		p.ExpiryTs = schemas.Ptr(schemas.U64(o.Expiry))
	}
	return p
}
