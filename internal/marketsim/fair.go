package marketsim

import (
	"math"

	"duplex/core"
)

// The initial, least and greatest estimate of a feed's volatility: the deviation of the log price
// in a second.
const (
	initialVol     = 1e-4
	minVol         = 2e-5
	maxVol         = 1e-3
	varianceDecay  = 0.97 // weight of the past at each new second
	historySeconds = 64   // seconds of ticks to keep, more than the longest settle window
)

// PriceModel estimates the volatility of a feed from one tick a second, and the value of a round.
// The zero value has observed nothing.
type PriceModel struct {
	price    core.Price
	at       int64                      // second of the last tick
	since    int64                      // second of the first tick
	ticks    [historySeconds]core.Price // by second modulo historySeconds, gaps filled
	variance float64                    // a second
}

// Observe adds the tick of a second. It ignores a price of 0 and a second that is not after the
// last.
func (t *PriceModel) Observe(price core.Price, second int64) {
	switch {
	case price == 0 || t.price != 0 && second <= t.at:
		return
	case t.price == 0:
		t.variance, t.since, t.at = mul(initialVol, initialVol), second, second-1
	default:
		r, w := Ln(float64(price)/float64(t.price)), 1.0
		for range min(second-t.at, 1000) {
			w = mul(w, varianceDecay)
		}
		t.variance = mul(w, t.variance) + mul(1-w, mul(r, r)/float64(second-t.at))
	}
	for s := max(t.at+1, second-historySeconds+1); s < second; s++ {
		t.ticks[s%historySeconds] = t.price // a missing second takes the last price
	}
	t.ticks[second%historySeconds] = price
	t.price, t.at = price, second
}

// Fresh reports whether the last tick is at most 5 s old; the venue pauses the markets of a feed
// after that (docs/rules/prices-sources.md#silence).
func (t *PriceModel) Fresh(second int64) bool { return t.price > 0 && second-t.at <= 5 }

// mean is the mean of the ticks since a second, or the last price if there are none.
func (t *PriceModel) mean(from int64) float64 {
	sum, n := 0.0, 0.0
	for s := max(from, t.since, t.at-historySeconds+1); s <= t.at; s++ {
		sum, n = sum+float64(t.ticks[s%historySeconds]), n+1
	}
	if n == 0 {
		return float64(t.price)
	}
	return sum / n
}

// Value is the value of YES in a round.
type Value struct {
	P    float64 // probability of YES
	Move float64 // deviation of the change of P within a second
}

// Fair returns the value of a round: the probability that the mean price of the last window
// seconds before its close is above the strike. now and closeTs are in ns.
//
// Once the window has begun, a share of its mean is known and the rest is open. The mean of a
// random walk over r seconds has the variance of the walk after r/3 seconds.
func (t *PriceModel) Fair(strike core.Price, now, closeTs, window int64) Value {
	if t.price == 0 || strike == 0 {
		return Value{P: 0.5}
	}
	vol := min(max(math.Sqrt(t.variance), minVol), maxVol)
	left, w := max(float64(closeTs-now)/float64(core.NsPerSec), 0.5), float64(window)
	mean, open, secs := float64(t.price), 1.0, left-mul(w, 2)/3
	if left < w {
		open = left / w
		mean = mul(t.mean(closeTs/core.NsPerSec-window), 1-open) + mul(float64(t.price), open)
		secs = mul(mul(open, open), left) / 3
	}
	deviation := mul(vol, math.Sqrt(max(secs, 0.05)))
	z := Ln(mean/float64(strike)) / deviation
	return Value{P: normalCDF(z), Move: mul(mul(normalDensity(z), open), vol) / deviation}
}
