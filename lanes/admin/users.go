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
		walk := func(from uint64) iter.Seq[core.User] {
			return func(yield func(core.User) bool) {
				for u := range v.Users() {
					if uint64(u.ID) > from && !yield(u) {
						return
					}
				}
			}
		}
		out.Users, out.Cursor, err = page(v, "admin_users", in, in.Page, walk, func(u core.User) uint64 { return uint64(u.ID) }, userOf)
		out.AsOfSeq = schemas.U64(v.Now().Seq)
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

// page collects one page of the rows of walk and the cursor of the next page. at returns the
// cursor position after a row.
func page[R, W any](m *venue.Venue, route string, in any, p schemas.Page, walk func(from uint64) iter.Seq[R], at func(R) uint64, show func(R) W) ([]W, string, error) {
	b := schemas.BindCursor(tools.CursorVenue(m), route, 0, in)
	var from uint64
	if p.Cursor != "" {
		if f := schemas.DecodeCursor(b, p.Cursor, &from); f != nil {
			return nil, "", f
		}
	}
	rows, last := []W{}, uint64(0)
	for r := range walk(from) {
		if len(rows) == p.Size() {
			return rows, schemas.EncodeCursor(b, last), nil
		}
		rows, last = append(rows, show(r)), at(r)
	}
	return rows, "", nil
}
