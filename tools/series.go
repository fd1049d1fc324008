package tools

import (
	"context"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ListSeries = &Op[schemas.ListSeries, schemas.SeriesList]{
	Spec: Spec{
		Name: "list_series", Title: "List series", Method: "GET", Path: "/v1/series", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"},
		Doc: "Start here: the live market of each series with strike, index, seconds to close, YES bid and ask, and last results.",
	},
	Do: func(_ context.Context, v *Venue, _ Caller, in *schemas.ListSeries) (out schemas.SeriesList, _ error) {
		var volatility [core.Feeds]func() *string
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			out = seriesOf(m, w, in.Category)
			for _, s := range out.Series {
				if f := core.Feed(s.Feed); volatility[f] == nil {
					volatility[f] = v.volatility.of(m, w, f)
				}
			}
		})
		out.VolatilityOver = volatilityWindow
		for i, s := range out.Series {
			out.Series[i].Volatility = volatility[s.Feed]()
		}
		return out, nil
	},
}

// lastRounds is the number of final rounds that a series shows.
const lastRounds = 3

// seriesOf returns the series, or the one of a category (docs/rules/rounds.md#what-a-series-shows).
func seriesOf(m *venue.Venue, w *view.View, category *schemas.Int) schemas.SeriesList {
	out := schemas.SeriesList{AsOf: asOf(m)}
	var at [core.SeriesCount + 1]*schemas.Series // by category
	all := core.AllSeries()
	out.Series = make([]schemas.Series, 0, len(all)) // at points into it
	for _, s := range all {
		if category != nil && *category != schemas.Int(s.Category) {
			continue
		}
		out.Series = append(out.Series, schemas.Series{
			Category: s.Category, Name: SeriesName(s), Asset: s.Feed.String(), CadenceSecs: s.Cadence * 60, TwapWindowSecs: s.Window,
			Feed: uint8(s.Feed), Last: []schemas.FinalRound{},
		})
		x := &out.Series[len(out.Series)-1]
		if t, ok, _, _ := m.Index(s.Feed); ok {
			x.Index, x.IndexDecimal = schemas.U64(t.Price), schemas.Decimal(t.Price)
		}
		at[s.Category] = x
	}
	for _, s := range slots(m, 0) {
		if s.Status == core.Trading && int(s.Category) < len(at) && at[s.Category] != nil {
			at[s.Category].Live = liveRound(m, &s)
		}
	}
	addLastRounds(w, &at)
	return out
}

// addLastRounds adds the last final rounds of the series in at. It ends as soon as no series
// can have another one.
func addLastRounds(w *view.View, at *[core.SeriesCount + 1]*schemas.Series) {
	var unread [core.SeriesCount + 1]int // rounds of a series that may be needed
	open := 0
	for c, x := range at {
		if x != nil && w.RoundCount(uint16(c)) > 0 {
			unread[c] = w.RoundCount(uint16(c))
			open++
		}
	}
	for r := range w.Rounds(0) {
		if open == 0 {
			return
		}
		if int(r.Category) >= len(at) || unread[r.Category] == 0 {
			continue
		}
		x := at[r.Category]
		if r.Status == core.Settled || r.Status == core.Void {
			shown := RoundOf(&r.Round, 0)
			x.Last = append(x.Last, schemas.FinalRound{RoundNumber: shown.RoundNumber, Winner: shown.Winner, Strike: shown.Strike, SettlePrice: shown.SettlePrice})
		}
		if unread[r.Category]--; len(x.Last) == lastRounds || unread[r.Category] == 0 {
			unread[r.Category] = 0
			open--
		}
	}
}

func liveRound(m *venue.Venue, s *venue.MarketState) *schemas.LiveRound {
	out := &schemas.LiveRound{
		MarketID: uint32(s.Market), Generation: s.Generation, RoundNumber: schemas.U64(s.Number), Strike: schemas.U64(s.Strike), StrikeDecimal: schemas.Decimal(s.Strike),
		CloseTs: ns(s.CloseTs), SecsToClose: secsToClose(&s.Round, m.Now().Ts), Paused: s.Paused,
	}
	bid, _ := s.BestLevel(true)
	ask, _ := s.BestLevel(false)
	out.YesBid, out.YesAsk = int64(bid), int64(ask)
	return out
}

// SeriesName returns the name of a series, its feed and cadence: btc-60s, gold-5m, wti-15m.
func SeriesName(s core.Series) string {
	return strings.ToLower(strings.ReplaceAll(s.String(), " ", "-"))
}
