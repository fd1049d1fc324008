package admin

import (
	"context"
	"net/http"
	"net/http/pprof"
	"strconv"

	"duplex/core"
	"duplex/core/engine"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// The paths without a token.
const (
	livez  = "/livez"
	readyz = "/readyz"
)

// routes registers every route of the listener, in the order of
// docs/rules/operation.md#actions.
func (l *lane) routes(m *gate.Routes) {
	l.registerPage(m)
	m.HandleFunc("GET "+livez, l.serveLivez)
	m.HandleFunc("GET "+readyz, l.serveReadyz)
	m.Handle("GET /metrics", l.metrics())
	m.HandleFunc("GET /debug/pprof", l.restrict("pprof", profiles))
	m.HandleFunc("GET /debug/pprof/profile", l.restrict("pprof", pprof.Profile))
	m.HandleFunc("GET /debug/pprof/trace", l.restrict("pprof", pprof.Trace))
	m.HandleFunc("GET /debug/pprof/{name}", l.restrict("pprof", l.profile))

	register(l, m, "create_user", "POST /admin/users", 201, l.createUser)
	register(l, m, "list_users", "GET /admin/users", 200, l.listUsers)
	register(l, m, "get_user", "GET /admin/users/{user_id}", 200, l.getUser)
	register(l, m, "user_ledger", "GET /admin/users/{user_id}/ledger", 200, l.userLedger)
	register(l, m, "user_activity", "GET /admin/users/{user_id}/activity", 200, l.userActivity)
	register(l, m, "search", "GET /admin/search", 200, l.search)
	register(l, m, "create_key", "POST /admin/users/{user_id}/keys", 201, l.createKey)
	register(l, m, "revoke_key", "DELETE /admin/users/{user_id}/keys/{api_key}", 200, l.revokeKey)
	register(l, m, "reset_token", "POST /admin/users/{user_id}/token", 200, l.resetToken)
	register(l, m, "cancel_orders", "DELETE /admin/users/{user_id}/orders", 200, l.cancelOrders)
	registerStatus(l, m, "deposit", "POST /admin/users/{user_id}/deposits", secondedOr(l, 201, l.depositAction, l.deposit))
	register(l, m, "suspend_user", "POST /admin/users/{user_id}/suspend", 200, l.suspend(true))
	register(l, m, "resume_user", "POST /admin/users/{user_id}/resume", 200, l.suspend(false))
	register(l, m, "last_day", "GET /admin/day", 200, l.lastDay)
	register(l, m, "list_feeds", "GET /admin/feeds", 200, l.listFeeds)
	register(l, m, "list_markets", "GET /admin/markets", 200, l.listMarkets)
	register(l, m, "pause_market", "POST /admin/markets/{market_id}/pause", 200, l.pause(true))
	register(l, m, "resume_market", "POST /admin/markets/{market_id}/resume", 200, l.pause(false))
	registerStatus(l, m, "void_market", "POST /admin/markets/{market_id}/void", secondedOr(l, 200, l.voidAction, l.void))
	registerStatus(l, m, "propose_price", "POST /admin/markets/{market_id}/propose", secondedOr(l, 200, l.proposeAction, l.propose))
	registerStatus(l, m, "set_fees", "PUT /admin/fees", secondedOr(l, 200, l.feesAction, l.setFees))
	register(l, m, "set_schedule", "PUT /admin/schedule", 200, l.setSchedule)
	register(l, m, "list_withdrawals", "GET /admin/withdrawals", 200, l.listWithdrawals)
	registerStatus(l, m, "approve_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/approve", secondedOr(l, 200, l.withdrawalAction(core.ApprovePayment), l.stepWithdrawal(core.WithdrawalApproved)))
	register(l, m, "send_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/send", 200, l.sendWithdrawal)
	register(l, m, "complete_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/complete", 200, l.stepWithdrawal(core.WithdrawalCompleted))
	registerStatus(l, m, "fail_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/fail", secondedOr(l, 200, l.withdrawalAction(core.ApproveFailure), l.stepWithdrawal(core.WithdrawalFailed)))
	registerStatus(l, m, "reject_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/reject", secondedOr(l, 200, l.withdrawalAction(core.ApproveReturn), l.stepWithdrawal(core.WithdrawalRejected)))
	registerStatus(l, m, "post_tick", "POST /admin/oracle/ticks", secondedOr(l, 200, l.tickAction, l.postTick))
	register(l, m, "list_approvals", "GET /admin/approvals", 200, l.listApprovals)
	register(l, m, "approve", "POST /admin/approvals/{approval_id}/approve", 200, l.decideApproval(true))
	register(l, m, "reject", "POST /admin/approvals/{approval_id}/reject", 200, l.decideApproval(false))
	register(l, m, "add_operator", "POST /admin/operators", 201, l.addOperator)
	register(l, m, "whoami", "GET /admin/whoami", 200, l.whoami)
	register(l, m, "list_operators", "GET /admin/operators", 200, l.listOperators)
	register(l, m, "revoke_operator", "DELETE /admin/operators/{name}", 200, l.revokeOperator)
	register(l, m, "rotate_master_key", "POST /admin/master-key/rotate", 200, l.rotateMasterKey)
	register(l, m, "cluster_status", "GET /admin/cluster", 200, l.clusterStatus)
	registerStatus(l, m, "add_member", "POST /admin/cluster/members", l.addMember)
	registerStatus(l, m, "remove_member", "DELETE /admin/cluster/members/{name}", l.removeMember)
	registerStatus(l, m, "promote_member", "POST /admin/cluster/members/{name}/promote", l.promoteMember)
	registerStatus(l, m, "move_leader", "POST /admin/cluster/leader", l.moveLeader)
	register(l, m, "defrag", "POST /admin/cluster/defrag", 200, l.defrag)
	register(l, m, "snapshot", "POST /admin/snapshot", 200, l.snapshot)
	register(l, m, "get_state", "GET /admin/state", 200, l.state)
	register(l, m, "audit", "GET /admin/audit", 200, l.audit)
}

// register binds a route to do. The prefix admin_ distinguishes its metrics from those of
// the API. name is the action in permissions, whose roles alone reach do.
func register[In, Out any](l *lane, m *gate.Routes, name, route string, status int, do func(context.Context, *gate.Call, *In) (Out, error)) {
	registerStatus(l, m, name, route, func(ctx context.Context, c *gate.Call, in *In) (int, any, error) {
		out, err := do(ctx, c, in)
		return status, &out, err
	})
}

// registerStatus is register for an operation whose response is of several types.
func registerStatus[In any](l *lane, m *gate.Routes, name, route string, do func(context.Context, *gate.Call, *In) (int, any, error)) {
	m.Handle(route, l.restrict(name, gate.BindStatus(l.Gate, "admin_"+name, func(ctx context.Context, c *gate.Call, in *In) (int, any, error) {
		status, out, err := do(ctx, c, in)
		return status, out, l.withReason(err)
	})))
}

// withReason says in the details of shed why the venue took no command: the state of this member and how many
// are up, or busy. Other listeners do not say it: it is the operator's to act on.
func (l *lane) withReason(err error) error {
	wire := tools.ErrorOf(err)
	if err == nil || wire.Code != "shed" || wire.Details != nil {
		return err
	}
	details := schemas.Details{"reason": "busy"}
	if s, ok := l.Venue.Engine.MemberStatus(); ok && s.State != engine.Serving {
		m, _, _ := l.Venue.Engine.Members()
		details = schemas.Details{"reason": s.State.String(), "up": strconv.Itoa(len(m.Up)), "voters": strconv.Itoa(len(m.Voters))}
	}
	wire.Details = &details
	return tools.Error{Wire: wire}
}

// setOp sets the operation name for metrics and log.
func setOp(r *http.Request, name string) { gate.CallOf(r.Context()).Op = "admin_" + name }
