package tools

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"duplex/core"
	"duplex/core/view"
)

// TestPercentPerMinute compares the volatility of a feed with figures computed by hand
// (docs/rules/prices-sources.md#volatility).
func TestPercentPerMinute(t *testing.T) {
	const now = 10_000
	ticks := func(n int, price func(i int) float64, missing ...int) (list []*view.PriceTick) {
		for i := range n {
			if !slices.Contains(missing, i) {
				list = append(list, &view.PriceTick{Second: int64(now - i), Price: core.Price(price(i) * 1e8)})
			}
		}
		return list
	}
	same := func(int) float64 { return 70_000 }
	zigzag := func(i int) float64 { return 70_000 + 7*float64(i%2) } // changes of 0.01 %
	jump := func(i int) float64 {
		if i < 10 {
			return 77_000
		}
		return 70_000
	}
	for _, c := range []struct {
		name  string
		ticks []*view.PriceTick
		want  string // "": null
	}{
		{"none", nil, ""},
		{"59 closes", ticks(59, zigzag), ""},
		{"60 closes", ticks(60, zigzag), "0.0775"},
		{"a whole window and more", ticks(2000, zigzag), "0.0775"},
		{"no change", ticks(900, same), "0.0000"},
		{"one change of 10 %", ticks(900, jump), "2.5834"}, // 100 × √(60 × 0.01 ÷ 899)
		{"a change before the window", ticks(1000, func(i int) float64 { return jump(i - 895) }), "0.0000"},
		{"a change across a missing second", ticks(900, jump, 9), "0.0000"}, // says nothing about one second
		{"old closes", ticks(2000, zigzag)[900:], ""},
	} {
		got := percentPerMinute(now, slices.Values(c.ticks))
		switch {
		case got == nil && c.want != "":
			t.Errorf("%s: null, want %s", c.name, c.want)
		case got != nil && *got != c.want:
			t.Errorf("%s: %s, want %q", c.name, *got, c.want)
		}
	}
}

// TestPercentPerMinuteOfARandomWalk checks that the figure finds the volatility that a random walk has: on
// average within 1 %, and each of 200 within five of its standard errors.
func TestPercentPerMinuteOfARandomWalk(t *testing.T) {
	const walks, minute = 200, 0.2 // percent
	r := rand.New(rand.NewPCG(1, 2))
	sum := 0.0
	for range walks {
		price := 70_000.0
		var ticks []*view.PriceTick // newest first
		for i := range volatilityWindow {
			ticks = append(ticks, &view.PriceTick{Second: int64(volatilityWindow - i), Price: core.Price(price * 1e8)})
			price *= math.Exp(r.NormFloat64() * minute / 100 / math.Sqrt(60))
		}
		got, err := strconv.ParseFloat(*percentPerMinute(volatilityWindow, slices.Values(ticks)), 64)
		if err != nil {
			t.Fatal(err)
		}
		if limit := 5 * minute / math.Sqrt(2*volatilityWindow); math.Abs(got-minute) > limit {
			t.Errorf("a walk of %g %% a minute has %g %%, want it within %g", minute, got, limit)
		}
		sum += got
	}
	if mean := sum / walks; math.Abs(mean-minute) > minute/100 {
		t.Errorf("the mean of %d walks is %g %%, want %g", walks, mean, minute)
	}
}
