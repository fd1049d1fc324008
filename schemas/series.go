package schemas

// ListSeries is the query of `GET /v1/series`.
type ListSeries struct {
	Category *Int `json:"category,omitempty" in:"query" table:"category" doc:"{names}; omit for all"`
	MinSeqQuery
}

// Series is one series with its index, its live round and its last final rounds. Prices
// are at 1e8 scale, "0" when there is none (docs/rules/rounds.md#what-a-series-shows).
type Series struct {
	Category       uint16       `json:"category"`
	Name           string       `json:"name" example:"btc-60s"`
	Asset          string       `json:"asset" example:"BTC"`
	CadenceSecs    int64        `json:"cadence_secs"`
	TwapWindowSecs int64        `json:"twap_window_secs"`
	Feed           uint8        `json:"feed" table:"feed" doc:"{names}"`
	Index          U64          `json:"index" pattern:"^[0-9]+$" doc:"At 1e8"`
	IndexDecimal   Decimal      `json:"index_decimal"`
	Volatility     *string      `json:"volatility_per_minute" pattern:"^[0-9]+[.][0-9]{4}$" doc:"Percent; null at first"`
	Live           *LiveRound   `json:"live" doc:"Null when no round is trading"`
	Last           []FinalRound `json:"last" nullable:"false" doc:"Last 3 final rounds, newest first"`
}

// LiveRound is the round of a series that is trading, with its best prices in pips of YES,
// 0 when there is none.
type LiveRound struct {
	MarketID      uint32  `json:"market_id"`
	Generation    uint32  `json:"generation"`
	RoundNumber   U64     `json:"round_number" pattern:"^[0-9]+$"`
	Strike        U64     `json:"strike" pattern:"^[0-9]+$" doc:"At 1e8"`
	StrikeDecimal Decimal `json:"strike_decimal"`
	CloseTs       U64     `json:"close_ts" pattern:"^[0-9]+$" doc:"ns"`
	SecsToClose   int64   `json:"secs_to_close"`
	Paused        bool    `json:"paused"`
	YesBid        int64   `json:"yes_bid" doc:"Pips; 0 when none"`
	YesAsk        int64   `json:"yes_ask" doc:"Pips; 0 when none"`
}

// FinalRound is a settled or void round. A void round has no winner.
type FinalRound struct {
	RoundNumber U64     `json:"round_number" pattern:"^[0-9]+$"`
	Winner      *string `json:"winner" enum:"yes,no" doc:"Null when void"`
	Strike      U64     `json:"strike" pattern:"^[0-9]+$" doc:"At 1e8"`
	SettlePrice U64     `json:"settle_price" pattern:"^[0-9]+$" doc:"At 1e8"`
}

// SeriesList is the response of `GET /v1/series`, by category.
type SeriesList struct {
	Series         []Series `json:"series" nullable:"false"`
	VolatilityOver int64    `json:"volatility_window_secs"`
	AsOf
}
