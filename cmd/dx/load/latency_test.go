package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The percentiles of a signed histogram are those of the sorted values, to three digits.
func TestSignedHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 5))
	for _, mean := range []int64{-100_000, -20, 0, 20, 100_000} {
		l := newSignedHistogram()
		var all []int64
		for range 1 + rnd.IntN(2000) {
			us := mean + rnd.Int64N(60_000) - 30_000
			all = append(all, us)
			if err := l.record(time.Duration(us) * time.Microsecond); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(all)
		for _, q := range []float64{0.001, .25, .5, .75, .99, 1} {
			i := max(0, int(q*float64(len(all))+0.9999999)-1)
			want, got := all[i], l.quantile(q)
			if off := max(want-got, got-want); off > 1+max(want, -want)/1000 {
				t.Errorf("around %d, %d of them: %v is %d, not %d", mean, len(all), q, got, want)
			}
		}
	}
	if err := newSignedHistogram().record(100 * time.Hour); err == nil {
		t.Error("100 hours were counted as a day")
	}
}

// A full sample keeps the seqs that a multiple of its mask selects, so that two samples of
// different size have seqs in common.
func TestTimingSample(t *testing.T) {
	var small, large timingSample
	for seq := range uint64(5 * maxSampleSize) {
		large.add(timing{seq: seq})
		if seq%7 == 0 {
			small.add(timing{seq: seq})
		}
	}
	if small.mask != 0 || large.mask != 7 || len(large.all) > maxSampleSize || len(large.all) < maxSampleSize/2 {
		t.Errorf("%d by %d, %d by %d", len(small.all), small.mask, len(large.all), large.mask)
	}
	for _, m := range large.all {
		if m.seq&large.mask != 0 {
			t.Fatalf("%d is in", m.seq)
		}
	}
	if common := len(large.all) / 7; common < maxSampleSize/2/8 {
		t.Errorf("%d in common", common)
	}
}
