package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"pgregory.net/rapid"
)

const sec = core.NsPerSec

// show formats a tick or a gap on one line.
func show(t core.IndexTick, gap Gap) string {
	if gap != NoGap {
		return gap.String()
	}
	var names []string
	for _, s := range t.Sources {
		names = append(names, fmt.Sprintf("%s=%d", s.Name, s.Price))
	}
	return fmt.Sprintf("%d of %d: %s", t.Price, t.Count, strings.Join(names, " "))
}

func TestIndex(t *testing.T) {
	type value struct {
		source string
		price  core.Price
		at     int64 // seconds
	}
	for _, c := range []struct {
		story  string
		feed   core.Feed
		values []value
		want   string // at second 100
	}{
		{"no source", core.BTC, nil, "silent"},
		{"one source", core.BTC, []value{{"a", 50, 100}}, "50 of 1: a=50"},
		{"sources by name, mean of two rounded down", core.BTC, []value{{"b", 51, 99}, {"a", 50, 98}}, "50 of 2: a=50 b=51"},
		{"BTC at 5 s is fresh", core.BTC, []value{{"a", 50, 95}}, "50 of 1: a=50"},
		{"BTC at 6 s is not fresh", core.BTC, []value{{"a", 50, 94}}, "silent"},
		{"gold at 15 s is fresh", core.Gold, []value{{"a", 50, 85}}, "50 of 1: a=50"},
		{"WTI at 16 s is not fresh", core.WTI, []value{{"a", 50, 84}}, "silent"},
		{"an outlier of three is left out", core.BTC, []value{{"a", 1000, 99}, {"b", 1001, 99}, {"c", 1100, 99}}, "1000 of 2: a=1000 b=1001"},
		{"two sources have no outlier", core.BTC, []value{{"a", 1000, 99}, {"c", 1100, 99}}, "1050 of 2: a=1000 c=1100"},
		{"stale sources do not count for the median", core.BTC, []value{{"a", 1000, 99}, {"b", 1001, 90}, {"c", 1100, 99}}, "1050 of 2: a=1000 c=1100"},
		{"two groups far apart make no index", core.BTC, []value{{"a", 1000, 99}, {"b", 1000, 99}, {"c", 1100, 99}, {"d", 1100, 99}}, "apart"},
		{"zero is dropped, the last price stays", core.BTC, []value{{"a", 50, 98}, {"a", 0, 99}}, "50 of 1: a=50"},
		{"a price older than the last is dropped", core.BTC, []value{{"a", 50, 98}, {"a", 60, 97}}, "50 of 1: a=50"},
		{"a price received after the tick does not count", core.BTC, []value{{"a", 50, 101}, {"b", 60, 100}}, "60 of 1: b=60"},
		{"the highest prices", core.BTC, []value{{"a", ^core.Price(0), 99}, {"b", ^core.Price(0) - 1, 99}}, "18446744073709551614 of 2: a=18446744073709551615 b=18446744073709551614"},
	} {
		var x Index
		for _, v := range c.values {
			x.Update(c.feed, v.source, v.price, v.at*sec)
		}
		if got := show(x.Tick(c.feed, 100*sec)); got != c.want {
			t.Errorf("%s: %s, want %s", c.story, got, c.want)
		}
	}
}

func TestIndexCounts(t *testing.T) {
	var x Index
	x.Update(core.BTC, "a", 100, 10)
	x.Update(core.BTC, "a", 0, 11)
	x.Update(core.BTC, "a", 100, 9)
	x.Update(core.BTC, "b", 100, 10)
	x.Update(core.BTC, "c", 200, 10)
	x.Tick(core.BTC, 10)
	if v := x.Update(core.Feeds, "a", 1, 1); v != UnknownFeed {
		t.Errorf("unknown feed: %s", v)
	}
	got := x.Sources(core.BTC)
	if a := got[0]; a.Name != "a" || a.Counts != [Verdicts]uint64{Accepted: 1, Zero: 1, TimeTravel: 1} || a.Outliers != 0 {
		t.Errorf("a: %+v", a)
	}
	if c := got[2]; c.Name != "c" || c.Outliers != 1 {
		t.Errorf("c: %+v", c)
	}
}

func TestIndexDropsTheOldestSource(t *testing.T) {
	var x Index
	for i := range MaxSources + 3 {
		x.Update(core.Gold, fmt.Sprint("s", i), 5, int64(i))
	}
	got := x.Sources(core.Gold)
	if len(got) != MaxSources || !slices.IsSortedFunc(got, func(a, b SourceState) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("%d sources: %+v", len(got), got)
	}
	for _, s := range got {
		if s.At < 3 {
			t.Errorf("kept %s of second %d", s.Name, s.At)
		}
	}
}

// TestIndexAgainstReference compares Tick with a direct implementation of
// docs/rules/prices-sources.md#index.
func TestIndexAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x Index
		type last struct {
			price core.Price
			at    int64
		}
		plain := map[string]last{}
		f := core.Feed(rapid.IntRange(0, 2).Draw(t, "feed"))
		for range rapid.IntRange(0, 30).Draw(t, "n") {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "source")
			v := last{core.Price(rapid.OneOf(rapid.Uint64Range(970, 1030), rapid.Just(uint64(0)), rapid.Uint64()).Draw(t, "price")), rapid.Int64Range(80, 101).Draw(t, "at") * sec}
			x.Update(f, name, v.price, v.at)
			if before, ok := plain[name]; v.price > 0 && (!ok || v.at >= before.at) {
				plain[name] = v
			}
		}
		var fresh, used []core.Price
		for _, v := range plain {
			if age := 100*sec - v.at; age >= 0 && age <= FreshFor(f) {
				fresh = append(fresh, v.price)
			}
		}
		for _, p := range fresh {
			off := wide(max(p, Median(fresh)) - min(p, Median(fresh)))
			if len(fresh) < 3 || off.Mul(off, wide(100)).Cmp(wide(Median(fresh)).Mul(wide(Median(fresh)), wide(2))) <= 0 {
				used = append(used, p)
			}
		}
		tick, gap := x.Tick(f, 100*sec)
		if (gap == NoGap) != (len(used) > 0) || tick.Price != Median(used) || int(tick.Count) != len(used) || len(tick.Sources) != len(used) {
			t.Fatalf("%s, want the median of %v", show(tick, gap), used)
		}
	})
}
