package core

import "math/bits"

// Pips is money: 1 pip = 0.01 cent, 10000 pips = 1 dollar (spec 1.1).
type Pips int64

// Tick is a price in pips, 1–9999, in the space of one outcome (spec 1.1).
type Tick int32

// Qty counts contracts (shares).
type Qty int64

// Price is an oracle price at 1e8 scale (spec 2.4).
type Price uint64

// Rate is a fee rate in 1/10000: 250 bills 2.5 % (spec 1.5).
type Rate uint16

const (
	Payout    Pips = 10000 // what one winning contract pays (spec 1.3)
	TickMin   Tick = 1
	TickMax   Tick = 9999
	QtyMax    Qty  = 1_000_000
	MaxRate   Rate = 10000
	PipsMax   Pips = 1<<63 - 1
	NsPerSec       = int64(1_000_000_000)
	NsPerMs        = int64(1_000_000)
	VoidShare      = Payout / 2 // what any open contract is paid when a round is void
)

// Opposite gives the tick of the other outcome: the YES ask is 10000 minus the
// NO bid (spec 1.3).
func (t Tick) Opposite() Tick { return Tick(Payout) - t }

// InDomain tells whether t is a tick at all, on any grid.
func (t Tick) InDomain() bool { return t >= TickMin && t <= TickMax }

// feeScale is the divisor of the fee formula (spec 1.5).
const feeScale = 100_000_000

// Fee of one fill: ceil(rate × qty × p × (10000 − p) / 10^8) pips (contract
// core, Money). With qty ≤ QtyMax the product stays under 2^62.
func Fee(rate Rate, qty Qty, p Tick) Pips {
	if rate == 0 {
		return 0
	}
	x := uint64(rate) * uint64(qty) * uint64(p) * uint64(p.Opposite())
	return Pips((x + feeScale - 1) / feeScale)
}

// Hold is what a buy of one contract at tick p reserves: the price and its fee,
// rounded up (contract core, Money).
func Hold(rate Rate, p Tick) Pips { return Pips(p) + Fee(rate, 1, p) }

// Affordable is the largest n with n × p + Fee(rate, n, p) ≤ budget.
func Affordable(budget Pips, rate Rate, p Tick) Qty {
	if budget <= 0 {
		return 0
	}
	// ceil(x) ≤ m holds exactly when x ≤ m for a whole m, so the ceiling of the
	// fee drops out and one division answers.
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

// Share is floor(whole × part / total), in 128 bits. total must not be 0, and
// part ≤ total.
func Share(whole Pips, part, total Qty) Pips {
	hi, lo := bits.Mul64(uint64(whole), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(total))
	return Pips(q)
}

// Percent is floor(amount × pct / 100), in 128 bits, for pct ≤ 100.
func Percent(amount Pips, pct uint8) Pips { return Share(amount, Qty(pct), 100) }

// Stamp is a command's place in the stream and the sequencer's time for it, in
// ns since the Unix epoch. Both rise strictly.
type Stamp struct {
	Seq uint64
	Ts  int64
}
