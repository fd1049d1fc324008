package feed

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"duplex/core"
	"pgregory.net/rapid"
)

// TestJumpLimit plays scripts of seconds. Each line has the prices that the sources send in
// that second and the index that follows. A source that a line does not name is removed.
func TestJumpLimit(t *testing.T) {
	for _, c := range []struct {
		story string
		limit Limit
		feed  core.Feed
		page  string // one second a line, "a=100 b=101 > 100 of 2"; the prefix "12x " repeats it
	}{
		{"of two sources, one at five times the other's price is left out", Limit{JumpPct: 10}, core.BTC, `
			a=1000 b=1002 > 1001 of 2
			a=1000 b=5000 > 1000 of 1
			200x a=1000 b=5000 > 1000 of 1
			a=1000 b=1002 > 1001 of 2`},
		{"two sources far apart from the start make no index", Limit{JumpPct: 10}, core.BTC, `
			100x a=1000 b=5000 > apart
			a=1000 b=1100 > 1050 of 2`},
		{"exactly the limit is no jump", Limit{JumpPct: 10}, core.BTC, `
			a=1000 > 1000 of 1
			a=1100 > 1100 of 1
			a=990 > 990 of 1
			a=890 > jump`},
		{"a move of a single source is accepted after 30 s", Limit{JumpPct: 10}, core.Gold, `
			a=1000 > 1000 of 1
			30x a=1200 > jump
			a=1200 > 1200 of 1
			a=1210 > 1210 of 1`},
		{"a single wrong value costs only its own second", Limit{JumpPct: 10}, core.Gold, `
			a=1000 > 1000 of 1
			a=9 > jump
			a=1001 > 1001 of 1`},
		{"a move of two sources of two is accepted at once", Limit{JumpPct: 10}, core.BTC, `
			a=1000 b=1000 > 1000 of 2
			a=1200 b=1000 > 1000 of 1
			a=1200 b=1210 > 1205 of 2`},
		{"a move of two sources of three is accepted and leaves the third out", Limit{JumpPct: 10}, core.BTC, `
			a=1000 b=1000 c=1000 > 1000 of 3
			a=1200 b=1205 c=1000 > 1202 of 2
			a=1200 b=1205 c=1203 > 1203 of 3`},
		{"two sources of four are no majority", Limit{JumpPct: 10}, core.BTC, `
			a=1000 b=1000 c=1000 d=1000 > 1000 of 4
			50x a=1000 b=1002 c=1200 d=1200 > 1001 of 2
			a=1000 b=1200 c=1200 d=1200 > 1200 of 3`},
		{"jumps to different levels do not confirm each other", Limit{JumpPct: 10}, core.BTC, `
			a=1000 b=1000 c=1000 > 1000 of 3
			60x a=5000 b=20 c=1000 > 1000 of 1
			30x a=5000 b=20 > jump
			20x a=5000 b=20 > apart`},
		{"30 s of silence end the comparison with the last index", Limit{JumpPct: 10}, core.BTC, `
			a=1000 > 1000 of 1
			29x > silent
			a=1200 > jump
			a=1200 > 1200 of 1`},
		{"a limit of 100 percent", Limit{JumpPct: 100}, core.BTC, `
			a=1000 > 1000 of 1
			a=1 > 1 of 1
			a=3 > jump`},
		{"no limit", Limit{}, core.BTC, `
			a=1000 b=1000 > 1000 of 2
			a=1000 b=5000 > 3000 of 2`},
		{"a minimum of sources", Limit{MinSources: 2}, core.BTC, `
			a=1000 > min_sources
			a=1000 b=1001 > 1000 of 2
			a=1000 b=5000 > 3000 of 2
			b=5000 > min_sources
			> silent`},
		{"with both limits one wrong source of two stops the feed", Limit{MinSources: 2, JumpPct: 10}, core.BTC, `
			a=1000 b=1000 > 1000 of 2
			30x a=1000 b=5000 > min_sources
			60x a=1000 b=5000 > apart
			a=1000 b=1010 > 1005 of 2`},
		{"outliers do not count for the minimum", Limit{MinSources: 3}, core.BTC, `
			a=1000 b=1000 c=1000 d=2000 > 1000 of 3
			a=1000 b=1000 c=2000 > min_sources`},
	} {
		var x Index
		x.SetLimit(c.feed, c.limit)
		second := int64(1_000)
		for line := range strings.SplitSeq(strings.TrimSpace(c.page), "\n") {
			line = strings.TrimSpace(line)
			times := 1
			if n, _ := fmt.Sscanf(line, "%dx", &times); n == 1 {
				_, line, _ = strings.Cut(line, "x ")
			}
			prices, want, _ := strings.Cut(line, "> ")
			for i := range times {
				second++
				x.sources[c.feed] = drop(x.sources[c.feed], prices)
				for _, w := range strings.Fields(prices) {
					name, text, _ := strings.Cut(w, "=")
					var p core.Price
					if _, err := fmt.Sscan(text, &p); err != nil {
						t.Fatal(err)
					}
					x.Update(c.feed, name, p, second*sec)
				}
				tick, gap := x.Tick(c.feed, second*sec)
				got := gap.String()
				if gap == NoGap {
					got = fmt.Sprintf("%d of %d", tick.Price, tick.Count)
				}
				if got != want {
					t.Errorf("%s, second %d of %q: %s, want %s", c.story, i+1, prices, got, want)
					break
				}
			}
		}
	}
}

// drop removes the sources that a line does not name.
func drop(sources []SourceState, line string) (kept []SourceState) {
	for _, s := range sources {
		if strings.Contains(line, s.Name+"=") {
			kept = append(kept, s)
		}
	}
	return kept
}

func TestJumpsAreCounted(t *testing.T) {
	var x Index
	x.SetLimit(core.BTC, Limit{JumpPct: 10})
	x.SetLimit(core.Feeds, Limit{JumpPct: 10})
	for s := int64(1); s <= 3; s++ {
		x.Update(core.BTC, "a", 100, s*sec)
		x.Update(core.BTC, "b", map[bool]core.Price{true: 100, false: 500}[s == 1], s*sec)
		x.Tick(core.BTC, s*sec)
	}
	if got := x.Sources(core.BTC); got[0].Jumps != 0 || got[1].Jumps != 2 || got[1].Outliers != 0 {
		t.Errorf("%+v", got)
	}
	if _, gap := x.Tick(core.Feeds, 1); gap != Unknown {
		t.Error(gap)
	}
}

// TestJumpLimitAfterTheClockIsSetBack checks that prices are not compared with an index of
// a later time.
func TestJumpLimitAfterTheClockIsSetBack(t *testing.T) {
	var x Index
	x.SetLimit(core.Gold, Limit{JumpPct: 1})
	x.Update(core.Gold, "a", 100, 1000*sec)
	x.Tick(core.Gold, 1000*sec)
	x.sources[core.Gold] = nil
	x.Update(core.Gold, "a", 200, 10*sec)
	if tick, gap := x.Tick(core.Gold, 10*sec); gap != NoGap || tick.Price != 200 {
		t.Errorf("%+v, %s", tick, gap)
	}
}

// TestJumpLimitLocksNoFeed checks two properties for random prices. Sources that agree
// have an index at their level at most 30 s later. No index moves by more than the limit
// within 30 s unless at least two of its sources, and more than half, moved so.
func TestJumpLimitLocksNoFeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := core.Feed(rapid.IntRange(0, 2).Draw(t, "feed"))
		pct := uint8(rapid.IntRange(1, 100).Draw(t, "limit"))
		var x Index
		x.SetLimit(f, Limit{JumpPct: pct})
		names := []string{"a", "b", "c", "d", "e"}[:rapid.IntRange(1, 5).Draw(t, "sources")]
		price := rapid.Map(rapid.SampledFrom([]uint64{100, 101, 108, 150, 500, 20, 1 << 40, 1<<64 - 1}), func(p uint64) core.Price { return core.Price(p) })
		second := int64(1000)
		var last core.IndexTick
		step := func(priceOf func(i int) core.Price) Gap {
			second++
			for i, name := range names {
				if p := priceOf(i); p > 0 {
					x.Update(f, name, p, second*sec)
				}
			}
			tick, gap := x.Tick(f, second*sec)
			if gap != NoGap {
				return gap
			}
			if last.Price > 0 && second-last.Second <= 30 && beyond(tick.Price, last.Price, pct) {
				moved := 0
				for _, s := range tick.Sources {
					if beyond(s.Price, last.Price, pct) {
						moved++
					}
				}
				if moved < 2 || 2*moved <= len(tick.Sources) {
					t.Fatalf("from %+v to %+v with a limit of %d %%", last, tick, pct)
				}
			}
			last = tick
			return gap
		}
		for range rapid.IntRange(0, 60).Draw(t, "before") {
			step(func(int) core.Price {
				if rapid.IntRange(0, 3).Draw(t, "silent") == 0 {
					return 0
				}
				return price.Draw(t, "price")
			})
		}
		level := price.Draw(t, "level")
		for n := 0; step(func(int) core.Price { return level }) != NoGap; n++ {
			if n == 30 {
				t.Fatalf("%d sources at %d have no index after 30 s", len(names), level)
			}
		}
		if last.Price != level || int(last.Count) != len(names) {
			t.Fatalf("the index of %d sources at %d is %+v", len(names), level, last)
		}
	})
}

// beyond computes what Off does, in big integers.
func beyond(price, from core.Price, pct uint8) bool {
	off := new(big.Int).Sub(wide(price), wide(from))
	off.Abs(off).Mul(off, big.NewInt(100))
	return off.Cmp(new(big.Int).Mul(wide(from), big.NewInt(int64(pct)))) > 0
}

func TestOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.OneOf(rapid.Uint64Range(0, 1000), rapid.Uint64())
		p, from, pct := core.Price(draw.Draw(t, "price")), core.Price(draw.Draw(t, "from")), uint8(rapid.Uint8().Draw(t, "pct"))
		if got := Off(p, from, pct); got != beyond(p, from, pct) {
			t.Fatalf("Off(%d, %d, %d) = %v", p, from, pct, got)
		}
	})
}
