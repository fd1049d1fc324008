package tools

import (
	"context"

	"duplex/core"
	"duplex/schemas"
)

var PlaceOrders = &Op[schemas.PlaceOrders, schemas.PlaceResults]{
	Spec: Spec{
		Name: "place_orders", Title: "Place orders", Method: "POST", Path: "/v1/portfolio/orders/batch", Scope: core.ScopeTrade, Bucket: Write, PlacesOrders: true, Errors: []string{"shed", "draining"}, Idempotent: true,
		Doc: "Place up to 20 independent orders, such as quotes; each has its own outcome or error.",
	},
	Cost: func(in *schemas.PlaceOrders) int { return len(in.Orders) },
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.PlaceOrders) (schemas.PlaceResults, error) {
		if v.unfunded(caller.User) {
			out := schemas.PlaceResults{Results: make([]schemas.PlaceResult, len(in.Orders))}
			for i := range in.Orders {
				out.Results[i].Error = batchError(v.unfundedRejection(&in.Orders[i], placeCommand(caller, &in.Orders[i])), &in.Orders[i])
			}
			return out, nil
		}
		cmds := make([]core.Command, len(in.Orders))
		for i := range in.Orders {
			cmds[i] = placeCommand(caller, &in.Orders[i])
		}
		ends, err := v.submitAll(ctx, &caller, cmds)
		if err != nil {
			return schemas.PlaceResults{}, err
		}
		out := schemas.PlaceResults{Results: make([]schemas.PlaceResult, len(ends))}
		for i, e := range ends {
			one := &out.Results[i]
			o, err := schemas.Placed{}, e.Err
			if err == nil {
				o, err = v.placed(&in.Orders[i], e.Receipt)
			}
			if err != nil {
				one.Error = batchError(err, &in.Orders[i])
			} else {
				one.Placed = &o
			}
		}
		return out, nil
	},
}

// batchError returns the error of an item of a batch; in is its request, a pointer.
func batchError(err error, in any) *schemas.Error { return schemas.Ptr(Explain(ErrorOf(err), err, in)) }

var CancelOrders = &Op[schemas.CancelOrders, schemas.CancelResults]{
	Spec: Spec{
		Name: "cancel_orders", Title: "Cancel orders", Method: "DELETE", Path: "/v1/portfolio/orders/batch", Scope: core.ScopeTrade, Bucket: Cancel, Errors: []string{"shed", "draining"}, Destructive: true, Idempotent: true,
		Doc: "Cancel up to 20 orders, each with its own result. For all use cancel_all_orders.",
	},
	Cost: func(in *schemas.CancelOrders) int { return len(in.OrderIDs) },
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.CancelOrders) (schemas.CancelResults, error) {
		cmds := make([]core.Command, len(in.OrderIDs))
		for i, id := range in.OrderIDs {
			cmds[i] = &core.CancelOrder{User: caller.User, Key: caller.KeyNumber(), Order: core.OrderID(id)}
		}
		ends, err := v.submitAll(ctx, &caller, cmds)
		if err != nil {
			return schemas.CancelResults{}, err
		}
		out := schemas.CancelResults{Results: make([]schemas.CancelResult, len(ends))}
		for i, e := range ends {
			c, err := canceled(e.Receipt, e.Err)
			if err != nil {
				out.Results[i].Error = batchError(err, &schemas.CancelOneOrder{OrderID: &in.OrderIDs[i]})
			} else {
				out.Results[i].Canceled = &c
			}
		}
		return out, nil
	},
}
