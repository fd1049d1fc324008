package admin

import (
	"context"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// deposit books money in. A repeat with the same fields changes nothing and answers
// the first again (contract operator, Admin).
func (l *lane) deposit(ctx context.Context, c *gate.Call, in *schemas.Deposit) (out schemas.Deposited, err error) {
	u := core.UserID(in.UserID)
	r, err := l.submit(ctx, c, &core.Deposit{User: u, DepositID: in.DepositID, Amount: core.Pips(in.Amount.Int64()), Audit: by(in.Reason)}, in.Reason)
	if err != nil {
		return out, err
	}
	seq := r.Stamp.Seq
	if _, first := last[*core.Deposited](r.Events); !first {
		seq = l.booked(u, in.DepositID, seq)
	}
	return schemas.Deposited{UserID: uint32(u), DepositID: in.DepositID, Amount: in.Amount, Seq: schemas.U64(seq)}, nil
}

// booked finds the seq at which a deposit was made; once the account's events no
// longer reach back to it, the seq that found it made stands in.
func (l *lane) booked(u core.UserID, id string, found uint64) (seq uint64) {
	seq = found
	l.Venue.Engine.Read(func(_ *venue.Venue, w *view.View) {
		events, _ := w.EventsAfter(u, 0)
		for i := range events {
			if d, ok := events[i].What.(*core.Deposited); ok && d.DepositID == id {
				seq = events[i].Seq
			}
		}
	})
	return seq
}

// decide completes or rejects a pending withdrawal. The same decision again answers
// the record as it stands.
func (l *lane) decide(complete bool) func(context.Context, *gate.Call, *schemas.DecideWithdrawal) (schemas.Withdrawal, error) {
	return func(ctx context.Context, c *gate.Call, in *schemas.DecideWithdrawal) (out schemas.Withdrawal, err error) {
		id := uint64(in.WithdrawalID)
		if _, err := l.submit(ctx, c, &core.DecideWithdrawal{Withdrawal: id, Complete: complete, Audit: by(in.Reason)}, in.Reason); err != nil {
			return out, err
		}
		l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
			w, _ := v.Withdrawal(id) // a decided one never changes again
			out = tools.WithdrawalOf(&w)
		})
		return out, nil
	}
}

// setFees replaces the schedule; as_of_seq is the seq it holds from.
func (l *lane) setFees(ctx context.Context, c *gate.Call, in *schemas.SetFees) (out schemas.Fees, err error) {
	fees := core.Fees{Maker: core.Rate(in.MakerRate), Taker: core.Rate(in.TakerRate), RebatePct: uint8(in.MakerRebatePct), ReferPct: uint8(in.ReferralPct)}
	r, err := l.submit(ctx, c, &core.SetFees{Fees: fees, Audit: by(in.Reason)}, in.Reason)
	return schemas.Fees{
		MakerRate: int64(in.MakerRate), TakerRate: int64(in.TakerRate), MakerRebatePct: int64(in.MakerRebatePct), ReferralPct: int64(in.ReferralPct),
		Seen: schemas.Seen{AsOfSeq: schemas.U64(r.Stamp.Seq)},
	}, err
}
