package arena

import (
	"math"

	"duplex/core"
	"duplex/core/replica"
	"duplex/internal/marketsim"
)

// scores are the scores of forecasts: of a seat, of the market's mark at the same forecasts, and of
// the base rate.
type scores struct {
	Seat, Market, Base score
}

// score sums the scores of one forecaster. Forecasts are in basis points.
type score struct {
	n              int
	brier, logLoss float64
	bins           tenths
}

// tenths are the forecasts of each tenth: how many, how many came true, and the sum of their probabilities.
type tenths [10]struct {
	n, yes int
	p      float64
}

// forecastOf is one forecast that counts, with the mark at its time.
type forecastOf struct{ p, mark int64 }

// roundForecasts maps a seat number to the seat's last forecast of a round.
type roundForecasts map[int]forecastOf

const basisPoints = 10_000

// add adds a forecast of p for a round that ended YES or not.
func (s *score) add(p int64, yes bool) {
	outcome := 0.0
	if yes {
		outcome = 1
	}
	x := float64(p) / basisPoints
	s.n++
	d := x - outcome
	s.brier += float64(d * d)
	c := float64(min(max(p, 1), basisPoints-1)) / basisPoints
	if !yes {
		c = 1 - c
	}
	s.logLoss -= marketsim.Ln(c) // that of package math may differ between machines
	b := &s.bins[min(p/1000, 9)]
	b.n++
	b.p += x
	if yes {
		b.yes++
	}
}

// values returns the mean Brier score, the mean log loss in nats and the expected calibration error;
// false without forecasts.
func (s *score) values() (brier, logLoss, ece float64, ok bool) {
	if s.n == 0 {
		return 0, 0, 0, false
	}
	for i := range s.bins {
		b := &s.bins[i]
		if b.n > 0 {
			ece += float64(math.Abs(b.p-float64(b.yes)) / float64(s.n))
		}
	}
	n := float64(s.n)
	return s.brier / n, s.logLoss / n, ece, true
}

// foldForecast keeps a seat's forecast as its last one of the round.
func (b *replayBundle) foldForecast(a *replica.Applied) {
	e, ok := forecastIn(a)
	if !ok {
		return
	}
	s := b.seatOf(e.User)
	m, has := b.r.Venue.Market(e.Market)
	if s == nil || !has {
		return
	}
	mark := int64(basisPoints / 2)
	if t, ok := b.r.Venue.Mark(e.Market); ok {
		mark = int64(t)
	}
	if b.marks[m.Number] == nil {
		b.marks[m.Number] = roundForecasts{}
	}
	b.marks[m.Number][s.Number] = forecastOf{p: int64(e.P), mark: mark}
}

// endForecasts scores the forecasts of a round that is final. Those of a void count for nothing.
func (b *replayBundle) endForecasts(r *core.Round) {
	list := b.marks[r.Number]
	delete(b.marks, r.Number)
	if r.Status != core.Settled {
		return
	}
	for _, s := range b.f.Seats {
		f, ok := list[s.Number]
		if !ok {
			continue
		}
		yes := r.Winner == core.Yes
		s.scores.Seat.add(f.p, yes)
		s.scores.Market.add(f.mark, yes)
		s.scores.Base.add(basisPoints/2, yes)
	}
}
