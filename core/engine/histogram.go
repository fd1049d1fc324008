package engine

import (
	"math/bits"
	"sync/atomic"
)

// Histogram counts values by powers of two: how often each was at most 1, 2, 4, … It is
// cheap enough for every group, and a reader needs no lock.
type Histogram struct {
	counts [histogramBuckets]atomic.Uint64 // of values whose ceiling is 1<<i
	sum    atomic.Uint64
}

// histogramBuckets reaches 2^40: 18 minutes of nanoseconds.
const histogramBuckets = 41

// Add counts one value.
func (s *Histogram) Add(n uint64) {
	s.counts[min(bits.Len64(max(n, 1)-1), histogramBuckets-1)].Add(1)
	s.sum.Add(n)
}

// Read gives how many values there were, their sum, and how many were at most each
// power of two from `from` on to 2^last.
func (s *Histogram) Read(from, last int) (count, sum uint64, atMost map[uint64]uint64) {
	atMost = map[uint64]uint64{}
	for i := range s.counts {
		if count += s.counts[i].Load(); i >= from && i <= last {
			atMost[1<<i] = count
		}
	}
	return count, s.sum.Load(), atMost
}
