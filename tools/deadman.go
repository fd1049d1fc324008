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
		Name: "arm_deadman", Title: "Arm dead-man switch", Method: "POST", Path: "/v1/portfolio/deadman", Scope: core.ScopeTrade, Bucket: Cancel, Errors: append([]string{"invalid_timeout", "group_limit_reached"}, writeErrors...), Deduplicated: true,
		Doc: "Cancel your orders, or a group's, unless you call again in time: every third of timeout_ms.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ArmDeadman) (schemas.Armed, error) {
		_, err := sequenced(v.submit(ctx, &caller, &core.ArmDeadman{User: caller.User, Key: caller.KeyNumber(), TimeoutMs: uint32(in.TimeoutMs), Group: uint32(in.GroupID)}))
		return schemas.Armed{TimeoutMs: int64(in.TimeoutMs), Armed: true, GroupID: uint32(in.GroupID)}, err
	},
}

var DisarmDeadman = &Op[schemas.DeadmanQuery, schemas.Disarmed]{
	Spec: Spec{
		Name: "disarm_deadman", Title: "Disarm dead-man switch", Method: "DELETE", Path: "/v1/portfolio/deadman", Scope: core.ScopeTrade, Bucket: Cancel, Errors: writeErrors, Idempotent: true, Deduplicated: true,
		Doc: "Disarm the dead-man switch; cancels nothing.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.DeadmanQuery) (schemas.Disarmed, error) {
		_, err := sequenced(v.submit(ctx, &caller, &core.DisarmDeadman{User: caller.User, Key: caller.KeyNumber(), Group: uint32(in.GroupID)}))
		return schemas.Disarmed{GroupID: uint32(in.GroupID)}, err
	},
}

// GetDeadman is offered by REST only. An agent reads the switch in dx://account.
var GetDeadman = &Op[schemas.DeadmanQuery, schemas.DeadmanRead]{
	Spec: Spec{
		Name: "get_deadman", Title: "The dead-man switch", Method: "GET", Path: "/v1/portfolio/deadman", Scope: core.ScopeRead,
		Doc: "The dead-man switch: armed, timeout, deadline.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.DeadmanQuery) (out schemas.DeadmanRead, _ error) {
		out.GroupID = uint32(in.GroupID)
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out.Deadman = deadman(m.Deadman(caller.User, out.GroupID)) })
		return out, nil
	},
}

func deadman(ms uint32, deadline int64) schemas.Deadman {
	return schemas.Deadman{Armed: deadline != 0, TimeoutMs: int64(ms), DeadlineTs: ns(deadline)}
}
