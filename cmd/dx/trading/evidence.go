package trading

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/feed"
	"duplex/schemas"
)

// Evidence is `dx evidence ROUND`, which recomputes a settlement
// (docs/rules/rounds.md#settle-price).
type Evidence struct {
	cli.ClientFlags
	cli.Zone
	Round  uint64     `arg:"" optional:"" help:"round_number; dx rounds lists them."`
	Series SeriesFlag `help:"The newest round of this series that has settled, instead of a round, such as btc-60s." predictor:"series" placeholder:"NAME"`
	File   string     `help:"Check evidence that --json has saved, without a venue." type:"existingfile"`
	JSON   bool       `help:"Print the evidence as JSON."`
	Ticks  bool       `help:"Also print the ticks."`
}

func (e *Evidence) Help() string {
	return `Recomputes the winner of a round, second by second, from the index ticks that the venue keeps with it, and compares the result with the settlement. Exits with code 1 if they differ.

Examples:
  dx evidence 12
  dx evidence 12 --ticks
  dx evidence --series btc-60s
  dx evidence 12 --json > round-12.json && dx evidence --file round-12.json`
}

func (e *Evidence) Run(ctx context.Context, out io.Writer) error {
	ev, err := e.read(ctx)
	if err != nil || e.JSON {
		return cli.PrintResult(out, ev, err)
	}
	if e.Ticks {
		if err := listTicks(out, &ev); err != nil {
			return err
		}
	}
	return checkEvidence(out, e.Zone, &ev)
}

func (e *Evidence) read(ctx context.Context) (ev schemas.Evidence, err error) {
	switch {
	case e.File != "" && (e.Round != 0 || e.Series != "") || e.Round != 0 && e.Series != "" || e.File == "" && e.Round == 0 && e.Series == "":
		return ev, cli.BadFlag("file", errors.New("give a round, --series or --file"))
	case e.File != "":
		b, err := os.ReadFile(e.File)
		if err == nil {
			err = json.Unmarshal(b, &ev)
		}
		return ev, err
	}
	c, err := e.Client()
	if err != nil {
		return ev, err
	}
	number := schemas.U64(e.Round)
	if e.Series != "" {
		if number, err = lastSettled(ctx, c, e.Series); err != nil {
			return ev, err
		}
	}
	market, err := marketOfRound(ctx, c, number)
	if err != nil {
		return ev, err
	}
	ev, err = c.Evidence(ctx, schemas.GetEvidence{MarketID: schemas.Int(market), RoundNumber: number})
	return ev, err
}

// lastSettled returns the newest settled round of a series.
func lastSettled(ctx context.Context, c *client.Client, series SeriesFlag) (schemas.U64, error) {
	for r, err := range c.AllRounds(ctx, schemas.ListRounds{Category: schemas.Ptr(schemas.Int(series.Category()))}) {
		if err != nil {
			return 0, err
		}
		if r.Status == "settled" {
			return r.RoundNumber, nil
		}
	}
	return 0, fmt.Errorf("no round of %s has settled yet", series)
}

// marketOfRound returns the market slot of a round.
func marketOfRound(ctx context.Context, c *client.Client, number schemas.U64) (uint32, error) {
	for r, err := range c.AllRounds(ctx, schemas.ListRounds{}) {
		if err != nil {
			return 0, err
		}
		if r.RoundNumber == number {
			return r.MarketID, nil
		}
		if r.RoundNumber < number {
			break
		}
	}
	return 0, fmt.Errorf("round %d: the venue has no such round", number)
}

func listTicks(out io.Writer, ev *schemas.Evidence) error {
	t := cli.NewTable(">SECOND", ">INDEX", ">COUNTS", "SOURCES")
	for _, tick := range slices.Backward(ev.Ticks) {
		var sources []string
		for _, s := range tick.Sources {
			sources = append(sources, s.Source+" "+cli.FormatPrice(s.Price))
		}
		t.Row(cli.ID(tick.Ts/1e9), cli.FormatPrice(tick.Price), fmt.Sprintf("%d s", tick.CountedSecs), strings.Join(sources, " "))
	}
	return t.Print(out, "No index ticks.")
}

// checkEvidence recomputes the settlement from the ticks, prints each step, and returns an
// error if the venue says otherwise.
func checkEvidence(out io.Writer, zone cli.Zone, ev *schemas.Evidence) error {
	sum, covered := referenceTWAP(ev)
	twap := new(big.Int)
	if covered > 0 {
		twap.Quo(sum, big.NewInt(covered))
	}
	say := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	say("round %d, %s, market %d: %s", ev.RoundNumber, SeriesName(ev.Category), ev.MarketID, ev.Status)
	say("strike   %s", cli.FormatPrice(ev.Strike))
	if ev.Status == "trading" {
		say("open     its window is the %d s before %s %s", ev.TwapWindowSecs, zone.Format(ev.BoundaryTs, time.TimeOnly), zone)
		return nil
	}
	say("window   %d s before %s %s: %d s have a price, %d needed, %d fresh sources at the end", ev.TwapWindowSecs, zone.Format(ev.BoundaryTs, time.DateTime), zone, covered, ev.RequiredSecs, ev.FreshSourceCountAtFreeze)
	say("mean     floor(%s / %d) = %s", sum, covered, twap)
	wrong := mismatches(ev, sum, covered, twap)
	if ev.Winner != nil {
		say("settled  %s, so %s wins", cli.FormatPrice(ev.SettlePrice), *ev.Winner)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the evidence does not agree: %w", errors.Join(wrong...))
	}
	say("agrees")
	return nil
}

// mismatches returns an error for each statement of the venue that the ticks contradict.
func mismatches(ev *schemas.Evidence, sum *big.Int, covered int64, twap *big.Int) (wrong []error) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	check(ev.StrikeTick != nil && ev.StrikeTick.Price == ev.Strike, "the strike is not the price of its tick")
	for _, t := range ev.Ticks {
		check(isMedianOfSources(&t), "the index at %d is not the median of its sources", t.Ts/1e9)
	}
	check(ev.WeightedSum == sum.String() && ev.CoveredSecs == covered && ev.Twap.String() == twap.String(), "the venue's mean is %s over %d s", ev.Twap, ev.CoveredSecs)
	decided := ev.Status == "proposed" || ev.Status == "settled"
	has := "a winner"
	if ev.Winner == nil {
		has = "no winner"
	}
	check(decided == (ev.Winner != nil), "a round with status %s has %s", ev.Status, has)
	if !decided {
		return wrong
	}
	if !ev.ByOperator {
		check(ev.SettlePrice.String() == twap.String(), "the settle price is %s", cli.FormatPrice(ev.SettlePrice))
		check(covered >= ev.RequiredSecs && ev.FreshSourceCountAtFreeze > 0, "it settled without coverage")
	}
	check(ev.Winner != nil && (*ev.Winner == "yes") == (ev.SettlePrice > ev.Strike), "the winner is the other outcome")
	return wrong
}

// isMedianOfSources reports whether a tick is the median of the prices of its sources.
func isMedianOfSources(t *schemas.EvidenceTick) bool {
	var prices []core.Price
	for _, s := range t.Sources {
		prices = append(prices, core.Price(s.Price))
	}
	return len(prices) == 0 || core.Price(t.Price) == feed.Median(prices)
}

// referenceTWAP returns the sum of the prices of the seconds in the window, and how many
// seconds have one. A second has the price of the newest tick that is at most 5 s old
// (docs/rules/rounds.md#settle-price). It shares no code with the venue.
func referenceTWAP(ev *schemas.Evidence) (sum *big.Int, covered int64) {
	ticks := slices.Clone(ev.Ticks)
	slices.SortFunc(ticks, func(a, b schemas.EvidenceTick) int { return cmp.Compare(a.Ts, b.Ts) })
	sum = new(big.Int)
	boundary := int64(ev.BoundaryTs / 1e9)
	for s := boundary - ev.TwapWindowSecs; s < boundary; s++ {
		at, found := slices.BinarySearchFunc(ticks, s, func(t schemas.EvidenceTick, s int64) int { return cmp.Compare(int64(t.Ts/1e9), s) })
		if !found {
			at--
		}
		if at < 0 || s-int64(ticks[at].Ts/1e9) > feed.CarrySecs {
			continue
		}
		sum.Add(sum, new(big.Int).SetUint64(uint64(ticks[at].Price)))
		covered++
	}
	return sum, covered
}
