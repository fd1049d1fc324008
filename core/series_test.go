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

// TestSeriesSince checks the order of the table: a later series belongs to no earlier revision, and a feed has
// its first series after those of the feeds before it, so that each revision has the first ones of both.
func TestSeriesSince(t *testing.T) {
	series, feeds := core.SeriesSince(core.RevisionNone)
	if series != 9 || feeds != 3 {
		t.Errorf("the first revision has %d series of %d feeds, want 9 of 3", series, feeds)
	}
	all, next := core.AllSeries(), core.Feed(0)
	for i, s := range all {
		if i > 0 && s.Since < all[i-1].Since {
			t.Errorf("series %d exists since revision %d, before series %d", s.Category, s.Since, i)
		}
		if s.Feed > next {
			t.Errorf("series %d is of feed %d, and feed %d has none before it", s.Category, s.Feed, next)
		}
		next = max(next, s.Feed+1)
	}
	if series, feeds := core.SeriesSince(core.RevisionNewest); series != core.SeriesCount || feeds != core.Feeds {
		t.Errorf("the newest revision has %d series of %d feeds, want all", series, feeds)
	}
}

// TestSourceCountsEncoding pins the bytes of a journal and of a state hash.
func TestSourceCountsEncoding(t *testing.T) {
	b, err := core.SourceCounts{core.BTC: 2, core.WTI: 1}.MarshalCBOR()
	if err != nil || string(b) != "\x43\x02\x00\x01" {
		t.Errorf("%x, %v, want 43020001", b, err)
	}
}
