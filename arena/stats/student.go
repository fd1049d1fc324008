package stats

// The incomplete beta function is gonum's mathext, which builds in half a second. Its stat/distuv has the
// distribution itself, and 20 packages of linear algebra with it.
import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// twoSided returns the chance that a variable with Student's t distribution, with v degrees of freedom, is at least
// as far from 0 as t.
func twoSided(t, v float64) float64 {
	return mathext.RegIncBeta(v/2, 0.5, v/(v+float64(t*t)))
}

// below returns the chance that a variable with Student's t distribution is below t, which is not negative.
func below(t, v float64) float64 { return 1 - twoSided(t, v)/2 }

// quantiles caches quantile975 by the degrees of freedom: a search takes some 30 µs.
var quantiles sync.Map

// quantile975 returns the 0.975 quantile of Student's t distribution. It is safe for concurrent use.
func quantile975(freedom int) float64 {
	if q, ok := quantiles.Load(freedom); ok {
		return q.(float64)
	}
	q := quantileOf(float64(freedom))
	quantiles.Store(freedom, q)
	return q
}

// quantileOf is quantile975 of v degrees of freedom, which need not be whole.
func quantileOf(v float64) float64 {
	return math.Sqrt(v * (1/mathext.InvRegIncBeta(v/2, 0.5, 0.05) - 1))
}

// halfWidth returns half of the width of a 95 % interval of the mean of n values with a standard deviation.
func halfWidth(deviation float64, n int) float64 {
	return quantile975(n-1) * deviation / math.Sqrt(float64(n))
}

// testMean returns the p of Student's t test, two-sided, that the values have the mean 0; false under two values,
// or if all are equal.
func testMean(values []float64) (p float64, ok bool) {
	if len(values) < 2 || allEqual(values) {
		return 0, false
	}
	return twoSided(statistic(values), float64(len(values)-1)), true
}

// statistic returns |mean| · √n / s of at least two values that are not all equal.
func statistic(values []float64) float64 {
	return math.Abs(Mean(values)) * math.Sqrt(float64(len(values))) / Deviation(values)
}

func allEqual(values []float64) bool {
	for _, x := range values {
		if x != values[0] {
			return false
		}
	}
	return true
}
