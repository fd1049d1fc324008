package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

var narrow = schemas.TickSizeOf(core.Narrow())

// At the strike the chance is even; with less time left it is closer to certain.
func TestFair(t *testing.T) {
	at := func(price, left float64) float64 {
		w := priceModel{price: price, variance: 1e-8}
		return w.fair(100, left, 10)
	}
	if p := at(100, 40); p != 0.5 {
		t.Errorf("%v at the strike", p)
	}
	far, near := at(100.05, 50), at(100.05, 15)
	if !(0.5 < far && far < near && near < 1) {
		t.Errorf("above the strike %v, then %v", far, near)
	}
	// One standard deviation above: the normal distribution's 84.13 %.
	sigma := math.Sqrt(1e-8 * (50 - 10*2.0/3))
	if p := at(100*math.Exp(sigma), 50); math.Abs(p-0.8413) > 1e-4 {
		t.Errorf("%v a deviation above", p)
	}
}

func TestQuotes(t *testing.T) {
	for _, c := range []struct {
		name string
		fair float64
		net  int64
		want string
	}{
		{"even", 0.5, 0, "no 4800, yes 4800"},
		{"prices shift against the position", 0.5, maxPosition / 2, "no 4900, yes 4600"},
		{"maximum YES position", 0.5, maxPosition, "no 5100"},
		{"maximum NO position", 0.5, -maxPosition, "yes 5100"},
		{"on the fine part of the grid", 0.98, 0, "yes 9600"},
		{"no bid below the grid", 0.025, 0, "no 9500"},
	} {
		var got []string
		for _, q := range quotes(c.fair, c.net, narrow) {
			got = append(got, q.Outcome+" "+schemas.U64(*q.Tick).String())
		}
		slices.Sort(got)
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// A legal tick stays; a price between two ticks becomes the lower one.
func TestBelow(t *testing.T) {
	for price, want := range map[float64]int64{99: 0, 100: 100, 109.9: 100, 399: 390, 400: 400, 4799: 4700, 9605: 9600, 9615: 9610, 12000: 9990} {
		if got, ok := tickAtOrBelow(narrow, price); got != want || ok != (want > 0) {
			t.Errorf("below %v: %d", price, got)
		}
	}
}
