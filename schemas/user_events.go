package schemas

import (
	"github.com/go-json-experiment/json/jsontext"
)

// WaitForEvent is the input of the tool wait_for_event (docs/rules/agents.md#waiting).
type WaitForEvent struct {
	AfterSeq  U64      `json:"after_seq" pattern:"^[0-9]+$" doc:"next_seq, or the seq or as_of_seq of any answer"`
	Kinds     []string `json:"kinds,omitempty" nullable:"false" maxItems:"13" enum:"order,fill,balance,position,settlement,deposit,withdrawal,transfer,account,deadman,group,approval,round" doc:""`
	MarketIDs []Int    `json:"market_ids,omitempty" nullable:"false" maxItems:"64" minimum:"1" maximum:"4294967295" doc:""`
	TimeoutMs *Int     `json:"timeout_ms,omitempty" minimum:"0" maximum:"25000" fault:"invalid_timeout" doc:"ms, default 25000"`
}

// The events of an account, as the user channel sends them and wait_for_event returns
// them (docs/rules/events.md#the-account). Each begins with its name and the time of the
// command that caused it.

// EventHead is the beginning of an event.
type EventHead struct {
	Event string `json:"event"`
	Ts    U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// OrderEvent is the whole order after a change.
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
	Cause    string `json:"cause" values:"BalanceCause"`
}

// PositionEvent is a position after a change. Its quantities are 0 when nothing is held.
type PositionEvent struct {
	EventHead
	Position
}

// SettlementEvent is the payout of a finished round.
type SettlementEvent struct {
	Event string `json:"event"`
	Settlement
}

// DepositEvent is a booked deposit.
type DepositEvent struct {
	EventHead
	DepositID string `json:"deposit_id"`
	Amount    U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
}

// WithdrawalEvent is a withdrawal after a change.
type WithdrawalEvent struct {
	Event string `json:"event"`
	Withdrawal
}

// DeadmanEvent reports that the dead-man switch was armed, was disarmed or has fired.
type DeadmanEvent struct {
	EventHead
	Armed      bool   `json:"armed"`
	Fired      bool   `json:"fired"`
	TimeoutMs  int64  `json:"timeout_ms"`
	DeadlineTs U64    `json:"deadline_ts" pattern:"^[0-9]+$" doc:"ns"`
	GroupID    uint32 `json:"group_id" doc:"0: the switch of the account"`
}

// KeyRevokedEvent reports that a key of the account was revoked.
type KeyRevokedEvent struct {
	EventHead
	APIKey string `json:"api_key"`
}

// WaitedEvent is one event of the caller's account, or a transition of a round, in the
// result of wait_for_event. Msg is the msg member of the event lane.
type WaitedEvent struct {
	Seq  U64            `json:"seq" pattern:"^[0-9]+$"`
	Kind string         `json:"kind" enum:"order,fill,balance,position,settlement,deposit,withdrawal,transfer,account,deadman,group,approval,round"`
	Msg  jsontext.Value `json:"msg" doc:"The members of the event lane's message that an agent acts on; prices at 1e8, money in pips"`
}

// WaitedEvents is the result of wait_for_event, oldest event first.
type WaitedEvents struct {
	Events  []WaitedEvent `json:"events" nullable:"false"`
	NextSeq U64           `json:"next_seq" pattern:"^[0-9]+$" doc:"after_seq of the next call"`
	Missed  bool          `json:"missed,omitzero" doc:"Events after after_seq are no longer kept, or after_seq is ahead of the venue: read your state anew"`
}
