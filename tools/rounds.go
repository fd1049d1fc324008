package tools

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/history"
	"duplex/core/round"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ListRounds = &Op[schemas.ListRounds, schemas.RoundList]{
	Spec: Spec{
		Name: "list_rounds", Title: "List rounds", Method: "GET", Path: "/v1/rounds", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Rounds of all series, newest first. For the live ones use list_series.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListRounds) (out schemas.RoundList, err error) {
		var now int64
		l := deepList[*view.Round, schemas.Round]{
			memory: func(m *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.Round], view.Released, error) {
				now = m.Now().Ts
				return func(from uint64) iter.Seq2[uint64, *view.Round] { return WithPositions(w.Rounds(from), numberOfRound) }, w.RoundsReleased(), nil
			},
			keep: func(r *view.Round) bool {
				return matchesMarket(in.MarketID, r.Market) && (in.Category == nil || uint16(*in.Category) == r.Category) && matchesRound(in.RoundNumber, r.Number)
			},
			past: func(r *view.Round) bool { return in.RoundNumber != nil && r.Number < uint64(*in.RoundNumber) },
			show: func(r *view.Round) schemas.Round { return RoundOf(&r.Round, now) }, at: numberOfRound,
			mirror: func(ctx context.Context, below uint64, limit int) ([]*view.Round, error) {
				rows, err := v.History.Rounds(ctx, below, limit, history.RoundFilter{Market: marketFilter(in.MarketID), Category: categoryFilter(in.Category), Number: (*uint64)(in.RoundNumber)})
				return pointers(rows), err
			},
		}
		out.Rounds, out.PageEnd, err = l.page(ctx, v, caller, "rounds", in)
		return out, err
	},
}

func numberOfRound(r *view.Round) uint64 { return r.Number }

var GetRound = &Op[schemas.GetRound, schemas.RoundRead]{
	Spec: Spec{
		Name: "get_round", Title: "Read a round", Method: "GET", Path: "/v1/rounds/{market_id}", Scope: core.ScopeRead, Errors: []string{"round_not_found", "history_behind", "sequencing_timeout"},
		Doc: "The latest round of a slot: strike, times, winner. YES wins if and only if settle_price > strike.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GetRound) (out schemas.RoundRead, err error) {
		out.AsOf, err = v.readRound(ctx, caller, marketID(in.MarketID), 0, func(_ *view.View, r *view.Round, now int64) { out.Round = RoundOf(&r.Round, now) })
		return out, err
	},
}

// RoundOf converts a round at the time ts, in ns. It shows the settle price only once the
// price is proposed.
func RoundOf(r *core.Round, ts int64) schemas.Round {
	out := schemas.Round{
		MarketID: uint32(r.Market), Status: r.Status.String(), Strike: schemas.U64(r.Strike), YesPayout: uint8(round.YesPayout(r)),
		FreshSourceCountAtFreeze: r.FreshCount, Gen: r.Gen, OpenTs: ns(r.OpenTs), FreezeTs: ns(r.FreezeTs), ResolveTs: ns(r.ResolveTs),
		RoundNumber: schemas.U64(r.Number), Generation: r.Generation, Category: r.Category, TwapWindowSecs: r.Window, Paused: r.Paused,
		Winner: winner(r.Winner), CloseTs: ns(r.CloseTs), SecsToClose: secsToClose(r, ts),
	}
	if r.Gen > 0 {
		out.SettlePrice = schemas.U64(r.Settle)
	}
	return out
}

// secsToClose returns the whole seconds from ts, in ns, to the close of a round, or 0 if it
// is not trading (docs/rules/rounds.md#what-a-round-shows).
func secsToClose(r *core.Round, ts int64) int64 {
	if r.Status != core.Trading {
		return 0
	}
	return max(0, (r.CloseTs-ts)/core.NsPerSec)
}

func winner(o core.Outcome) *string {
	if o == core.NoOutcome {
		return nil
	}
	return schemas.Ptr(o.String())
}
