package tools

import (
	"context"
	"math/big"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/round"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var GetRoundEvidence = &Op[schemas.GetEvidence, schemas.Evidence]{
	Spec: Spec{
		Name: "get_round_evidence", Title: "Settlement evidence", Method: "GET", Path: "/v1/rounds/{market_id}/evidence", Scope: core.ScopeRead, Errors: []string{"round_not_found", "bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Ticks and arithmetic behind a settlement.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GetEvidence) (out schemas.Evidence, err error) {
		p := evidencePage{size: in.Size(), binding: v.BindCursor("evidence", caller, in)}
		number := uint64(in.RoundNumber)
		if c := in.After(); c != "" { // it names the round, because the slot may have opened another one since
			if f := schemas.DecodeCursor(p.binding, c, &number, &p.before); f != nil {
				return out, f
			}
		}
		at, err := v.readRound(ctx, caller, marketID(in.MarketID), number, func(_ *view.View, r *view.Round, _ int64) { out = p.evidenceOf(r) })
		out.AsOf = at
		return out, err
	},
}

// readRound calls f with a round of a slot and the time of the last command in ns: under the engine's
// lock if memory has the round, else with that of the mirror and a nil view. Number 0 means the
// latest round. The error is round_not_found, rate_limited or history_behind.
func (v *Venue) readRound(ctx context.Context, caller Caller, id core.MarketID, number uint64, f func(w *view.View, r *view.Round, now int64)) (at schemas.AsOf, err error) {
	var released view.Released
	var now int64
	found := false
	v.Engine.Read(func(m *venue.Venue, w *view.View) {
		at, now, released = asOf(m), m.Now().Ts, w.RoundsReleased()
		if r := findRound(w, id, number); r != nil {
			found = true
			f(w, r, now)
		}
	})
	if !found && released.Newest >= max(number, 1) {
		err = v.readHistory(caller, v.mirrorHas(released.Seq), func() error {
			r, err := v.History.Round(ctx, id, number)
			if err == nil && r != nil {
				found = true
				f(nil, r, now)
			}
			return err
		})
	}
	if err == nil && !found {
		err = NewError("round_not_found")
	}
	return at, err
}

// findRound returns a round of a slot in memory, or nil. Number 0 means the latest round.
func findRound(w *view.View, m core.MarketID, number uint64) *view.Round {
	if number == 0 {
		return w.Round(m)
	}
	for r := range w.Rounds(number + 1) {
		if r.Number == number && r.Market == m {
			return r
		}
		break
	}
	return nil
}

// evidencePage selects up to size ticks of a round's evidence, newest first, of seconds below before;
// 0 is no bound.
type evidencePage struct {
	binding schemas.CursorBinding
	size    int
	before  uint64
}

func (p *evidencePage) evidenceOf(r *view.Round) (out schemas.Evidence) {
	shown := RoundOf(&r.Round, 0)
	boundary := r.CloseTs / core.NsPerSec
	out = schemas.Evidence{
		MarketID: shown.MarketID, RoundNumber: shown.RoundNumber, Generation: shown.Generation, Category: shown.Category, Feed: uint8(r.Feed), Status: shown.Status,
		Strike: shown.Strike, BoundaryTs: ns(r.CloseTs), TwapWindowSecs: r.Window, RequiredSecs: round.RequiredSeconds(r.Window), WeightedSum: "0",
		FreshSourceCountAtFreeze: shown.FreshSourceCountAtFreeze, ByOperator: r.ByOperator, SettlePrice: shown.SettlePrice, Winner: shown.Winner,
	}
	if len(r.Strikes) > 0 {
		out.StrikeTick = schemas.Ptr(tickOf(&r.Strikes[0], 0))
	}
	counted := feed.CountedSeconds(r.Evidence, boundary, r.Window)
	sum := new(big.Int)
	for i, n := range counted {
		out.CoveredSecs += n
		price := new(big.Int).SetUint64(uint64(r.Evidence[i].Price))
		sum.Add(sum, price.Mul(price, big.NewInt(n)))
	}
	twap, _ := feed.TWAP(r.Evidence, boundary, r.Window)
	out.WeightedSum, out.Twap = sum.String(), schemas.U64(twap)
	out.Ticks = []schemas.EvidenceTick{}
	for i := len(r.Evidence) - 1; i >= 0; i-- {
		at := uint64(r.Evidence[i].Second)
		if p.before != 0 && at >= p.before {
			continue
		}
		if len(out.Ticks) == p.size {
			out.Cursor = schemas.EncodeCursor(p.binding, r.Number, uint64(r.Evidence[i+1].Second))
			break
		}
		out.Ticks = append(out.Ticks, tickOf(&r.Evidence[i], counted[i]))
	}
	return out
}

func tickOf(t *core.IndexTick, counted int64) schemas.EvidenceTick {
	out := schemas.EvidenceTick{Ts: ns(t.Second * core.NsPerSec), Price: schemas.U64(t.Price), FreshSourceCount: t.Count, CountedSecs: counted, Manual: t.Manual, Sources: []schemas.SourcePrice{}}
	for _, s := range t.Sources {
		out.Sources = append(out.Sources, schemas.SourcePrice{Source: s.Name, Price: schemas.U64(s.Price)})
	}
	return out
}
