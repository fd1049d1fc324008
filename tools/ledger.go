package tools

import (
	"context"
	"errors"
	"iter"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ListLedger = &Op[schemas.ListLedger, schemas.LedgerList]{
	Spec: Spec{
		Name: "list_ledger", Title: "Your ledger", Method: "GET", Path: "/v1/portfolio/ledger", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Each change of your money, newest first, with its cause and the balance after.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListLedger) (out schemas.LedgerList, err error) {
		span := spanOf(in.TimeRange)
		l := deepList[*view.LedgerRow, schemas.LedgerRow]{
			memory: func(_ *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.LedgerRow], view.Released, error) {
				return func(from uint64) iter.Seq2[uint64, *view.LedgerRow] { return w.Ledger(caller.User, from) }, w.LedgerReleased(caller.User), nil
			},
			keep: func(r *view.LedgerRow) bool {
				return matchesMarket(in.MarketID, r.Market) && matchesFilter(in.Kind, r.Kind.String()) && span.Has(r.Ts) &&
					(in.RoundNumber == nil || r.Number != 0 && matchesRound(in.RoundNumber, r.Number)) && (in.OrderID == nil || r.Order != 0 && r.Order == core.OrderID(*in.OrderID))
			},
			// An order has no row from before its own command, whose seq is its id.
			past: func(r *view.LedgerRow) bool {
				return r.Ts < span.From || in.OrderID != nil && r.Seq < uint64(*in.OrderID)
			},
			show: LedgerRowOf, at: func(r *view.LedgerRow) uint64 { return r.N },
			mirror: func(ctx context.Context, below uint64, limit int) ([]*view.LedgerRow, error) {
				rows, err := v.History.Ledger(ctx, caller.User, below, limit, history.LedgerFilter{
					Span: span, Market: marketFilter(in.MarketID), Kinds: namesOf(in.Kind), Round: (*uint64)(in.RoundNumber), Order: (*core.OrderID)(in.OrderID),
				})
				return pointers(rows), err
			},
		}
		out.Ledger, out.PageEnd, err = l.page(ctx, v, caller, "ledger", in)
		return out, err
	},
}

// LedgerRowOf converts a row of the ledger.
func LedgerRowOf(r *view.LedgerRow) schemas.LedgerRow {
	out := schemas.LedgerRow{
		N: schemas.U64(r.N), Seq: schemas.U64(r.Seq), Ts: ns(r.Ts), Kind: r.Kind.String(), Amount: schemas.Signed(r.Amount), AmountUSD: schemas.SignedUSD(r.Amount),
		BalanceAfter: pips(r.BalanceAfter), Ref: r.Ref,
	}
	if r.Market != 0 {
		out.MarketID, out.Generation = schemas.Ptr(uint32(r.Market)), schemas.Ptr(r.Generation)
		out.RoundNumber, out.Category = schemas.Ptr(schemas.U64(r.Number)), schemas.Ptr(r.Category)
	}
	if r.Order != 0 {
		out.OrderID = schemas.Ptr(schemas.U64(r.Order))
	}
	if r.FillN != 0 {
		out.FillN = schemas.Ptr(schemas.U64(r.FillN))
	}
	return out
}

var ListPortfolioRounds = &Op[schemas.ListPortfolioRounds, schemas.AccountRoundList]{
	Spec: Spec{
		Name: "list_portfolio_rounds", Title: "Your rounds", Method: "GET", Path: "/v1/portfolio/rounds", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "What you traded and made in each round, newest first, live rounds included.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListPortfolioRounds) (out schemas.AccountRoundList, err error) {
		l := deepList[view.AccountRound, schemas.AccountRound]{
			memory: func(_ *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, view.AccountRound], view.Released, error) {
				walk := func(from uint64) iter.Seq2[uint64, view.AccountRound] { return w.AccountRounds(caller.User, from) }
				return walk, w.AccountRoundsReleased(caller.User), nil
			},
			keep: func(x view.AccountRound) bool {
				return (in.Category == nil || *in.Category == schemas.Int(x.Category)) && matchesRound(in.RoundNumber, x.Number)
			},
			past: func(x view.AccountRound) bool { return in.RoundNumber != nil && x.Number < uint64(*in.RoundNumber) },
			show: func(x view.AccountRound) schemas.AccountRound { return AccountRoundOf(&x) },
			at:   func(x view.AccountRound) uint64 { return x.Number },
			mirror: func(ctx context.Context, below uint64, limit int) ([]view.AccountRound, error) {
				return v.History.AccountRounds(ctx, caller.User, below, limit, history.AccountRoundFilter{Category: categoryFilter(in.Category), Number: (*uint64)(in.RoundNumber)})
			},
		}
		out.Rounds, out.PageEnd, err = l.page(ctx, v, caller, "portfolio_rounds", in)
		return out, err
	},
}

// AccountRoundOf converts an account's round.
func AccountRoundOf(x *view.AccountRound) schemas.AccountRound {
	out := schemas.AccountRound{
		RoundNumber: schemas.U64(x.Number), MarketID: uint32(x.Market), Generation: x.Generation, Category: x.Category, Status: x.Status.String(),
		BoughtYes: int64(x.Bought[core.Yes]), BoughtNo: int64(x.Bought[core.No]), SoldYes: int64(x.Sold[core.Yes]), SoldNo: int64(x.Sold[core.No]), Redeemed: int64(x.Redeemed),
		Paid: pips(x.Paid), Received: pips(x.Received), Fees: pips(x.Fees), Payout: pips(x.Payout),
	}
	if profit, final := x.Profit(); final {
		out.Winner = winner(x.Winner)
		out.Profit, out.ProfitUSD = schemas.Ptr(schemas.Signed(profit)), schemas.Ptr(schemas.SignedUSD(profit))
	}
	return out
}

var ListDeposits = &Op[schemas.ListDeposits, schemas.DepositList]{
	Spec: Spec{
		Name: "list_deposits", Title: "Your deposits", Method: "GET", Path: "/v1/deposits", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Your deposits, newest first. Other changes of cash: list_ledger.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListDeposits) (out schemas.DepositList, err error) {
		span := spanOf(in.TimeRange)
		l := deepList[*view.Deposit, schemas.DepositRow]{
			memory: func(_ *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.Deposit], view.Released, error) {
				return func(from uint64) iter.Seq2[uint64, *view.Deposit] { return w.Deposits(caller.User, from) }, w.DepositsReleased(caller.User), nil
			},
			keep: func(d *view.Deposit) bool { return span.Has(d.Ts) },
			past: func(d *view.Deposit) bool { return d.Ts < span.From },
			show: DepositOf, at: func(d *view.Deposit) uint64 { return d.Seq },
			mirror: func(ctx context.Context, below uint64, limit int) (out []*view.Deposit, _ error) { // a deposit is a row of the ledger
				rows, err := v.History.Ledger(ctx, caller.User, 0, limit, history.LedgerFilter{Span: span, Kinds: []string{view.LedgerDeposit.String()}, BelowSeq: below})
				for i := range rows {
					out = append(out, &view.Deposit{ID: rows[i].Ref, Amount: rows[i].Amount, Seq: rows[i].Seq, Ts: rows[i].Ts})
				}
				if cut := (*history.Cut)(nil); errors.As(err, &cut) {
					err = &history.Cut{Below: cut.Seq} // the position of a deposit is its seq
				}
				return out, err
			},
		}
		out.Deposits, out.PageEnd, err = l.page(ctx, v, caller, "deposits", in)
		return out, err
	},
}

// DepositOf converts a deposit.
func DepositOf(d *view.Deposit) schemas.DepositRow {
	return schemas.DepositRow{DepositID: d.ID, Amount: pips(d.Amount), Seq: schemas.U64(d.Seq), Ts: ns(d.Ts)}
}
