package arena

import (
	"math"
	"slices"
	"strconv"
)

// Figure is the mean of a figure over seeds with its 95 % interval, which is null under minSeeds
// seeds. It has six decimals at most.
type Figure struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

const (
	minSeeds  = 5
	resamples = 10_000
	// tail is how many of the sorted means of the resamples lie outside the interval on each side.
	tail = resamples * 25 / 1000
)

// bootstrap computes figures over the seeds of one run.
type bootstrap struct {
	n     int
	picks []int32 // resamples × n indices
}

// newBootstrap draws the resamples of n seeds. The generator is splitmix64, begun with the first 64
// bits of the setup hash; an index is its output modulo n.
func newBootstrap(setupHash string, n int) *bootstrap {
	b := &bootstrap{n: n}
	if n < minSeeds {
		return b
	}
	state, _ := strconv.ParseUint(setupHash[:16], 16, 64)
	b.picks = make([]int32, resamples*n)
	for i := range b.picks {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b.picks[i] = int32((z ^ z>>31) % uint64(n))
	}
	return b
}

// figure returns the mean of one value a seed, with the percentile interval of the means of the
// resamples. Sums run in order.
func (b *bootstrap) figure(values []float64) Figure {
	f := Figure{Mean: round6(mean(values))}
	if len(values) != b.n || b.n < minSeeds {
		return f
	}
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for _, k := range b.picks[i*b.n : (i+1)*b.n] {
			sum += values[k]
		}
		means[i] = sum / float64(b.n)
	}
	slices.Sort(means)
	low, high := round6(means[tail]), round6(means[resamples-1-tail])
	f.Low, f.High = &low, &high
	return f
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

// deviation returns the standard deviation of values, with n − 1.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	m, sum := mean(values), 0.0
	for _, x := range values {
		d := x - m
		sum += float64(d * d)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}

func round6(x float64) float64 { return math.Round(x*1e6)/1e6 + 0 }
