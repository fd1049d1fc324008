package schemas

// RequestWithdrawal is the body of `POST /v1/withdrawals`. The funding port checks the
// destination (docs/rules/money.md#withdrawals).
type RequestWithdrawal struct {
	ClientWithdrawalID string `json:"client_withdrawal_id" pattern:"^[A-Za-z0-9_-]{1,64}$" fault:"bad_client_withdrawal_id" doc:"Idempotency key" example:"rent-11"`
	Amount             U64    `json:"amount" pattern:"^[0-9]+$" nonzero:"true" fault:"bad_amount" exact:"true" doc:"Pips" example:"250000"`
	Destination        string `json:"destination" fault:"bad_destination" example:"bank-7"`
}

// ListWithdrawals is the query of `GET /v1/withdrawals`.
type ListWithdrawals struct {
	TimeRange
	Page
	MinSeqQuery
}

// GetWithdrawal names the record of `GET /v1/withdrawals/{withdrawal_id}`.
type GetWithdrawal struct {
	WithdrawalID U64 `json:"withdrawal_id" in:"path" fault:"unknown_withdrawal" pattern:"^[0-9]+$"`
	MinSeqQuery
}

// Withdrawal is one withdrawal request. The amount is in pips.
type Withdrawal struct {
	WithdrawalID       U64    `json:"withdrawal_id" pattern:"^[0-9]+$"`
	ClientWithdrawalID string `json:"client_withdrawal_id"`
	Amount             U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
	Destination        string `json:"destination"`
	Status             string `json:"status" enum:"pending,completed,rejected"`
	State              string `json:"state" enum:"pending,approved,sent,completed,failed,rejected"`
	Reference          string `json:"reference"`
	Seq                U64    `json:"seq" pattern:"^[0-9]+$"`
	Ts                 U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// WithdrawalRead is one withdrawal with its as_of_seq.
type WithdrawalRead struct {
	Withdrawal
	AsOf
}

// WithdrawalList is a page of withdrawals, newest first.
type WithdrawalList struct {
	Withdrawals []Withdrawal `json:"withdrawals" nullable:"false"`
	PageEnd
}

// DepositAddress is the address for deposits to the account.
type DepositAddress struct {
	Address string `json:"address"`
	Asset   string `json:"asset"`
	AsOf
}
