package admin

import (
	"context"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// addOperator adds a named operator. Only this response ever contains the token
// (docs/rules/operation.md#operators).
func (l *lane) addOperator(ctx context.Context, c *gate.Call, in *schemas.AddOperator) (out schemas.NewOperator, err error) {
	role, _ := core.RoleOf(in.Role) // the decoder has rejected unknown names
	token, hash := gate.NewToken("dxo_")
	r, err := l.submit(ctx, c, &core.AddOperator{Name: in.Name, Role: role, TokenHash: hash, Audit: auditOf(c, in.Reason)}, in.Reason)
	if err != nil {
		return out, err
	}
	out = schemas.NewOperator{Name: in.Name, Role: in.Role, OperatorToken: token, CreatedTs: schemas.U64(r.Stamp.Ts)}
	// The first admin makes the shared token a viewer, and nobody could take back what it has requested.
	l.dropAfter(ctx, c, in.Reason, func(_ *venue.Venue, a *core.Approval) bool { return a.By == SharedOperator && !l.mayStill(a) })
	return out, nil
}

// whoami returns the operator of the token with the actions that the role allows.
func (l *lane) whoami(_ context.Context, c *gate.Call, _ *schemas.None) (out schemas.WhoAmI, err error) {
	now, ok := l.operator(c.Operator.TokenHash)
	if !ok {
		return out, tools.NewError("unauthorized")
	}
	out = schemas.WhoAmI{Name: now.Name, Role: now.Role.String(), Actions: []string{}, CreatedTs: schemas.U64(now.Created)}
	for action := range permissions {
		if mayDo(now.Role, action) {
			out.Actions = append(out.Actions, action)
		}
	}
	slices.Sort(out.Actions)
	if l.FourEyes != nil {
		out.FourEyes = schemas.Ptr(schemas.U64(*l.FourEyes))
		l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
			ts := l.Venue.Config.Now()
			out.PaidAlone = schemas.Ptr(schemas.U64(v.AloneSum(core.AloneSum{Operator: now.Name}, ts)))
			out.ReturnedAlone = schemas.Ptr(schemas.U64(v.AloneSum(core.AloneSum{Operator: now.Name, Returned: true}, ts)))
		})
	}
	return out, nil
}

// listOperators lists the named operators by name.
func (l *lane) listOperators(context.Context, *gate.Call, *schemas.None) (out schemas.OperatorList, err error) {
	out.Operators = []schemas.Operator{}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for _, o := range v.Operators() {
			out.Operators = append(out.Operators, schemas.Operator{Name: o.Name, Role: o.Role.String(), CreatedTs: schemas.U64(o.Created)})
		}
		out.AsOfSeq = schemas.U64(v.Now().Seq)
	})
	return out, nil
}

// revokeOperator removes a named operator, whose token is invalid before the response. What the operator
// requested and nobody has decided is dropped before, one by one, so that the audit has a row for each. The
// revocation drops what is requested meanwhile, and its row says so.
func (l *lane) revokeOperator(ctx context.Context, c *gate.Call, in *schemas.RevokeOperator) (schemas.OperatorRevoked, error) {
	named, _ := l.operators()
	if slices.ContainsFunc(named, func(o core.Operator) bool { return o.Name == in.Name }) {
		if err := l.dropAll(ctx, c, in.Reason, func(_ *venue.Venue, a *core.Approval) bool { return a.By == in.Name }); err != nil {
			return schemas.OperatorRevoked{}, err
		}
	}
	_, err := l.submit(ctx, c, &core.RevokeOperator{Name: in.Name, Audit: auditOf(c, in.Reason)}, in.Reason)
	return schemas.OperatorRevoked{Name: in.Name, Revoked: true}, err
}
