package load

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// newHistogram returns a histogram of durations in microseconds, up to a day, to three digits:
// under a load that the venue cannot serve, a request may have been due long ago.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (24 * time.Hour).Microseconds(), 3)
}

// signedHistogram holds durations that may be negative. A histogram has no values below 0,
// so there is one for each sign.
type signedHistogram struct{ negative, positive *hdrhistogram.Histogram }

func newSignedHistogram() *signedHistogram { return &signedHistogram{newHistogram(), newHistogram()} }

func (h *signedHistogram) record(d time.Duration) error {
	if d < 0 {
		return h.negative.RecordValue((-d).Microseconds())
	}
	return h.positive.RecordValue(d.Microseconds())
}

func (h *signedHistogram) count() int64 { return h.negative.TotalCount() + h.positive.TotalCount() }

// quantile returns the duration, in microseconds, that a share q of all values does not
// exceed. The smallest value is the largest one of the negative histogram.
func (h *signedHistogram) quantile(q float64) int64 {
	below := h.negative.TotalCount()
	rank := max(1, int64(math.Ceil(q*float64(h.count()))))
	if rank <= below {
		return -h.negative.ValueAtQuantile(100 * float64(below-rank+1) / float64(below))
	}
	return h.positive.ValueAtQuantile(100 * float64(rank-below) / float64(h.positive.TotalCount()))
}

// timing has two moments of one seq, as durations since the run began: when its command
// was sent (in an open loop: was due), and when a response or a frame arrived.
type timing struct {
	seq            uint64
	sent, received time.Duration
}

const maxSampleSize = 1 << 16

// timingSample holds the timings of every seq at first. When it is full it drops every
// second seq, then keeps one of four and so on. It chooses by the seq, so that of two
// samples the smaller one's seqs are all in the larger one's.
type timingSample struct {
	mask uint64
	all  []timing
}

func (s *timingSample) add(m timing) {
	for len(s.all) >= maxSampleSize {
		s.mask = s.mask<<1 | 1
		s.all = slices.DeleteFunc(s.all, func(m timing) bool { return m.seq&s.mask != 0 })
	}
	if m.seq&s.mask == 0 {
		s.all = append(s.all, m)
	}
}
