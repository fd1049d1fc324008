package core

import "strings"

// Scopes of a key (spec 5).
type Scopes uint8

const (
	ScopeRead Scopes = 1 << iota
	ScopeTrade
	ScopeWithdraw
)

var scopeNames = [...]string{"read", "trade", "withdraw"}

// Has tells whether s grants all of t.
func (s Scopes) Has(t Scopes) bool { return s&t == t }

// Names lists the scopes in their fixed order.
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

// ScopeOf gives the scope of a name; false if there is none of that name.
func ScopeOf(name string) (Scopes, bool) {
	for i, n := range scopeNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// Fees is the schedule (spec 1.5; contract core, Money).
type Fees struct {
	Maker, Taker        Rate
	RebatePct, ReferPct uint8 // percentages of the taker fee of a fill
}

// DefaultFees: maker 0, taker 250, no rebate, no referral share.
func DefaultFees() Fees { return Fees{Taker: 250} }

// Valid tells whether 0 ≤ maker ≤ taker ≤ 10000 and the shares add up to 100 at
// most; beyond that a reservation would not cover every fill.
func (f Fees) Valid() bool {
	return f.Maker <= f.Taker && f.Taker <= MaxRate && f.RebatePct <= 100 && f.ReferPct <= 100 && f.RebatePct+f.ReferPct <= 100
}

// WithdrawalStatus as contract rest names it.
type WithdrawalStatus uint8

const (
	Pending WithdrawalStatus = iota
	Completed
	Refused
)

func (s WithdrawalStatus) String() string { return [...]string{"pending", "completed", "rejected"}[s] }

// Withdrawal is one request to take money out. ID is its command's seq.
type Withdrawal struct {
	ID          uint64
	User        UserID
	ClientID    string
	Amount      Pips
	Destination string
	Status      WithdrawalStatus
	Seq         uint64 // of the last change
	Ts          int64
}

// Window is an entry of the maintenance schedule (spec 4.8).
type Window struct {
	Kind       string
	Start, End int64 // ns
}

// Key is an API key as the venue keeps it: the secret only sealed.
type Key struct {
	ID      string
	User    UserID
	Scopes  Scopes
	Label   string
	Sealed  []byte // the secret under the master key
	Created int64  // ns
	Revoked bool
}

// User is an account's identity. TokenHash is the SHA-256 of its account token.
type User struct {
	ID        UserID
	Name      string
	Referrer  UserID
	TokenHash [32]byte
	Created   int64
	Suspended bool
}
