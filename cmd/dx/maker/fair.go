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
)

// trend follows a feed's price.
type trend struct {
	price float64
	at    time.Time
	vol2  float64 // per second
}

func (t *trend) see(price float64, now time.Time) {
	if price <= 0 {
		return
	}
	if t.price == 0 {
		t.price, t.at, t.vol2 = price, now, volStart*volStart
		return
	}
	dt := now.Sub(t.at).Seconds()
	if dt <= 0 {
		return
	}
	r := math.Log(price / t.price)
	w := math.Pow(memory, dt)
	t.vol2 = w*t.vol2 + (1-w)*r*r/dt
	t.price, t.at = price, now
}

// fair is the probability that the mean price of the last `window` seconds before
// the boundary ends above the strike. A mean moves less than its last price: a third
// of the window counts as time.
func (t *trend) fair(strike float64, left, window time.Duration) float64 {
	vol := min(max(math.Sqrt(t.vol2), volLeast), volMost)
	secs := max(left.Seconds()-window.Seconds()*2/3, 1)
	z := math.Log(t.price/strike) / (vol * math.Sqrt(secs))
	return 0.5 * math.Erfc(-z/math.Sqrt2)
}
