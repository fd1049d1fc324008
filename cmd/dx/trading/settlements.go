package trading

import (
	"context"
	"io"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Settlements is `dx settlements`, which lists what finished rounds paid the account.
type Settlements struct{ rowFlags }

func (s *Settlements) Help() string {
	return `Lists what finished rounds paid, newest first. COST is what was paid for the contracts that were held to the end, fees included; PROFIT is the payout less that. dx rounds --mine has what was bought and sold in between.

Examples:
  dx settlements
  dx settlements --series btc-15m --limit 100
  dx settlements --json | jq -r '.settlements[] | [.round_number, .profit] | @tsv'`
}

func (s *Settlements) Run(ctx context.Context, out io.Writer) error {
	c, err := s.connect()
	if err != nil {
		return err
	}
	q := schemas.ListSettlements{Page: s.page()}
	if s.MarketID != nil { // the venue does not select by slot
		q.Limit = schemas.Ptr(schemas.Int(schemas.PageMax))
	}
	list, err := c.Settlements(ctx, q)
	if err != nil {
		return cli.Explain(err)
	}
	if s.Series != "" || s.MarketID != nil {
		keep := func(r *schemas.Settlement) bool {
			return (s.Series == "" || r.Category == s.Series.Category()) && (s.MarketID == nil || int64(r.MarketID) == *s.MarketID)
		}
		list.Settlements, err = keepRows(&s.rowFlags, list.Settlements, &list.PageEnd, keep, func(cursor string) ([]schemas.Settlement, schemas.PageEnd, error) {
			q.Cursor = cursor
			l, err := c.Settlements(ctx, q)
			return l.Settlements, l.PageEnd, err
		})
	}
	if err != nil || s.JSON {
		return cli.PrintResult(out, list, err)
	}
	return printSettlements(out, s.Zone, list.Settlements, s.nothing("settlements"))
}

func printSettlements(out io.Writer, zone cli.Zone, rows []schemas.Settlement, empty string) error {
	t := cli.NewTable(zone.Column("TIME"), "SERIES", ">MARKET", ">ROUND", "RESULT", ">YES", ">NO", ">PAYOUT", ">COST", ">PROFIT")
	for i := range rows {
		s := &rows[i]
		series, cost, profit := "-", "-", "-"
		if s.Category != 0 {
			series = SeriesName(s.Category)
		}
		if s.Cost != nil {
			cost = cli.FormatDollars(s.Cost.Int64())
		}
		if s.Profit != nil {
			profit = cli.FormatGain(int64(*s.Profit), cli.HasColor(out))
		}
		t.Row(zone.Format(s.Ts, time.DateTime), series, cli.ID(s.MarketID), cli.ID(s.RoundNumber), result(s.OutcomeStatus, s.Winner),
			s.YesQty, s.NoQty, cli.FormatDollars(s.Payout.Int64()), cost, profit)
	}
	return t.Print(out, empty)
}

// History is `dx history`, which lists the index of a feed.
type History struct {
	cli.ClientFlags
	cli.Zone
	Feed  cli.Feed `arg:"" optional:"" help:"BTC, gold or WTI." default:"BTC"`
	Step  int64    `help:"Seconds of a row, 1 to 3600." default:"60" within:"1,3600"`
	Limit int64    `help:"Number of rows, at most 1000." default:"20" within:"1,1000"`
	JSON  bool     `help:"Print the venue's answer as JSON."`
}

func (h *History) Help() string {
	return `Lists the index of a feed, newest first: its first, highest, lowest and last price in each step. SOURCES is how many fresh sources the last one had. dx ledger and dx fills list the account's own history.

Examples:
  dx history
  dx history gold --step 1 --limit 100
  dx history WTI --step 900 --json | jq -r '.rows[] | [.ts, .close] | @tsv'`
}

func (h *History) Run(ctx context.Context, out io.Writer) error {
	c, err := h.Client()
	if err != nil {
		return err
	}
	list, err := c.PriceHistory(ctx, schemas.GetPriceHistory{Feed: schemas.Int(h.Feed.Number()), Steps: schemas.Steps{StepSecs: schemas.Ptr(schemas.Int(h.Step))}, Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(h.Limit))}})
	if err != nil || h.JSON {
		return cli.PrintResult(out, list, err)
	}
	return printPrices(out, h.Zone, list.Rows)
}

func printPrices(out io.Writer, zone cli.Zone, rows []schemas.PriceRow) error {
	t := cli.NewTable(zone.Column("TIME"), ">OPEN", ">HIGH", ">LOW", ">CLOSE", ">SOURCES")
	for i := range rows {
		r := &rows[i]
		t.Row(zone.Format(r.Ts, time.DateTime), cli.FormatPrice(r.Open), cli.FormatPrice(r.High), cli.FormatPrice(r.Low), cli.FormatPrice(r.Close), r.Sources)
	}
	return t.Print(out, "No prices.")
}
