package tools

import (
	"context"
	"iter"

	"duplex/core"
	"duplex/core/round"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var ListRounds = &Op[schemas.ListRounds, schemas.RoundList]{
	Spec: Spec{
		Name: "list_rounds", Title: "List rounds", Method: "GET", Path: "/v1/rounds", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "sequencing_timeout"},
		Doc: "Recent rounds, newest round_number first, over all nine series. Filter by category (1–3 BTC, 4–6 gold, 7–9 WTI at 60 s, 5 m, 15 m) or market_id. The top row is whichever series opened last, not 'the live round'.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.ListRounds) (out schemas.RoundList, err error) {
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			walk := func(from uint64) iter.Seq2[uint64, *view.Round] {
				return func(yield func(uint64, *view.Round) bool) {
					for r := range w.Rounds(from) {
						if !yield(r.Number, r) {
							return
						}
					}
				}
			}
			keep := func(r *view.Round) bool {
				return matchesMarket(in.MarketID, r.Market) && (in.Category == nil || uint16(*in.Category) == r.Category)
			}
			var cursor string
			out.Rounds, cursor, err = page("rounds", caller, in, walk, keep, func(r *view.Round) schemas.Round { return RoundOf(&r.Round) })
			out.PageEnd = nextPage(m, cursor)
		})
		return out, err
	},
}

var GetRound = &Op[schemas.GetRound, schemas.RoundRead]{
	Spec: Spec{
		Name: "get_round", Title: "Read a round", Method: "GET", Path: "/v1/rounds/{market_id}", Scope: core.ScopeRead, Errors: []string{"round_not_found", "sequencing_timeout"},
		Doc: "The current round of a market slot, in any status: category, strike, times, settle price and winner once proposed. YES wins if and only if the settle TWAP is strictly above strike.",
	},
	Do: func(_ context.Context, v *Venue, _ Caller, in *schemas.GetRound) (out schemas.RoundRead, err error) {
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			r := w.Round(marketID(in.MarketID))
			if r == nil {
				err = NewError("round_not_found")
				return
			}
			out = schemas.RoundRead{Round: RoundOf(&r.Round), AsOf: asOf(m)}
		})
		return out, err
	},
}

// RoundOf converts a round. It shows the settle price only once the price is proposed.
func RoundOf(r *core.Round) schemas.Round {
	out := schemas.Round{
		MarketID: uint32(r.Market), Status: r.Status.String(), Strike: schemas.U64(r.Strike), YesPayout: uint8(round.YesPayout(r)),
		FreshSourceCountAtFreeze: r.FreshCount, Gen: r.Gen, OpenTs: ns(r.OpenTs), FreezeTs: ns(r.FreezeTs), ResolveTs: ns(r.ResolveTs),
		RoundNumber: schemas.U64(r.Number), Generation: r.Generation, Category: r.Category, TwapWindowSecs: r.Window, Paused: r.Paused,
		Winner: winner(r.Winner),
	}
	if r.Gen > 0 {
		out.SettlePrice = schemas.U64(r.Settle)
	}
	return out
}

func winner(o core.Outcome) *string {
	if o == core.NoOutcome {
		return nil
	}
	return schemas.Ptr(o.String())
}
