package feed

import (
	"math/big"
	"slices"
	"testing"

	"duplex/core"
	"pgregory.net/rapid"
)

func TestMedian(t *testing.T) {
	const top = ^core.Price(0)
	for _, c := range []struct {
		prices []core.Price
		want   core.Price
	}{
		{nil, 0},
		{[]core.Price{7}, 7},
		{[]core.Price{3, 8}, 5}, // rounded down
		{[]core.Price{9, 1, 5}, 5},
		{[]core.Price{4, 1, 3, 100}, 3},
		{[]core.Price{top, top}, top},
		{[]core.Price{top, top - 1}, top - 1},
	} {
		if got := Median(c.prices); got != c.want {
			t.Errorf("Median(%v) = %d, want %d", c.prices, got, c.want)
		}
	}
}

func TestMedianAgainstBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prices := rapid.SliceOfN(rapid.Map(rapid.Uint64(), func(v uint64) core.Price { return core.Price(v) }), 1, 9).Draw(t, "prices")
		before := slices.Clone(prices)
		got := Median(prices)
		if !slices.Equal(prices, before) {
			t.Fatal("Median changed its argument")
		}
		slices.Sort(before)
		a, b := before[(len(before)-1)/2], before[len(before)/2]
		want := new(big.Int).Add(wide(a), wide(b))
		want.Rsh(want, 1)
		if want.Cmp(wide(got)) != 0 {
			t.Fatalf("median of %v = %d, want %s", before, got, want)
		}
	})
}

func TestOutlierIsMoreThanTwoPercentOff(t *testing.T) {
	for _, c := range []struct {
		price, median core.Price
		want          bool
	}{
		{100, 100, false},
		{102, 100, false},
		{98, 100, false},
		{103, 100, true},
		{97, 100, true},
		{102_0000001, 100_0000000, true},
		{^core.Price(0), 1, true},
		{^core.Price(0), ^core.Price(0) / 100 * 99, false},
	} {
		if got := Outlier(c.price, c.median); got != c.want {
			t.Errorf("Outlier(%d, %d) = %v", c.price, c.median, got)
		}
	}
}

func wide(p core.Price) *big.Int { return new(big.Int).SetUint64(uint64(p)) }
