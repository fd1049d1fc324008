package admin

import (
	"context"
	"net/http"
	"net/http/pprof"

	"duplex/lanes/gate"
)

// The two paths that want no token.
const (
	livez  = "/livez"
	readyz = "/readyz"
)

// routes lists everything the listener serves, in the order of contract operator.
func (l *lane) routes(m *gate.Routes) {
	m.HandleFunc("GET "+livez, l.live)
	m.HandleFunc("GET "+readyz, l.ready)
	m.Handle("GET /metrics", l.metrics())
	m.HandleFunc("GET /debug/pprof", profiles)
	m.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	m.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	m.HandleFunc("GET /debug/pprof/{name}", l.profile)

	mount(l, m, "create_user", "POST /admin/users", 201, l.createUser)
	mount(l, m, "list_users", "GET /admin/users", 200, l.listUsers)
	mount(l, m, "create_key", "POST /admin/users/{user_id}/keys", 201, l.createKey)
	mount(l, m, "deposit", "POST /admin/users/{user_id}/deposits", 201, l.deposit)
	mount(l, m, "suspend_user", "POST /admin/users/{user_id}/suspend", 200, l.suspend(true))
	mount(l, m, "resume_user", "POST /admin/users/{user_id}/resume", 200, l.suspend(false))
	mount(l, m, "pause_market", "POST /admin/markets/{market_id}/pause", 200, l.pause(true))
	mount(l, m, "resume_market", "POST /admin/markets/{market_id}/resume", 200, l.pause(false))
	mount(l, m, "void_market", "POST /admin/markets/{market_id}/void", 200, l.void)
	mount(l, m, "propose_price", "POST /admin/markets/{market_id}/propose", 200, l.propose)
	mount(l, m, "set_fees", "PUT /admin/fees", 200, l.setFees)
	mount(l, m, "set_schedule", "PUT /admin/schedule", 200, l.setSchedule)
	mount(l, m, "complete_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/complete", 200, l.decide(true))
	mount(l, m, "reject_withdrawal", "POST /admin/withdrawals/{withdrawal_id}/reject", 200, l.decide(false))
	mount(l, m, "post_tick", "POST /admin/oracle/ticks", 200, l.postTick)
	mount(l, m, "rotate_master_key", "POST /admin/master-key/rotate", 200, l.rotate)
	mount(l, m, "snapshot", "POST /admin/snapshot", 200, l.snapshot)
	mount(l, m, "get_state", "GET /admin/state", 200, l.state)
	mount(l, m, "audit", "GET /admin/audit", 200, l.audit)
}

// mount is the one binder. Names are told apart from the API's in metrics.
func mount[In, Out any](l *lane, m *gate.Routes, name, route string, status int, do func(context.Context, *gate.Call, *In) (Out, error)) {
	m.Handle(route, gate.Bind(l.Gate, "admin_"+name, status, do))
}

// named sets the operation's name for metrics and log.
func named(r *http.Request, name string) { gate.CallOf(r.Context()).Op = "admin_" + name }
