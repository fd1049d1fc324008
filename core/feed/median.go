package feed

import (
	"math/bits"
	"slices"

	"duplex/core"
)

// Median is the middle price, or of an even count the floored mean of the middle
// two (contract oracle, Rule). Of nothing it is 0. It sorts a copy.
func Median(prices []core.Price) core.Price {
	sorted := slices.Clone(prices)
	slices.Sort(sorted)
	return middle(sorted)
}

// middle is the median of prices already sorted.
func middle(sorted []core.Price) core.Price {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	hi := sorted[n/2]
	if n%2 == 1 {
		return hi
	}
	lo := sorted[n/2-1]
	return lo + (hi-lo)/2 // lo+hi might not fit
}

// Outlier tells whether price is more than 2 % off the median (contract oracle,
// Rule). Exactly 2 % is not.
func Outlier(price, median core.Price) bool {
	off := max(price, median) - min(price, median)
	hi, lo := bits.Mul64(uint64(off), 50)
	return hi > 0 || lo > uint64(median)
}
