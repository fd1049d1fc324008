package feed

import (
	"math/bits"
	"slices"

	"duplex/core"
)

// Median is the middle price, or for an even number the mean of the middle two, rounded
// down (docs/rules/prices-sources.md#index). The median of no prices is 0. Median sorts a
// copy of its argument.
func Median(prices []core.Price) core.Price {
	sorted := slices.Clone(prices)
	slices.Sort(sorted)
	return medianOfSorted(sorted)
}

// medianOfSorted is the median of sorted prices.
func medianOfSorted(sorted []core.Price) core.Price {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	hi := sorted[n/2]
	if n%2 == 1 {
		return hi
	}
	lo := sorted[n/2-1]
	return lo + (hi-lo)/2 // lo+hi can overflow
}

// Outlier reports whether price differs from the median by more than 2 %.
func Outlier(price, median core.Price) bool {
	off := max(price, median) - min(price, median)
	hi, lo := bits.Mul64(uint64(off), 50)
	return hi > 0 || lo > uint64(median)
}
