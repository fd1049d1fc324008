package maker

import (
	"math"
	"testing"
	"time"
)

// seen is a trend that has seen a price a second, the last at second n − 1.
func seen(prices ...float64) *trend {
	t := &trend{}
	for i, p := range prices {
		t.see(p, time.Unix(int64(i), 0))
	}
	return t
}

func TestFairValue(t *testing.T) {
	tr := seen(100)
	now := time.Unix(0, 0)
	at := func(strike float64, left time.Duration) float64 {
		p, _ := tr.fair(strike, now, now.Add(left), 10*time.Second)
		return p
	}
	if p := at(100, time.Minute); math.Abs(p-0.5) > 1e-9 {
		t.Errorf("at the strike: %v", p)
	}
	if up, down := at(99.9, time.Minute), at(100.1, time.Minute); up <= 0.5 || down >= 0.5 || math.Abs(up+down-1) > 0.01 {
		t.Errorf("around the strike: %v and %v", up, down)
	}
	if long, short := at(99.95, 15*time.Minute), at(99.95, 30*time.Second); short <= long {
		t.Errorf("less time, less doubt: %v in 15 minutes, %v in 30 seconds", long, short)
	}
	_, calm := tr.fair(100, now, now.Add(15*time.Minute), time.Minute)
	_, late := tr.fair(100, now, now.Add(20*time.Second), 10*time.Second)
	if late < 3*calm {
		t.Errorf("near the end it moves more: %v, then %v", calm, late)
	}
	tr.see(0, now.Add(time.Second)) // no price is no news
	if tr.at != 0 || !tr.fresh(now.Add(5*time.Second)) || tr.fresh(now.Add(6*time.Second)) || (&trend{}).fresh(now) {
		t.Error("it is fresh for 5 s")
	}
}

// A feed that moves teaches that it does, in log price per square root of a second.
func TestVolatilityIsLearned(t *testing.T) {
	var prices []float64
	for i := range 300 {
		prices = append(prices, 100*(1+0.0005*float64(i%2)))
	}
	if vol := math.Sqrt(seen(prices...).vol2); math.Abs(vol-0.0005) > 0.00001 {
		t.Errorf("steps of 0.0005 look like %v", vol)
	}
	if vol := math.Sqrt(seen(prices[:1]...).vol2); vol != volStart {
		t.Errorf("at first it believes %v", vol)
	}
}

// Within the window, what has been counts: nine seconds above the strike are hardly
// undone by the last.
func TestTheMeanIsPartlyKnown(t *testing.T) {
	tr := seen(101, 101, 101, 101, 101, 101, 101, 101, 99.9)
	now, end := time.Unix(9, 0), time.Unix(10, 0)
	if p, _ := tr.fair(100, now, end, 10*time.Second); p < 0.99 {
		t.Errorf("the mean is above already: %v", p)
	}
	if p, _ := seen(99.9).fair(100, now, end, 10*time.Second); p > 0.01 {
		t.Errorf("nothing was seen of the window: %v", p)
	}
	gap := &trend{}
	gap.see(100, time.Unix(0, 0))
	gap.see(104, time.Unix(4, 0))
	if m := gap.mean(1); m != 101 { // 100, 100, 100, 104
		t.Errorf("a gap carries the last price forward: %v", m)
	}
}
