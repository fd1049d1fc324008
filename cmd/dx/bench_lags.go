package main

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// newTimes counts durations in microseconds, up to a minute, to three digits.
func newTimes() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Minute.Microseconds(), 3) }

// lags counts durations that may be negative: a histogram has none below 0, so there
// is one for each sign.
type lags struct{ before, after *hdrhistogram.Histogram }

func newLags() *lags { return &lags{newTimes(), newTimes()} }

func (l *lags) record(d time.Duration) error {
	if d < 0 {
		return l.before.RecordValue((-d).Microseconds())
	}
	return l.after.RecordValue(d.Microseconds())
}

func (l *lags) count() int64 { return l.before.TotalCount() + l.after.TotalCount() }

// at gives the lag, in microseconds, that a share q of all does not pass. What is
// deepest below 0 is the greatest of the histogram before.
func (l *lags) at(q float64) int64 {
	below := l.before.TotalCount()
	rank := max(1, int64(math.Ceil(q*float64(l.count()))))
	if rank <= below {
		return -l.before.ValueAtQuantile(100 * float64(below-rank+1) / float64(below))
	}
	return l.after.ValueAtQuantile(100 * float64(rank-below) / float64(l.after.TotalCount()))
}
