package schemas

// AuditReason is the operator's reason for an action (docs/rules/operation.md#audit).
type AuditReason struct {
	Reason string `json:"reason,omitzero" maxLength:"256" doc:"Why, for the audit"`
}

// CreateUser is the body of `POST /admin/users`.
type CreateUser struct {
	Name       string `json:"name" minLength:"1" maxLength:"64"`
	ReferrerID *Int   `json:"referrer_id,omitempty" minimum:"1" maximum:"4294967295"`
	AuditReason
}

// SignUp is `POST /accounts` of the portal.
type SignUp struct {
	Name string `json:"name" minLength:"1" maxLength:"64"`
}

// NewUser is the response of `POST /admin/users` and of SignUp. It shows the account token once.
type NewUser struct {
	UserID       uint32 `json:"user_id"`
	AccountToken string `json:"account_token"`
}

// User is an account as the operator sees it.
type User struct {
	UserID     uint32  `json:"user_id"`
	Name       string  `json:"name"`
	ReferrerID *uint32 `json:"referrer_id,omitempty"`
	Suspended  bool    `json:"suspended"`
	CreatedTs  U64     `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// ListUsers is `GET /admin/users`.
type ListUsers struct{ Page }

// UserList is a page of users, ordered by user_id.
type UserList struct {
	Users []User `json:"users" nullable:"false"`
	PageEnd
}

// ListActions is `GET /admin/audit`: the actions of operators and accounts, newest
// first. Who, Action and UserID are filters.
type ListActions struct {
	Who    string `json:"who,omitzero" in:"query" maxLength:"64" doc:"operator, account, dx or dx dev"`
	Action string `json:"action,omitzero" in:"query" maxLength:"64" doc:"Such as suspend_user"`
	UserID *Int   `json:"user_id,omitempty" in:"query" minimum:"1" maximum:"4294967295"`
	Page
}

// Action is a sequenced command of the audit, with its origin and its reason.
type Action struct {
	Seq      U64               `json:"seq" pattern:"^[0-9]+$"`
	Ts       U64               `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	Who      string            `json:"who"`
	Why      string            `json:"why"`
	Action   string            `json:"action"`
	UserID   *uint32           `json:"user_id,omitempty"`
	MarketID *uint32           `json:"market_id,omitempty"`
	Detail   map[string]string `json:"detail,omitempty" doc:"The other fields of the request"`
	Refused  string            `json:"refused,omitzero" doc:"The error code, if the venue rejected it"`
}

// ActionList is the response of `GET /admin/audit`.
type ActionList struct {
	Actions []Action `json:"actions" nullable:"false"`
	PageEnd
}

// CreateUserKey is `POST /admin/users/{user_id}/keys`. It grants any scopes.
type CreateUserKey struct {
	UserID Int      `json:"user_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_user"`
	Label  string   `json:"label,omitzero" maxLength:"64"`
	Scopes []string `json:"scopes,omitempty" nullable:"false" minItems:"1" maxItems:"3" enum:"read,trade,withdraw"`
	AuditReason
}

// Deposit is `POST /admin/users/{user_id}/deposits`, idempotent by deposit_id.
type Deposit struct {
	UserID    Int    `json:"user_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_user"`
	DepositID string `json:"deposit_id" minLength:"1" maxLength:"128"`
	Amount    U64    `json:"amount" pattern:"^[0-9]+$" nonzero:"true" fault:"bad_amount" doc:"Pips, at most 10000000000000"`
	AuditReason
}

// Deposited is a deposit as it was booked, in pips.
type Deposited struct {
	UserID    uint32 `json:"user_id"`
	DepositID string `json:"deposit_id"`
	Amount    U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
	Seq       U64    `json:"seq" pattern:"^[0-9]+$"`
}

// SuspendUser is `POST /admin/users/{user_id}/suspend|resume`.
type SuspendUser struct {
	UserID Int `json:"user_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_user"`
	AuditReason
}

// Suspension is the response of a suspend or a resume.
type Suspension struct {
	UserID    uint32 `json:"user_id"`
	Suspended bool   `json:"suspended"`
	Seq       U64    `json:"seq" pattern:"^[0-9]+$"`
}

// ActOnMarket is `POST /admin/markets/{market_id}/pause|resume|void`.
type ActOnMarket struct {
	MarketID Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_market"`
	AuditReason
}

// Propose is `POST /admin/markets/{market_id}/propose`: an operator's settle price.
type Propose struct {
	MarketID    Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_market"`
	SettlePrice U64 `json:"settle_price" pattern:"^[0-9]+$" nonzero:"true" doc:"At 1e8"`
	AuditReason
}

// MarketActed is the response of an operator's action on a market.
type MarketActed struct {
	MarketID uint32 `json:"market_id"`
	Status   string `json:"status" enum:"trading,frozen,proposed,settled,void"`
	Paused   bool   `json:"paused"`
	Seq      U64    `json:"seq" pattern:"^[0-9]+$"`
}

// SetFees is `PUT /admin/fees`; it replaces the whole schedule. Rates in 1/10000.
type SetFees struct {
	MakerRate      Int `json:"maker_rate" minimum:"0" maximum:"10000"`
	TakerRate      Int `json:"taker_rate" minimum:"0" maximum:"10000"`
	MakerRebatePct Int `json:"maker_rebate_pct" minimum:"0" maximum:"100"`
	ReferralPct    Int `json:"referral_pct" minimum:"0" maximum:"100"`
	AuditReason
}

// Check requires maker_rate ≤ taker_rate and at most 100 percent of fee shares together
// (docs/rules/money.md#fee-schedule).
func (f *SetFees) Check() *Fault {
	switch {
	case f.MakerRate > f.TakerRate:
		return schemaViolation("maker_rate", "at most taker_rate")
	case f.MakerRebatePct+f.ReferralPct > 100:
		return schemaViolation("referral_pct", "maker_rebate_pct + referral_pct at most 100")
	}
	return nil
}

// SetSchedule is `PUT /admin/schedule`; it replaces the whole schedule.
type SetSchedule struct {
	Schedule []Window `json:"schedule" nullable:"false" maxItems:"100"`
	AuditReason
}

// DecideWithdrawal is `POST /admin/withdrawals/{withdrawal_id}/approve|complete|fail|reject`.
type DecideWithdrawal struct {
	WithdrawalID U64 `json:"withdrawal_id" in:"path" fault:"unknown_withdrawal" pattern:"^[0-9]+$"`
	AuditReason
}

// SendWithdrawal is `POST /admin/withdrawals/{withdrawal_id}/send`.
type SendWithdrawal struct {
	WithdrawalID U64    `json:"withdrawal_id" in:"path" fault:"unknown_withdrawal" pattern:"^[0-9]+$"`
	Reference    string `json:"reference" minLength:"1" maxLength:"128" doc:"Of the payment, such as its number at the bank"`
	AuditReason
}

// Tick is `POST /admin/oracle/ticks`: a source's price at 1e8 scale.
type Tick struct {
	Feed   Int    `json:"feed" table:"feed" doc:"{names}"`
	Source string `json:"source" minLength:"1" maxLength:"64"`
	Price  U64    `json:"price" pattern:"^[0-9]+$" nonzero:"true" doc:"At 1e8"`
	AuditReason
}

// Snapshotted is the response of `POST /admin/snapshot`.
type Snapshotted struct {
	Seq       U64    `json:"seq" pattern:"^[0-9]+$"`
	StateHash string `json:"state_hash"`
}

// Resealed is the number of key secrets that a new master key has sealed
// (docs/rules/operation.md#master-key).
type Resealed struct {
	Resealed int `json:"resealed"`
}

// AdminState holds the sums over all accounts, in pips: the terms of the invariant
// (docs/rules/money.md#the-invariant). Withdrawals are the pending and the completed ones.
type AdminState struct {
	Seq         U64    `json:"seq" pattern:"^[0-9]+$"`
	StateHash   string `json:"state_hash"`
	Cash        U64    `json:"cash" pattern:"^[0-9]+$"`
	Reserved    U64    `json:"reserved" pattern:"^[0-9]+$"`
	Collateral  U64    `json:"collateral" pattern:"^[0-9]+$"`
	Fees        U64    `json:"fees" pattern:"^[0-9]+$"`
	Deposits    U64    `json:"deposits" pattern:"^[0-9]+$"`
	Withdrawals U64    `json:"withdrawals" pattern:"^[0-9]+$"`
}
