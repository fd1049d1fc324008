package admin

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// createUser opens an account. Only this response ever contains its token
// (docs/rules/accounts.md#account-token).
func (l *lane) createUser(ctx context.Context, c *gate.Call, in *schemas.CreateUser) (out schemas.NewUser, err error) {
	token, hash := gate.NewToken("dxa_")
	cmd := &core.CreateUser{Name: in.Name, TokenHash: hash, Audit: auditOf(c, in.Reason)}
	if in.ReferrerID != nil {
		cmd.Referrer = core.UserID(*in.ReferrerID)
	}
	r, err := l.submit(ctx, c, cmd, in.Reason)
	if err != nil {
		return out, err
	}
	made, _ := lastEvent[*core.UserChanged](r.Events)
	return schemas.NewUser{UserID: uint32(made.User.ID), AccountToken: token}, nil
}

// listUsers lists the accounts by user_id.
func (l *lane) listUsers(_ context.Context, _ *gate.Call, in *schemas.ListUsers) (out schemas.UserList, err error) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		walk := func(from uint64) iter.Seq2[uint64, core.User] {
			return func(yield func(uint64, core.User) bool) {
				for u := range v.Users() {
					if uint64(u.ID) > from && !yield(uint64(u.ID), u) {
						return
					}
				}
			}
		}
		out.Users, out.PageEnd, err = tools.PageOf(v, "admin_users", tools.Caller{}, in, walk, tools.KeepAll, userOf)
	})
	return out, err
}

func userOf(u core.User) schemas.User {
	return schemas.User{UserID: uint32(u.ID), Name: u.Name, ReferrerID: referrerOf(u), Suspended: u.Suspended, CreatedTs: schemas.U64(u.Created)}
}

// referrerOf returns the account that referred u, nil if none did.
func referrerOf(u core.User) *uint32 {
	if u.Referrer == 0 {
		return nil
	}
	return schemas.Ptr(uint32(u.Referrer))
}

// createKey creates a key with any scopes, by default gate.UserScopes
// (docs/rules/accounts.md#scopes).
func (l *lane) createKey(ctx context.Context, c *gate.Call, in *schemas.CreateUserKey) (schemas.NewKey, error) {
	out, err := l.Gate.IssueKey(ctx, core.UserID(in.UserID), in.Label, gate.ScopesOf(in.Scopes), auditOf(c, in.Reason))
	l.logAction(c, 0, in.Reason, err)
	return out, err
}

// suspend suspends or resumes an account (docs/rules/accounts.md#suspension).
func (l *lane) suspend(suspended bool) func(context.Context, *gate.Call, *schemas.SuspendUser) (schemas.Suspension, error) {
	return func(ctx context.Context, c *gate.Call, in *schemas.SuspendUser) (out schemas.Suspension, err error) {
		r, err := l.submit(ctx, c, &core.SuspendUser{User: core.UserID(in.UserID), Lift: !suspended, Audit: auditOf(c, in.Reason)}, in.Reason)
		return schemas.Suspension{UserID: uint32(in.UserID), Suspended: suspended, Seq: schemas.U64(r.Stamp.Seq)}, err
	}
}
