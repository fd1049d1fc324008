package model

import (
	"math/big"

	"duplex/core"
)

// Amounts are in pips. A *big.Int is never changed once it is computed.

func integer(n int64) *big.Int     { return big.NewInt(n) }
func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func less(a, b *big.Int) bool      { return a.Cmp(b) < 0 }
func times(a ...int64) *big.Int {
	x := integer(1)
	for _, n := range a {
		x = new(big.Int).Mul(x, integer(n))
	}
	return x
}

// floor and ceil divide amounts that are not negative, rounding down and up.
func floor(a *big.Int, by int64) *big.Int { return new(big.Int).Div(a, integer(by)) }
func ceil(a *big.Int, by int64) *big.Int  { return floor(plus(a, integer(by-1)), by) }

// fee returns the fee of one fill of n contracts at p: ceil(rate × n × p × (10000 − p) / 10^8)
// (docs/rules/money.md#fees).
func fee(rate core.Rate, n core.Qty, p core.Tick) *big.Int {
	return ceil(times(int64(rate), int64(n), int64(p), 10000-int64(p)), 100_000_000)
}

// reservePerContract returns what a buy reserves for each contract: its tick and the fee on
// one contract (docs/rules/money.md#reservations).
func reservePerContract(rate core.Rate, p core.Tick) *big.Int {
	return plus(integer(int64(p)), fee(rate, 1, p))
}

// cost returns the price of n contracts at p.
func cost(n core.Qty, p core.Tick) *big.Int { return times(int64(n), int64(p)) }

// affordable returns the largest number of contracts, at most most, whose cost and fee at p
// are within budget. Binary search is correct because the sum rises with the number.
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
