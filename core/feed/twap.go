package feed

import (
	"math/bits"

	"duplex/core"
)

// CarrySecs is for how many seconds a tick stands in for missing ones after it,
// and how old the last may be at a freeze (contract core, Rounds).
const CarrySecs = 5

// TWAP is the settle price at a boundary, in Unix seconds, over a window of
// seconds: the floored mean of the one-second ticks in [boundary − window,
// boundary), a missing second carrying the last tick forward up to 5 s, also one
// from before the window (contract core, Rounds). The mean is over the seconds
// that so have a price; covered counts them. 0 and 0 if there are none.
//
// The ticks' seconds must rise, as in a Ring. Its cost goes by the ticks, never
// by the window.
func TWAP(ticks []core.IndexTick, boundary, window int64) (price core.Price, covered int64) {
	from, ok := windowStart(boundary, window)
	if !ok {
		return 0, 0
	}
	var sumHi, sumLo uint64 // Σ price × seconds
	for i := range ticks {
		n := reach(ticks, i, from, boundary)
		hi, lo := bits.Mul64(uint64(ticks[i].Price), uint64(n))
		var carry uint64
		sumLo, carry = bits.Add64(sumLo, lo, 0)
		sumHi += hi + carry
		covered += n
	}
	if covered == 0 {
		return 0, 0
	}
	// A mean is no more than the highest price, so the quotient fits.
	mean, _ := bits.Div64(sumHi, sumLo, uint64(covered))
	return core.Price(mean), covered
}

// Counted tells of each tick for how many seconds of the window it stands: the
// weights of TWAP.
func Counted(ticks []core.IndexTick, boundary, window int64) []int64 {
	out := make([]int64, len(ticks))
	if from, ok := windowStart(boundary, window); ok {
		for i := range ticks {
			out[i] = reach(ticks, i, from, boundary)
		}
	}
	return out
}

// reach is how many seconds of [from, until) the i-th tick prices: its own, and
// those it is carried to before the next tick.
func reach(ticks []core.IndexTick, i int, from, until int64) int64 {
	start, end := max(ticks[i].Second, from), min(ticks[i].Second+CarrySecs+1, until)
	if i+1 < len(ticks) {
		end = min(end, ticks[i+1].Second)
	}
	if end <= start {
		return 0
	}
	return end - start
}

// windowStart is the first second of a window; false if there is no such window.
func windowStart(boundary, window int64) (int64, bool) {
	if window <= 0 || boundary <= 0 || boundary > lastSecond {
		return 0, false
	}
	return max(0, boundary-window), true
}
