package schemas

// Why is what an operator gives as the reason of an action, for the audit.
type Why struct {
	Reason string `json:"reason,omitzero" maxLength:"256" doc:"Why, for the audit"`
}

// CreateUser is the body of `POST /admin/users`.
type CreateUser struct {
	Name       string `json:"name" minLength:"1" maxLength:"64"`
	ReferrerID *Int   `json:"referrer_id,omitempty" minimum:"1" maximum:"4294967295"`
	Why
}

// NewUser shows an account's token once.
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

// UserList is its answer, by user_id.
type UserList struct {
	Users []User `json:"users" nullable:"false"`
	More
}

// ListActions is `GET /admin/audit`: the actions of operators and accounts, newest
// first. Who, Name and UserID leave out what is not theirs.
type ListActions struct {
	Who    string `json:"who,omitzero" in:"query" maxLength:"64" doc:"operator, account, dx or dx dev"`
	Action string `json:"action,omitzero" in:"query" maxLength:"64" doc:"Such as suspend_user"`
	UserID *Int   `json:"user_id,omitempty" in:"query" minimum:"1" maximum:"4294967295"`
	Page
}

// Action is a sequenced command that somebody answers for.
type Action struct {
	Seq      U64               `json:"seq" pattern:"^[0-9]+$"`
	Ts       U64               `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	Who      string            `json:"who"`
	Why      string            `json:"why"`
	Action   string            `json:"action"`
	UserID   *uint32           `json:"user_id,omitempty"`
	MarketID *uint32           `json:"market_id,omitempty"`
	Detail   map[string]string `json:"detail,omitempty" doc:"What else was asked for"`
	Refused  string            `json:"refused,omitzero" doc:"The code, where the venue refused it"`
}

// ActionList is the answer of `GET /admin/audit`.
type ActionList struct {
	Actions []Action `json:"actions" nullable:"false"`
	More
}

// CreateUserKey is `POST /admin/users/{user_id}/keys`: any scopes.
type CreateUserKey struct {
	UserID Int      `json:"user_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_user"`
	Label  string   `json:"label,omitzero" maxLength:"64"`
	Scopes []string `json:"scopes,omitempty" nullable:"false" minItems:"1" maxItems:"3" enum:"read,trade,withdraw"`
	Why
}

// Deposit is `POST /admin/users/{user_id}/deposits`, idempotent by deposit_id.
type Deposit struct {
	UserID    Int    `json:"user_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_user"`
	DepositID string `json:"deposit_id" minLength:"1" maxLength:"128"`
	Amount    U64    `json:"amount" pattern:"^[0-9]+$" nonzero:"true" fault:"bad_amount" doc:"Pips"`
	Why
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
	Why
}

// Suspension is the answer of both.
type Suspension struct {
	UserID    uint32 `json:"user_id"`
	Suspended bool   `json:"suspended"`
	Seq       U64    `json:"seq" pattern:"^[0-9]+$"`
}

// ActOnMarket is `POST /admin/markets/{market_id}/pause|resume|void`.
type ActOnMarket struct {
	MarketID Int `json:"market_id" in:"path" minimum:"1" maximum:"65535" fault:"unknown_market"`
	Why
}

// Propose is `POST /admin/markets/{market_id}/propose`: an operator's settle price.
type Propose struct {
	MarketID    Int `json:"market_id" in:"path" minimum:"1" maximum:"65535" fault:"unknown_market"`
	SettlePrice U64 `json:"settle_price" pattern:"^[0-9]+$" nonzero:"true" doc:"At 1e8"`
	Why
}

// MarketActed is the answer of an operator's action on a market.
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
	Why
}

// Check holds maker ≤ taker and the shares to 100 together (contract core, Money).
func (f *SetFees) Check() *Fault {
	switch {
	case f.MakerRate > f.TakerRate:
		return violation("maker_rate", "at most taker_rate")
	case f.MakerRebatePct+f.ReferralPct > 100:
		return violation("referral_pct", "maker_rebate_pct + referral_pct at most 100")
	}
	return nil
}

// SetSchedule is `PUT /admin/schedule`; it replaces the whole schedule.
type SetSchedule struct {
	Schedule []Window `json:"schedule" nullable:"false" maxItems:"100"`
	Why
}

// DecideWithdrawal is `POST /admin/withdrawals/{withdrawal_id}/complete|reject`.
type DecideWithdrawal struct {
	WithdrawalID U64 `json:"withdrawal_id" in:"path" fault:"unknown_withdrawal" pattern:"^[0-9]+$"`
	Why
}

// Tick is `POST /admin/oracle/ticks`: a source's price at 1e8 scale.
type Tick struct {
	Feed   Int    `json:"feed" minimum:"0" maximum:"2" doc:"0 BTC, 1 gold, 2 WTI"`
	Source string `json:"source" minLength:"1" maxLength:"64"`
	Price  U64    `json:"price" pattern:"^[0-9]+$" nonzero:"true" doc:"At 1e8"`
	Why
}

// Snapshotted is the answer of `POST /admin/snapshot`.
type Snapshotted struct {
	Seq       U64    `json:"seq" pattern:"^[0-9]+$"`
	StateHash string `json:"state_hash"`
}

// Resealed tells how many key secrets a new master key seals now.
type Resealed struct {
	Resealed int `json:"resealed"`
}

// AdminState sums the venue up: THE INVARIANT's terms in pips. Withdrawals are
// pending and completed ones.
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
