package marketsim

import (
	"math"
	"testing"

	"duplex/core"
)

// modelOf returns a model that has observed one price a second, from second 0 on.
func modelOf(prices ...float64) *PriceModel {
	t := &PriceModel{}
	for i, p := range prices {
		t.Observe(core.Price(p*1e8), int64(i))
	}
	return t
}

func TestFairValue(t *testing.T) {
	m := modelOf(100)
	at := func(strike float64, left int64) Value {
		return m.Fair(core.Price(strike*1e8), 0, left*core.NsPerSec, 10)
	}
	if p := at(100, 60).P; math.Abs(p-0.5) > 1e-7 {
		t.Errorf("at the strike: %v", p)
	}
	if up, down := at(99.9, 60).P, at(100.1, 60).P; up <= 0.5 || down >= 0.5 || math.Abs(up+down-1) > 0.01 {
		t.Errorf("strikes just below and above the price: %v and %v", up, down)
	}
	if long, short := at(99.95, 900).P, at(99.95, 30).P; short <= long {
		t.Errorf("%v with 15 minutes left, %v with 30 seconds; want the latter higher", long, short)
	}
	calm, late := m.Fair(100e8, 0, 900*core.NsPerSec, 60).Move, at(100, 20).Move
	if late < 3*calm {
		t.Errorf("moves %v early and %v near the end; want the latter at least three times as high", calm, late)
	}
	m.Observe(0, 1) // ignored
	if m.at != 0 || !m.Fresh(5) || m.Fresh(6) || (&PriceModel{}).Fresh(0) {
		t.Error("a model must be fresh for 5 s after its last tick")
	}
	if v := (&PriceModel{}).Fair(100e8, 0, core.NsPerSec, 10); v != (Value{P: 0.5}) {
		t.Errorf("without a price: %+v", v)
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

// TestKnownPartOfTheWindow checks that the ticks of the window so far count: after nine seconds
// above the strike the last one can hardly change the outcome.
func TestKnownPartOfTheWindow(t *testing.T) {
	now, end := 9*core.NsPerSec, 10*core.NsPerSec
	if p := modelOf(101, 101, 101, 101, 101, 101, 101, 101, 99.9).Fair(100e8, now, end, 10).P; p < 0.99 {
		t.Errorf("probability %v after nine seconds above the strike", p)
	}
	if p := modelOf(99.9).Fair(100e8, now, end, 10).P; p > 0.01 {
		t.Errorf("probability %v without ticks of the window", p)
	}
	gap := &PriceModel{}
	gap.Observe(100, 0)
	gap.Observe(104, 4)
	if m := gap.mean(1); m != 101 { // 100, 100, 100, 104
		t.Errorf("mean with a gap %v, want 101", m)
	}
}
