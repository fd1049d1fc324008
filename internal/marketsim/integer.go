package marketsim

import "math/bits"

// normalTable is the distribution function of the normal distribution at 0, 0.1, 0.2 … standard
// deviations, in pips.
var normalTable = [...]int64{
	5000, 5398, 5793, 6179, 6554, 6915, 7257, 7580, 7881, 8159, 8413, 8643, 8849, 9032, 9192, 9332, 9452, 9554, 9641, 9713, 9772,
	9821, 9861, 9893, 9918, 9938, 9953, 9965, 9974, 9981, 9987, 9990, 9993, 9995, 9997, 9998, 9998, 9999, 9999, 9999, 9999, 9999,
}

// NormalPips returns the probability that a normal number is below z thousandths of its standard
// deviation, in pips, and the increase of the probability over a tenth of the deviation at z.
func NormalPips(z int64) (p, slope int64) {
	size := min(max(z, -z), 100*int64(len(normalTable)-2))
	i := size / 100
	slope = normalTable[i+1] - normalTable[i]
	p = normalTable[i] + slope*(size%100)/100
	if z < 0 {
		p = 10_000 - p
	}
	return p, slope
}

// Sqrt returns the integer square root of n, or 0 if n is negative.
func Sqrt(n int64) int64 {
	if n <= 0 {
		return 0
	}
	x := int64(1) << ((bits.Len64(uint64(n)) + 1) / 2)
	for {
		y := (x + n/x) / 2
		if y >= x {
			return x
		}
		x = y
	}
}
