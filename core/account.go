package core

import "strings"

// Scopes is the set of scopes of a key (docs/rules/accounts.md#scopes).
type Scopes uint8

const (
	ScopeRead Scopes = 1 << iota
	ScopeTrade
	ScopeWithdraw
)

var scopeNames = [...]string{"read", "trade", "withdraw"}

// Has reports whether s grants all of t.
func (s Scopes) Has(t Scopes) bool { return s&t == t }

// Names lists the scopes in the order read, trade, withdraw.
func (s Scopes) Names() []string {
	out := []string{}
	for i, n := range scopeNames {
		if s&(1<<i) != 0 {
			out = append(out, n)
		}
	}
	return out
}

func (s Scopes) String() string { return strings.Join(s.Names(), ",") }

// ScopeOf returns the scope of a name; false if there is none of that name.
func ScopeOf(name string) (Scopes, bool) {
	for i, n := range scopeNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// WithdrawalState is how far a withdrawal is (docs/rules/money.md#withdrawals).
type WithdrawalState uint8

const (
	WithdrawalPending WithdrawalState = iota
	WithdrawalCompleted
	WithdrawalRejected
	WithdrawalApproved // to be paid
	WithdrawalSent     // the payment is on its way
	WithdrawalFailed   // the payment failed, and the amount is free cash again

	withdrawalStates
)

var withdrawalStateNames = [withdrawalStates]string{"pending", "completed", "rejected", "approved", "sent", "failed"}

// String is the name of the state, or "" if there is no such state.
func (s WithdrawalState) String() string {
	if s >= withdrawalStates {
		return ""
	}
	return withdrawalStateNames[s]
}

// WithdrawalStates lists the name of every state.
func WithdrawalStates() []string { return withdrawalStateNames[:] }

// Status is the state as an account sees it: pending, completed or rejected.
func (s WithdrawalState) Status() string {
	switch {
	case s.Open():
		return WithdrawalPending.String()
	case s == WithdrawalFailed:
		return WithdrawalRejected.String()
	}
	return s.String()
}

// Open reports whether the withdrawal is not over.
func (s WithdrawalState) Open() bool {
	return s == WithdrawalPending || s == WithdrawalApproved || s == WithdrawalSent
}

// Precedes reports whether one step leads from s to another state.
func (s WithdrawalState) Precedes(to WithdrawalState) bool {
	switch s {
	case WithdrawalPending:
		return to == WithdrawalApproved || to == WithdrawalCompleted || to == WithdrawalRejected
	case WithdrawalApproved:
		return to == WithdrawalSent || to == WithdrawalRejected
	case WithdrawalSent:
		return to == WithdrawalCompleted || to == WithdrawalFailed
	}
	return false
}

// Withdrawal is one request to take money out. ID is the seq of that request.
type Withdrawal struct {
	ID          uint64
	User        UserID
	ClientID    string
	Amount      Pips
	Destination string
	State       WithdrawalState `cbor:"Status"` // the name before there were steps
	Seq         uint64          // of the last change
	Ts          int64           // of the last change, ns
	Reference   string          `cbor:",omitempty"` // of the payment
}

// Window is an entry of the maintenance schedule (docs/rules/operation.md#actions).
type Window struct {
	Kind       string
	Start, End int64 // ns
}

// Key is an API key. Its secret exists in the state only sealed
// (docs/rules/accounts.md#secrets-at-rest).
type Key struct {
	ID      string
	User    UserID
	Scopes  Scopes
	Label   string
	Sealed  []byte // the secret, encrypted with the master key
	Created int64  // ns
	Revoked bool
	Number  KeyNumber `cbor:",omitempty"`
	Grant   *Grant    `cbor:",omitempty"` // nil for a key that signs requests; shared and read-only
}

// User is the identity of an account (docs/rules/accounts.md#accounts).
type User struct {
	ID        UserID
	Name      string
	Referrer  UserID   // 0 if there is none
	TokenHash [32]byte // SHA-256 of the account token
	Created   int64    // ns
	Suspended bool
	Agent     *Agent `cbor:",omitempty"` // nil for an owner; shared and read-only
}

// Owner returns the account to whose family u belongs: its owner, or u itself
// (docs/rules/agent-accounts.md#family).
func (u *User) Owner() UserID {
	if u.Agent != nil {
		return u.Agent.Owner
	}
	return u.ID
}
