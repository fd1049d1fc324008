package schemas

// ListFills is the query of `GET /v1/portfolio/fills`.
type ListFills struct {
	OrderID     *U64   `json:"order_id,omitempty" in:"query" pattern:"^[0-9]+$"`
	MarketID    *Int   `json:"market_id,omitempty" in:"query" minimum:"0" maximum:"4294967295"`
	RoundNumber *U64   `json:"round_number,omitempty" in:"query" pattern:"^[0-9]+$"`
	Side        string `json:"side,omitzero" in:"query" enum:"buy,sell"`
	GroupID     Int    `json:"group_id,omitzero" in:"query" minimum:"0" maximum:"4294967295" doc:"0: all"`
	TimeRange
	Page
	MinSeqQuery
}

// Fill is one of the caller's fills, as maker or taker. Of a row that is older than the ledgers
// (docs/rules/operation.md#revision) generation, round_number and category are 0.
type Fill struct {
	N             U64     `json:"n" pattern:"^[0-9]+$" doc:"Counts the fills of the account, from 1"`
	Seq           U64     `json:"seq" pattern:"^[0-9]+$"`
	Ts            U64     `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	MarketID      uint32  `json:"market_id"`
	Generation    uint32  `json:"generation"`
	RoundNumber   U64     `json:"round_number" pattern:"^[0-9]+$"`
	Category      uint16  `json:"category"`
	OrderID       U64     `json:"order_id" pattern:"^[0-9]+$"`
	ClientOrderID U64     `json:"client_order_id" pattern:"^[0-9]+$"`
	Role          string  `json:"role" enum:"maker,taker"`
	Side          string  `json:"side" enum:"buy,sell"`
	Outcome       string  `json:"outcome" enum:"yes,no"`
	Qty           int64   `json:"qty"`
	TickYes       int64   `json:"tick_yes" minimum:"1" maximum:"9999" doc:"Pips"`
	Path          string  `json:"path" enum:"direct,mint,merge"`
	Fee           U64     `json:"fee" pattern:"^[0-9]+$" doc:"Pips"`
	APIKey        *string `json:"api_key" doc:"Of the order; null when unknown"`
}

// FillList is a page of fills, newest first.
type FillList struct {
	Fills []Fill `json:"fills" nullable:"false"`
	PageEnd
}

// ListPositions is the query of `GET /v1/portfolio/positions`.
type ListPositions struct {
	MarketID *Int `json:"market_id,omitempty" in:"query" minimum:"0" maximum:"4294967295"`
	Page
	MinSeqQuery
}

// Position is the caller's holding in one round. Cost is explained in
// docs/rules/money.md#average-cost.
type Position struct {
	MarketID    uint32 `json:"market_id"`
	Generation  uint32 `json:"generation"`
	RoundNumber U64    `json:"round_number" pattern:"^[0-9]+$"`
	YesQty      int64  `json:"yes_qty" doc:"Includes what is reserved"`
	NoQty       int64  `json:"no_qty"`
	YesReserved int64  `json:"yes_reserved"`
	NoReserved  int64  `json:"no_reserved"`
	Cost        U64    `json:"cost" pattern:"^[0-9]+$" doc:"Pips paid for what is held now, fees included"`
}

// PositionList is a page of positions. It omits positions without contracts.
type PositionList struct {
	Positions []Position `json:"positions" nullable:"false"`
	PageEnd
}

// ListSettlements is the query of `GET /v1/portfolio/settlements`.
type ListSettlements struct {
	RoundNumber *U64 `json:"round_number,omitempty" in:"query" pattern:"^[0-9]+$"`
	TimeRange
	Page
	MinSeqQuery
}

// Settlement is the payout of a finished round to the caller (docs/rules/money.md#payouts). Of a
// row that is older than the ledgers (docs/rules/operation.md#revision) cost and profit are null,
// and the category and both prices 0.
type Settlement struct {
	Seq           U64     `json:"seq" pattern:"^[0-9]+$"`
	Ts            U64     `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	MarketID      uint32  `json:"market_id"`
	Generation    uint32  `json:"generation"`
	RoundNumber   U64     `json:"round_number" pattern:"^[0-9]+$"`
	OutcomeStatus string  `json:"outcome_status" enum:"settled,void"`
	Winner        *string `json:"winner" enum:"yes,no" pattern:"^(yes|no)$" doc:"yes or no; null when void"`
	YesQty        int64   `json:"yes_qty"`
	NoQty         int64   `json:"no_qty"`
	Payout        U64     `json:"payout" pattern:"^[0-9]+$" doc:"Pips"`
	Category      uint16  `json:"category"`
	Cost          *U64    `json:"cost" pattern:"^[0-9]+$" doc:"Pips paid for what was held, fees included; null when unknown"`
	Profit        *Signed `json:"profit" pattern:"^-?[0-9]+$" doc:"payout less cost, pips, signed; null when unknown"`
	SettlePrice   U64     `json:"settle_price" pattern:"^[0-9]+$" doc:"At 1e8"`
	Strike        U64     `json:"strike" pattern:"^[0-9]+$" doc:"At 1e8"`
}

// SettlementList is a page of settlements, newest first.
type SettlementList struct {
	Settlements []Settlement `json:"settlements" nullable:"false"`
	PageEnd
}

// Balance is the caller's money in pips: free cash, and cash held by resting buys.
type Balance struct {
	Cash     U64 `json:"cash" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	Reserved U64 `json:"reserved" pattern:"^[0-9]+$" doc:"Held by resting buys, pips"`
	AsOf
}

// PnL is the response of `GET /v1/portfolio/pnl` (docs/rules/money.md#profit-and-loss). Amounts are
// pips. The fees are part of cost and realized already.
type PnL struct {
	Realized         Signed        `json:"realized" pattern:"^-?[0-9]+$" doc:"Pips, signed"`
	RealizedUSD      SignedUSD     `json:"realized_usd" doc:"Dollars, signed"`
	RealizedToday    Signed        `json:"realized_today" pattern:"^-?[0-9]+$" doc:"Of this UTC day, pips, signed"`
	RealizedTodayUSD SignedUSD     `json:"realized_today_usd" doc:"Dollars, signed"`
	Unrealized       Signed        `json:"unrealized" pattern:"^-?[0-9]+$" doc:"Of what is held, at the mark price, pips, signed"`
	UnrealizedUSD    SignedUSD     `json:"unrealized_usd" doc:"Dollars, signed"`
	Fees             U64           `json:"fees" pattern:"^[0-9]+$" doc:"Paid, pips"`
	Rebates          U64           `json:"rebates" pattern:"^[0-9]+$" doc:"Rebates and referral shares received, pips"`
	Equity           U64           `json:"equity" pattern:"^[0-9]+$" doc:"Pips: cash, reservations and contracts at the mark price"`
	EquityUSD        USD           `json:"equity_usd" doc:"Dollars"`
	OpenCost         U64           `json:"open_cost" pattern:"^[0-9]+$" doc:"Pips: reserved cash and cost of what is held, which bounds the loss"`
	DepositsNet      Signed        `json:"deposits_net" pattern:"^-?[0-9]+$" doc:"Deposits less withdrawals, pips, signed"`
	TransfersNet     Signed        `json:"transfers_net" pattern:"^-?[0-9]+$" doc:"Transfers received less transfers made, pips, signed"`
	Positions        []PnLPosition `json:"positions" nullable:"false" doc:"By market_id, YES first"`
	AsOf
}

// PnLPosition is what an account holds of one outcome of a round. Without a mark its value
// is its cost.
type PnLPosition struct {
	MarketID    uint32 `json:"market_id"`
	Generation  uint32 `json:"generation"`
	RoundNumber U64    `json:"round_number" pattern:"^[0-9]+$"`
	Category    uint16 `json:"category"`
	Outcome     string `json:"outcome" enum:"yes,no"`
	Qty         int64  `json:"qty"`
	Cost        U64    `json:"cost" pattern:"^[0-9]+$" doc:"Pips paid for what is held, fees included"`
	AvgCost     U64    `json:"avg_cost" pattern:"^[0-9]+$" doc:"Pips a contract, rounded down"`
	Mark        *int64 `json:"mark" minimum:"0" maximum:"10000" doc:"Pips; null when there is no mark price"`
	Value       U64    `json:"value" pattern:"^[0-9]+$" doc:"At the mark, pips"`
	Unrealized  Signed `json:"unrealized" pattern:"^-?[0-9]+$" doc:"value less cost, pips, signed"`
}

// Redeem is the body of `POST /v1/portfolio/redeem` (docs/rules/money.md#redeem).
type Redeem struct {
	MarketID Int `json:"market_id" minimum:"0" maximum:"4294967295" example:"1"`
	Qty      Int `json:"qty" minimum:"1" maximum:"1000000" fault:"bad_qty" doc:"Number of pairs" example:"5"`
	RequestIdentity
}

// Redeemed is the response of a redeem. Credit is in pips.
type Redeemed struct {
	MarketID uint32 `json:"market_id"`
	Qty      int64  `json:"qty"`
	Credit   U64    `json:"credit" pattern:"^[0-9]+$" doc:"Pips"`
	Seq      U64    `json:"seq" pattern:"^[0-9]+$"`
}
