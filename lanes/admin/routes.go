package admin

import (
	"context"
	"net/http"
	"net/http/pprof"

	"duplex/lanes/gate"
)

// The paths without a token.
const (
	livez  = "/livez"
	readyz = "/readyz"
)

// routes registers every route of the listener, in the order of
// docs/rules/operation.md#actions.
func (l *lane) routes(m *gate.Routes) {
	m.HandleFunc("GET "+livez, l.serveLivez)
	m.HandleFunc("GET "+readyz, l.serveReadyz)
	m.Handle("GET /metrics", l.metrics())
	m.HandleFunc("GET /debug/pprof", profiles)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	m.HandleFunc("GET /debug/pprof/{name}", l.profile)

	register(l, m, "create_user", "POST /admin/users", 201, l.createUser)
	register(l, m, "list_users", "GET /admin/users", 200, l.listUsers)
	register(l, m, "create_key", "POST /admin/users/{user_id}/keys", 201, l.createKey)
	register(l, m, "deposit", "POST /admin/users/{user_id}/deposits", 201, l.deposit)
	register(l, m, "suspend_user", "POST /admin/users/{user_id}/suspend", 200, l.suspend(true))
	register(l, m, "resume_user", "POST /admin/users/{user_id}/resume", 200, l.suspend(false))
	register(l, m, "pause_market", "POST /admin/markets/{market_id}/pause", 200, l.pause(true))
	register(l, m, "resume_market", "POST /admin/markets/{market_id}/resume", 200, l.pause(false))
	register(l, m, "void_market", "POST /admin/markets/{market_id}/void", 200, l.void)
	register(l, m, "propose_price", "POST /admin/markets/{market_id}/propose", 200, l.propose)
	register(l, m, "set_fees", "PUT /admin/fees", 200, l.setFees)
	register(l, m, "set_schedule", "PUT /admin/schedule", 200, l.setSchedule)
	register(l, m, "complete_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/complete", 200, l.decideWithdrawal(true))
	register(l, m, "reject_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/reject", 200, l.decideWithdrawal(false))
	register(l, m, "post_tick", "POST /admin/oracle/ticks", 200, l.postTick)
	register(l, m, "rotate_master_key", "POST /admin/master-key/rotate", 200, l.rotateMasterKey)
	register(l, m, "snapshot", "POST /admin/snapshot", 200, l.snapshot)
	register(l, m, "get_state", "GET /admin/state", 200, l.state)
	register(l, m, "audit", "GET /admin/audit", 200, l.audit)
}

// register binds a route to do. The prefix admin_ distinguishes its metrics from those of
// the API.
func register[In, Out any](l *lane, m *gate.Routes, name, route string, status int, do func(context.Context, *gate.Call, *In) (Out, error)) {
	m.Handle(route, gate.Bind(l.Gate, "admin_"+name, status, do))
}

// setOp sets the operation name for metrics and log.
func setOp(r *http.Request, name string) { gate.CallOf(r.Context()).Op = "admin_" + name }
