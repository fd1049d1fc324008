package trading

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// Markets is `dx markets`, which lists the markets by series.
type Markets struct {
	cli.ClientFlags
	Series SeriesFlag `help:"Only the markets of this series, such as btc-15m." predictor:"series" placeholder:"NAME"`
	All    bool       `help:"Also list markets that do not trade now."`
	JSON   bool       `help:"Print the venue's answer as JSON."`
}

func (m *Markets) Help() string {
	return `YES wins if the mean price over the last seconds of the round is above STRIKE; PRICE is the price now. YES BID, YES ASK and LAST are in cents: a contract pays 100 if its outcome wins, and nothing if not. A series without a live market shows when its next round opens.

The rows are sorted by series. With --series and --json, only the markets of the series are printed.

Examples:
  dx markets
  dx markets --series btc-60s
  dx markets --all
  dx markets --json | jq '.markets[].market_id'`
}

func (m *Markets) Run(ctx context.Context, out io.Writer) error {
	c, err := m.Client()
	if err != nil {
		return err
	}
	q := schemas.ListMarkets{Status: "trading"}
	if m.All {
		q.Status = ""
	}
	l, err := c.Markets(ctx, q)
	if err != nil || m.JSON && m.Series == "" {
		return cli.PrintResult(out, l, err)
	}
	t, err := readMarketTable(ctx, c, l.Markets)
	if err != nil {
		return cli.Explain(err)
	}
	if m.JSON {
		l.Markets = slices.DeleteFunc(l.Markets, func(k schemas.Market) bool {
			return !slices.ContainsFunc(t.markets, func(r marketRow) bool { return r.MarketID == k.MarketID && r.round.Category == m.Series.Category() })
		})
		return cli.PrintResult(out, l, nil)
	}
	return t.print(out, m.Series)
}

// marketTable is the output of `dx markets`: the given markets by series, and a row for each
// series without a live market.
type marketTable struct {
	openings
	markets []marketRow
	last    map[uint16]int64 // by category: the time, in ns, when the newest round opened
}

type marketRow struct {
	schemas.Market
	round schemas.Round
}

const recentRounds = 200 // more than open in an hour

func readMarketTable(ctx context.Context, c *client.Client, markets []schemas.Market) (t marketTable, err error) {
	if t.openings, err = readOpenings(ctx, c); err != nil {
		return t, err
	}
	l, err := c.Rounds(ctx, schemas.ListRounds{Page: schemas.Page{Limit: schemas.Ptr(schemas.Int(recentRounds))}})
	if err != nil {
		return t, err
	}
	t.last = map[uint16]int64{}
	recent := map[schemas.U64]schemas.Round{}
	for _, r := range l.Rounds { // newest first
		recent[r.RoundNumber] = r
		t.last[r.Category] = max(t.last[r.Category], r.OpenTs.Int64())
	}
	for _, k := range markets {
		r, ok := recent[k.RoundNumber]
		if !ok {
			read, err := c.Round(ctx, int(k.MarketID))
			if err != nil {
				return t, err
			}
			r = read.Round
		}
		t.markets = append(t.markets, marketRow{k, r})
	}
	slices.SortFunc(t.markets, func(a, b marketRow) int {
		return cmp.Or(cmp.Compare(a.round.Category, b.round.Category), cmp.Compare(b.round.RoundNumber, a.round.RoundNumber))
	})
	return t, nil
}

// print prints the rows of all series, or of one.
func (t *marketTable) print(out io.Writer, only SeriesFlag) error {
	live := 0
	for i := range t.markets {
		if t.markets[i].Status == "trading" {
			live++
		}
	}
	if live == 0 {
		fmt.Fprint(out, "No market trades now. Each series shows when its next round opens.\n\n")
	}
	table := cli.NewTable("SERIES", ">MARKET", "STATUS", ">STRIKE", ">PRICE", ">YES BID", ">YES ASK", ">LAST", ">VOLUME", ">CLOSES IN")
	for _, s := range core.AllSeries() {
		if only != "" && only.Category() != s.Category {
			continue
		}
		at, trades := "-", false
		if p := t.prices[s.Feed].Price; p > 0 {
			at = cli.FormatPrice(p)
		}
		for i := range t.markets {
			k, r := &t.markets[i].Market, &t.markets[i].round
			if r.Category != s.Category {
				continue
			}
			trades = trades || k.Status == "trading"
			table.Row(tools.SeriesName(s), cli.ID(k.MarketID), status(k), cli.FormatPrice(r.Strike), at, Cents(k.YesBid), Cents(k.YesAsk), Cents(k.LastTickYes), k.Volume, closesIn(k, t.now))
		}
		if !trades {
			table.Row(tools.SeriesName(s), "-", t.next(s, t.last[s.Category]).status(), "-", at, "-", "-", "-", "-", "-")
		}
	}
	return table.Print(out, "")
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
	return seconds(time.Unix(0, k.CloseTs.Int64()).Sub(now))
}

// Cents formats a price in pips as cents, exactly. It formats 0, which means no price, as a dash.
func Cents(pips int64) string {
	if pips == 0 {
		return "-"
	}
	return cli.FormatCents(pips)
}
