package admin

import (
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/tools"
)

// SharedOperator is the name of the operator's shared token in the audit.
const SharedOperator = "operator"

// permissions has the roles of each action besides admin, which may do everything
// (docs/rules/operation.md#roles). An action that is not in the table is for every role.
var permissions = map[string][]core.Role{
	"create_user":         {core.RoleSupport},
	"create_key":          {core.RoleSupport},
	"revoke_key":          {core.RoleSupport},
	"reset_token":         {core.RoleSupport},
	"cancel_orders":       {core.RoleSupport},
	"suspend_user":        {core.RoleSupport},
	"resume_user":         {core.RoleSupport},
	"deposit":             {core.RoleTreasurer, core.RoleService},
	"approve_withdrawal":  {core.RoleTreasurer, core.RoleService},
	"send_withdrawal":     {core.RoleTreasurer, core.RoleService},
	"complete_withdrawal": {core.RoleTreasurer, core.RoleService},
	"fail_withdrawal":     {core.RoleTreasurer, core.RoleService},
	"reject_withdrawal":   {core.RoleTreasurer, core.RoleService},
	"approve":             {core.RoleTreasurer}, // and the role of the action that is approved
	"reject":              {core.RoleTreasurer},
	"pause_market":        {},
	"resume_market":       {},
	"void_market":         {},
	"propose_price":       {},
	"set_fees":            {},
	"set_schedule":        {},
	"post_tick":           {},
	"rotate_master_key":   {},
	"add_member":          {},
	"remove_member":       {},
	"promote_member":      {},
	"move_leader":         {},
	"defrag":              {},
	"snapshot":            {},
	"add_operator":        {},
	"revoke_operator":     {},
	"pprof":               {},
}

// mayDo reports whether a role may do an action.
func mayDo(r core.Role, action string) bool {
	roles, restricted := permissions[action]
	return !restricted || r == core.RoleAdmin || slices.Contains(roles, r)
}

// authenticate requires the token of an operator except for the health probes and the files of the
// page (docs/rules/operation.md#operators). An invalid token is unauthorized. On a listener that other
// machines can reach it is rate_limited once its address has failed too often
// (docs/rules/limits.md#failed-bearers).
func (l *lane) authenticate(r *http.Request, c *gate.Call) error {
	if path, _, _ := strings.Cut(r.RequestURI, "?"); path == livez || path == readyz || pageFileOf(r) != nil {
		return nil
	}
	hash, ok := gate.Bearer(r.Header)
	if ok {
		c.Operator, ok = l.operator(hash)
	}
	if !ok && l.NamedOnly {
		if err := l.authFailures.Fail(l.Gate.ClientAddr(r), l.Venue.Config.Wall().Time()); err != nil {
			return err
		}
	}
	if !ok {
		return tools.NewError("unauthorized")
	}
	return nil
}

// operator returns the operator whose token has a SHA-256, in a time that does not depend on how
// much of it is right. The shared token is an admin until there is a named one, and in a dev venue;
// else it is a viewer. A named operator whose token is also the shared one stays that person.
func (l *lane) operator(hash [32]byte) (o core.Operator, ok bool) {
	named, shared := l.operators()
	var candidates []core.Operator
	if !l.NamedOnly {
		candidates = append(candidates, shared)
	}
	for _, x := range append(candidates, named...) { // the last match counts
		if subtle.ConstantTimeCompare(hash[:], x.TokenHash[:]) == 1 {
			o, ok = x, true
		}
	}
	return o, ok
}

// operators returns the named operators, and the shared token as the operator that it is beside them.
func (l *lane) operators() (named []core.Operator, shared core.Operator) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { named = v.Operators() })
	shared = core.Operator{Name: SharedOperator, Role: core.RoleAdmin, TokenHash: l.Token}
	if !l.KeepShared && slices.ContainsFunc(named, func(o core.Operator) bool { return o.Role == core.RoleAdmin }) {
		shared.Role = core.RoleViewer
	}
	return named, shared
}

// authorize returns unauthorized if the token of the call has been revoked since, and missing_scope
// if its role may not do the action.
func (l *lane) authorize(c *gate.Call, action string) error {
	now, ok := l.operator(c.Operator.TokenHash)
	switch {
	case !ok:
		return tools.NewError("unauthorized")
	case !mayDo(now.Role, action):
		return tools.NewError("missing_scope")
	}
	return nil
}

// restrict serves h to the roles that may do an action.
func (l *lane) restrict(action string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		setOp(r, action)
		if err := l.authorize(gate.CallOf(r.Context()), action); err != nil {
			l.Gate.WriteError(w, err)
			return
		}
		h(w, r)
	}
}

// actionOf is the action of a call, as permissions and the audit name it.
func actionOf(c *gate.Call) string { return strings.TrimPrefix(c.Op, "admin_") }

// auditOf returns the audit mark of a command of the call's operator.
func auditOf(c *gate.Call, reason string) core.Audit {
	return core.Audit{Who: c.Operator.Name, Why: reason}
}
