package tools

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/view"
	"duplex/schemas"
)

// TestVolatility compares volatility_ppb with figures computed by hand. Rows are newest first,
// as step:close.
func TestVolatility(t *testing.T) {
	const most = math.MaxUint64
	for _, c := range []struct {
		rows [][2]uint64
		want string
	}{
		{nil, "0"},
		{[][2]uint64{{7, 100}}, "0"},
		{[][2]uint64{{7, 100}, {6, 100}}, "0"},
		{[][2]uint64{{7, 101}, {6, 100}}, "10000000"},
		{[][2]uint64{{7, 99}, {6, 100}}, "10000000"},
		{[][2]uint64{{9, 101}, {7, 100}}, "0"},                                         // a step between them is absent
		{[][2]uint64{{9, 500}, {7, 101}, {6, 100}}, "10000000"},                        // the pair across it does not count
		{[][2]uint64{{8, 100}, {7, 103}, {6, 100}}, "29566334"},                        // r = −29126213 and 30000000; the mean of r² is 874168141860684
		{[][2]uint64{{7, 3_000_000_001}, {6, 3_000_000_000}}, "0"},                     // 0.33 is truncated
		{[][2]uint64{{7, 2_999_999_999}, {6, 3_000_000_000}}, "0"},                     // and −0.33 as well
		{[][2]uint64{{8, 2_000_000_002}, {7, 2_000_000_000}, {6, 2_000_000_000}}, "0"}, // √0.5
		{[][2]uint64{{7, most}, {6, 1}}, "18446744073709551614000000000"},              // r and r² beyond 64 bits
		{[][2]uint64{{7, 1}, {6, most}}, "999999999"},
	} {
		for _, step := range []int64{1, 60, 3600} {
			var rows []schemas.PriceRow
			for _, x := range c.rows {
				rows = append(rows, schemas.PriceRow{Ts: schemas.U64(x[0]) * schemas.U64(step*core.NsPerSec), Close: schemas.U64(x[1])})
			}
			if got := volatilityPpb(rows, step); got != c.want {
				t.Errorf("%v in steps of %d s: %s, want %s", c.rows, step, got, c.want)
			}
		}
	}
}

func each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// TestSteps groups seconds into steps: each row is start=seconds, newest first, and + means that
// there are more.
func TestSteps(t *testing.T) {
	const far = math.MaxInt64
	for _, c := range []struct {
		seconds []int64 // newest first
		p       stepPage
		want    string
	}{
		{nil, stepPage{1, 0, far, 10}, ""},
		{[]int64{5, 4, 3}, stepPage{1, 0, far, 10}, "5=5 4=4 3=3"},
		{[]int64{5, 4, 3}, stepPage{1, 0, far, 2}, "5=5 4=4 +"},
		{[]int64{5, 4, 3}, stepPage{1, 0, far, 3}, "5=5 4=4 3=3"},
		{[]int64{5, 4, 3}, stepPage{1, 4, far, 3}, "5=5 4=4"},
		{[]int64{5, 4, 3}, stepPage{1, 4, far, 2}, "5=5 4=4"},
		{[]int64{121, 120, 119, 61, 60, 59}, stepPage{60, 0, far, 10}, "120=121,120 60=119,61,60 0=59"},
		{[]int64{121, 120, 119, 61, 60, 59}, stepPage{60, 0, far, 2}, "120=121,120 60=119,61,60 +"},
		{[]int64{121, 120, 119, 61, 60, 59}, stepPage{60, 60, far, 2}, "120=121,120 60=119,61,60"},
		{[]int64{7200, 3601, 0}, stepPage{3600, 0, far, 5}, "7200=7200 3600=3601 0=0"},
		{[]int64{200, 20}, stepPage{10, 0, far, 5}, "200=200 20=20"},
	} {
		type row struct {
			start int64
			all   []string
		}
		rows, more := stepsOf(c.p, each(c.seconds), func(s *int64) int64 { return *s },
			func(start int64, s *int64) row { return row{start, []string{fmt.Sprint(*s)}} },
			func(r *row, s *int64) { r.all = append(r.all, fmt.Sprint(*s)) })
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprintf("%d=%s", r.start, strings.Join(r.all, ",")))
		}
		if more {
			got = append(got, "+")
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v %+v: %s, want %s", c.seconds, c.p, s, c.want)
		}
	}
}

// TestRowsNeeded checks that the rows of a page are never too few: with that many of the newest
// rows the page is the same as with all.
func TestRowsNeeded(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for range 2000 {
		var seconds []int64
		for s := int64(500); s >= 0; s -= 1 + r.Int64N(1+r.Int64N(20)) {
			seconds = append(seconds, s)
		}
		p := stepPage{step: 1 + r.Int64N(30), size: 1 + r.IntN(8)}
		steps := func(list []int64) ([]int64, bool) {
			return stepsOf(p, each(list), func(s *int64) int64 { return *s }, func(start int64, _ *int64) int64 { return start * 1000 }, func(x *int64, _ *int64) { *x++ })
		}
		want, wantMore := steps(seconds)
		got, more := steps(seconds[:min(len(seconds), p.rowsNeeded())])
		if !slices.Equal(got, want) || more != wantMore {
			t.Fatalf("%+v: %v %t, want %v %t", p, got, more, want, wantMore)
		}
	}
}

func TestPriceRow(t *testing.T) {
	var ticks []view.PriceTick
	for i, price := range []core.Price{7, 9, 5, 4} {
		ticks = append(ticks, view.PriceTick{Second: 62 - int64(i), Price: price, Sources: uint8(i + 1)})
	}
	rows, _ := stepsOf(stepPage{60, 0, math.MaxInt64, 5}, each(ticks), tickSecond, newPriceRow, addTick)
	want := []schemas.PriceRow{{Ts: 60e9, Open: 5, High: 9, Low: 5, Close: 7, Sources: 1}, {Ts: 0, Open: 4, High: 4, Low: 4, Close: 4, Sources: 4}}
	if !slices.Equal(rows, want) {
		t.Errorf("%+v", rows)
	}
}
