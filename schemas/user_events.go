package schemas

import "github.com/go-json-experiment/json/jsontext"

// The events of an account, as the user channel of the socket shows them and
// wait_for_event returns them (contract ws, Data). Each begins with its name and
// the time of the command that caused it.

// EventHead is what an event begins with.
type EventHead struct {
	Event string `json:"event"`
	Ts    U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// OrderEvent is the whole order after any change of it.
type OrderEvent struct {
	EventHead
	Order Order `json:"order"`
}

// FillEvent is one of the account's fills.
type FillEvent struct {
	Event string `json:"event"`
	Fill
}

// BalanceEvent is a change of the account's cash, in pips.
type BalanceEvent struct {
	EventHead
	Cash     U64    `json:"cash" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	Reserved U64    `json:"reserved" pattern:"^[0-9]+$" doc:"Held by resting buys, pips"`
	Change   Signed `json:"change" pattern:"^-?[0-9]+$" doc:"Pips, signed"`
	Cause    string `json:"cause" doc:"order, decrease, cancel, expiry, fill, rebate, referral, redeem, deposit, withdrawal or settlement"`
}

// PositionEvent is a holding after a change of it; zeros when it is gone.
type PositionEvent struct {
	EventHead
	Position
}

// SettlementEvent is what a finished round paid.
type SettlementEvent struct {
	Event string `json:"event"`
	Settlement
}

// DepositEvent is money that came in.
type DepositEvent struct {
	EventHead
	DepositID string `json:"deposit_id"`
	Amount    U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
}

// WithdrawalEvent is a withdrawal after a change of it.
type WithdrawalEvent struct {
	Event string `json:"event"`
	Withdrawal
}

// DeadmanEvent tells that the switch was armed, disarmed or fired.
type DeadmanEvent struct {
	EventHead
	Armed      bool  `json:"armed"`
	Fired      bool  `json:"fired"`
	TimeoutMs  int64 `json:"timeout_ms"`
	DeadlineTs U64   `json:"deadline_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// KeyRevokedEvent names a key of the account that no longer opens anything.
type KeyRevokedEvent struct {
	EventHead
	APIKey string `json:"api_key"`
}

// WaitedEvent is one event of the caller, or a transition of a round, as
// wait_for_event returns it. Msg is what the socket shows of it.
type WaitedEvent struct {
	Seq  U64            `json:"seq" pattern:"^[0-9]+$"`
	Kind string         `json:"kind" enum:"order,fill,balance,position,settlement,deposit,withdrawal,deadman,round"`
	Msg  jsontext.Value `json:"msg" doc:"As the socket's user and rounds channels show it"`
}

// WaitedEvents is the answer of wait_for_event, oldest first (contract mcp, Tools).
type WaitedEvents struct {
	Events  []WaitedEvent `json:"events" nullable:"false"`
	NextSeq U64           `json:"next_seq" pattern:"^[0-9]+$" doc:"after_seq of the next call"`
	Missed  bool          `json:"missed,omitzero" doc:"Events after after_seq are no longer kept: read your state anew"`
}
