package schemas

import "duplex/core"

// ListMarkets is the query of `GET /v1/markets`.
type ListMarkets struct {
	Status string `json:"status,omitempty" in:"query" list:"trading,frozen,proposed,settled,void" doc:"Comma-separated: trading, frozen, proposed, settled, void"`
	Page
	MinSeqQuery
}

// GetMarket names the slot of `GET /v1/markets/{market_id}`.
type GetMarket struct {
	MarketID Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_market"`
	MinSeqQuery
}

// GetOrderbook is `GET /v1/markets/{market_id}/orderbook`.
type GetOrderbook struct {
	MarketID Int  `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_market"`
	Depth    *Int `json:"depth,omitempty" in:"query" minimum:"1" maximum:"1000" doc:"Levels each; default all"`
	MinSeqQuery
}

// ListTrades is `GET /v1/markets/{market_id}/trades`.
type ListTrades struct {
	MarketID Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"unknown_market"`
	TimeRange
	Page
	MinSeqQuery
}

// Band is a stretch of legal ticks: from, from + step, … to.
type Band struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
	Step int64 `json:"step"`
}

// TickSize is the grid of legal limit ticks (docs/rules/prices.md#grid).
type TickSize struct {
	Name  string `json:"name" example:"narrow"`
	Bands []Band `json:"bands" nullable:"false"`
}

// TickSizeOf converts a grid.
func TickSizeOf(g core.Grid) TickSize {
	bands := make([]Band, len(g.Bands))
	for i, b := range g.Bands {
		bands[i] = Band{int64(b.From), int64(b.To), int64(b.Step)}
	}
	return TickSize{Name: g.Name, Bands: bands}
}

// Market is the current state of a slot. The category is in the round. Absent prices
// are 0 (docs/rules/prices.md#what-a-market-shows).
type Market struct {
	MarketID     uint32   `json:"market_id"`
	Generation   uint32   `json:"generation"`
	RoundNumber  U64      `json:"round_number" pattern:"^[0-9]+$"`
	Status       string   `json:"status" enum:"trading,frozen,proposed,settled,void"`
	TickSize     TickSize `json:"tick_size"`
	YesBid       int64    `json:"yes_bid" doc:"Pips; 0 when none"`
	YesBidQty    int64    `json:"yes_bid_qty"`
	YesAsk       int64    `json:"yes_ask" doc:"Pips; 0 when none"`
	YesAskQty    int64    `json:"yes_ask_qty"`
	LastTickYes  int64    `json:"last_tick_yes" doc:"Pips; 0 when none"`
	Volume       U64      `json:"volume" pattern:"^[0-9]+$" doc:"Contracts"`
	OpenInterest U64      `json:"open_interest" pattern:"^[0-9]+$" doc:"Contracts"`
	Paused       bool     `json:"paused" doc:"No placements, cancels work"`
	OpenTs       U64      `json:"open_ts" pattern:"^[0-9]+$" doc:"ns"`
	CloseTs      U64      `json:"close_ts" pattern:"^[0-9]+$" doc:"ns; when it will freeze"`
	SecsToClose  int64    `json:"secs_to_close" doc:"At as_of_seq; 0 unless trading"`
}

// MarketRead is one market with its as_of_seq.
type MarketRead struct {
	Market
	AsOf
}

// MarketList is a page of markets.
type MarketList struct {
	Markets []Market `json:"markets" nullable:"false"`
	PageEnd
}

// Level is [tick, qty]: a price in the outcome's own pips and the contracts resting there.
type Level [2]int64

// Orderbook holds the bids for each outcome, best first. The YES ask is 10000
// minus the NO bid.
type Orderbook struct {
	MarketID   uint32   `json:"market_id"`
	Generation uint32   `json:"generation"`
	TickSize   TickSize `json:"tick_size"`
	Yes        []Level  `json:"yes" nullable:"false" doc:"[tick, qty] bids for YES, best first"`
	No         []Level  `json:"no" nullable:"false" doc:"[tick, qty] bids for NO, best first"`
	Ts         U64      `json:"ts" pattern:"^[0-9]+$" doc:"ns; stamp of the command with the seq as_of_seq"`
	AsOf

	encoded []byte // all members before Ts; set by PreEncode
}

// Trade is one public trade. It does not identify the accounts.
type Trade struct {
	Seq          U64    `json:"seq" pattern:"^[0-9]+$"`
	Ts           U64    `json:"ts" pattern:"^[0-9]+$" doc:"ns"`
	MarketID     uint32 `json:"market_id"`
	Generation   uint32 `json:"generation"`
	TickYes      int64  `json:"tick_yes" minimum:"1" maximum:"9999" doc:"Pips"`
	Qty          int64  `json:"qty"`
	Path         string `json:"path" enum:"direct,mint,merge"`
	TakerSide    string `json:"taker_side" enum:"buy,sell"`
	TakerOutcome string `json:"taker_outcome" enum:"yes,no"`
}

// TradeList is a page of trades, newest first.
type TradeList struct {
	Trades []Trade `json:"trades" nullable:"false"`
	PageEnd
}
