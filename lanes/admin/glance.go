package admin

import (
	"cmp"
	"context"
	"slices"
	"time"

	"duplex/core"
	"duplex/core/round"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// listFeeds returns every feed with its sources in one read.
func (l *lane) listFeeds(context.Context, *gate.Call, *schemas.None) (out schemas.AdminFeeds, err error) {
	now := l.Venue.Config.Now()
	ms := func(d time.Duration) *int64 { return schemas.Ptr(d.Milliseconds()) }
	out.Feeds = []schemas.AdminFeed{}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		rules := v.Rules()
		out.AsOfSeq = schemas.U64(v.Now().Seq)
		for f := range core.Feed(core.Feeds) {
			tick, ok, stale, open := v.Index(f)
			x := schemas.AdminFeed{Feed: int(f), Name: f.String(), Stale: stale, SessionOpen: open, LeastSources: int(rules.LeastSources(f)), Sources: []schemas.AdminSource{}}
			if ok {
				x.Price, x.AgeMs = schemas.Ptr(schemas.U64(tick.Price)), ms(time.Duration(max(0, now-tick.Second*core.NsPerSec)))
				x.SourceCount, x.Manual = int(tick.Count), tick.Manual
			}
			out.Feeds = append(out.Feeds, x)
		}
	})
	for _, s := range l.sources(time.Unix(0, now)) {
		x := schemas.AdminSource{Name: s.Source.Name, Status: s.Status(), Reconnects: s.Reconnects()}
		if s.Source.Price > 0 {
			x.Price, x.AgeMs = schemas.Ptr(schemas.U64(s.Source.Price)), ms(s.Age)
		}
		out.Feeds[s.Feed].Sources = append(out.Feeds[s.Feed].Sources, x)
	}
	return out, nil
}

// listMarkets returns every round that is not over in one read: first those that need a decision.
func (l *lane) listMarkets(context.Context, *gate.Call, *schemas.None) (out schemas.AdminMarkets, err error) {
	out.Markets = []schemas.AdminMarket{}
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		rules := v.Rules()
		out.AsOfSeq = schemas.U64(v.Now().Seq)
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok && !s.Status.Final() {
				out.Markets = append(out.Markets, marketAtAGlance(&s, &rules))
			}
		}
	})
	slices.SortStableFunc(out.Markets, func(a, b schemas.AdminMarket) int {
		switch {
		case a.NeedsDecision && !b.NeedsDecision:
			return -1
		case b.NeedsDecision && !a.NeedsDecision:
			return 1
		}
		return cmp.Compare(a.MarketID, b.MarketID)
	})
	return out, nil
}

func marketAtAGlance(s *venue.MarketState, rules *core.Rules) schemas.AdminMarket {
	series, _ := core.SeriesOf(s.Category)
	out := schemas.AdminMarket{
		MarketID: uint32(s.Market), RoundNumber: schemas.U64(s.Number), Category: s.Category, Series: tools.SeriesName(series), Status: s.Status.String(), Paused: s.Paused, Halted: s.Halted,
		Strike: schemas.U64(s.Strike), CloseTs: schemas.U64(s.CloseTs), OpenInterest: int64(s.Open), Volume: int64(s.Volume),
		NeedsDecision: s.Status == core.Frozen && !round.HasCoverage(&s.Round, rules),
	}
	if s.Status != core.Trading {
		out.SettlePrice = schemas.Ptr(schemas.U64(s.Settle))
	}
	if out.NeedsDecision {
		out.VoidTs = schemas.Ptr(schemas.U64(s.FreezeTs + rules.CoverageWaitNs))
	}
	return out
}
