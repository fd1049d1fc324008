package maker

import (
	"math"
	"time"
)

// The initial, least and greatest estimate of a feed's volatility: the standard deviation
// of the log price per square root of a second.
const (
	initialVol     = 1e-4
	minVol         = 2e-5
	maxVol         = 1e-3
	varianceDecay  = 0.97 // weight of the past at each new second
	historySeconds = 64   // seconds of ticks to keep, more than the longest window
)

// priceModel estimates the volatility of a feed from one tick a second.
type priceModel struct {
	price    float64
	at       int64                   // second of the last tick
	since    int64                   // second of the first tick
	ticks    [historySeconds]float64 // by second modulo historySeconds, gaps filled
	variance float64                 // per second
}

// observe adds a tick. It ignores a price of 0 and a second that is not after the last.
func (t *priceModel) observe(price float64, at time.Time) {
	second := at.Unix()
	switch {
	case price <= 0 || t.price != 0 && second <= t.at:
		return
	case t.price == 0:
		t.variance, t.since, t.at = initialVol*initialVol, second, second-1
	default:
		dt := float64(second - t.at)
		r := math.Log(price / t.price)
		w := math.Pow(varianceDecay, dt)
		t.variance = w*t.variance + (1-w)*r*r/dt
	}
	for s := max(t.at+1, second-historySeconds+1); s < second; s++ {
		t.ticks[s%historySeconds] = t.price // a missing second takes the last price
	}
	t.ticks[second%historySeconds] = price
	t.price, t.at = price, second
}

// isFresh reports whether the last tick is at most 5 s old; the venue pauses the markets of
// a feed after that (docs/rules/prices-sources.md#silence).
func (t *priceModel) isFresh(now time.Time) bool { return t.price > 0 && now.Unix()-t.at <= 5 }

// mean is the mean of the ticks since a second, or the last price if there are none.
func (t *priceModel) mean(from int64) float64 {
	sum, n := 0.0, 0.0
	for s := max(from, t.since, t.at-historySeconds+1); s <= t.at; s++ {
		sum, n = sum+t.ticks[s%historySeconds], n+1
	}
	if n == 0 {
		return t.price
	}
	return sum / n
}

// fair returns the probability that the mean price of the last window before end is above
// the strike, and the standard deviation of its change within a second.
//
// Once the window has begun, a share of its mean is known and the rest is open. The mean of
// a random walk over r seconds has the variance of the walk after r/3 seconds.
func (t *priceModel) fair(strike float64, now, end time.Time, window time.Duration) (p, move float64) {
	vol := min(max(math.Sqrt(t.variance), minVol), maxVol)
	left, w := max(end.Sub(now).Seconds(), 0.5), window.Seconds()
	mean, open, secs := t.price, 1.0, left-w*2/3
	if left < w {
		open = left / w
		mean = t.mean(end.Add(-window).Unix())*(1-open) + t.price*open
		secs = open * open * left / 3
	}
	deviation := vol * math.Sqrt(max(secs, 0.05))
	z := math.Log(mean/strike) / deviation
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return 0.5 * math.Erfc(-z/math.Sqrt2), density * open * vol / deviation
}
