package portal

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/lanes/portal/oauth"
	"duplex/schemas"
	"duplex/tools"
)

// registerAccounts registers the accounts service
// (docs/rules/accounts.md#accounts-service).
func (l *lane) registerAccounts(m *gate.Routes) {
	register(l, m, "create_key", "POST /keys", http.StatusCreated, l.createKey)
	register(l, m, "list_keys", "GET /keys", http.StatusOK, l.listKeys)
	register(l, m, "revoke_key", "DELETE /keys/{api_key}", http.StatusOK, l.revokeKey)
	register(l, m, "get_account", "GET /account", http.StatusOK, l.account)
	register(l, m, "close_account", "DELETE /account", http.StatusOK, l.closeAccount)
}

// register binds a route of the accounts service to do, charges the account and logs the
// action.
func register[In, Out any](l *lane, m *gate.Routes, name, route string, status int, do func(context.Context, core.UserID, *In) (Out, error)) {
	m.Handle(route, gate.Bind(l.Gate, "portal_"+name, status, func(ctx context.Context, c *gate.Call, in *In) (out Out, err error) {
		if c.User == 0 { // unreachable: authenticate has set it
			return out, tools.NewError("unauthorized")
		}
		if err = l.accountLimits.of(c.User).allowCall(l.now()); err != nil {
			return out, err
		}
		out, err = do(ctx, c.User, in)
		level := slog.LevelInfo
		if strings.HasPrefix(route, "GET ") {
			level = slog.LevelDebug // a page that polls would fill the log
		}
		l.Log.Log(ctx, level, "account action", "action", c.Op, "request_id", c.ID, "user_id", c.User, "ok", err == nil)
		return out, err
	}))
}

// authenticate requires an account token on every path of the accounts service, known or
// not. An invalid token is unauthorized, and rate_limited once its address has failed too
// often (docs/rules/limits.md#failed-bearers). A valid token always passes, so that a
// client cannot lock out others behind the same address.
func (l *lane) authenticate(r *http.Request, c *gate.Call) error {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == signUpPath && r.Method == http.MethodPost && l.SignUp != SignUpOff {
		return l.authenticateSignUp(r)
	}
	if !l.accountPath(path) {
		return nil
	}
	if path == oauth.ConsentPath && !slices.Equal(r.Header.Values("Origin"), []string{l.OAuth.Issuer}) {
		return tools.NewError("forbidden_origin")
	}
	if hash, ok := gate.Bearer(r.Header); ok {
		if u, ok := l.Venue.Engine.AccountByToken(hash); ok {
			c.User = u
			return nil
		}
	}
	if err := l.Gate.Behind(); err != nil { // this node may lack the account
		return err
	}
	if err := l.authFailures.Fail(l.Gate.ClientAddr(r), l.now()); err != nil {
		return err
	}
	return tools.NewError("unauthorized")
}

// accountPath reports whether a path belongs to the accounts service.
func (l *lane) accountPath(path string) bool {
	switch path {
	case oauth.ConsentPath:
		return l.OAuth != nil
	case "/account", "/keys", "/agents", "/approvals", "/balance", "/deposits", "/deposit-address", "/withdrawals":
		return true
	}
	return strings.HasPrefix(path, "/keys/") || strings.HasPrefix(path, "/agents/") || strings.HasPrefix(path, "/approvals/")
}

// accountAudit returns the audit mark of an account's commands.
func accountAudit(reason string) core.Audit { return core.Audit{Who: core.WhoAccount, Why: reason} }

// createKey creates a key with the scopes read and trade at most. Only an operator creates
// keys that withdraw (docs/rules/accounts.md#scopes).
func (l *lane) createKey(ctx context.Context, u core.UserID, in *schemas.CreateKey) (schemas.NewKey, error) {
	return l.issueKey(ctx, u, u, in)
}

// issueKey creates a key of an account of the owner's family, one after the other, so that the keys which the
// account has are counted before each. The family shares one limit of new keys
// (docs/rules/accounts.md#new-keys).
func (l *lane) issueKey(ctx context.Context, owner, u core.UserID, in *schemas.CreateKey) (out schemas.NewKey, err error) {
	scopes := gate.ScopesOf(in.Scopes)
	if !gate.UserScopes.Has(scopes) {
		return out, tools.NewError("missing_scope")
	}
	err = l.withNewKey(ctx, owner, u, func() (err error) {
		out, err = l.Gate.IssueKey(ctx, u, in.Label, scopes, accountAudit("created"))
		return err
	})
	return out, err
}

// withNewKey calls create if account u of the owner's family may have one more key. u is 0 if the account is
// yet to be made.
func (l *lane) withNewKey(ctx context.Context, owner, u core.UserID, create func() error) error {
	limits := l.accountLimits.of(owner)
	select {
	case limits.creating <- struct{}{}:
		defer func() { <-limits.creating }()
	case <-ctx.Done():
		return tools.NewError("shed")
	}
	if u != 0 && l.AccountKeys > 0 && l.keyCount(u) >= l.AccountKeys {
		return tools.NewError("too_many_keys")
	}
	if err := limits.allowNewKey(l.now()); err != nil {
		return err
	}
	return create()
}

// keyCount returns the number of live keys of an account, those that the operator has created included.
func (l *lane) keyCount(u core.UserID) (n int) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for range v.KeysOf(u) {
			n++
		}
	})
	return n
}

// listKeys lists the keys that are not revoked, oldest first.
func (l *lane) listKeys(_ context.Context, u core.UserID, _ *schemas.None) (out schemas.KeyList, _ error) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for k := range v.KeysOf(u) {
			out.Keys = append(out.Keys, tools.KeyOf(&k))
		}
	})
	return out, nil
}

// revokeKey revokes a key on every lane before it returns
// (docs/rules/accounts.md#revocation). A key of another account, an unknown key and a
// revoked key get the same response, and a single machine sequences nothing for them.
func (l *lane) revokeKey(ctx context.Context, u core.UserID, in *schemas.RevokeKey) (schemas.Revoked, error) {
	k := l.Venue.Engine.Key(in.APIKey)
	return schemas.Revoked{APIKey: in.APIKey, Revoked: true},
		l.revoke(ctx, k != nil && k.User == u, &core.RevokeKey{User: u, Key: in.APIKey, Audit: accountAudit("revoked")})
}

// account returns the account whose token it is, so that a page can show who is signed in.
func (l *lane) account(_ context.Context, u core.UserID, _ *schemas.None) (out schemas.AccountIdentity, _ error) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		user, _ := v.User(u)
		out = schemas.AccountIdentity{UserID: uint32(u), Name: user.Name, CreatedTs: schemas.U64(user.Created)}
	})
	return out, nil
}

// closeAccount revokes every key of the account and of its agents, and halts the agents.
func (l *lane) closeAccount(ctx context.Context, u core.UserID, _ *schemas.None) (schemas.AccountClosed, error) {
	var open bool // there is a key to revoke or an agent to halt
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for range v.KeysOf(u) {
			open = true
			break
		}
		for _, agent := range v.Agents(u) {
			open = open || v.State(agent) != core.AgentClosed
		}
	})
	return schemas.AccountClosed{Revoked: true}, l.revoke(ctx, open, &core.RevokeKey{User: u, Audit: accountAudit("closed")})
}

// revoke revokes unless nothing that it would revoke is there, which a single machine knows. A member may
// lack a key that another one has made, so it asks the log.
func (l *lane) revoke(ctx context.Context, there bool, cmd *core.RevokeKey) error {
	if _, several := l.Venue.Engine.MemberStatus(); !there && !several {
		return nil
	}
	_, err := l.submit(ctx, cmd)
	return err
}
