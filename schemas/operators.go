package schemas

import "slices"

// reservedOperators are the names that the audit uses for the shared token, for accounts and for the
// venue itself.
var reservedOperators = []string{"operator", "account", "dx"}

// AddOperator is the body of `POST /admin/operators` (docs/rules/operation.md#operators).
type AddOperator struct {
	Name string `json:"name" pattern:"^[A-Za-z][A-Za-z0-9._@-]{0,63}$" doc:"Shown by the audit; not operator, account or dx"`
	Role string `json:"role" enum:"viewer,support,treasurer,admin,service"`
	AuditReason
}

// Check requires a name that is not reserved.
func (o *AddOperator) Check() *Fault {
	if slices.Contains(reservedOperators, o.Name) {
		return schemaViolation("name", "letters, digits and . _ @ -, at most 64, not operator, account or dx")
	}
	return nil
}

// NewOperator is the response of `POST /admin/operators`. It shows the token once.
type NewOperator struct {
	Name          string `json:"name"`
	Role          string `json:"role" enum:"viewer,support,treasurer,admin,service"`
	OperatorToken string `json:"operator_token" doc:"Shown once"`
	CreatedTs     U64    `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// Operator is a named operator.
type Operator struct {
	Name      string `json:"name"`
	Role      string `json:"role" enum:"viewer,support,treasurer,admin,service"`
	CreatedTs U64    `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// WhoAmI is the response of `GET /admin/whoami`.
type WhoAmI struct {
	Name      string   `json:"name"`
	Role      string   `json:"role" enum:"viewer,support,treasurer,admin,service"`
	Actions   []string `json:"actions" nullable:"false" doc:"What the role allows besides reading"`
	CreatedTs U64      `json:"created_ts" pattern:"^[0-9]+$" doc:"ns; an operator approves no request from before. 0 of the shared token"`
	FourEyes  *U64     `json:"four_eyes" pattern:"^[0-9]+$" doc:"Pips; a deposit or withdrawal above it needs a second operator, and so does what exceeds it with the others of a UTC day. Null: nothing does"`
	// What the operator has done today, by UTC, without a second one.
	PaidAlone     *U64 `json:"paid_alone" pattern:"^[0-9]+$" doc:"Pips of deposits booked and withdrawals approved; null without four_eyes"`
	ReturnedAlone *U64 `json:"returned_alone" pattern:"^[0-9]+$" doc:"Pips of approved withdrawals failed or rejected; null without four_eyes"`
}

// OperatorList is the response of `GET /admin/operators`, by name.
type OperatorList struct {
	Operators []Operator `json:"operators" nullable:"false"`
	AsOf
}

// RevokeOperator is `DELETE /admin/operators/{name}`.
type RevokeOperator struct {
	Name string `json:"name" in:"path"`
	AuditReason
}

// OperatorRevoked is the response of a revocation. It does not depend on whether the operator
// existed.
type OperatorRevoked struct {
	Name    string `json:"name"`
	Revoked bool   `json:"revoked"`
}

// ApprovalPending is the response 202 of an action that waits for a second operator
// (docs/rules/operation.md#two-person-approval).
type ApprovalPending struct {
	ApprovalID U64    `json:"approval_id" pattern:"^[0-9]+$"`
	Status     string `json:"status" enum:"pending"`
	ExpiresTs  U64    `json:"expires_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// ListApprovals is `GET /admin/approvals`.
type ListApprovals struct {
	Status string `json:"status,omitzero" in:"query" enum:"pending,approved,rejected"`
	Page
}

// Approval is a request of one operator that another one decides. The fields after decided_ts are
// those of the action.
type Approval struct {
	ApprovalID  U64    `json:"approval_id" pattern:"^[0-9]+$"`
	Status      string `json:"status" enum:"pending,approved,rejected"`
	Action      string `json:"action" enum:"deposit,complete_withdrawal,void_market,propose_price,post_tick,approve_withdrawal,fail_withdrawal,reject_withdrawal,set_fees"`
	RequestedBy string `json:"requested_by"`
	Reason      string `json:"reason"`
	RequestedTs U64    `json:"requested_ts" pattern:"^[0-9]+$" doc:"ns"`
	ExpiresTs   U64    `json:"expires_ts" pattern:"^[0-9]+$" doc:"ns"`
	DecidedBy   string `json:"decided_by,omitzero"`
	DecidedTs   *U64   `json:"decided_ts,omitempty" pattern:"^[0-9]+$" doc:"ns"`

	UserID       *uint32   `json:"user_id,omitempty"`
	DepositID    string    `json:"deposit_id,omitzero"`
	Amount       *U64      `json:"amount,omitempty" pattern:"^[0-9]+$" doc:"Pips"`
	WithdrawalID *U64      `json:"withdrawal_id,omitempty" pattern:"^[0-9]+$"`
	Destination  string    `json:"destination,omitzero"`
	MarketID     *uint32   `json:"market_id,omitempty"`
	RoundNumber  *U64      `json:"round_number,omitempty" pattern:"^[0-9]+$"`
	SettlePrice  *U64      `json:"settle_price,omitempty" pattern:"^[0-9]+$" doc:"At 1e8"`
	Feed         *int      `json:"feed,omitempty"`
	Source       string    `json:"source,omitzero"`
	Price        *U64      `json:"price,omitempty" pattern:"^[0-9]+$" doc:"At 1e8"`
	Fees         *FeeRates `json:"fees,omitempty"`
}

// ApprovalList is a page of the approvals that have not expired, oldest first.
type ApprovalList struct {
	Approvals []Approval `json:"approvals" nullable:"false"`
	PageEnd
}

// DecideApproval is `POST /admin/approvals/{approval_id}/approve|reject`.
type DecideApproval struct {
	ApprovalID U64 `json:"approval_id" in:"path" fault:"unknown_approval" pattern:"^[0-9]+$"`
	AuditReason
}

// ListAllWithdrawals is `GET /admin/withdrawals`.
type ListAllWithdrawals struct {
	Status string `json:"status,omitzero" in:"query" enum:"pending,completed,rejected"`
	Page
}

// UserWithdrawal is a withdrawal with its account.
type UserWithdrawal struct {
	UserID uint32 `json:"user_id"`
	Withdrawal
}

// UserWithdrawalList is a page of withdrawals of all accounts: open ones oldest first, else newest
// first. A page may have fewer rows than its limit, or none, and still have a cursor.
type UserWithdrawalList struct {
	Withdrawals []UserWithdrawal `json:"withdrawals" nullable:"false"`
	PageEnd
}

// UserPath names the account of a route of the operator.
type UserPath struct {
	UserID Int `json:"user_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_user"`
}

// UserDetail is the response of `GET /admin/users/{user_id}`.
type UserDetail struct {
	UserID             uint32       `json:"user_id"`
	Name               string       `json:"name"`
	Kind               string       `json:"kind" enum:"owner,agent"`
	State              string       `json:"state" enum:"active,expired,halted,suspended,closed"`
	CreatedTs          U64          `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
	ReferrerID         *uint32      `json:"referrer_id" doc:"Null without one"`
	Cash               U64          `json:"cash" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	Reserved           U64          `json:"reserved" pattern:"^[0-9]+$" doc:"Held by resting buys, pips"`
	Positions          []Position   `json:"positions" nullable:"false"`
	OpenOrders         []Order      `json:"open_orders" nullable:"false" doc:"Newest first"`
	Keys               []Key        `json:"keys" nullable:"false"`
	WithdrawalsPending []Withdrawal `json:"withdrawals_pending" nullable:"false" doc:"Oldest first"`
	Volume30d          U64          `json:"volume_30d" pattern:"^[0-9]+$" doc:"Contracts"`
	AsOf
}

// ListUserRows is `GET /admin/users/{user_id}/ledger` and `/activity`.
type ListUserRows struct {
	UserPath
	Page
}

// UserEvent is an entry of an account's stream (docs/rules/events.md#the-account).
type UserEvent struct {
	Seq   U64 `json:"seq" pattern:"^[0-9]+$"`
	Ts    U64 `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	Event any `json:"event"`
}

// UserActivity is a page of an account's stream, newest first.
type UserActivity struct {
	Activity []UserEvent `json:"activity" nullable:"false"`
	PageEnd
}

// RevokeUserKey is `DELETE /admin/users/{user_id}/keys/{api_key}`.
type RevokeUserKey struct {
	UserPath
	APIKey string `json:"api_key" in:"path"`
	AuditReason
}

// ActOnUser is `DELETE /admin/users/{user_id}/orders` and `POST /admin/users/{user_id}/token`.
type ActOnUser struct {
	UserPath
	AuditReason
}

// UserOrdersCanceled is the response of `DELETE /admin/users/{user_id}/orders`.
type UserOrdersCanceled struct {
	UserID   uint32 `json:"user_id"`
	Canceled int    `json:"canceled" doc:"Orders"`
	Seq      U64    `json:"seq" pattern:"^[0-9]+$"`
}

// TokenReset is the response of `POST /admin/users/{user_id}/token`. It shows the token once.
type TokenReset struct {
	AccountToken string `json:"account_token"`
}

// SearchUsers is `GET /admin/search`.
type SearchUsers struct {
	Q string `json:"q" in:"query" minLength:"1" maxLength:"64" doc:"Part of a name, an API key, an order id or a user_id"`
	Page
}

// FoundUser is an account that a search found.
type FoundUser struct {
	User
	Matched string `json:"matched" enum:"user_id,api_key,order_id,name"`
}

// FoundUsers is a page of the accounts that a search found, by user_id.
type FoundUsers struct {
	Users []FoundUser `json:"users" nullable:"false"`
	PageEnd
}

// AdminFeed is a feed at a glance.
type AdminFeed struct {
	Feed         int           `json:"feed"`
	Name         string        `json:"name"`
	Stale        bool          `json:"stale" doc:"No fresh index: its markets are paused"`
	SessionOpen  bool          `json:"session_open"`
	Price        *U64          `json:"price" pattern:"^[0-9]+$" doc:"Of the newest index tick, at 1e8; null before the first"`
	AgeMs        *int64        `json:"age_ms" doc:"Of that tick"`
	SourceCount  int           `json:"source_count" doc:"Fresh sources behind that tick"`
	LeastSources int           `json:"min_sources"`
	Manual       bool          `json:"manual" doc:"An operator posted that tick"`
	Sources      []AdminSource `json:"sources" nullable:"false"`
}

// AdminSource is a price source at a glance.
type AdminSource struct {
	Name       string `json:"name"`
	Status     string `json:"status" enum:"fresh,quiet,waiting"`
	Price      *U64   `json:"price" pattern:"^[0-9]+$" doc:"At 1e8; null before the first"`
	AgeMs      *int64 `json:"age_ms"`
	Reconnects uint64 `json:"reconnects"`
}

// AdminFeeds is the response of `GET /admin/feeds`.
type AdminFeeds struct {
	Feeds []AdminFeed `json:"feeds" nullable:"false"`
	AsOf
}

// AdminDay is the response of `GET /admin/day`: what one node did in the last 24 hours.
type AdminDay struct {
	SinceTs         U64           `json:"since_ts" pattern:"^[0-9]+$" doc:"ns; when the node started, before which it knows nothing"`
	IntervalSeconds int           `json:"interval_seconds"`
	Places          int           `json:"places" doc:"Connections that the API's listener serves at once"`
	Intervals       []DayInterval `json:"intervals" nullable:"false" doc:"Oldest first; the last is in progress"`
}

// DayInterval is what a node did in an interval. Money is in pips.
type DayInterval struct {
	StartTs     U64    `json:"start_ts" pattern:"^[0-9]+$" doc:"ns"`
	Contracts   U64    `json:"contracts" pattern:"^[0-9]+$" doc:"Filled"`
	Fees        U64    `json:"fees" pattern:"^[0-9]+$" doc:"That the venue keeps"`
	Deposited   U64    `json:"deposited" pattern:"^[0-9]+$"`
	PaidOut     U64    `json:"paid_out" pattern:"^[0-9]+$" doc:"Withdrawals that were completed"`
	Requests    uint64 `json:"requests" doc:"To the API and the portal"`
	Rejected    uint64 `json:"rejected" doc:"Of them, those with an error"`
	Faults      uint64 `json:"faults" doc:"Errors of the venue: those with a status of 500 or above"`
	Connections int    `json:"connections" doc:"The most at once to the API's listener, counted every 10 s"`
}

// AdminMarket is a market's round at a glance.
type AdminMarket struct {
	MarketID      uint32 `json:"market_id"`
	RoundNumber   U64    `json:"round_number" pattern:"^[0-9]+$"`
	Category      uint16 `json:"category"`
	Series        string `json:"series"`
	Status        string `json:"status" enum:"trading,frozen,proposed,settled,void"`
	Paused        bool   `json:"paused" doc:"By an operator, or because its feed is stale"`
	Halted        bool   `json:"halted" doc:"An operator has paused it"`
	Strike        U64    `json:"strike" pattern:"^[0-9]+$" doc:"At 1e8"`
	CloseTs       U64    `json:"close_ts" pattern:"^[0-9]+$" doc:"ns"`
	SettlePrice   *U64   `json:"settle_price" pattern:"^[0-9]+$" doc:"At 1e8; null before the freeze"`
	OpenInterest  int64  `json:"open_interest" doc:"Pairs"`
	Volume        int64  `json:"volume" doc:"Contracts"`
	NeedsDecision bool   `json:"needs_decision" doc:"Frozen without enough prices: propose a price or void it"`
	VoidTs        *U64   `json:"void_ts" pattern:"^[0-9]+$" doc:"ns; when it is void without a decision, else null"`
}

// AdminMarkets is the response of `GET /admin/markets`: every round that is not over, those that need
// a decision first.
type AdminMarkets struct {
	Markets []AdminMarket `json:"markets" nullable:"false"`
	AsOf
}
