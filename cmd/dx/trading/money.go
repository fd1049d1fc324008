package trading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// PnL is `dx pnl`, which prints the account's profit and loss.
type PnL struct {
	cli.ClientFlags
	JSON bool `help:"Print the venue's answer as JSON."`
}

func (p *PnL) Help() string {
	return `Money is in dollars. EQUITY is cash, reservations and contracts at MARK, their price now; it equals deposits, transfers, realized and unrealized profit and rebates together. OPEN COST is the most that the account can still lose. AVG COST and MARK are in cents a contract.

Examples:
  dx pnl
  dx pnl --profile bot
  dx pnl --json | jq -r .realized_today_usd`
}

func (p *PnL) Run(ctx context.Context, out io.Writer) error {
	c, err := p.Client()
	if err != nil {
		return err
	}
	l, err := c.PnL(ctx)
	if err != nil || p.JSON {
		return cli.PrintResult(out, l, err)
	}
	return printPnL(out, &l)
}

func printPnL(out io.Writer, l *schemas.PnL) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, x := range []struct {
		name string
		pips int64
	}{
		{"EQUITY", l.Equity.Int64()},
		{"REALIZED", int64(l.Realized)}, {"of it today", int64(l.RealizedToday)}, {"UNREALIZED", int64(l.Unrealized)}, {"REBATES", l.Rebates.Int64()},
		{"DEPOSITS less withdrawals", int64(l.DepositsNet)}, {"TRANSFERS in less out", int64(l.TransfersNet)},
		{"FEES paid", l.Fees.Int64()}, {"OPEN COST", l.OpenCost.Int64()},
	} {
		fmt.Fprintf(w, "%s\t%s\t\n", x.name, cli.FormatDollars(x.pips))
	}
	if err := w.Flush(); err != nil || len(l.Positions) == 0 {
		return err
	}
	fmt.Fprintln(out)
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SERIES\tMARKET\tOUTCOME\tQTY\tAVG COST\tMARK\tCOST\tVALUE\tUNREALIZED")
	for i := range l.Positions {
		x := &l.Positions[i]
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", SeriesName(x.Category), x.MarketID, x.Outcome, x.Qty, exactCents(x.AvgCost.Int64()), markPrice(x.Mark),
			cli.FormatDollars(x.Cost.Int64()), cli.FormatDollars(x.Value.Int64()), cli.FormatDollars(int64(x.Unrealized)))
	}
	return w.Flush()
}

// markPrice formats a mark price. A contract of a proposed round may be worth 0¢.
func markPrice(pips *int64) string {
	if pips == nil {
		return "-"
	}
	return exactCents(*pips)
}

// exactCents formats pips as cents with all of their digits.
func exactCents(pips int64) string {
	if pips%10 != 0 {
		return fmt.Sprintf("%d.%02d¢", pips/100, pips%100)
	}
	if pips == 0 {
		return "0¢"
	}
	return cents(pips)
}

// Ledger is `dx ledger`, which prints the changes of the account's money.
type Ledger struct {
	cli.ClientFlags
	Kind     string `help:"Only these kinds, such as fill,fee: fill, fee, rebate, referral, settlement, void, redeem, deposit, withdrawal, withdrawal_returned, transfer." placeholder:"KINDS"`
	MarketID *int64 `help:"Only changes in this market slot." placeholder:"ID"`
	Limit    int64  `help:"Number of rows, at most 1000." default:"20"`
	JSON     bool   `help:"Print the venue's answer as JSON."`
}

func (l *Ledger) Help() string {
	return `Every change of cash and reservations together, newest first, in dollars. BALANCE is their sum after it. REF is the order of a fill or its fee, and the id of a deposit, withdrawal or transfer.

Examples:
  dx ledger
  dx ledger --kind settlement,void --limit 100
  dx ledger --json | jq -r '.ledger[] | [.n, .kind, .amount_usd] | @tsv'`
}

func (l *Ledger) Run(ctx context.Context, out io.Writer) error {
	if l.Limit < 1 || l.Limit > schemas.PageMax {
		return cli.BadFlag("limit", errors.New("must be 1 to 1000"))
	}
	c, err := l.Client()
	if err != nil {
		return err
	}
	q := schemas.ListLedger{Kind: l.Kind, Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(l.Limit))}}
	if l.MarketID != nil {
		q.MarketID = schemas.Ptr(schemas.Int(*l.MarketID))
	}
	page, err := c.Ledger(ctx, q)
	if err != nil || l.JSON {
		return cli.PrintResult(out, page, err)
	}
	return printLedger(out, page.Ledger)
}

func printLedger(out io.Writer, rows []schemas.LedgerRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "N\tTIME (UTC)\tKIND\tAMOUNT\tBALANCE\tSERIES\tMARKET\tROUND\tREF")
	for i := range rows {
		r := &rows[i]
		series, market, round := "-", "-", "-"
		if r.MarketID != nil {
			series, market, round = SeriesName(*r.Category), fmt.Sprint(*r.MarketID), r.RoundNumber.String()
		}
		ref := cmp.Or(r.Ref, "-")
		if r.OrderID != nil {
			ref = r.OrderID.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.N, time.Unix(0, r.Ts.Int64()).UTC().Format(time.DateTime), r.Kind, cli.FormatDollars(int64(r.Amount)),
			cli.FormatDollars(r.BalanceAfter.Int64()), series, market, round, ref)
	}
	return w.Flush()
}
