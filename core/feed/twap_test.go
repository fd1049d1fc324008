package feed

import (
	"math"
	"math/big"
	"reflect"
	"testing"

	"duplex/core"
	"pgregory.net/rapid"
)

// at returns ticks from pairs of second and price.
func at(pairs ...int64) []core.IndexTick {
	var out []core.IndexTick
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, core.IndexTick{Second: pairs[i], Price: core.Price(pairs[i+1]), Count: 1})
	}
	return out
}

func TestTWAP(t *testing.T) {
	for _, c := range []struct {
		story   string
		ticks   []core.IndexTick
		window  int64
		price   core.Price
		covered int64
	}{
		{"no ticks", nil, 10, 0, 0},
		{"a tick for each second, the mean rounded down", at(97, 10, 98, 10, 99, 11), 3, 10, 3},
		{"a gap takes the last tick", at(90, 20, 94, 10), 10, 14, 10},
		{"a tick is carried for five seconds", at(90, 20), 10, 20, 6},
		{"a tick from before the window is carried into it", at(88, 30, 93, 60), 10, 50, 9},
		{"a tick more than five seconds before the window is not", at(84, 30, 95, 60), 10, 60, 5},
		{"the boundary's own second does not count", at(99, 10, 100, 999), 1, 10, 1},
		{"a gap in the middle is left out of the mean", at(90, 10, 98, 30), 10, 15, 8},
		{"no window", at(99, 10), 0, 0, 0},
		{"a window that starts before second 0", at(99, 10), math.MaxInt64, 10, 1},
	} {
		if p, n := TWAP(c.ticks, 100, c.window); p != c.price || n != c.covered {
			t.Errorf("%s: %d over %d s, want %d over %d s", c.story, p, n, c.price, c.covered)
		}
	}
}

// drawTicks draws ticks with gaps from second 1000 on, with any price of 64 bits.
func drawTicks(t *rapid.T) []core.IndexTick {
	var out []core.IndexTick
	second := int64(1000)
	for range rapid.IntRange(0, 90).Draw(t, "n") {
		second += rapid.SampledFrom([]int64{1, 1, 1, 2, 5, 6, 7, 20}).Draw(t, "gap")
		out = append(out, core.IndexTick{Second: second, Price: core.Price(rapid.Uint64Min(1).Draw(t, "price")), Count: 1})
	}
	return out
}

// referenceTWAP computes the mean second by second, as docs/rules/rounds.md#settle-price
// defines it.
func referenceTWAP(ticks []core.IndexTick, boundary, window int64) (*big.Int, int64) {
	bySecond := map[int64]core.Price{}
	for _, t := range ticks {
		bySecond[t.Second] = t.Price
	}
	sum, covered := new(big.Int), int64(0)
	for s := boundary - window; s < boundary; s++ {
		for back := int64(0); back <= 5; back++ {
			if p, ok := bySecond[s-back]; ok {
				sum.Add(sum, wide(p))
				covered++
				break
			}
		}
	}
	if covered > 0 {
		sum.Div(sum, big.NewInt(covered))
	}
	return sum, covered
}

func TestTWAPAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ticks := drawTicks(t)
		boundary := rapid.Int64Range(990, 1200).Draw(t, "boundary")
		window := rapid.SampledFrom([]int64{1, 10, 30, 60}).Draw(t, "window")
		price, covered := TWAP(ticks, boundary, window)
		want, wantCovered := referenceTWAP(ticks, boundary, window)
		if covered != wantCovered || wide(price).Cmp(want) != 0 {
			t.Fatalf("%d over %d s, want %s over %d s", price, covered, want, wantCovered)
		}
	})
}

// TestEvidenceSuffices checks that TWAP of a round's evidence equals TWAP of the ring.
func TestEvidenceSuffices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring
		for _, tick := range drawTicks(t) {
			r.Put(tick)
		}
		boundary := rapid.Int64Range(990, 1200).Draw(t, "boundary")
		window := rapid.SampledFrom([]int64{1, 10, 30, 60}).Draw(t, "window")
		evidence := r.Window(boundary, window)
		for _, tick := range evidence {
			if tick.Second < boundary-window-5 || tick.Second >= boundary {
				t.Fatalf("the evidence contains second %d", tick.Second)
			}
		}
		p, n := r.TWAP(boundary, window)
		if q, m := TWAP(evidence, boundary, window); p != q || n != m {
			t.Fatalf("%d over %d s from the ring, %d over %d s from its evidence", p, n, q, m)
		}
	})
}

func TestRingSecondsRise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Ring
		plain := map[int64]core.IndexTick{}
		newest := int64(-1)
		for range rapid.IntRange(0, 300).Draw(t, "n") {
			tick := core.IndexTick{
				Second: max(0, newest) + rapid.Int64Range(-2, 4).Draw(t, "step"),
				Price:  core.Price(rapid.Uint64Range(0, 5).Draw(t, "price")),
				Manual: rapid.Bool().Draw(t, "manual"),
			}
			accepted := tick.Price > 0 && tick.Second >= 0 && (tick.Second > newest || tick.Second == newest && tick.Manual)
			if r.Put(tick) != accepted {
				t.Fatalf("Put(%+v) after %d: want %v", tick, newest, accepted)
			}
			if accepted {
				newest = tick.Second
				plain[newest] = tick
			}
		}
		if len(r.Ticks) != min(len(plain), RingTicks) {
			t.Fatalf("%d ticks of %d", len(r.Ticks), len(plain))
		}
		for i, tick := range r.Ticks {
			if i > 0 && tick.Second <= r.Ticks[i-1].Second {
				t.Fatalf("second %d after %d", tick.Second, r.Ticks[i-1].Second)
			}
			if !reflect.DeepEqual(tick, plain[tick.Second]) {
				t.Fatalf("the ring has %+v, want %+v", tick, plain[tick.Second])
			}
		}
	})
}

func TestRingRejectsBadTicks(t *testing.T) {
	var r Ring
	for _, tick := range []core.IndexTick{
		{Second: 5, Price: 0},
		{Second: -1, Price: 1},
		{Second: math.MaxInt64, Price: 1},
	} {
		if r.Put(tick) {
			t.Errorf("Put accepted %+v", tick)
		}
	}
	if _, ok := r.Last(); ok {
		t.Error("Last of an empty ring returned a tick")
	}
}

// TestCorruptRingDoesNotPanic checks that ticks of a corrupt snapshot cause no panic.
func TestCorruptRingDoesNotPanic(t *testing.T) {
	extremes := []int64{math.MinInt64, math.MinInt64 + 6, -1, 0, 1, 99, 100, 1 << 40, math.MaxInt64 - 3, math.MaxInt64}
	for _, a := range extremes {
		for _, b := range extremes {
			r := Ring{Ticks: []core.IndexTick{{Second: a, Price: ^core.Price(0)}, {Second: b, Price: 1}, {Second: a, Price: 3}}}
			for _, boundary := range extremes {
				for _, window := range extremes {
					r.TWAP(boundary, window)
					r.Window(boundary, window)
					r.FreshAt(boundary)
				}
			}
			r.Put(core.IndexTick{Second: 7, Price: 7})
		}
	}
}

func TestFreshAt(t *testing.T) {
	for _, c := range []struct {
		story string
		ticks []core.IndexTick
		want  uint8
	}{
		{"no ticks", nil, 0},
		{"the second before", []core.IndexTick{{Second: 99, Price: 1, Count: 4}}, 4},
		{"five seconds old", []core.IndexTick{{Second: 95, Price: 1, Count: 3}}, 3},
		{"six seconds old", []core.IndexTick{{Second: 94, Price: 1, Count: 3}}, 0},
		{"the tick of the boundary's own second does not count", []core.IndexTick{{Second: 98, Price: 1, Count: 2}, {Second: 100, Price: 1, Count: 4}}, 2},
		{"nor does it replace an old tick", []core.IndexTick{{Second: 90, Price: 1, Count: 2}, {Second: 100, Price: 1, Count: 4}}, 0},
	} {
		r := Ring{Ticks: c.ticks}
		if got := r.FreshAt(100); got != c.want {
			t.Errorf("%s: %d, want %d", c.story, got, c.want)
		}
	}
}
