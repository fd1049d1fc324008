package schemas

// ListLedger is the query of `GET /v1/portfolio/ledger`.
type ListLedger struct {
	Kind        string `json:"kind,omitempty" in:"query" list:"fill,fee,rebate,referral,settlement,void,redeem,deposit,withdrawal,withdrawal_returned,transfer" doc:"Comma-separated, such as fill,fee"`
	MarketID    *Int   `json:"market_id,omitempty" in:"query" minimum:"1" maximum:"4294967295"`
	RoundNumber *U64   `json:"round_number,omitempty" in:"query" pattern:"^[0-9]+$"`
	OrderID     *U64   `json:"order_id,omitempty" in:"query" pattern:"^[0-9]+$"`
	TimeRange
	Page
	MinSeqQuery
}

// LedgerRow is one change of the caller's cash and reservations (docs/rules/money.md#ledger).
// The members after balance_after are absent where the change has none.
type LedgerRow struct {
	N            U64       `json:"n" pattern:"^[0-9]+$" doc:"Counts the rows of the account, from 1"`
	Seq          U64       `json:"seq" pattern:"^[0-9]+$"`
	Ts           U64       `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	Kind         string    `json:"kind" enum:"fill,fee,rebate,referral,settlement,void,redeem,deposit,withdrawal,withdrawal_returned,transfer"`
	Amount       Signed    `json:"amount" pattern:"^-?[0-9]+$" doc:"Pips, signed"`
	AmountUSD    SignedUSD `json:"amount_usd" doc:"Dollars, signed"`
	BalanceAfter U64       `json:"balance_after" pattern:"^[0-9]+$" doc:"Cash and reservations after this row, pips"`
	MarketID     *uint32   `json:"market_id,omitempty"`
	Generation   *uint32   `json:"generation,omitempty"`
	RoundNumber  *U64      `json:"round_number,omitempty" pattern:"^[0-9]+$"`
	Category     *uint16   `json:"category,omitempty"`
	OrderID      *U64      `json:"order_id,omitempty" pattern:"^[0-9]+$" doc:"Of a fill and its fee"`
	FillN        *U64      `json:"fill_n,omitempty" pattern:"^[0-9]+$" doc:"The n of the fill"`
	Ref          string    `json:"ref,omitzero" doc:"Id of the deposit or withdrawal, or client_transfer_id"`
}

// LedgerList is a page of the ledger, newest first.
type LedgerList struct {
	Ledger []LedgerRow `json:"ledger" nullable:"false"`
	PageEnd
}

// ListDeposits is the query of `GET /v1/deposits`.
type ListDeposits struct {
	TimeRange
	Page
	MinSeqQuery
}

// DepositRow is one of the caller's deposits.
type DepositRow struct {
	DepositID string `json:"deposit_id"`
	Amount    U64    `json:"amount" pattern:"^[0-9]+$" doc:"Pips"`
	Seq       U64    `json:"seq" pattern:"^[0-9]+$"`
	Ts        U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
}

// DepositList is a page of deposits, newest first.
type DepositList struct {
	Deposits []DepositRow `json:"deposits" nullable:"false"`
	PageEnd
}

// ListPortfolioRounds is the query of `GET /v1/portfolio/rounds`.
type ListPortfolioRounds struct {
	Category    *Int `json:"category,omitempty" in:"query" table:"category" doc:"Omit for all"`
	RoundNumber *U64 `json:"round_number,omitempty" in:"query" pattern:"^[0-9]+$"`
	Page
	MinSeqQuery
}

// AccountRound is what the caller traded and made in one round
// (docs/rules/money.md#results-by-round). Bought, sold and redeemed are contracts and pairs.
type AccountRound struct {
	RoundNumber U64        `json:"round_number" pattern:"^[0-9]+$"`
	MarketID    uint32     `json:"market_id"`
	Generation  uint32     `json:"generation"`
	Category    uint16     `json:"category"`
	Status      string     `json:"status" enum:"trading,frozen,proposed,settled,void"`
	Winner      *string    `json:"winner" enum:"yes,no" doc:"yes or no; null when void or not final"`
	BoughtYes   int64      `json:"bought_yes"`
	BoughtNo    int64      `json:"bought_no"`
	SoldYes     int64      `json:"sold_yes"`
	SoldNo      int64      `json:"sold_no"`
	Redeemed    int64      `json:"redeemed" doc:"Pairs"`
	Paid        U64        `json:"paid" pattern:"^[0-9]+$" doc:"Prices of buys without fees, pips"`
	Received    U64        `json:"received" pattern:"^[0-9]+$" doc:"Prices of sales without fees, pips"`
	Fees        U64        `json:"fees" pattern:"^[0-9]+$" doc:"Pips"`
	Payout      U64        `json:"payout" pattern:"^[0-9]+$" doc:"Pips"`
	Profit      *Signed    `json:"profit" pattern:"^-?[0-9]+$" doc:"Pips, signed; null before the round is final"`
	ProfitUSD   *SignedUSD `json:"profit_usd" doc:"Dollars, signed"`
}

// AccountRoundList is a page of the caller's rounds, highest round_number first.
type AccountRoundList struct {
	Rounds []AccountRound `json:"rounds" nullable:"false"`
	PageEnd
}
