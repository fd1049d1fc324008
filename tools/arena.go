package tools

import (
	"context"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

// AdvanceClock lets the time of an arena pass. Only venues with VirtualTime offer it.
var AdvanceClock = &Op[schemas.AdvanceClock, schemas.AdvancedClock]{
	Spec: Spec{
		Name: "advance_clock", Title: "Let time pass", Method: "POST", Path: "/v1/arena/advance", Scope: core.ScopeRead, Errors: []string{"draining"},
		Doc: "Waits until venue time has passed by_ms, or has reached until_ts. Time stands still while you think: call it, or wait_for_event, when you have nothing to do.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.AdvanceClock) (out schemas.AdvancedClock, err error) {
		if v.Virtual == nil {
			return out, NewError("not_found")
		}
		until := v.Config.Now()
		if in.ByMs != nil {
			until += int64(*in.ByMs) * core.NsPerMs
		} else {
			until = int64(*in.UntilTs)
		}
		for reached := v.Config.Now() >= until; !reached; {
			if reached, err = v.Virtual.Await(ctx, caller.Key.ID, until, nil); err == nil {
				continue
			}
			switch k := v.Engine.Key(caller.Key.ID); {
			case ctx.Err() != nil:
				return out, err
			case k == nil || k.Revoked:
				return out, NewError("unauthorized")
			}
			return out, NewError("draining")
		}
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			out = schemas.AdvancedClock{VenueTime: ns(v.Config.Now()), AsOf: asOf(m)}
		})
		return out, nil
	},
}

// ReportUsage takes what an agent says that its model cost. It changes nothing: the arena reads it in the trajectory of
// the seat, for the profit after that cost. Only venues with VirtualTime offer it, as a route alone, because a model
// does not know what it costs; the program around it does.
var ReportUsage = &Op[schemas.ModelUsage, schemas.None]{
	Spec: Spec{
		Name: "report_usage", Title: "Report what a model cost", Method: "POST", Path: "/v1/arena/usage", Scope: core.ScopeRead,
		Doc: "Reports the tokens and the cost of a call of your model, in dollars. The report of the run has the profit after it.",
	},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.ModelUsage) (out schemas.None, err error) {
		if v.Virtual == nil {
			return out, NewError("not_found")
		}
		return out, nil
	},
}
