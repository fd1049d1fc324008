package model

import (
	"math/big"

	"duplex/core"
)

// Amounts are big.Ints that nobody changes once they are made.

func whole(n int64) *big.Int       { return big.NewInt(n) }
func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func less(a, b *big.Int) bool      { return a.Cmp(b) < 0 }
func times(a ...int64) *big.Int {
	x := whole(1)
	for _, n := range a {
		x = new(big.Int).Mul(x, whole(n))
	}
	return x
}

// floor and ceil divide amounts that are not negative.
func floor(a *big.Int, by int64) *big.Int { return new(big.Int).Div(a, whole(by)) }
func ceil(a *big.Int, by int64) *big.Int  { return floor(plus(a, whole(by-1)), by) }

// fee of one fill: ceil(rate × qty × p × (10000 − p) / 10^8).
func fee(rate core.Rate, n core.Qty, p core.Tick) *big.Int {
	return ceil(times(int64(rate), int64(n), int64(p), 10000-int64(p)), 100_000_000)
}

// unit is what a buy of one contract reserves: its tick and the fee on it, rounded up.
func unit(rate core.Rate, p core.Tick) *big.Int { return plus(whole(int64(p)), fee(rate, 1, p)) }

// cost of n contracts at p.
func cost(n core.Qty, p core.Tick) *big.Int { return times(int64(n), int64(p)) }

// affordable is the largest n, up to most, with n × p + fee(n) within the budget:
// found by halving, for the cost rises with n.
func affordable(budget *big.Int, rate core.Rate, p core.Tick, most core.Qty) core.Qty {
	lo, hi := core.Qty(0), most
	for lo < hi {
		n := (lo + hi + 1) / 2
		if less(budget, plus(cost(n, p), fee(rate, n, p))) {
			hi = n - 1
		} else {
			lo = n
		}
	}
	return lo
}
