package feed

import (
	"math/bits"

	"duplex/core"
)

// CarrySecs is the number of seconds after a tick that take its price if they have no
// tick, and the greatest age in seconds of the last tick at a freeze.
const CarrySecs = 5

// TWAP is the settle price at a boundary in Unix seconds over a window in seconds: the
// mean of the prices of the seconds [boundary − window, boundary), rounded down
// (docs/rules/rounds.md#settle-price). A second without a tick takes the last tick before
// it, up to 5 s old, also from before the window. A second that has no price even so is
// left out; covered is the number of the others. Without any, TWAP returns 0, 0.
//
// The seconds of the ticks must rise, as in a Ring. The cost is linear in the ticks and
// independent of the window.
func TWAP(ticks []core.IndexTick, boundary, window int64) (price core.Price, covered int64) {
	from, ok := windowStart(boundary, window)
	if !ok {
		return 0, 0
	}
	var sumHi, sumLo uint64 // Σ price × seconds
	for i := range ticks {
		n := carryReach(ticks, i, from, boundary)
		hi, lo := bits.Mul64(uint64(ticks[i].Price), uint64(n))
		var carry uint64
		sumLo, carry = bits.Add64(sumLo, lo, 0)
		sumHi += hi + carry
		covered += n
	}
	if covered == 0 {
		return 0, 0
	}
	// The mean is at most the highest price, so the quotient fits 64 bits.
	mean, _ := bits.Div64(sumHi, sumLo, uint64(covered))
	return core.Price(mean), covered
}

// CountedSeconds returns the weight of each tick in TWAP: the number of seconds of the
// window that take its price.
func CountedSeconds(ticks []core.IndexTick, boundary, window int64) []int64 {
	out := make([]int64, len(ticks))
	if from, ok := windowStart(boundary, window); ok {
		for i := range ticks {
			out[i] = carryReach(ticks, i, from, boundary)
		}
	}
	return out
}

// carryReach is the number of seconds of [from, until) that take the price of tick i: its
// own, and those after it up to the next tick or CarrySecs.
func carryReach(ticks []core.IndexTick, i int, from, until int64) int64 {
	start, end := max(ticks[i].Second, from), min(ticks[i].Second+CarrySecs+1, until)
	if i+1 < len(ticks) {
		end = min(end, ticks[i+1].Second)
	}
	if end <= start {
		return 0
	}
	return end - start
}

// windowStart is the first second of a window; false if the boundary or the window is out
// of range.
func windowStart(boundary, window int64) (int64, bool) {
	if window <= 0 || boundary <= 0 || boundary > lastSecond {
		return 0, false
	}
	return max(0, boundary-window), true
}
