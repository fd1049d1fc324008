package stats

import "math"

// Forecast is one forecast that counts, with its outcome.
type Forecast struct {
	P      float64 // of YES, 0–1
	Market float64 // price of the market at that time, 0–1; NaN: not known
	Yes    bool
}

func (f *Forecast) outcome() float64 {
	if f.Yes {
		return 1
	}
	return 0
}

// Calibration says how well forecasts agree with outcomes. It is pooled over all seeds: a mean of the errors of
// small samples measures the samples, because each is far from its own mean. Reliability and resolution are
// corrected for the spread of an outcome, which makes both too large in small bins.
type Calibration struct {
	N           int     `json:"n"`
	ECE         float64 `json:"ece"`         // mean distance of a bin's forecasts from its share of YES, 0–1
	Error       float64 `json:"error"`       // root of the reliability, 0 if that is negative
	Brier       float64 `json:"brier"`       // mean square of forecast less outcome
	Reliability float64 `json:"reliability"` // mean square distance of a bin's forecasts from its share of YES
	Resolution  float64 `json:"resolution"`  // mean square distance of a bin's share of YES from that of all
	Uncertainty float64 `json:"uncertainty"` // variance of the outcomes
	Bins        []Bin   `json:"bins"`        // tenths of the forecasts
}

// Bin are the forecasts of one tenth.
type Bin struct {
	N   int      `json:"n"`
	P   *float64 `json:"p"`   // mean forecast; null without any
	Yes *float64 `json:"yes"` // share that came true; null without any
}

const bins = 10

// binOf returns the bin of a forecast.
func binOf(p float64) int { return min(int(Round(p*bins)), bins-1) }

// Calibrate returns the calibration of the forecasts of all seeds; nil without any.
func Calibrate(forecasts []Forecast) *Calibration {
	if len(forecasts) == 0 {
		return nil
	}
	var sums [bins]struct {
		n      int
		p, yes float64
	}
	c := &Calibration{N: len(forecasts), Bins: make([]Bin, bins)}
	brier, yes, all := 0.0, 0.0, float64(len(forecasts))
	for i := range forecasts {
		f := &forecasts[i]
		d := f.P - f.outcome()
		brier += float64(d * d)
		yes += f.outcome()
		b := &sums[binOf(f.P)]
		b.n++
		b.p += f.P
		b.yes += f.outcome()
	}
	base := yes / all
	ece, reliability, resolution := 0.0, 0.0, overOthers(base*(1-base), len(forecasts))
	for i := range sums {
		n := float64(sums[i].n)
		c.Bins[i].N = sums[i].n
		if n == 0 {
			continue
		}
		p, share := sums[i].p/n, sums[i].yes/n
		c.Bins[i].P, c.Bins[i].Yes = rounded(p), rounded(share)
		spread := overOthers(share*(1-share), sums[i].n)
		miss, gain := p-share, share-base
		ece += float64(n / all * math.Abs(miss))
		reliability += float64(n / all * (float64(miss*miss) - spread))
		resolution += float64(n / all * (float64(gain*gain) - spread))
	}
	c.ECE, c.Brier = Round(ece), Round(brier/all)
	c.Reliability, c.Resolution = Round(reliability), Round(resolution)
	c.Uncertainty = Round(base * (1 - base))
	if len(forecasts) > 1 {
		c.Uncertainty = Round(base * (1 - base) * all / (all - 1))
	}
	c.Error = Round(math.Sqrt(max(0, reliability)))
	return c
}

// overOthers returns x / (n − 1); 0 for one value, which has no spread.
func overOthers(x float64, n int) float64 {
	if n < 2 {
		return 0
	}
	return x / float64(n-1)
}

// Skill is the market's Brier score less a seat's, at the same forecasts: above 0 is better than the market. P is
// that of Student's t test that it is 0; null under two seeds, or if all are equal.
type Skill struct {
	Figure
	P *float64 `json:"p"`
}

// SkillOf returns the skill over the seeds that have forecasts with a price of the market; nil without any.
func SkillOf(seeds [][]Forecast) *Skill {
	var gains []float64
	for _, forecasts := range seeds {
		sum, n := 0.0, 0
		for i := range forecasts {
			f := &forecasts[i]
			if math.IsNaN(f.Market) {
				continue
			}
			mine, market := f.P-f.outcome(), f.Market-f.outcome()
			sum += float64(market*market) - float64(mine*mine)
			n++
		}
		if n > 0 {
			gains = append(gains, sum/float64(n))
		}
	}
	if len(gains) == 0 {
		return nil
	}
	s := &Skill{Figure: FigureOf(gains)}
	if p, ok := testMean(gains); ok {
		s.P = rounded(p)
	}
	return s
}
