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
	Spec: Spec{
		Name: "request_withdrawal", Title: "Withdraw", Method: "POST", Path: "/v1/withdrawals", Scope: core.ScopeWithdraw, Bucket: Write, SuccessStatus: 202, Idempotent: true, Deduplicated: true, Destructive: true,
		Errors: append([]string{"bad_client_withdrawal_id", "bad_amount", "bad_destination", "insufficient_balance", "user_suspended", "duplicate_client_withdrawal_id", "funding_unavailable", "withdrawal_refused"}, writeErrors...),
		Doc:    "Withdraw free cash; it returns if rejected. A repeat shows it.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.RequestWithdrawal) (out schemas.Withdrawal, err error) {
		amount, repeats := core.Pips(in.Amount.Int64()), false
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			w, known := m.ClientWithdrawal(caller.User, in.ClientWithdrawalID)
			repeats = known && w.Amount == amount && w.Destination == in.Destination
		})
		if !repeats { // a repeat gets the state of the first request, whatever the service says by now
			if err := fundingError(v.Funds.Accepts(ctx, in.Destination)); err != nil {
				return out, err
			}
		}
		r, err := Accepted(v.submit(ctx, &caller, &core.RequestWithdrawal{User: caller.User, Key: caller.KeyNumber(), ClientID: in.ClientWithdrawalID, Amount: amount, Destination: in.Destination}))
		if err != nil {
			return out, err
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
	Spec: Spec{
		Name: "list_withdrawals", Title: "Your withdrawals", Method: "GET", Path: "/v1/withdrawals", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "sequencing_timeout"},
		Doc: "Your withdrawals, newest first, with state.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.ListWithdrawals) (out schemas.WithdrawalList, err error) {
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			list := w.Withdrawals(caller.User)
			walk := func(from uint64) iter.Seq2[uint64, *core.Withdrawal] {
				return func(yield func(uint64, *core.Withdrawal) bool) {
					for i := len(list) - 1; i >= 0; i-- {
						if (from == 0 || list[i].ID < from) && !yield(list[i].ID, &list[i]) {
							return
						}
					}
				}
			}
			span := spanOf(in.TimeRange)
			keep := func(w *core.Withdrawal) bool { return span.Has(w.Ts) }
			out.Withdrawals, out.PageEnd, err = PageOf(m, "withdrawals", caller, in, walk, keep, WithdrawalOf)
		})
		return out, err
	},
}

// GetWithdrawal is offered by REST only. An agent uses list_withdrawals.
var GetWithdrawal = &Op[schemas.GetWithdrawal, schemas.WithdrawalRead]{
	Spec: Spec{
		Name: "get_withdrawal", Title: "Read a withdrawal", Method: "GET", Path: "/v1/withdrawals/{withdrawal_id}", Scope: core.ScopeRead, Errors: []string{"unknown_withdrawal", "sequencing_timeout"},
		Doc: "One withdrawal request of yours.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.GetWithdrawal) (out schemas.WithdrawalRead, err error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			w, ok := m.Withdrawal(uint64(in.WithdrawalID))
			if !ok || w.User != caller.User {
				err = core.UnknownWithdrawal
				return
			}
			out = schemas.WithdrawalRead{Withdrawal: WithdrawalOf(&w), AsOf: asOf(m)}
		})
		return out, err
	},
}

// WithdrawalOf converts a withdrawal.
func WithdrawalOf(w *core.Withdrawal) schemas.Withdrawal {
	return schemas.Withdrawal{
		WithdrawalID: schemas.U64(w.ID), ClientWithdrawalID: w.ClientID, Amount: pips(w.Amount), Destination: w.Destination,
		Status: w.State.Status(), State: w.State.String(), Reference: w.Reference, Seq: schemas.U64(w.Seq), Ts: ns(w.Ts),
	}
}

var GetDepositAddress = &Op[schemas.MinSeqOnly, schemas.DepositAddress]{
	Spec: Spec{
		Name: "get_deposit_address", Title: "Deposit address", Method: "GET", Path: "/v1/deposits/address", Scope: core.ScopeRead, Errors: []string{"funding_unavailable", "sequencing_timeout"},
		Doc: "Where to send a deposit, and which asset. Arrived: list_deposits.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, _ *schemas.MinSeqOnly) (out schemas.DepositAddress, err error) {
		if out.Address, out.Asset, err = v.Funds.Address(ctx, caller.User); err != nil {
			return out, fundingError(err)
		}
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out.AsOf = asOf(m) })
		return out, nil
	},
}
