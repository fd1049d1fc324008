package tools

import (
	"context"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ArmDeadman = &Op[schemas.ArmDeadman, schemas.Armed]{
	Spec: Spec{
		Name: "arm_deadman", Title: "Arm dead-man switch", Method: "POST", Path: "/v1/portfolio/deadman", Scope: core.ScopeTrade, Bucket: Cancel, Errors: append([]string{"invalid_timeout"}, writeErrors...), Deduplicated: true,
		Doc: "Cancel all your orders unless you call this again in time: every third of timeout_ms while quotes rest.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ArmDeadman) (schemas.Armed, error) {
		_, err := sequenced(v.submit(ctx, &caller, &core.ArmDeadman{User: caller.User, Key: caller.KeyNumber(), TimeoutMs: uint32(in.TimeoutMs)}))
		return schemas.Armed{TimeoutMs: int64(in.TimeoutMs), Armed: true}, err
	},
}

var DisarmDeadman = &Op[schemas.None, schemas.Disarmed]{
	Spec: Spec{
		Name: "disarm_deadman", Title: "Disarm dead-man switch", Method: "DELETE", Path: "/v1/portfolio/deadman", Scope: core.ScopeTrade, Bucket: Cancel, Errors: writeErrors, Idempotent: true, Deduplicated: true,
		Doc: "Disarm the dead-man switch; cancels nothing.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, _ *schemas.None) (schemas.Disarmed, error) {
		_, err := sequenced(v.submit(ctx, &caller, &core.DisarmDeadman{User: caller.User, Key: caller.KeyNumber()}))
		return schemas.Disarmed{}, err
	},
}

// GetDeadman is offered by REST only. An agent reads the switch in dx://account.
var GetDeadman = &Op[schemas.None, schemas.Deadman]{
	Spec: Spec{
		Name: "get_deadman", Title: "The dead-man switch", Method: "GET", Path: "/v1/portfolio/deadman", Scope: core.ScopeRead,
		Doc: "The dead-man switch: armed, timeout, deadline.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, _ *schemas.None) (out schemas.Deadman, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out = deadman(m.Deadman(caller.User, 0)) })
		return out, nil
	},
}

func deadman(ms uint32, deadline int64) schemas.Deadman {
	return schemas.Deadman{Armed: deadline != 0, TimeoutMs: int64(ms), DeadlineTs: ns(deadline)}
}
