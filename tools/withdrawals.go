package tools

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var RequestWithdrawal = &Op[schemas.RequestWithdrawal, schemas.Withdrawal]{
	Facts: Facts{
		Name: "request_withdrawal", Title: "Request a withdrawal", Method: "POST", Path: "/v1/withdrawals", Scope: core.ScopeWithdraw, Bucket: Write, Created: 202, Idempotent: true, Once: true, Destructive: true,
		Errors: append([]string{"bad_client_withdrawal_id", "bad_amount", "bad_destination", "insufficient_balance", "user_suspended", "duplicate_client_withdrawal_id", "funding_unavailable", "withdrawal_refused"}, writeErrors...),
		Doc:    "Ask for pips to be paid out. They leave free cash at once and come back if the request is rejected. Repeat with the same client_withdrawal_id and fields to read the first again. Needs the withdraw scope, which created keys never have.",
	},
	Do: func(ctx context.Context, v *Venue, who Caller, in *schemas.RequestWithdrawal) (out schemas.Withdrawal, err error) {
		if err := portError(v.Funds.Accepts(ctx, in.Destination)); err != nil {
			return out, err
		}
		r, err := v.Engine.SubmitBy(ctx, who.Key, &core.RequestWithdrawal{User: who.User, ClientID: in.ClientWithdrawalID, Amount: core.Pips(in.Amount.Int64()), Destination: in.Destination})
		if err != nil {
			return out, err
		}
		if r.Reject != core.OK {
			return out, r.Reject
		}
		for _, e := range r.Events {
			if w, ok := e.(*core.WithdrawalChanged); ok {
				out = WithdrawalOf(&w.Withdrawal)
			}
		}
		return out, nil
	},
}

var ListWithdrawals = &Op[schemas.ListWithdrawals, schemas.WithdrawalList]{
	Facts: Facts{
		Name: "list_withdrawals", Title: "List your withdrawals", Method: "GET", Path: "/v1/withdrawals", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "sequencing_timeout"},
		Doc: "Your withdrawal requests, newest first, with their status: pending, completed or rejected.",
	},
	Do: func(_ context.Context, v *Venue, who Caller, in *schemas.ListWithdrawals) (out schemas.WithdrawalList, err error) {
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			list := w.Withdrawals(who.User)
			walk := func(from uint64) iter.Seq2[uint64, *core.Withdrawal] {
				return func(yield func(uint64, *core.Withdrawal) bool) {
					for i := len(list) - 1; i >= 0; i-- {
						if (from == 0 || list[i].ID < from) && !yield(list[i].ID, &list[i]) {
							return
						}
					}
				}
			}
			var cursor string
			out.Withdrawals, cursor, err = page("withdrawals", who, in, walk, all, WithdrawalOf)
			out.More = more(m, cursor)
		})
		return out, err
	},
}

// GetWithdrawal is REST's alone: a tool finds a record in the list.
var GetWithdrawal = &Op[schemas.GetWithdrawal, schemas.WithdrawalRead]{
	Facts: Facts{
		Name: "get_withdrawal", Title: "Read a withdrawal", Method: "GET", Path: "/v1/withdrawals/{withdrawal_id}", Scope: core.ScopeRead, Errors: []string{"unknown_withdrawal", "sequencing_timeout"},
		Doc: "One withdrawal request of yours.",
	},
	Do: func(_ context.Context, v *Venue, who Caller, in *schemas.GetWithdrawal) (out schemas.WithdrawalRead, err error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			w, ok := m.Withdrawal(uint64(in.WithdrawalID))
			if !ok || w.User != who.User {
				err = core.UnknownWithdrawal
				return
			}
			out = schemas.WithdrawalRead{Withdrawal: WithdrawalOf(&w), Seen: seen(m)}
		})
		return out, err
	},
}

// WithdrawalOf puts a request on the wire.
func WithdrawalOf(w *core.Withdrawal) schemas.Withdrawal {
	return schemas.Withdrawal{
		WithdrawalID: schemas.U64(w.ID), ClientWithdrawalID: w.ClientID, Amount: pips(w.Amount), Destination: w.Destination,
		Status: w.Status.String(), Seq: schemas.U64(w.Seq), Ts: ns(w.Ts),
	}
}

var GetDepositAddress = &Op[schemas.Now, schemas.DepositAddress]{
	Facts: Facts{
		Name: "get_deposit_address", Title: "Deposit address", Method: "GET", Path: "/v1/deposits/address", Scope: core.ScopeRead, Errors: []string{"funding_unavailable", "sequencing_timeout"},
		Doc: "Where deposits to your account come in, and in which asset.",
	},
	Do: func(ctx context.Context, v *Venue, who Caller, _ *schemas.Now) (out schemas.DepositAddress, err error) {
		if out.Address, out.Asset, err = v.Funds.Address(ctx, who.User); err != nil {
			return out, portError(err)
		}
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out.Seen = seen(m) })
		return out, nil
	},
}
