package tools

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var SubmitForecast = &Op[schemas.SubmitForecast, schemas.SubmittedForecast]{
	Spec: Spec{
		Name: "submit_forecast", Title: "Forecast", Method: "POST", Path: "/v1/forecasts", Scope: core.ScopeTrade, Bucket: Write, SuccessStatus: 201, Deduplicated: true,
		Errors: append([]string{"unknown_market", "stale_generation", "user_suspended", "market_not_trading"}, writeErrors...),
		Doc:    "Record your P(YES) of a live round, for a score. It trades nothing; the last one counts.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.SubmitForecast) (out schemas.SubmittedForecast, err error) {
		r, err := Accepted(v.submit(ctx, &caller, &core.SubmitForecast{
			User: caller.User, Key: caller.KeyNumber(), Market: marketID(in.MarketID), Generation: uint32(in.Generation), P: core.Probability(in.P),
		}))
		if err != nil {
			return out, err
		}
		out.Seq, out.Ts = schemas.U64(r.Stamp.Seq), ns(r.Stamp.Ts)
		for _, e := range r.Events {
			if e, ok := e.(*core.ForecastSubmitted); ok {
				out.N = schemas.U64(e.N)
			}
		}
		return out, nil
	},
}

var ListForecasts = &Op[schemas.ListForecasts, schemas.ForecastList]{
	Spec: Spec{
		Name: "list_forecasts", Title: "Your forecasts", Method: "GET", Path: "/v1/forecasts", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Your forecasts with their scores, newest first.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListForecasts) (out schemas.ForecastList, err error) {
		span := spanOf(in.TimeRange)
		var asOf uint64 // rows of the mirror are shown as of the same command as those of memory
		l := deepList[*view.Forecast, schemas.Forecast]{
			memory: func(m *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.Forecast], view.Released, error) {
				asOf = m.Now().Seq
				return func(from uint64) iter.Seq2[uint64, *view.Forecast] { return w.Forecasts(caller.User, from) }, w.ForecastsReleased(caller.User), nil
			},
			keep: func(f *view.Forecast) bool {
				return matchesMarket(in.MarketID, f.Market) && span.Has(f.Ts) && matchesRound(in.RoundNumber, f.Number)
			},
			past: func(f *view.Forecast) bool { return f.Ts < span.From },
			show: ForecastOf, at: func(f *view.Forecast) uint64 { return f.N },
			mirror: func(ctx context.Context, below uint64, limit int) ([]*view.Forecast, error) {
				rows, err := v.History.Forecasts(ctx, caller.User, below, limit, asOf, history.ForecastFilter{Span: span, Market: marketFilter(in.MarketID), Round: (*uint64)(in.RoundNumber)})
				return pointers(rows), err
			},
		}
		out.Forecasts, out.PageEnd, err = l.page(ctx, v, caller, "forecasts", in)
		return out, err
	},
}

// ForecastOf converts a forecast.
func ForecastOf(f *view.Forecast) schemas.Forecast {
	out := schemas.Forecast{
		N: schemas.U64(f.N), Seq: schemas.U64(f.Seq), Ts: ns(f.Ts), MarketID: uint32(f.Market), Generation: f.Generation, RoundNumber: schemas.U64(f.Number), Category: f.Category,
		P: int64(f.P), Counts: f.Counts, Winner: winner(f.Winner),
	}
	if brier, scored := f.Brier(); scored {
		out.Brier = &brier
	}
	return out
}
