package core_test

import (
	"testing"

	"duplex/core"
)

// TestSeries compares the derived table with docs/rules/rounds.md#series.
func TestSeries(t *testing.T) {
	want := []struct {
		series core.Series
		name   string
	}{
		{core.Series{Category: 1, Feed: core.BTC, Cadence: 1, Window: 10}, "BTC 60s"},
		{core.Series{Category: 2, Feed: core.BTC, Cadence: 5, Window: 30}, "BTC 5m"},
		{core.Series{Category: 3, Feed: core.BTC, Cadence: 15, Window: 60}, "BTC 15m"},
		{core.Series{Category: 4, Feed: core.Gold, Cadence: 1, Window: 10}, "gold 60s"},
		{core.Series{Category: 5, Feed: core.Gold, Cadence: 5, Window: 30}, "gold 5m"},
		{core.Series{Category: 6, Feed: core.Gold, Cadence: 15, Window: 60}, "gold 15m"},
		{core.Series{Category: 7, Feed: core.WTI, Cadence: 1, Window: 10}, "WTI 60s"},
		{core.Series{Category: 8, Feed: core.WTI, Cadence: 5, Window: 30}, "WTI 5m"},
		{core.Series{Category: 9, Feed: core.WTI, Cadence: 15, Window: 60}, "WTI 15m"},
	}
	all := core.AllSeries()
	if len(all) != len(want) {
		t.Fatalf("%d series, want %d", len(all), len(want))
	}
	for i, w := range want {
		got, ok := core.SeriesOf(uint16(i + 1))
		if all[i] != w.series || got != w.series || !ok || got.String() != w.name {
			t.Errorf("category %d: %+v %q, want %+v %q", i+1, got, got, w.series, w.name)
		}
	}
	for _, category := range []uint16{0, uint16(core.SeriesCount) + 1} {
		if s, ok := core.SeriesOf(category); ok {
			t.Errorf("SeriesOf(%d) = %+v, want none", category, s)
		}
	}
}
