package trading

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
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
	return `Money is in dollars. EQUITY is cash, reservations and contracts at MARK, their price now; it equals deposits, transfers, realized and unrealized profit and rebates together. OPEN COST is the most that the account can still lose. AVG COST and MARK are in cents a contract; IF IT WINS is the profit if the outcome wins.

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

// Balance is `dx balance`, which prints the account's money.
type Balance struct {
	cli.ClientFlags
	JSON bool `help:"Print the venue's answer as JSON."`
}

func (b *Balance) Help() string {
	return `FREE can be spent or withdrawn, RESERVED is held by resting buys. dx pnl shows what contracts are worth.

Examples:
  dx balance
  dx balance --json | jq -r .cash`
}

func (b *Balance) Run(ctx context.Context, out io.Writer) error {
	c, err := b.Client()
	if err != nil {
		return err
	}
	l, err := c.Balance(ctx)
	if err != nil || b.JSON {
		return cli.PrintResult(out, l, err)
	}
	return printBalance(out, &l)
}

func printBalance(out io.Writer, b *schemas.Balance) error {
	t := cli.NewTable(">FREE", ">RESERVED", ">TOTAL")
	t.Row(cli.FormatDollars(b.Cash.Int64()), cli.FormatDollars(b.Reserved.Int64()), cli.FormatDollars(b.Cash.Int64()+b.Reserved.Int64()))
	return t.Print(out, "")
}

// Positions is `dx positions`, which lists what the account holds.
type Positions struct {
	cli.ClientFlags
	Series   SeriesFlag `help:"Only this series, such as btc-15m." xor:"market" predictor:"series" placeholder:"NAME"`
	MarketID *int64     `help:"Only this market slot." xor:"market" placeholder:"ID"`
	JSON     bool       `help:"Print the positions of GET /v1/portfolio/pnl as JSON."`
}

func (p *Positions) Help() string {
	return `AVG COST, fees included, is in cents a contract, and is the price at which a sale breaks even before its own fee. MARK is the price now. IF IT WINS is the profit if the outcome wins; if it loses, the loss is COST.

Examples:
  dx positions
  dx positions --series btc-15m
  dx positions --json`
}

func (p *Positions) Run(ctx context.Context, out io.Writer) error {
	c, err := p.Client()
	if err != nil {
		return err
	}
	l, err := c.PnL(ctx)
	if err != nil {
		return cli.Explain(err)
	}
	l.Positions = slices.DeleteFunc(l.Positions, func(x schemas.PnLPosition) bool {
		return p.Series != "" && x.Category != p.Series.Category() || p.MarketID != nil && int64(x.MarketID) != *p.MarketID
	})
	if p.JSON {
		return cli.PrintResult(out, struct {
			Positions []schemas.PnLPosition `json:"positions"`
			schemas.AsOf
		}{l.Positions, l.AsOf}, nil)
	}
	f := rowFlags{Series: p.Series, MarketID: p.MarketID}
	return printPositions(out, l.Positions, f.nothing("positions"))
}

func printPositions(out io.Writer, positions []schemas.PnLPosition, empty string) error {
	t := cli.NewTable("SERIES", ">MARKET", ">ROUND", "OUTCOME", ">QTY", ">AVG COST", ">MARK", ">COST", ">VALUE", ">PROFIT", ">IF IT WINS")
	color := cli.HasColor(out)
	for i := range positions {
		x := &positions[i]
		t.Row(SeriesName(x.Category), cli.ID(x.MarketID), cli.ID(x.RoundNumber), upper(x.Outcome), x.Qty, cli.FormatCents(x.AvgCost.Int64()), markPrice(x.Mark),
			cli.FormatDollars(x.Cost.Int64()), cli.FormatDollars(x.Value.Int64()), cli.FormatGain(int64(x.Unrealized), color), cli.FormatDollars(x.Qty*10_000-x.Cost.Int64()))
	}
	return t.Print(out, empty)
}

func printPnL(out io.Writer, l *schemas.PnL) error {
	t := cli.NewTable(">", ">")
	for _, x := range []struct {
		name string
		pips int64
	}{
		{"EQUITY", l.Equity.Int64()},
		{"REALIZED", int64(l.Realized)}, {"of it today", int64(l.RealizedToday)}, {"UNREALIZED", int64(l.Unrealized)}, {"REBATES", l.Rebates.Int64()},
		{"DEPOSITS less withdrawals", int64(l.DepositsNet)}, {"TRANSFERS in less out", int64(l.TransfersNet)},
		{"FEES paid", l.Fees.Int64()}, {"OPEN COST", l.OpenCost.Int64()},
	} {
		t.Row(x.name, cli.FormatDollars(x.pips))
	}
	if err := t.PrintRows(out); err != nil || len(l.Positions) == 0 {
		return err
	}
	fmt.Fprintln(out)
	return printPositions(out, l.Positions, "")
}

// markPrice formats a mark price. A contract of a proposed round may be worth 0¢.
func markPrice(pips *int64) string {
	if pips == nil {
		return "-"
	}
	return cli.FormatCents(*pips)
}

// Ledger is `dx ledger`, which prints the changes of the account's money.
type Ledger struct {
	rowFlags
	Kind string `help:"Only these kinds, such as fill,fee: fill, fee, rebate, referral, settlement, void, redeem, deposit, withdrawal, withdrawal_returned, transfer." placeholder:"KINDS"`
}

func (l *Ledger) Help() string {
	return `Every change of cash and reservations together, newest first, in dollars. BALANCE is their sum after it. REF is the order of a fill or its fee, and the id of a deposit, withdrawal or transfer.

Examples:
  dx ledger
  dx ledger --kind settlement,void --limit 100
  dx ledger --series btc-15m
  dx ledger --json | jq -r '.ledger[] | [.n, .kind, .amount_usd] | @tsv'`
}

func (l *Ledger) Run(ctx context.Context, out io.Writer) error {
	c, err := l.connect()
	if err != nil {
		return err
	}
	q := schemas.ListLedger{Kind: l.Kind, MarketID: l.market(), Page: l.page()}
	list, err := c.Ledger(ctx, q)
	if err != nil {
		return cli.Explain(err)
	}
	category := func(r *schemas.LedgerRow) uint16 {
		if r.Category == nil {
			return 0
		}
		return *r.Category
	}
	list.Ledger, err = onlySeries(&l.rowFlags, list.Ledger, &list.PageEnd, category, func(cursor string) ([]schemas.LedgerRow, schemas.PageEnd, error) {
		q.Cursor = cursor
		l, err := c.Ledger(ctx, q)
		return l.Ledger, l.PageEnd, err
	})
	if err != nil || l.JSON {
		return cli.PrintResult(out, list, err)
	}
	return printLedger(out, l.Zone, list.Ledger, l.nothing("changes of money"))
}

func printLedger(out io.Writer, zone cli.Zone, rows []schemas.LedgerRow, empty string) error {
	t := cli.NewTable(">N", zone.Column("TIME"), "KIND", ">AMOUNT", ">BALANCE", "SERIES", ">MARKET", ">ROUND", "REF")
	color := cli.HasColor(out)
	for i := range rows {
		r := &rows[i]
		series, market, round := "-", "-", "-"
		if r.MarketID != nil {
			series, market, round = SeriesName(*r.Category), cli.ID(*r.MarketID), cli.ID(*r.RoundNumber)
		}
		ref := cmp.Or(r.Ref, "-")
		if r.OrderID != nil {
			ref = cli.ID(*r.OrderID)
		}
		t.Row(cli.ID(r.N), zone.Format(r.Ts, time.DateTime), r.Kind, cli.FormatGain(int64(r.Amount), color), cli.FormatDollars(r.BalanceAfter.Int64()), series, market, round, ref)
	}
	return t.Print(out, empty)
}
