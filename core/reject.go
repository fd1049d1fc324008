package core

import (
	"maps"
	"slices"
)

// Reject is a refusal by a rule of the core; its value is the number of the error code
// (docs/rules/errors.md#core-codes). OK is no refusal.
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
	GroupTripped
	TooLate
	CrossedQuote
	ApprovalLimit
)

// Refusals of commands other than those of orders. They are sequenced like any other
// refusal, but the wire carries no number for them.
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
	UnknownAgent
	DuplicateAgentName
	AgentLimit
	StaleMandate
	BadMandate
	DuplicateTransferID
	MissingScope
	DuplicateOperatorName
	UnknownApproval
	SelfApproval
	DuplicateClientRequestID
	UnknownGroup
	GroupLimitReached
)

var rejectNames = map[Reject]string{
	UnknownMarket: "unknown_market", InsufficientBalance: "insufficient_balance", InsufficientPosition: "insufficient_position",
	DuplicateClientOrderID: "duplicate_client_order_id", BadPriceTick: "bad_price_tick", BadQty: "bad_qty", PerMarketLimit: "per_market_limit",
	MarketNotTrading: "market_not_trading", MarketPaused: "market_paused", UnknownOrder: "unknown_order", InvalidDecrease: "invalid_decrease",
	ClientOrderIDRequired: "client_order_id_required", ReduceOnlyViolation: "reduce_only_violation", UserSuspended: "user_suspended",
	OpenOrderLimit: "open_order_limit", BadExpiry: "bad_expiry", TooLate: "too_late", CrossedQuote: "crossed_quote", ApprovalLimit: "approval_limit", MandateViolation: "mandate_violation", StaleGeneration: "stale_generation",
	UnknownUser: "unknown_user", UnknownKey: "unknown_key", UnknownWithdrawal: "unknown_withdrawal",
	DuplicateWithdrawalID: "duplicate_client_withdrawal_id", DuplicateDepositID: "duplicate_deposit_id", BadAmount: "bad_amount",
	BadDestination: "bad_destination", InvalidTransition: "invalid_transition", BadFees: "schema_violation", WithdrawalRefused: "withdrawal_refused",
	UnknownAgent: "unknown_agent", DuplicateAgentName: "duplicate_agent_name", AgentLimit: "agent_limit", StaleMandate: "stale_mandate",
	BadMandate: "bad_mandate", DuplicateTransferID: "duplicate_client_transfer_id", MissingScope: "missing_scope",
	DuplicateOperatorName: "duplicate_operator_name", UnknownApproval: "unknown_approval", SelfApproval: "self_approval",
	DuplicateClientRequestID: "duplicate_client_request_id", GroupTripped: "group_tripped", UnknownGroup: "unknown_group",
	GroupLimitReached: "group_limit_reached",
}

// String is the error code in lowercase snake_case, or "" for OK.
func (r Reject) String() string { return rejectNames[r] }

// Rejects lists every Reject but OK, in no order.
func Rejects() []Reject { return slices.Collect(maps.Keys(rejectNames)) }

// Error returns the error code.
func (r Reject) Error() string { return rejectNames[r] }

// Registered reports whether the wire carries a number for r (docs/rules/errors.md#registry).
func (r Reject) Registered() bool { return r >= UnknownMarket && r <= ApprovalLimit }

// InvariantViolation is the value that the core panics with when an invariant does not
// hold (docs/rules/money.md#the-invariant). The sequencer stops on it, because every later
// balance would build on a wrong one.
type InvariantViolation struct{ Detail string }

func (v InvariantViolation) Error() string { return "invariant broken: " + v.Detail }
