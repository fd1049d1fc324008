package stats

import "math"

// Figure is the mean of a value over seeds with its 95 % interval by Student's t. The interval is null under
// minInterval seeds. Money is in dollars.
type Figure struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

// minInterval is the least number of seeds for an interval.
const minInterval = 5

// FigureOf returns the figure of one value a seed.
func FigureOf(values []float64) Figure {
	f := Figure{Mean: Round(Mean(values))}
	if n := len(values); n >= minInterval {
		half := halfWidth(Deviation(values), n)
		low, high := Round(Mean(values)-half), Round(Mean(values)+half)
		f.Low, f.High = &low, &high
	}
	return f
}

// Mean returns the mean of values, 0 without any. The sum runs in their order.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

// Deviation returns the standard deviation of values, with n − 1; 0 under two values.
func Deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return math.Sqrt(moment(values, 2) * float64(len(values)) / float64(len(values)-1))
}

// moment returns a central moment of values, over n.
func moment(values []float64, power int) float64 {
	m, sum := Mean(values), 0.0
	for _, x := range values {
		d := x - m
		product := d
		for range power - 1 {
			product *= d
		}
		sum += float64(product)
	}
	return sum / float64(len(values))
}

// Round rounds a figure to six decimals. It never returns −0.
func Round(x float64) float64 { return math.Round(x*1e6)/1e6 + 0 }

func rounded(x float64) *float64 {
	x = Round(x)
	return &x
}
