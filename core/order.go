package core

import "slices"

// UserID names an account, from 1. 0 is no account.
type UserID uint32

// MarketID names a slot of the pool, from 1 (docs/rules/rounds.md#slots). It can hold every
// id that a request may carry, so that the record of a refused order shows the id as
// sent.
type MarketID uint32

// OrderID is the seq of the command that placed the order (docs/rules/orders.md#order-id).
type OrderID uint64

// Side is the side of an order.
type Side uint8

const (
	Buy Side = iota
	Sell
)

func (s Side) String() string { return [...]string{"buy", "sell"}[s] }

// Outcome is the outcome that a contract pays on. NoOutcome is the winner of a round
// that has none.
type Outcome uint8

const (
	Yes Outcome = iota
	No
	NoOutcome
)

func (o Outcome) String() string { return [...]string{"yes", "no", ""}[o] }

// Other is the opposite outcome of Yes or No.
func (o Outcome) Other() Outcome { return 1 - o }

// OrderType is the type of an order (docs/rules/orders.md#types).
type OrderType uint8

const (
	Limit OrderType = iota
	Market
)

func (t OrderType) String() string { return [...]string{"limit", "market"}[t] }

// TIF is the time in force of an order (docs/rules/orders.md#time-in-force).
type TIF uint8

const (
	GTC TIF = iota
	GTT
	IOC
	FOK
)

func (t TIF) String() string { return [...]string{"gtc", "gtt", "ioc", "fok"}[t] }

// Rests reports whether an order of this time in force may rest in the book.
func (t TIF) Rests() bool { return t == GTC || t == GTT }

// Flags is the set of an order's flags (docs/rules/orders.md#fields).
type Flags uint8

const (
	PostOnly Flags = 1 << iota
	ReduceOnly
	CancelOnPause
	StpMaker

	AllFlags = PostOnly | ReduceOnly | CancelOnPause | StpMaker
)

// Has reports whether f has a flag of g.
func (f Flags) Has(g Flags) bool { return f&g != 0 }

// OrderStatus is the status of an order (docs/rules/orders.md#statuses).
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

// Live reports whether an order of this status is in the book.
func (s OrderStatus) Live() bool { return s == Resting || s == PartiallyFilled }

// OrderStatuses lists every status in the order of its number.
func OrderStatuses() []string { return orderStatusNames[:] }

// Reason is the reason why an order was canceled (docs/rules/orders.md#reasons). NoReason
// and ExpiryReached have no name on the wire.
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
	Halted
	MandateExpired
	Replaced
	GroupLimit
	Requoted
	Disconnected

	LastReason = Disconnected

	// KeyRevoked is the reason why an ask was canceled, and no order.
	KeyRevoked = LastReason + 1
)

var reasonNames = [KeyRevoked + 1]string{"", "post_only_cross", "fok_infeasible", "ioc_remainder", "self_trade_prevention", "max_cost_infeasible",
	"user_cancel", "mass_cancel", "deadman", "decreased_to_zero", "paused", "round_closed", "suspended", "operator", "reduce_only", "",
	"halted", "mandate_expired", "replaced", "group_limit", "requoted", "disconnect", "key_revoked"}

func (r Reason) String() string { return reasonNames[r] }

// Reasons lists the reasons of orders that have a name on the wire.
func Reasons() []string {
	return slices.DeleteFunc(slices.Clone(reasonNames[:KeyRevoked]), func(name string) bool { return name == "" })
}

// Path is the way a fill happened: contracts changed hands, pairs were created, or pairs
// were destroyed (docs/rules/prices.md#paths).
type Path uint8

const (
	Direct Path = iota
	Mint
	Merge
)

func (p Path) String() string { return [...]string{"direct", "mint", "merge"}[p] }

// PathOf returns the path of a fill between a taker and a maker.
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

// InYes converts a tick of outcome o to YES space, in which the book is kept
// (docs/rules/prices.md#one-book).
func InYes(o Outcome, t Tick) Tick {
	if o == No {
		return t.Opposite()
	}
	return t
}

// IsBid reports whether an order is on the bid side of the YES book: a buy of YES or a
// sell of NO.
func IsBid(s Side, o Outcome) bool { return (s == Buy) == (o == Yes) }
