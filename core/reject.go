package core

// Reject is a refusal by a rule of the core, with the number the registry gives
// it (contract core, Reject registry). OK is none.
type Reject uint16

const OK Reject = 0

const (
	UnknownMarket Reject = 256 + iota
	InsufficientBalance
	InsufficientPosition
	DuplicateClientOrderID
	BadPriceTick
	BadQty
	PerMarketLimit
	MarketNotTrading
	MarketPaused
	UnknownOrder
	InvalidDecrease
	ClientOrderIDRequired
	ReduceOnlyViolation
	UserSuspended
	OpenOrderLimit
	BadExpiry
	MandateViolation
	StaleGeneration
)

// Refusals of commands that no order makes. They are sequenced like any other
// refusal; outside they carry no number, since the shared registry has none.
const (
	UnknownUser Reject = 1024 + iota
	UnknownKey
	UnknownWithdrawal
	DuplicateWithdrawalID
	DuplicateDepositID
	BadAmount
	BadDestination
	InvalidTransition
	BadFees
	WithdrawalRefused
)

var rejectNames = map[Reject]string{
	UnknownMarket: "unknown_market", InsufficientBalance: "insufficient_balance", InsufficientPosition: "insufficient_position",
	DuplicateClientOrderID: "duplicate_client_order_id", BadPriceTick: "bad_price_tick", BadQty: "bad_qty", PerMarketLimit: "per_market_limit",
	MarketNotTrading: "market_not_trading", MarketPaused: "market_paused", UnknownOrder: "unknown_order", InvalidDecrease: "invalid_decrease",
	ClientOrderIDRequired: "client_order_id_required", ReduceOnlyViolation: "reduce_only_violation", UserSuspended: "user_suspended",
	OpenOrderLimit: "open_order_limit", BadExpiry: "bad_expiry", MandateViolation: "mandate_violation", StaleGeneration: "stale_generation",
	UnknownUser: "unknown_user", UnknownKey: "unknown_key", UnknownWithdrawal: "unknown_withdrawal",
	DuplicateWithdrawalID: "duplicate_client_withdrawal_id", DuplicateDepositID: "duplicate_deposit_id", BadAmount: "bad_amount",
	BadDestination: "bad_destination", InvalidTransition: "invalid_transition", BadFees: "schema_violation", WithdrawalRefused: "withdrawal_refused",
}

// String is the code, lowercase snake_case, or "" for OK.
func (r Reject) String() string { return rejectNames[r] }

// Error makes a Reject usable as an error.
func (r Reject) Error() string { return rejectNames[r] }

// Registered tells whether r has a number in the shared registry (spec 7).
func (r Reject) Registered() bool { return r >= UnknownMarket && r <= StaleGeneration }

// Broken is what the core panics with when an invariant does not hold. The
// sequencer stops on it: a wrong ledger must not go on.
type Broken struct{ What string }

func (b Broken) Error() string { return "invariant broken: " + b.What }
