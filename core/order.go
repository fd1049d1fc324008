package core

// UserID names an account, from 1. 0 is nobody.
type UserID uint32

// MarketID names a slot of the pool, from 1.
type MarketID uint16

// OrderID is the sequence number of the order's NEW_ORDER command.
type OrderID uint64

// Side of an order.
type Side uint8

const (
	Buy Side = iota
	Sell
)

func (s Side) String() string { return [...]string{"buy", "sell"}[s] }

// Outcome is what a contract pays on. NoOutcome marks a round without a winner.
type Outcome uint8

const (
	Yes Outcome = iota
	No
	NoOutcome
)

func (o Outcome) String() string { return [...]string{"yes", "no", ""}[o] }

// Other is the opposite outcome.
func (o Outcome) Other() Outcome { return 1 - o }

// OrderType tells a limit from a market order.
type OrderType uint8

const (
	Limit OrderType = iota
	Market
)

func (t OrderType) String() string { return [...]string{"limit", "market"}[t] }

// TIF is the time in force.
type TIF uint8

const (
	GTC TIF = iota
	GTT
	IOC
	FOK
)

func (t TIF) String() string { return [...]string{"gtc", "gtt", "ioc", "fok"}[t] }

// Rests tells whether an order of this time in force may rest in the book.
func (t TIF) Rests() bool { return t == GTC || t == GTT }

// Flags is the order's bitfield (spec 2.1).
type Flags uint8

const (
	PostOnly Flags = 1 << iota
	ReduceOnly
	CancelOnPause
	StpMaker

	AllFlags = PostOnly | ReduceOnly | CancelOnPause | StpMaker
)

// Has tells whether f holds g.
func (f Flags) Has(g Flags) bool { return f&g != 0 }

// OrderStatus as spec 3.1 names it.
type OrderStatus uint8

const (
	Resting OrderStatus = iota
	PartiallyFilled
	Executed
	Canceled
	Expired
	Rejected
)

var orderStatusNames = [...]string{"resting", "partially_filled", "executed", "canceled", "expired", "rejected"}

func (s OrderStatus) String() string { return orderStatusNames[s] }

// Live tells whether an order of this status is in the book.
func (s OrderStatus) Live() bool { return s == Resting || s == PartiallyFilled }

// OrderStatuses lists every status in the order of its number.
func OrderStatuses() []string { return orderStatusNames[:] }

// Reason says why an order was canceled (contract core, Orders).
type Reason uint8

const (
	NoReason Reason = iota
	PostOnlyCross
	FokInfeasible
	IocRemainder
	SelfTradePrevention
	MaxCostInfeasible
	UserCancel
	MassCancel
	DeadmanFired
	DecreasedToZero
	Paused
	RoundClosed
	Suspended
	ByOperator
	ReduceOnlyExceeded
	ExpiryReached
)

var reasonNames = [...]string{"", "post_only_cross", "fok_infeasible", "ioc_remainder", "self_trade_prevention", "max_cost_infeasible",
	"user_cancel", "mass_cancel", "deadman", "decreased_to_zero", "paused", "round_closed", "suspended", "operator", "reduce_only", ""}

func (r Reason) String() string { return reasonNames[r] }

// Path of a fill: contracts change hands, a pair is created, or one destroyed.
type Path uint8

const (
	Direct Path = iota
	Mint
	Merge
)

func (p Path) String() string { return [...]string{"direct", "mint", "merge"}[p] }

// PathOf tells the path of a fill between a taker and a maker.
func PathOf(taker, maker Side) Path {
	switch {
	case taker == Buy && maker == Buy:
		return Mint
	case taker == Sell && maker == Sell:
		return Merge
	default:
		return Direct
	}
}

// InYes turns an order's own tick into the book's space, where a bid is a buy of
// YES or a sell of NO (contract core, Prices and the book).
func InYes(o Outcome, t Tick) Tick {
	if o == No {
		return t.Opposite()
	}
	return t
}

// IsBid tells on which side of the YES book an order stands.
func IsBid(s Side, o Outcome) bool { return (s == Buy) == (o == Yes) }
