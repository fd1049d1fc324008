package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// seriesNames name the nine by category (spec 1.4).
var seriesNames = [...]string{"-", "BTC 60s", "BTC 5m", "BTC 15m", "gold 60s", "gold 5m", "gold 15m", "WTI 60s", "WTI 5m", "WTI 15m"}

func series(category uint16) string {
	if int(category) >= len(seriesNames) {
		return fmt.Sprintf("#%d", category)
	}
	return seriesNames[category]
}

// marketsCmd is `dx markets`.
type marketsCmd struct {
	connect
	All  bool `help:"Also those that do not trade."`
	JSON bool `help:"Print JSON."`
}

func (m *marketsCmd) Help() string {
	return `YES wins if the price at the end, a mean of the last seconds, is above STRIKE; PRICE is where it stands. Prices are in cents, and a contract pays 100 or nothing.

Examples:
  dx markets
  dx markets --all
  dx markets --json | jq '.markets[].market_id'`
}

func (m *marketsCmd) Run(ctx context.Context, out io.Writer) error {
	c, err := m.client()
	if err != nil {
		return err
	}
	q := schemas.ListMarkets{Status: "trading"}
	if m.All {
		q.Status = ""
	}
	l, err := c.Markets(ctx, q)
	if err != nil || m.JSON {
		return show(out, l, err)
	}
	prices := map[uint16]string{}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MARKET\tSERIES\tSTATUS\tSTRIKE\tPRICE\tYES BID\tYES ASK\tLAST\tVOLUME\tCLOSES IN")
	for i := range l.Markets {
		k := &l.Markets[i]
		r, err := c.Round(ctx, int(k.MarketID))
		if err != nil {
			return explain(err)
		}
		at, err := priceOf(ctx, c, r.Category, prices)
		if err != nil {
			return explain(err)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.MarketID, series(r.Category), status(k), price(r.Strike), at,
			cents(k.YesBid), cents(k.YesAsk), cents(k.LastTickYes), k.Volume, closesIn(k, c.Now()))
	}
	return w.Flush()
}

// priceOf reads the oracle price under a series, once a feed.
func priceOf(ctx context.Context, c *client.Client, category uint16, known map[uint16]string) (string, error) {
	if category < 1 || int(category) >= len(seriesNames) {
		return "-", nil
	}
	feed := (category - 1) / 3
	if at, ok := known[feed]; ok {
		return at, nil
	}
	p, err := c.OraclePrice(ctx, int(feed))
	if err != nil {
		return "", err
	}
	known[feed] = "-"
	if p.Price > 0 {
		known[feed] = price(p.Price)
	}
	return known[feed], nil
}

func status(k *schemas.Market) string {
	if k.Paused {
		return k.Status + " (paused)"
	}
	return k.Status
}

func closesIn(k *schemas.Market, now time.Time) string {
	if k.Status != "trading" {
		return "-"
	}
	return max(0, time.Unix(0, k.CloseTs.Int64()).Sub(now)).Round(time.Second).String()
}

// cents shows pips as cents; none as a dash.
func cents(pips int64) string {
	switch {
	case pips == 0:
		return "-"
	case pips%100 == 0:
		return fmt.Sprintf("%d¢", pips/100)
	default:
		return fmt.Sprintf("%d.%d¢", pips/100, pips%100/10)
	}
}

// price shows an oracle price with two places.
func price(p schemas.U64) string { return fmt.Sprintf("%d.%02d", p/100_000_000, p/1_000_000%100) }

// bookCmd is `dx book`.
type bookCmd struct {
	connect
	MarketID uint32 `arg:"" help:"Market slot."`
	Depth    int    `help:"Levels a side." default:"10"`
	JSON     bool   `help:"Print JSON."`
}

func (b *bookCmd) Help() string {
	return `YES asks above the line, YES bids below, in cents. Whoever bids for NO at 40 offers YES at 60: that is where the asks come from.

Examples:
  dx book 3
  dx book 3 --depth 1 --json`
}

func (b *bookCmd) Run(ctx context.Context, out io.Writer) error {
	c, err := b.client()
	if err != nil {
		return err
	}
	o, err := c.Orderbook(ctx, schemas.GetOrderbook{MarketID: schemas.Int(b.MarketID), Depth: schemas.Of(schemas.Int(b.Depth))})
	if err != nil || b.JSON {
		return show(out, o, err)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "market %d, generation %d, seq %s\n", o.MarketID, o.Generation, o.AsOfSeq)
	fmt.Fprintln(w, "YES\tQTY\t= NO BID\t")
	for i := len(o.No) - 1; i >= 0; i-- { // the YES ask is 10000 minus the NO bid
		fmt.Fprintf(w, "%s\t%d\t%s\t\n", cents(10000-o.No[i][0]), o.No[i][1], cents(o.No[i][0]))
	}
	fmt.Fprintln(w, "---\t---\t---\t")
	for _, l := range o.Yes {
		fmt.Fprintf(w, "%s\t%d\t\t\n", cents(l[0]), l[1])
	}
	return w.Flush()
}
