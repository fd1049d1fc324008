package admin

import (
	"context"

	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// audit lists the actions of operators and accounts, newest first
// (docs/rules/operation.md#audit).
func (l *lane) audit(ctx context.Context, _ *gate.Call, in *schemas.ListActions) (schemas.ActionList, error) {
	return tools.ListActions(ctx, l.Venue, in)
}
