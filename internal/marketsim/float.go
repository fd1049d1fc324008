package marketsim

import "math"

// mul is the rounded product. A product that is added to without the conversion may be computed
// as one fused operation on arm64, which rounds once instead of twice. Every product of floats in
// this package is a call of mul.
func mul(a, b float64) float64 { return float64(a * b) }

// polynomial evaluates c[0] + c[1]·x + c[2]·x² …
func polynomial(x float64, c ...float64) float64 {
	y := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		y = mul(y, x) + c[i]
	}
	return y
}

// The functions exp, Ln and normalCDF are here because those of package math have assembly on
// some machines, and products that may be fused on others.

// ln2 is a sum of two numbers, of which the first has so few bits that its product with an
// exponent is exact.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// exp is e to the power of x, with a relative error below 1e-14 for |x| < 700.
func exp(x float64) float64 {
	k := math.Floor(x/math.Ln2 + 0.5)
	r := x - mul(k, ln2Hi) - mul(k, ln2Lo) // within ±0.35
	sum, term := 1.0, 1.0
	for n := 1.0; n < 16; n++ {
		term = mul(term, r) / n
		sum += term
	}
	return math.Ldexp(sum, int(k))
}

// Ln is the natural logarithm of x > 0, with an absolute error below 1e-14 near 1. Every machine computes
// the same.
func Ln(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m+m, e-1
	}
	s := (m - 1) / (m + 1) // within ±0.172; ln m = 2 (s + s³/3 + s⁵/5 …)
	s2, sum, power := mul(s, s), 0.0, s
	for n := 1.0; n < 25; n += 2 {
		sum += power / n
		power = mul(power, s2)
	}
	k := float64(e)
	return mul(k, ln2Hi) + (mul(k, ln2Lo) + sum + sum)
}

// normalDensity is the density of the normal distribution.
func normalDensity(z float64) float64 { return exp(-mul(z, z)/2) / 2.5066282746310002 }

// normalCDF is the probability that a normal number is below z, with an error below 1e-7
// (Abramowitz and Stegun, 26.2.17).
func normalCDF(z float64) float64 {
	x := min(math.Abs(z), 30)
	t := 1 / (1 + mul(0.2316419, x))
	tail := mul(normalDensity(x), polynomial(t, 0, 0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429))
	if z < 0 {
		return tail
	}
	return 1 - tail
}
