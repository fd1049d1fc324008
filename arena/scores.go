package arena

import (
	"duplex/arena/stats"
	"duplex/core"
	"duplex/core/replica"
	"duplex/internal/marketsim"
)

// forecastOf is one forecast that counts, with the mark at its time, in basis points.
type forecastOf struct {
	p, mark int64
	yes     bool // how its round ended
}

// roundForecasts maps a seat number to the seat's last forecast of a round.
type roundForecasts map[int]forecastOf

const basisPoints = 10_000

// forecaster returns what one forecaster said when a seat made a forecast, in basis points.
type forecaster func(f *forecastOf) int64

func seatSays(f *forecastOf) int64 { return f.p }

// marketSays is the mark at the time of the forecast.
func marketSays(f *forecastOf) int64 { return f.mark }

// baseSays is the base rate.
func baseSays(*forecastOf) int64 { return basisPoints / 2 }

// asProbability returns a forecast with its outcome, in shares of 1.
func (f *forecastOf) asProbability(says forecaster) stats.Forecast {
	return stats.Forecast{P: float64(says(f)) / basisPoints, Market: float64(f.mark) / basisPoints, Yes: f.yes}
}

// logLoss returns the log loss of a forecast of p, in nats. It clips p to 1 to 9999.
func logLoss(p int64, yes bool) float64 {
	c := float64(min(max(p, 1), basisPoints-1)) / basisPoints
	if !yes {
		c = 1 - c
	}
	return -marketsim.Ln(c) // that of package math may differ between machines
}

// scoresOf returns the scores of a forecaster at the forecasts of a seat, seed by seed; null without any. Brier
// score and log loss are means of the means of the seeds that have forecasts, with an interval only if all have.
// The calibration error is that of all forecasts together.
func scoresOf(of []*seatFigures, says forecaster) Scores {
	var brier, loss []float64
	var all []stats.Forecast
	for _, s := range of {
		sumBrier, sumLoss, n := 0.0, 0.0, float64(len(s.Forecasts))
		for i := range s.Forecasts {
			f := &s.Forecasts[i]
			x := f.asProbability(says)
			d := x.P
			if f.yes {
				d--
			}
			sumBrier += float64(d * d)
			sumLoss += logLoss(says(f), f.yes)
			all = append(all, x)
		}
		if n > 0 {
			brier, loss = append(brier, sumBrier/n), append(loss, sumLoss/n)
		}
	}
	if len(all) == 0 {
		return Scores{}
	}
	b, l := stats.FigureOf(brier), stats.FigureOf(loss)
	if len(brier) < len(of) {
		b.Low, b.High, l.Low, l.High = nil, nil, nil, nil
	}
	return Scores{&b, &l, &stats.Figure{Mean: stats.Calibrate(all).ECE}}
}

// calibrationOf returns the calibration of a seat's forecasts and its skill against the market; nil without any.
func calibrationOf(of []*seatFigures) (*stats.Calibration, *stats.Skill) {
	var all []stats.Forecast
	seeds := make([][]stats.Forecast, len(of))
	for i, s := range of {
		for k := range s.Forecasts {
			seeds[i] = append(seeds[i], s.Forecasts[k].asProbability(seatSays))
		}
		all = append(all, seeds[i]...)
	}
	return stats.Calibrate(all), stats.SkillOf(seeds)
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

// endForecasts keeps the forecasts of a round that is final. Those of a void count for nothing.
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
		f.yes = r.Winner == core.Yes
		s.Forecasts = append(s.Forecasts, f)
	}
}
