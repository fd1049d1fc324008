package trading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Forecast is `dx forecast`, which submits a forecast.
type Forecast struct {
	cli.ClientFlags
	Percent  string     `arg:"" help:"Probability of YES in percent, with up to two decimals, such as 62 or 62.5%. Below 1 it needs the %, as in 0.5%, since 0.5 could mean 50%."`
	Series   SeriesFlag `help:"Of the live round of this series, such as btc-15m." xor:"market" predictor:"series" placeholder:"NAME"`
	MarketID uint32     `help:"Of the round that trades in this market slot; see dx markets." xor:"market" placeholder:"ID"`
	JSON     bool       `help:"Print the venue's answer as JSON, also on a terminal."`
}

func (f *Forecast) Help() string {
	return `Records what you expect, before anybody knows how the round ends. It trades nothing. Your last forecast of a round counts; dx forecasts shows the scores.

Examples:
  dx forecast 62 --series btc-60s
  dx forecast 7.25% --market-id 1`
}

func (f *Forecast) Run(ctx context.Context, out io.Writer) error {
	if f.Series == "" && f.MarketID == 0 {
		return cli.BadFlag("series", errors.New("choose a market with --series, such as btc-15m, or with --market-id"))
	}
	p, err := parsePercent(f.Percent)
	if err != nil {
		return err
	}
	c, err := f.Client()
	if err != nil {
		return err
	}
	in, where := schemas.SubmitForecast{MarketID: schemas.Int(f.MarketID), P: schemas.Int(p)}, fmt.Sprintf("market %d", f.MarketID)
	if f.Series != "" {
		r, err := f.Series.liveRound(ctx, c)
		if err != nil {
			return err
		}
		in.MarketID, in.Generation, where = schemas.Int(r.MarketID), schemas.Int(r.Generation), string(f.Series)
	} else {
		m, err := c.Market(ctx, int(f.MarketID))
		if err != nil {
			return cli.Explain(err)
		}
		in.Generation = schemas.Int(m.Generation)
	}
	done, err := c.SubmitForecast(ctx, in)
	return printFor(out, f.JSON, done, func() string { return fmt.Sprintf("Forecast %s: YES in %s with %s.", done.N, where, percent(p)) }, err)
}

// parsePercent parses a percentage, such as 62 or 62.5%, to basis points, without rounding.
func parsePercent(text string) (int64, error) {
	p, err := cli.ParseDecimal(strings.TrimSuffix(text, "%"), 100)
	if err == nil && (p < 0 || p > 10_000) {
		err = errors.New("a probability is 0 to 100 percent")
	}
	if err == nil && p > 0 && p < 100 && !strings.HasSuffix(text, "%") {
		// 0.62 may mean 62 %: the same number is a probability of 0 to 1.
		err = fmt.Errorf("%s may mean %s or %s: write %d%% for %[3]s, or %[1]s%% for %[2]s", text, percentText(p), percentText(p*100), p)
	}
	if err != nil {
		return 0, cli.BadFlag("percent", err)
	}
	return p, nil
}

// percentText formats basis points for a sentence, such as 0.62 % and 62 %.
func percentText(p int64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%d.%02d", p/100, p%100), "0"), ".") + " %"
}

// percent formats basis points.
func percent(p int64) string { return fmt.Sprintf("%d.%02d%%", p/100, p%100) }

// Forecasts is `dx forecasts`, which lists the account's forecasts.
type Forecasts struct {
	rowFlags
}

func (f *Forecasts) Help() string {
	return `Lists your forecasts, newest first. YES is the probability that you gave it; BRIER is 0 for a forecast that was certain and right and 1 for one that was certain and wrong, and 0.25 for 50 %. Of several forecasts of a round the last one counts.

Examples:
  dx forecasts
  dx forecasts --series btc-60s --limit 100
  dx forecasts --json | jq -r '.forecasts[] | select(.counts) | [.round_number, .p, .brier] | @tsv'`
}

func (f *Forecasts) Run(ctx context.Context, out io.Writer) error {
	c, err := f.connect()
	if err != nil {
		return err
	}
	q := schemas.ListForecasts{MarketID: f.market(), Page: f.page()}
	list, err := c.Forecasts(ctx, q)
	if err != nil {
		return cli.Explain(err)
	}
	list.Forecasts, err = onlySeries(&f.rowFlags, list.Forecasts, &list.PageEnd, func(r *schemas.Forecast) uint16 { return r.Category }, func(cursor string) ([]schemas.Forecast, schemas.PageEnd, error) {
		q.Cursor = cursor
		l, err := c.Forecasts(ctx, q)
		return l.Forecasts, l.PageEnd, err
	})
	if err != nil || f.JSON {
		return cli.PrintResult(out, list, err)
	}
	return printForecasts(out, f.Zone, list.Forecasts, f.nothing("forecasts"))
}

func printForecasts(out io.Writer, zone cli.Zone, rows []schemas.Forecast, empty string) error {
	t := cli.NewTable(">N", zone.Column("TIME"), "SERIES", ">MARKET", ">ROUND", ">YES", "COUNTS", "WINNER", ">BRIER")
	for i := range rows {
		r := &rows[i]
		counts, winner, brier := "no", "-", "-"
		if r.Counts {
			counts = "yes"
		}
		if r.Winner != nil {
			winner = upper(*r.Winner)
		}
		if r.Brier != nil {
			brier = fmt.Sprintf("%d.%08d", *r.Brier/1e8, *r.Brier%1e8)
		}
		t.Row(cli.ID(r.N), zone.Format(r.Ts, time.DateTime), SeriesName(r.Category), cli.ID(r.MarketID), cli.ID(r.RoundNumber), percent(r.P), counts, winner, brier)
	}
	return t.Print(out, empty)
}
