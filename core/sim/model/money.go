package model

import (
	"math/big"

	"duplex/core"
)

// Amounts are big.Ints in pips. No function modifies one; each returns a new one.

func amount(n int64) *big.Int      { return big.NewInt(n) }
func plus(a, b *big.Int) *big.Int  { return new(big.Int).Add(a, b) }
func minus(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }
func less(a, b *big.Int) bool      { return a.Cmp(b) < 0 }
func times(a ...int64) *big.Int {
	x := amount(1)
	for _, n := range a {
		x = new(big.Int).Mul(x, amount(n))
	}
	return x
}

// floor and ceil divide amounts of at least 0.
func floor(a *big.Int, by int64) *big.Int { return new(big.Int).Div(a, amount(by)) }
func ceil(a *big.Int, by int64) *big.Int  { return floor(plus(a, amount(by-1)), by) }

// fee returns the fee of one fill (docs/rules/money.md#fees): ceil(rate × qty × p × (10000 − p) / 10^8).
func fee(rate core.Rate, n core.Qty, p core.Tick) *big.Int {
	return ceil(times(int64(rate), int64(n), int64(p), 10000-int64(p)), 100_000_000)
}

// unit returns what a buy reserves a contract (docs/rules/money.md#reservations): its tick and the fee.
func unit(rate core.Rate, p core.Tick) *big.Int { return plus(amount(int64(p)), fee(rate, 1, p)) }

// tradePrice returns the price of n contracts at p, without the fee.
func tradePrice(n core.Qty, p core.Tick) *big.Int { return times(int64(n), int64(p)) }

// affordable returns the largest n up to most with n × p + fee(n) within the budget. It is a binary
// search, because the cost rises with n.
func affordable(budget *big.Int, rate core.Rate, p core.Tick, most core.Qty) core.Qty {
	lo, hi := core.Qty(0), most
	for lo < hi {
		n := (lo + hi + 1) / 2
		if less(budget, plus(tradePrice(n, p), fee(rate, n, p))) {
			hi = n - 1
		} else {
			lo = n
		}
	}
	return lo
}
