package tools

import (
	"cmp"
	"context"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var GetTime = &Op[schemas.None, schemas.Time]{
	Spec: Spec{Name: "get_time", Title: "The venue's clock", Method: "GET", Path: "/v1/time", Scope: core.ScopeRead, Doc: "The clocks, in ns. Offset = server_time − (t0 + t1) / 2 with your times of sending and receiving. Rounds go by venue_time, which is server_time unless clock is virtual."},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.None) (schemas.Time, error) {
		return v.time(), nil
	},
}

// time returns both clocks, which are one on an ordinary venue.
func (v *Venue) time() schemas.Time {
	if v.Config.WallClock == nil {
		now := ns(v.Config.Now())
		return schemas.Time{ServerTime: now, Clock: clockWall, VenueTime: now}
	}
	return schemas.Time{ServerTime: ns(int64(v.Config.Wall())), Clock: clockVirtual, VenueTime: ns(v.Config.Now())}
}

var GetStatus = &Op[schemas.MinSeqOnly, schemas.Status]{
	Spec: Spec{Name: "get_status", Title: "Exchange status", Method: "GET", Path: "/v1/exchange/status", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"}, Doc: "exchange_active is always true in v1: the freeze and settlement of each round is the operational pause."},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.MinSeqOnly) (out schemas.Status, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out = schemas.Status{ExchangeActive: true, AsOf: asOf(m)} })
		return out, nil
	},
}

var GetRetention = &Op[schemas.None, schemas.Retention]{
	Spec: Spec{Name: "get_retention", Title: "Retention caps", Method: "GET", Path: "/v1/exchange/retention", Scope: core.ScopeRead, Doc: "How many trades a market keeps, and how many rows of each list an account keeps. Resting orders are always kept."},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.None) (schemas.Retention, error) {
		return v.retention(), nil
	},
}

// retention returns what memory keeps, and what the mirror holds if there is one.
func (v *Venue) retention() (out schemas.Retention) {
	v.Engine.Read(func(_ *venue.Venue, w *view.View) {
		c := w.Caps()
		out = schemas.Retention{
			TapeCap: int64(c.Tape), TerminalCap: int64(c.Terminal), RejectCap: int64(c.Rejects), FillCap: int64(c.Fills),
			LedgerCap: int64(c.Ledger), PortfolioRoundsCap: int64(c.AccountRounds), DepositsCap: int64(c.Deposits), ForecastCap: int64(c.Forecasts), EventCap: int64(c.Events),
		}
	})
	if v.History != nil {
		out.History = &schemas.HistorySpan{} // until the database is open, nothing is known to be there
		if since, ok := v.History.Since(); ok {
			at, _ := v.History.Written()
			*out.History = schemas.HistorySpan{SinceSeq: schemas.U64(since), AsOf: schemas.AsOf{AsOfSeq: schemas.U64(at)}}
		}
	}
	return out
}

var GetSchedule = &Op[schemas.None, schemas.Schedule]{
	Spec: Spec{Name: "get_schedule", Title: "Schedule", Method: "GET", Path: "/v1/exchange/schedule", Scope: core.ScopeRead, Doc: "Planned maintenance and the next session boundaries of " + core.FeedNames(core.FeedsWithSessions()) + ": session_open, session_close, holiday (a close that a holiday causes), and calendar_end, from which on no session is known and all stay closed."},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.None) (out schemas.Schedule, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out = v.schedule(m.Windows()) })
		return out, nil
	},
}

// schedule returns the operator's windows and the coming session boundaries, by start.
func (v *Venue) schedule(planned []core.Window) schemas.Schedule {
	windows := slices.Clone(planned)
	if v.Sessions != nil {
		windows = append(windows, v.Sessions.Boundaries(v.Config.Now())...)
	}
	slices.SortStableFunc(windows, func(a, b core.Window) int { return cmp.Compare(a.Start, b.Start) })
	out := schemas.Schedule{Schedule: []schemas.Window{}}
	for _, w := range windows {
		out.Schedule = append(out.Schedule, schemas.Window{Kind: w.Kind, StartTs: ns(w.Start), EndTs: ns(w.End)})
	}
	return out
}

var GetFees = &Op[schemas.MinSeqOnly, schemas.Fees]{
	Spec: Spec{Name: "get_fees", Title: "Fee schedule", Method: "GET", Path: "/v1/exchange/fees", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"}, Doc: "Maker and taker rate in 1/10000 and the shares of the taker fee that go to makers and referrers. A fill's fee is ceil(rate × qty × p × (10000 − p) / 10^8) pips."},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.MinSeqOnly) (out schemas.Fees, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) { out = fees(m) })
		return out, nil
	},
}

func fees(m *venue.Venue) schemas.Fees {
	return schemas.Fees{FeeRates: FeeRatesOf(m.Fees()), AsOf: asOf(m)}
}

// FeeRatesOf converts a fee schedule.
func FeeRatesOf(f core.Fees) schemas.FeeRates {
	return schemas.FeeRates{MakerRate: int64(f.Maker), TakerRate: int64(f.Taker), MakerRebatePct: int64(f.RebatePct), ReferralPct: int64(f.ReferPct)}
}

// GetVenue returns all reference reads in one. Only the agent lane offers it.
var GetVenue = &Op[schemas.MinSeqOnly, schemas.Venue]{
	Spec: Spec{Name: "get_venue", Title: "The venue", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"}, Doc: "Clock, fees, schedule, retention, environment, oracle (sim: prices are made up). Read it once."},
	Do: func(_ context.Context, v *Venue, _ Caller, _ *schemas.MinSeqOnly) (out schemas.Venue, _ error) {
		kept := v.retention()
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			out = schemas.Venue{
				Environment: v.Config.Environment, Oracle: v.Config.Oracle, Time: v.time(), Status: schemas.Status{ExchangeActive: true, AsOf: asOf(m)},
				Retention: kept, Schedule: v.schedule(m.Windows()), Fees: fees(m), AsOf: asOf(m),
			}
		})
		return out, nil
	},
}

var GetOraclePrice = &Op[schemas.GetOraclePrice, schemas.OraclePrice]{
	Spec: Spec{
		Name: "get_oracle_price", Title: "Oracle price", Method: "GET", Path: "/v1/oracle/price", Scope: core.ScopeRead, Errors: []string{"sequencing_timeout"},
		Doc: "The index of a feed, of which strikes and settle prices are made.",
	},
	Do: func(_ context.Context, v *Venue, _ Caller, in *schemas.GetOraclePrice) (out schemas.OraclePrice, _ error) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			out.AsOf = asOf(m)
			if t, ok, _, _ := m.Index(core.Feed(in.Feed)); ok {
				out.Price, out.Ts, out.FreshSourceCount = schemas.U64(t.Price), ns(t.Second*core.NsPerSec), t.Count
			}
		})
		return out, nil
	},
}
