package tools

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// PlaceOneOrder is the tool of PlaceOrder.
var PlaceOneOrder = &Op[schemas.OrderArguments, schemas.Placed]{
	Spec: PlaceOrder.Spec,
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.OrderArguments) (out schemas.Placed, err error) {
		if err := v.Complete(caller, in); err != nil {
			return out, err
		}
		return PlaceOrder.Do(ctx, v, caller, &in.PlaceOrder)
	},
}

// PreviewOneOrder is the tool of PreviewOrder.
var PreviewOneOrder = &Op[schemas.OrderArguments, schemas.Preview]{
	Spec: PreviewOrder.Spec,
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.OrderArguments) (out schemas.Preview, err error) {
		if err := v.Complete(caller, in); err != nil {
			return out, err
		}
		return PreviewOrder.Do(ctx, v, caller, &in.PlaceOrder)
	},
}

// Forecast is the tool of SubmitForecast.
var Forecast = &Op[schemas.ForecastArguments, schemas.SubmittedForecast]{
	Spec: SubmitForecast.Spec,
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ForecastArguments) (schemas.SubmittedForecast, error) {
		return SubmitForecast.Do(ctx, v, caller, &in.SubmitForecast)
	},
}

// Complete sets the members that dollars and expires_in_ms replace, from the book and the clock of now. If dollars
// do not pay for one contract, the error is a schema_violation, and the id of the order stays free.
func (v *Venue) Complete(caller Caller, in *schemas.OrderArguments) (err error) {
	if in.ExpiresInMs != nil {
		in.TIF = cmp.Or(in.TIF, "gtt")
		in.ExpiryTs = schemas.Ptr(ns(v.Config.Now() + int64(*in.ExpiresInMs)*int64(time.Millisecond)))
	}
	if in.Dollars == nil {
		return nil
	}
	in.Type, in.MaxCost = "market", schemas.U64(*in.Dollars)
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		c := placeCommand(caller, &in.PlaceOrder)
		n, first := m.Offered(c)
		in.Qty = schemas.Int(max(n, 1)) // what the core rejects is rejected there, with 1
		s, ok := m.Market(c.Market)
		if n > 0 || !ok || s.Status != core.Trading || s.Paused || m.UsedID(c.User, c.ClientID) || c.Generation != 0 && c.Generation != s.Generation {
			return
		}
		limit := "nothing is offered now"
		if in.WorstTick != nil {
			limit = "nothing is offered within worst_tick now"
		}
		if first > 0 {
			limit = fmt.Sprintf("at least $%s, which one contract costs now", schemas.USD(first))
		}
		err = &schemas.Fault{Code: "schema_violation", Field: "dollars", Limit: limit}
	})
	return err
}
