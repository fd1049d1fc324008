package maker

import (
	"math"
	"testing"
	"time"
)

// modelOf returns a model that has observed one price a second, from second 0 on.
func modelOf(prices ...float64) *priceModel {
	t := &priceModel{}
	for i, p := range prices {
		t.observe(p, time.Unix(int64(i), 0))
	}
	return t
}

func TestFairValue(t *testing.T) {
	tr := modelOf(100)
	now := time.Unix(0, 0)
	at := func(strike float64, left time.Duration) float64 {
		p, _ := tr.fair(strike, now, now.Add(left), 10*time.Second)
		return p
	}
	if p := at(100, time.Minute); math.Abs(p-0.5) > 1e-9 {
		t.Errorf("at the strike: %v", p)
	}
	if up, down := at(99.9, time.Minute), at(100.1, time.Minute); up <= 0.5 || down >= 0.5 || math.Abs(up+down-1) > 0.01 {
		t.Errorf("strikes just below and above the price: %v and %v", up, down)
	}
	if long, short := at(99.95, 15*time.Minute), at(99.95, 30*time.Second); short <= long {
		t.Errorf("%v with 15 minutes left, %v with 30 seconds; want the latter higher", long, short)
	}
	_, calm := tr.fair(100, now, now.Add(15*time.Minute), time.Minute)
	_, late := tr.fair(100, now, now.Add(20*time.Second), 10*time.Second)
	if late < 3*calm {
		t.Errorf("moves %v early and %v near the end; want the latter at least three times as high", calm, late)
	}
	tr.observe(0, now.Add(time.Second)) // ignored
	if tr.at != 0 || !tr.isFresh(now.Add(5*time.Second)) || tr.isFresh(now.Add(6*time.Second)) || (&priceModel{}).isFresh(now) {
		t.Error("a model must be fresh for 5 s after its last tick")
	}
}

// TestVolatilityEstimate checks the estimate after many equal steps and after one tick.
func TestVolatilityEstimate(t *testing.T) {
	var prices []float64
	for i := range 300 {
		prices = append(prices, 100*(1+0.0005*float64(i%2)))
	}
	if vol := math.Sqrt(modelOf(prices...).variance); math.Abs(vol-0.0005) > 0.00001 {
		t.Errorf("steps of 0.0005 have the estimate %v", vol)
	}
	if vol := math.Sqrt(modelOf(prices[:1]...).variance); vol != initialVol {
		t.Errorf("initial estimate %v, want %v", vol, initialVol)
	}
}

// TestKnownPartOfTheWindow checks that the ticks of the window so far count: after nine
// seconds above the strike the last one can hardly change the outcome.
func TestKnownPartOfTheWindow(t *testing.T) {
	tr := modelOf(101, 101, 101, 101, 101, 101, 101, 101, 99.9)
	now, end := time.Unix(9, 0), time.Unix(10, 0)
	if p, _ := tr.fair(100, now, end, 10*time.Second); p < 0.99 {
		t.Errorf("probability %v after nine seconds above the strike", p)
	}
	if p, _ := modelOf(99.9).fair(100, now, end, 10*time.Second); p > 0.01 {
		t.Errorf("probability %v without ticks of the window", p)
	}
	gap := &priceModel{}
	gap.observe(100, time.Unix(0, 0))
	gap.observe(104, time.Unix(4, 0))
	if m := gap.mean(1); m != 101 { // 100, 100, 100, 104
		t.Errorf("mean with a gap %v, want 101", m)
	}
}
