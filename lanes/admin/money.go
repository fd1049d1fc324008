package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// deposit books a deposit. A repeat with the same fields changes nothing and returns the
// first response (docs/rules/money.md#deposits).
func (l *lane) deposit(ctx context.Context, c *gate.Call, in *schemas.Deposit) (out schemas.Deposited, err error) {
	u := core.UserID(in.UserID)
	r, err := l.submit(ctx, c, &core.Deposit{User: u, DepositID: in.DepositID, Amount: amountOf(in.Amount), Alone: l.aloneBound(c), Audit: auditOf(c, in.Reason)}, in.Reason)
	if err != nil {
		return out, err
	}
	seq := r.Stamp.Seq
	if _, first := lastEvent[*core.Deposited](r.Events); !first {
		seq = l.depositSeq(u, in.DepositID, seq)
	}
	return schemas.Deposited{UserID: uint32(u), DepositID: in.DepositID, Amount: in.Amount, Seq: schemas.U64(seq)}, nil
}

// amountOf returns an amount in pips. One above core.PipsMax, which is more than all accounts can hold, is
// 0, and so it is rejected like 0.
func amountOf(amount schemas.U64) core.Pips {
	if amount > schemas.U64(core.PipsMax) {
		return 0
	}
	return core.Pips(amount)
}

// depositSeq returns the seq of an earlier deposit. If the account's list of deposits no longer has it, it
// returns found, the seq of the repeat.
func (l *lane) depositSeq(u core.UserID, id string, found uint64) uint64 {
	l.Venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		for seq, d := range w.Deposits(u, 0) {
			if d.ID == id {
				found = seq
				return
			}
		}
	})
	return found
}

// stepWithdrawal takes a withdrawal to a state. Repeating a step is a no-op
// (docs/rules/money.md#withdrawals).
func (l *lane) stepWithdrawal(to core.WithdrawalState) func(context.Context, *gate.Call, *schemas.DecideWithdrawal) (schemas.Withdrawal, error) {
	return func(ctx context.Context, c *gate.Call, in *schemas.DecideWithdrawal) (schemas.Withdrawal, error) {
		return l.step(ctx, c, &core.DecideWithdrawal{Withdrawal: uint64(in.WithdrawalID), To: to, Audit: auditOf(c, in.Reason)})
	}
}

// sendWithdrawal writes down that an approved withdrawal is paid, and by which payment.
func (l *lane) sendWithdrawal(ctx context.Context, c *gate.Call, in *schemas.SendWithdrawal) (schemas.Withdrawal, error) {
	if strings.TrimSpace(in.Reference) == "" {
		return schemas.Withdrawal{}, &schemas.Fault{Code: "schema_violation", Field: "reference", Limit: "more than spaces"}
	}
	return l.step(ctx, c, &core.DecideWithdrawal{Withdrawal: uint64(in.WithdrawalID), To: core.WithdrawalSent, Reference: in.Reference, Audit: auditOf(c, in.Reason)})
}

// step returns the withdrawal as it is after a step.
func (l *lane) step(ctx context.Context, c *gate.Call, cmd *core.DecideWithdrawal) (out schemas.Withdrawal, err error) {
	if cmd.To == core.WithdrawalCompleted && l.FourEyes != nil {
		if w, ok := l.withdrawal(cmd.Withdrawal); ok && w.State == core.WithdrawalPending && w.Amount > *l.FourEyes {
			return out, l.refusedStep(cmd.Withdrawal, cmd.To) // it is approved first, by two
		}
	}
	cmd.Alone = l.aloneBound(c)
	r, err := l.submit(ctx, c, cmd, cmd.Audit.Why)
	if errors.Is(err, core.InvalidTransition) {
		return out, l.refusedStep(cmd.Withdrawal, cmd.To)
	}
	if e, ok := lastEvent[*core.WithdrawalChanged](r.Events); ok {
		out = tools.WithdrawalOf(&e.Withdrawal)
		l.dropOvertaken(ctx, c, cmd.Withdrawal, cmd.Audit.Why)
	}
	return out, err
}

// refusedStep is invalid_transition for a step of a withdrawal. Its details have the state, the request that is
// open, and the reason.
func (l *lane) refusedStep(id uint64, to core.WithdrawalState) error {
	details := schemas.Details{}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		w, _ := v.Withdrawal(id)
		var open uint64
		for a := range v.PendingApprovals(l.Venue.Config.Now()) {
			if a.Action.Withdrawal == id {
				open = a.ID
			}
		}
		details["state"] = w.State.String()
		switch {
		case to == core.WithdrawalRejected && open != 0:
			details["reason"], details["approval_id"] = fmt.Sprintf("approval %d is open: reject that first", open), fmt.Sprint(open)
		case to == core.WithdrawalCompleted && w.State == core.WithdrawalPending:
			details["reason"] = "it is more than one person pays alone, by itself or with what was paid today: approve it first"
		case to == core.WithdrawalSent && w.State == core.WithdrawalSent:
			details["reason"] = "it is sent with another reference"
		default:
			details["reason"] = fmt.Sprintf("it is %s, and cannot be %s", w.State, to)
		}
	})
	wire := schemas.ErrorOf("invalid_transition")
	wire.Details = &details
	return tools.Error{Wire: wire}
}

func (l *lane) withdrawal(id uint64) (w core.Withdrawal, ok bool) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { w, ok = v.Withdrawal(id) })
	return w, ok
}

func feesOf(in *schemas.SetFees) core.Fees {
	return core.Fees{Maker: core.Rate(in.MakerRate), Taker: core.Rate(in.TakerRate), RebatePct: uint8(in.MakerRebatePct), ReferPct: uint8(in.ReferralPct)}
}

// setFees replaces the fee schedule (docs/rules/money.md#fee-schedule). as_of_seq of the
// response is the seq from which it applies.
func (l *lane) setFees(ctx context.Context, c *gate.Call, in *schemas.SetFees) (out schemas.Fees, err error) {
	fees := feesOf(in)
	r, err := l.submit(ctx, c, &core.SetFees{Fees: fees, Audit: auditOf(c, in.Reason)}, in.Reason)
	return schemas.Fees{FeeRates: tools.FeeRatesOf(fees), AsOf: schemas.AsOf{AsOfSeq: schemas.U64(r.Stamp.Seq)}}, err
}

// withdrawalsScan is the number of withdrawals that one page looks at.
const withdrawalsScan = 10_000

// listWithdrawals lists the withdrawals of all accounts: the open ones oldest first, any others
// newest first. A page ends after withdrawalsScan withdrawals, whether it is full or not.
func (l *lane) listWithdrawals(_ context.Context, _ *gate.Call, in *schemas.ListAllWithdrawals) (out schemas.UserWithdrawalList, err error) {
	b := l.Venue.BindCursor("admin_withdrawals", tools.Caller{}, in)
	var from uint64
	if in.Cursor != "" {
		if f := schemas.DecodeCursor(b, in.Cursor, &from); f != nil {
			return out, f
		}
	}
	out.Withdrawals = []schemas.UserWithdrawal{}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		out.AsOfSeq = schemas.U64(v.Now().Seq)
		all := v.Withdrawals(from)
		if in.Status == core.WithdrawalPending.String() {
			all = v.OpenWithdrawals(from)
		}
		last, seen := from, 0
		for w := range all {
			if len(out.Withdrawals) == in.Size() || seen == withdrawalsScan {
				out.Cursor = schemas.EncodeCursor(b, last)
				return
			}
			if last, seen = w.ID, seen+1; in.Status == "" || in.Status == w.State.Status() {
				out.Withdrawals = append(out.Withdrawals, schemas.UserWithdrawal{UserID: uint32(w.User), Withdrawal: tools.WithdrawalOf(&w)})
			}
		}
	})
	return out, err
}
