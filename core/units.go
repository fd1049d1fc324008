package core

import "math/bits"

// Pips is an amount of money: 1 pip is 0.01 cent, 10000 pips are 1 dollar
// (docs/rules/money.md#units).
type Pips int64

// Tick is the price of a contract of one outcome in pips, 1 to 9999
// (docs/rules/prices.md#ticks).
type Tick int32

// Qty is a number of contracts.
type Qty int64

// Price is the price of an asset in dollars at 1e8 scale (docs/rules/prices-sources.md#scale).
type Price uint64

// Probability is the probability of YES in basis points, 0 to ProbabilityMax
// (docs/rules/forecasts.md#fields).
type Probability uint16

// ProbabilityMax is certainty.
const ProbabilityMax Probability = 10000

// Rate is a fee rate in units of 1/10000: 250 is 2.5 % (docs/rules/money.md#fees).
type Rate uint16

const (
	Payout     Pips = 10000 // paid for one winning contract (docs/rules/money.md#payouts)
	TickMin    Tick = 1
	TickMax    Tick = 9999
	QtyMax     Qty  = 1_000_000
	MaxRate    Rate = 10000
	PipsMax    Pips = 1<<63 - 1
	DepositMax Pips = 1_000_000_000 * Payout // the largest deposit, $1 billion (docs/rules/money.md#deposits)
	NsPerSec        = int64(1_000_000_000)
	NsPerMs         = int64(1_000_000)
	VoidPayout      = Payout / 2 // paid for any contract of a void round (docs/rules/money.md#void-payouts)
)

// Opposite is the price of the other outcome, 10000 minus t: the YES ask is 10000 minus
// the NO bid (docs/rules/prices.md#complement).
func (t Tick) Opposite() Tick { return Tick(Payout) - t }

// InDomain reports whether t is between TickMin and TickMax.
func (t Tick) InDomain() bool { return t >= TickMin && t <= TickMax }

// ProRata is floor(whole × part / total), computed in 128 bits. It requires
// part ≤ total and total > 0.
func ProRata(whole Pips, part, total Qty) Pips {
	hi, lo := bits.Mul64(uint64(whole), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(total))
	return Pips(q)
}

// Percent is floor(amount × pct / 100), computed in 128 bits, for pct ≤ 100.
func Percent(amount Pips, pct uint8) Pips { return ProRata(amount, Qty(pct), 100) }

// Stamp is the seq of a command and its time in ns since the Unix epoch. Both rise
// strictly (docs/rules/operation.md#sequence).
type Stamp struct {
	Seq uint64
	Ts  int64
}
