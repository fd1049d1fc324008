package admin

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// getUser returns one account with its money, positions, resting orders, keys and pending
// withdrawals.
func (l *lane) getUser(_ context.Context, _ *gate.Call, in *schemas.UserPath) (out schemas.UserDetail, err error) {
	u, now := core.UserID(in.UserID), l.Venue.Config.Now()
	l.Venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		x, ok := v.User(u)
		if !ok {
			err = core.UnknownUser
			return
		}
		account := tools.AccountOf(v, u)
		out = schemas.UserDetail{
			UserID: account.UserID, Name: x.Name, Kind: account.Kind, State: account.State, CreatedTs: schemas.U64(x.Created), ReferrerID: referrerOf(x),
			Cash: account.Cash, Reserved: account.Reserved, Positions: []schemas.Position{}, OpenOrders: []schemas.Order{}, Keys: []schemas.Key{}, WithdrawalsPending: []schemas.Withdrawal{},
			Volume30d: schemas.U64(w.Volume30(u, now)), AsOf: account.AsOf,
		}
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if p := v.Position(u, m); p.Yes+p.No > 0 {
				out.Positions = append(out.Positions, tools.PositionOf(p))
			}
		}
		for o := range w.Orders(u, 0) {
			if len(out.OpenOrders) == int(account.Usage.OpenOrders) {
				break
			}
			if o.Status.Live() {
				out.OpenOrders = append(out.OpenOrders, tools.OrderOf(o))
			}
		}
		for k := range v.KeysOf(u) {
			out.Keys = append(out.Keys, tools.KeyOf(&k))
		}
		for _, d := range w.Withdrawals(u) {
			if d.State.Open() {
				out.WithdrawalsPending = append(out.WithdrawalsPending, tools.WithdrawalOf(&d))
			}
		}
	})
	return out, err
}

// userExists returns unknown_user unless the account exists.
func (l *lane) userExists(u core.UserID) (err error) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if _, ok := v.User(u); !ok {
			err = core.UnknownUser
		}
	})
	return err
}

// userLedger lists the changes of an account's money, newest first (docs/rules/money.md#ledger).
func (l *lane) userLedger(ctx context.Context, _ *gate.Call, in *schemas.ListUserRows) (out schemas.LedgerList, err error) {
	u := core.UserID(in.UserID)
	if err := l.userExists(u); err != nil {
		return out, err
	}
	return tools.ListLedger.Do(ctx, l.Venue, tools.Caller{User: u, Charge: func() error { return nil }}, &schemas.ListLedger{Page: in.Page})
}

// userActivity lists the events of an account that memory keeps, newest first
// (docs/rules/events.md#the-account).
func (l *lane) userActivity(_ context.Context, _ *gate.Call, in *schemas.ListUserRows) (out schemas.UserActivity, err error) {
	u := core.UserID(in.UserID)
	if err := l.userExists(u); err != nil {
		return out, err
	}
	show := func(e *view.UserEvent) schemas.UserEvent {
		_, shown := tools.EventOf(e)
		return schemas.UserEvent{Seq: schemas.U64(e.Seq), Ts: schemas.U64(e.Ts), Event: shown}
	}
	l.Venue.Engine.Read(func(v *venue.Venue, w *view.View) {
		walk := func(from uint64) iter.Seq2[uint64, *view.UserEvent] { return w.Events(u, from) }
		out.Activity, out.PageEnd, err = tools.PageOf(v, "admin_activity", tools.Caller{}, in, walk, tools.KeepAll, show)
	})
	return out, err
}

// revokeKey revokes a key of an account (docs/rules/accounts.md#revocation). A key that the account
// does not have gets the same response.
func (l *lane) revokeKey(ctx context.Context, c *gate.Call, in *schemas.RevokeUserKey) (schemas.Revoked, error) {
	_, err := l.submit(ctx, c, &core.RevokeKey{User: core.UserID(in.UserID), Key: in.APIKey, Audit: auditOf(c, in.Reason)}, in.Reason)
	return schemas.Revoked{APIKey: in.APIKey, Revoked: true}, err
}

// cancelOrders cancels the resting orders of an account, and what waits for its owner.
func (l *lane) cancelOrders(ctx context.Context, c *gate.Call, in *schemas.ActOnUser) (schemas.UserOrdersCanceled, error) {
	r, err := l.submit(ctx, c, &core.CancelUserOrders{User: core.UserID(in.UserID), Audit: auditOf(c, in.Reason)}, in.Reason)
	out := schemas.UserOrdersCanceled{UserID: uint32(in.UserID), Seq: schemas.U64(r.Stamp.Seq)}
	for _, e := range r.Events {
		switch e.(type) {
		case *core.OrderClosed, *core.AskChanged:
			out.Canceled++
		}
	}
	return out, err
}

// resetToken replaces an account's token. Only this response ever contains it
// (docs/rules/accounts.md#account-token).
func (l *lane) resetToken(ctx context.Context, c *gate.Call, in *schemas.ActOnUser) (out schemas.TokenReset, err error) {
	token, hash := gate.NewToken("dxa_")
	if _, err := l.submit(ctx, c, &core.ResetToken{User: core.UserID(in.UserID), TokenHash: hash, Audit: auditOf(c, in.Reason)}, in.Reason); err != nil {
		return out, err
	}
	return schemas.TokenReset{AccountToken: token}, nil
}

// searchChunk is the number of accounts that a search looks at while it holds the venue's lock.
const searchChunk = 4096

// search finds accounts by user_id, API key, order id or a part of the name, by user_id. It finds the
// orders that memory keeps.
func (l *lane) search(ctx context.Context, _ *gate.Call, in *schemas.SearchUsers) (out schemas.FoundUsers, err error) {
	b := l.Venue.BindCursor("admin_search", tools.Caller{}, in)
	var from uint64
	if in.Cursor != "" {
		if f := schemas.DecodeCursor(b, in.Cursor, &from); f != nil {
			return out, f
		}
	}
	name := strings.ToLower(in.Q)
	number, _ := strconv.ParseUint(in.Q, 10, 64) // 0 if it is none: no account and no order has it
	var owner core.UserID
	if k := l.Venue.Engine.Key(in.Q); k != nil {
		owner = k.User
	}
	matched := func(w *view.View, x *core.User) string {
		switch {
		case uint64(x.ID) == number:
			return "user_id"
		case x.ID == owner:
			return "api_key"
		case w.Order(x.ID, core.OrderID(number)) != nil:
			return "order_id"
		case strings.Contains(strings.ToLower(x.Name), name):
			return "name"
		}
		return ""
	}
	out.Users = []schemas.FoundUser{}
	more := true
	for more && ctx.Err() == nil {
		l.Venue.Engine.Read(func(v *venue.Venue, w *view.View) {
			out.AsOfSeq = schemas.U64(v.Now().Seq)
			for range searchChunk {
				x, ok := v.User(core.UserID(from + 1))
				if more = ok; !more {
					return
				}
				how := matched(w, &x)
				if how != "" && len(out.Users) == in.Size() {
					out.Cursor, more = schemas.EncodeCursor(b, from), false
					return
				}
				if from++; how != "" {
					out.Users = append(out.Users, schemas.FoundUser{User: userOf(x), Matched: how})
				}
			}
		})
	}
	if more { // the time of the request is over, and the next page goes on
		out.Cursor = schemas.EncodeCursor(b, from)
	}
	return out, nil
}
