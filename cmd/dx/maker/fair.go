package maker

import (
	"math"
	"time"
)

// The volatility a feed is believed to have before it has shown any, and the least
// and most it is believed to have: of the log price, per square root of a second.
const (
	volStart = 1e-4
	volLeast = 2e-5
	volMost  = 1e-3
	memory   = 0.97 // weight of the past at each new second
	past     = 64   // seconds of it that are kept: more than the longest window
)

// trend follows a feed's price, a tick a second.
type trend struct {
	price float64
	at    int64         // second of the last tick
	since int64         // second of the first
	ticks [past]float64 // by second modulo past, gaps filled
	vol2  float64       // per second
}

func (t *trend) see(price float64, at time.Time) {
	second := at.Unix()
	switch {
	case price <= 0 || t.price != 0 && second <= t.at:
		return
	case t.price == 0:
		t.vol2, t.since, t.at = volStart*volStart, second, second-1
	default:
		dt := float64(second - t.at)
		r := math.Log(price / t.price)
		w := math.Pow(memory, dt)
		t.vol2 = w*t.vol2 + (1-w)*r*r/dt
	}
	for s := max(t.at+1, second-past+1); s < second; s++ {
		t.ticks[s%past] = t.price // a missing second carries the last one forward
	}
	t.ticks[second%past] = price
	t.price, t.at = price, second
}

// fresh tells that the feed still speaks: the venue pauses its markets when not.
func (t *trend) fresh(now time.Time) bool { return t.price > 0 && now.Unix()-t.at <= 5 }

// mean is of the ticks from a second on, and of the last price where none is known.
func (t *trend) mean(from int64) float64 {
	sum, n := 0.0, 0.0
	for s := max(from, t.since, t.at-past+1); s <= t.at; s++ {
		sum, n = sum+t.ticks[s%past], n+1
	}
	if n == 0 {
		return t.price
	}
	return sum / n
}

// fair is the probability that the mean price of the last `window` before `end` is
// above the strike, and how far it may move within a second (one standard deviation).
//
// Of the window's mean, a share is known once the window has begun; the rest is open.
// The mean of a random walk over r seconds varies as the walk does after r/3.
func (t *trend) fair(strike float64, now, end time.Time, window time.Duration) (p, move float64) {
	vol := min(max(math.Sqrt(t.vol2), volLeast), volMost)
	left, w := max(end.Sub(now).Seconds(), 0.5), window.Seconds()
	mean, open, secs := t.price, 1.0, left-w*2/3
	if left < w {
		open = left / w
		mean = t.mean(end.Add(-window).Unix())*(1-open) + t.price*open
		secs = open * open * left / 3
	}
	spread := vol * math.Sqrt(max(secs, 0.05))
	z := math.Log(mean/strike) / spread
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	return 0.5 * math.Erfc(-z/math.Sqrt2), density * open * vol / spread
}
