package portal

import (
	"context"
	"net/http"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/tools"
)

// registerMoney registers the routes about the account's own money. They have the bodies, checks and
// errors of the API's routes (docs/rules/accounts.md#money-routes).
func (l *lane) registerMoney(m *gate.Routes) {
	registerOp(l, m, "GET /balance", http.StatusOK, tools.GetBalance)
	registerOp(l, m, "GET /deposits", http.StatusOK, tools.ListDeposits)
	registerOp(l, m, "GET /deposit-address", http.StatusOK, tools.GetDepositAddress)
	registerOp(l, m, "GET /withdrawals", http.StatusOK, tools.ListWithdrawals)
	registerOp(l, m, "POST /withdrawals", http.StatusAccepted, tools.RequestWithdrawal)
}

// registerOp binds a route to an operation of the API, run for the account of the bearer token.
func registerOp[In, Out any](l *lane, m *gate.Routes, route string, status int, op *tools.Op[In, Out]) {
	register(l, m, op.Name, route, status, func(ctx context.Context, u core.UserID, in *In) (out Out, err error) {
		if w, ok := any(in).(interface{ Since() uint64 }); ok {
			if err := l.Venue.Engine.WaitApplied(ctx, w.Since()); err != nil {
				return out, err
			}
		}
		return op.Do(ctx, l.Venue, tools.Caller{User: u}, in)
	})
}
