package stats

import (
	"math"
	"slices"
)

// welch compares two seats with different seeds by Welch's test, which does not take their deviations for equal. Its
// p is not corrected.
func welch(a, b *Result) Paired {
	p := Paired{Seat: a.Name, Other: b.Name, Order: 0.5}
	d := differenceOf(a.Profits, b.Profits)
	p.Profit.Mean = Round(d.mean)
	if !d.ok {
		if min(len(a.Profits), len(b.Profits)) >= minInterval { // nothing varies
			p.Profit.Low, p.Profit.High = rounded(d.mean), rounded(d.mean)
		}
		return p
	}
	if min(len(a.Profits), len(b.Profits)) >= minInterval {
		half := float64(quantileOf(d.freedom) * d.error)
		p.Profit.Low, p.Profit.High = rounded(d.mean-half), rounded(d.mean+half)
	}
	chance := d.p()
	tail := chance
	if d.mean != 0 && (a.Swing > 0 || b.Swing > 0) { // one more seed of each, against the mean
		swing := math.Copysign(1, -d.mean)
		with := differenceOf(append(slices.Clone(a.Profits), float64(swing*a.Swing)), append(slices.Clone(b.Profits), float64(-swing*b.Swing)))
		tail = 1
		if with.mean > 0 == (d.mean > 0) && with.mean != 0 {
			tail = with.p()
		}
	}
	p.Tests = Tests{P: rounded(chance), Tail: rounded(tail), larger: max(chance, tail)}
	p.Order = Round(below(math.Abs(d.mean)/d.error, d.freedom))
	return p
}

// difference is the difference of two means.
type difference struct {
	mean, error, freedom float64 // error is the standard error
	ok                   bool    // false if there is nothing to test: under two values, or all are equal
}

func differenceOf(a, b []float64) (d difference) {
	d.mean = Mean(a) - Mean(b)
	if len(a) < 2 || len(b) < 2 || allEqual(a) && allEqual(b) {
		return d
	}
	square := func(x []float64) (of, byFreedom float64) {
		of = float64(Deviation(x)*Deviation(x)) / float64(len(x))
		return of, float64(of*of) / float64(len(x)-1)
	}
	ofA, freedomA := square(a)
	ofB, freedomB := square(b)
	sum := ofA + ofB
	d.error, d.freedom, d.ok = math.Sqrt(sum), float64(sum*sum)/(freedomA+freedomB), true
	return d
}

func (d *difference) p() float64 { return twoSided(math.Abs(d.mean)/d.error, d.freedom) }
