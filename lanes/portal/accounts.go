package portal

import (
	"context"
	"net/http"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// accounts lists the accounts service (contract operator, Accounts service).
func (l *lane) accounts(m *gate.Routes) {
	mount(l, m, "create_key", "POST /keys", http.StatusCreated, l.createKey)
	mount(l, m, "list_keys", "GET /keys", http.StatusOK, l.listKeys)
	mount(l, m, "revoke_key", "DELETE /keys/{api_key}", http.StatusOK, l.revokeKey)
	mount(l, m, "close_account", "DELETE /account", http.StatusOK, l.closeAccount)
}

// mount is the one binder: it serves an account that has calls left.
func mount[In, Out any](l *lane, m *gate.Routes, name, route string, status int, do func(context.Context, core.UserID, *In) (Out, error)) {
	m.Handle(route, gate.Bind(l.Gate, "portal_"+name, status, func(ctx context.Context, c *gate.Call, in *In) (out Out, err error) {
		if c.User == 0 { // prove lets nobody come this far
			return out, tools.Refuse("unauthorized")
		}
		if err = l.holders.of(c.User).call(l.now()); err != nil {
			return out, err
		}
		out, err = do(ctx, c.User, in)
		l.Log.Info("account", "action", c.Op, "request_id", c.ID, "user_id", c.User, "ok", err == nil)
		return out, err
	}))
}

// prove asks for the account's token on the accounts service, known or unknown path
// alike, and for nothing elsewhere. A token that fails is answered 401, and 429
// once its address has failed too often; one that holds always passes, so that
// nobody locks out who shares an address.
func (l *lane) prove(r *http.Request, c *gate.Call) error {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path != "/account" && path != "/keys" && !strings.HasPrefix(path, "/keys/") {
		return nil
	}
	if hash, ok := gate.Bearer(r.Header); ok {
		if u, ok := l.Venue.Engine.Holder(hash); ok {
			c.User = u
			return nil
		}
	}
	if err := l.strangers.fail(r.RemoteAddr, l.now()); err != nil {
		return err
	}
	return tools.Refuse("unauthorized")
}

func audit(why string) core.Audit { return core.Audit{Who: "account", Why: why} }

// createKey makes a key. Its scopes are read and trade at most: money leaves only by
// a key that an operator made (spec 5).
func (l *lane) createKey(ctx context.Context, u core.UserID, in *schemas.CreateKey) (out schemas.NewKey, err error) {
	scopes := gate.ScopesOf(in.Scopes)
	if !gate.UserScopes.Has(scopes) {
		return out, tools.Refuse("missing_scope")
	}
	if err := l.holders.of(u).key(l.now()); err != nil {
		return out, err
	}
	return l.Gate.Issue(ctx, u, in.Label, scopes, audit("created"))
}

// listKeys lists the keys that work, oldest first.
func (l *lane) listKeys(_ context.Context, u core.UserID, _ *schemas.None) (out schemas.KeyList, _ error) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		for k := range v.Keys() {
			if k.User == u && !k.Revoked {
				out.Keys = append(out.Keys, schemas.Key{APIKey: k.ID, Label: k.Label, Scopes: k.Scopes.Names(), CreatedTs: schemas.U64(k.Created)})
			}
		}
	})
	return out, nil
}

// revokeKey is answered once the key works nowhere. A key of somebody else, one that
// never was and one revoked before get the same answer, and nothing is sequenced.
func (l *lane) revokeKey(ctx context.Context, u core.UserID, in *schemas.RevokeKey) (schemas.Revoked, error) {
	out := schemas.Revoked{APIKey: in.APIKey, Revoked: true}
	if k := l.Venue.Engine.Key(in.APIKey); k == nil || k.User != u || k.Revoked {
		return out, nil
	}
	return out, l.revoke(ctx, &core.RevokeKey{User: u, Key: in.APIKey, Audit: audit("revoked")})
}

// closeAccount revokes every key of the account.
func (l *lane) closeAccount(ctx context.Context, u core.UserID, _ *schemas.None) (schemas.AccountClosed, error) {
	out := schemas.AccountClosed{Revoked: true}
	if keys, _ := l.listKeys(ctx, u, nil); len(keys.Keys) == 0 {
		return out, nil
	}
	return out, l.revoke(ctx, &core.RevokeKey{User: u, Audit: audit("closed")})
}

func (l *lane) revoke(ctx context.Context, cmd *core.RevokeKey) error {
	r, err := l.Venue.Engine.Submit(ctx, cmd)
	if err == nil && r.Reject != core.OK {
		return r.Reject
	}
	return err
}
