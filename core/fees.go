package core

import "math/bits"

// Fees is the fee schedule (docs/rules/money.md#fee-schedule).
type Fees struct {
	Maker, Taker        Rate
	RebatePct, ReferPct uint8 // percent of a fill's taker fee (docs/rules/money.md#fee-shares)
}

// DefaultFees is the schedule of a new venue: maker 0, taker 250, no shares.
func DefaultFees() Fees { return Fees{Taker: 250} }

// Valid reports whether 0 ≤ maker ≤ taker ≤ 10000 and both shares together are at most
// 100 %. Outside these bounds a reservation would not cover every fill.
func (f Fees) Valid() bool {
	return f.Maker <= f.Taker && f.Taker <= MaxRate && f.RebatePct <= 100 && f.ReferPct <= 100 && f.RebatePct+f.ReferPct <= 100
}

// feeScale is the divisor of the fee formula of docs/rules/money.md#fees.
const feeScale = 100_000_000

// Fee is the fee of one fill: ceil(rate × qty × p × (10000 − p) / 10^8) pips
// (docs/rules/money.md#fees). With qty ≤ QtyMax the product stays under 2^62.
func Fee(rate Rate, qty Qty, p Tick) Pips {
	if rate == 0 {
		return 0
	}
	x := uint64(rate) * uint64(qty) * uint64(p) * uint64(p.Opposite())
	return Pips((x + feeScale - 1) / feeScale)
}

// ReservationPerContract is the amount that a buy of one contract at tick p reserves: the
// price and its fee, rounded up (docs/rules/money.md#reservations).
func ReservationPerContract(rate Rate, p Tick) Pips { return Pips(p) + Fee(rate, 1, p) }

// Affordable is the largest n with n × p + Fee(rate, n, p) ≤ budget.
func Affordable(budget Pips, rate Rate, p Tick) Qty {
	if budget <= 0 {
		return 0
	}
	// For an integer m, ceil(x) ≤ m if and only if x ≤ m. So the rounding of the fee
	// does not matter, and one division is exact.
	unit := uint64(p)*feeScale + uint64(rate)*uint64(p)*uint64(p.Opposite())
	hi, lo := bits.Mul64(uint64(budget), feeScale)
	if hi >= unit {
		return Qty(1<<63 - 1)
	}
	q, _ := bits.Div64(hi, lo, unit)
	if q > 1<<63-1 {
		return Qty(1<<63 - 1)
	}
	return Qty(q)
}
