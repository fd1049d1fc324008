package tools

import (
	"context"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var CancelOrder = &Op[schemas.CancelOrder, schemas.Canceled]{
	Spec: Spec{
		Name: "cancel_order", Title: "Cancel an order", Method: "DELETE", Path: "/v1/portfolio/orders/{order_id}", Scope: core.ScopeTrade, Bucket: Cancel, Errors: append([]string{"unknown_order"}, writeErrors...), Destructive: true, Idempotent: true,
		Doc: "Cancel one resting order. If it is unknown_order, see list_orders.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.CancelOrder) (schemas.Canceled, error) {
		return canceled(v.cancelOrder(ctx, &caller, core.OrderID(in.OrderID), 0))
	},
}

var CancelByClientOrderID = &Op[schemas.CancelByClientOrderID, schemas.Canceled]{
	Spec: Spec{
		Name: "cancel_order_by_client_order_id", Title: "Cancel an order by client_order_id", Method: "DELETE", Path: "/v1/portfolio/orders/by-client-order-id/{client_order_id}", Scope: core.ScopeTrade, Bucket: Cancel,
		Errors: CancelOrder.Errors, Destructive: true, Idempotent: true,
		Doc: "Cancel the order placed with this client_order_id, after a placement whose answer was lost.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.CancelByClientOrderID) (schemas.Canceled, error) {
		return canceled(v.cancelByClientID(ctx, &caller, uint64(in.ClientOrderID)))
	},
}

// CancelOneOrder is the tool of CancelOrder and CancelByClientOrderID.
var CancelOneOrder = &Op[schemas.CancelOneOrder, schemas.Canceled]{
	Spec: CancelOrder.Spec,
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.CancelOneOrder) (schemas.Canceled, error) {
		if in.OrderID != nil {
			return canceled(v.cancelOrder(ctx, &caller, core.OrderID(*in.OrderID), 0))
		}
		return canceled(v.cancelByClientID(ctx, &caller, uint64(*in.ClientOrderID)))
	},
}

// cancelOrder cancels an order with command i of the caller's request.
func (v *Venue) cancelOrder(ctx context.Context, caller *Caller, id core.OrderID, i int) (engine.Receipt, error) {
	return v.Engine.Submit(ctx, caller.marked(&core.CancelOrder{User: caller.User, Key: caller.KeyNumber(), Order: id}, i))
}

// cancelByClientID cancels the order that a client_order_id placed, or what waits with it. The placement may have been
// queued and not applied when the request arrives, and what waits may become an order meanwhile. So if the first
// cancel, which without an order names order 0, misses, the order is looked up again behind it.
func (v *Venue) cancelByClientID(ctx context.Context, caller *Caller, id uint64) (engine.Receipt, error) {
	find := func() (order core.OrderID) {
		v.Engine.Read(func(_ *venue.Venue, w *view.View) {
			if o := w.ByClientID(caller.User, id); o != nil && id != 0 {
				order = o.ID
			}
			if x := w.WaitingAsk(caller.User, id); x != nil && id != 0 {
				order = core.OrderID(x.Ask.ID)
			}
		})
		return order
	}
	order := find()
	r, err := v.cancelOrder(ctx, caller, order, 0)
	if err != nil || r.Reject != core.UnknownOrder {
		return r, err
	}
	if now := find(); now != order && now != 0 {
		return v.cancelOrder(ctx, caller, now, 1)
	}
	return r, nil
}

var CancelAllOrders = &Op[schemas.CancelAll, schemas.Sequenced]{
	Spec: Spec{
		Name: "cancel_all_orders", Title: "Cancel all", Method: "DELETE", Path: "/v1/portfolio/orders", Scope: core.ScopeTrade, Bucket: Cancel, Errors: writeErrors, Destructive: true, Idempotent: true, Deduplicated: true,
		Doc: "Cancel all your orders, or those of a market_id, a group_id, or both.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.CancelAll) (schemas.Sequenced, error) {
		return sequenced(v.submit(ctx, &caller, &core.CancelAll{User: caller.User, Key: caller.KeyNumber(), Market: marketID(in.MarketID), Group: uint32(in.GroupID)}))
	},
}

var DecreaseOrder = &Op[schemas.DecreaseOrder, schemas.Decreased]{
	Spec: Spec{
		Name: "decrease_order", Title: "Decrease an order", Method: "POST", Path: "/v1/portfolio/orders/{order_id}/decrease", Scope: core.ScopeTrade, Bucket: Write, Errors: append([]string{"unknown_order", "invalid_decrease", "duplicate_client_request_id"}, writeErrors...), Destructive: true, Deduplicated: true,
		Doc: "Lower what remains of an order; it keeps its place in the queue. For another price: replace_order.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.DecreaseOrder) (schemas.Decreased, error) {
		c := &core.DecreaseOrder{User: caller.User, Key: caller.KeyNumber(), Order: core.OrderID(in.OrderID), RequestID: uint64(in.ClientRequestID)}
		if in.ReduceTo != nil {
			c.To, c.Amount = true, core.Qty(*in.ReduceTo)
		} else {
			c.Amount = core.Qty(*in.ReduceBy)
		}
		r, err := v.submit(ctx, &caller, c)
		if err != nil {
			return schemas.Decreased{}, err
		}
		if r.Reject == core.UnknownOrder && v.ownedBefore(caller.User, c.Order, r.Stamp.Seq) {
			return schemas.Decreased{}, core.InvalidDecrease // the order is terminal
		}
		return decreased(in.OrderID, r, v.filledBefore(caller.User, c.Order, r.Stamp.Seq))
	},
}

// ownedBefore reports whether the account owned an order before a seq. The view may
// already include later commands of the same group, which may have created the order.
func (v *Venue) ownedBefore(u core.UserID, id core.OrderID, seq uint64) (ok bool) {
	v.Engine.Read(func(_ *venue.Venue, w *view.View) { ok = w.Order(u, id) != nil && uint64(id) < seq })
	return ok
}

// filledBefore reports whether an order had fills before a seq: its fills now, less the
// fills since that seq. A decrease keeps the status partially_filled of such an order.
func (v *Venue) filledBefore(u core.UserID, id core.OrderID, seq uint64) (ok bool) {
	v.Engine.Read(func(_ *venue.Venue, w *view.View) {
		o := w.Order(u, id)
		if o == nil {
			return
		}
		filled := o.Filled
		for _, f := range w.Fills(u, 0) {
			if f.Seq < seq {
				break
			}
			if f.Order == id {
				filled -= f.Qty
			}
		}
		ok = filled > 0
	})
	return ok
}

func canceled(r engine.Receipt, err error) (schemas.Canceled, error) {
	if _, err := Accepted(r, err); err != nil {
		return schemas.Canceled{}, err
	}
	out := schemas.Canceled{Status: core.Canceled.String(), Seq: schemas.U64(r.Stamp.Seq)}
	for _, e := range r.Events {
		if c, ok := e.(*core.OrderClosed); ok {
			out.CanceledQty = int64(c.Left)
		} else if x, ok := e.(*core.AskChanged); ok {
			out.CanceledQty = int64(x.Ask.Place.Qty)
		}
	}
	return out, nil
}

func decreased(id schemas.U64, r engine.Receipt, filled bool) (schemas.Decreased, error) {
	if r.Reject != core.OK {
		return schemas.Decreased{}, r.Reject
	}
	out := schemas.Decreased{OrderID: id, Status: core.Resting.String(), Seq: schemas.U64(r.Stamp.Seq)}
	if filled {
		out.Status = core.PartiallyFilled.String()
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case *core.OrderDecreased:
			out.RemainingQty = int64(e.Left)
		case *core.OrderClosed:
			out.Status = e.Status.String()
		}
	}
	return out, nil
}

func sequenced(r engine.Receipt, err error) (schemas.Sequenced, error) {
	_, err = Accepted(r, err)
	return schemas.Sequenced{Seq: schemas.U64(r.Stamp.Seq)}, err
}
