package venue

import (
	"testing"

	"duplex/core"
)

// TestGroupCountEdges tests docs/rules/orders.md#group-bounds where slices begin and end: at the Unix epoch, to which
// they are aligned, after a long gap, after a reset, and in a read with a clock behind the last fill.
func TestGroupCountEdges(t *testing.T) {
	const tenth = 100 * core.NsPerMs // of a window of 1000 ms
	for _, c := range []struct {
		name   string
		fills  []int64    // slices of fills of 3 contracts; -1 is a reset
		counts [][2]int64 // slice, and the contracts that count in it
	}{
		{"in the first slice", []int64{0}, [][2]int64{{0, 3}, {10, 3}, {11, 0}}},
		{"reset in the first slices", []int64{0, 1, -1}, [][2]int64{{1, 0}, {9, 0}}},
		{"after a reset in the first slices", []int64{0, -1, 0, 1}, [][2]int64{{1, 6}, {10, 6}, {11, 3}, {12, 0}}},
		{"long after the last fill", []int64{50, 51, 1 << 30}, [][2]int64{{1 << 30, 3}, {1<<30 + 10, 3}, {1<<30 + 11, 0}, {1 << 36, 0}}},
		{"behind the last fill", []int64{45, 50, 55}, [][2]int64{{0, 9}, {54, 9}, {55, 9}, {56, 6}}},
	} {
		for _, late := range []int64{0, tenth - 1} { // within the slice
			g := group{limit: 100, window: 1000}
			g.forget()
			for _, slice := range c.fills {
				if slice < 0 {
					g.forget()
					continue
				}
				g.count(3, slice*tenth+late)
			}
			for _, x := range c.counts {
				if got := int64(g.filled(x[0]*tenth + late)); got != x[1] {
					t.Errorf("%s: %d contracts count %d ns into slice %d, want %d", c.name, got, late, x[0], x[1])
				}
			}
		}
	}
}
