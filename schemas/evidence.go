package schemas

// GetEvidence is `GET /v1/rounds/{market_id}/evidence`: the current round of the slot,
// or an earlier one. Limit and cursor page through its ticks.
type GetEvidence struct {
	MarketID    Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"round_not_found"`
	RoundNumber U64 `json:"round_number,omitzero" in:"query" pattern:"^[0-9]+$" nonzero:"true" fault:"round_not_found" doc:"Omit for the latest"`
	Page
	MinSeqQuery
}

// Evidence shows how a round settled: the tick of its strike, the ticks of its settle
// window, and the arithmetic from them to the winner. Prices are at 1e8 scale
// (docs/rules/rounds.md#evidence).
type Evidence struct {
	MarketID                 uint32         `json:"market_id"`
	RoundNumber              U64            `json:"round_number" pattern:"^[0-9]+$"`
	Generation               uint32         `json:"generation"`
	Category                 uint16         `json:"category"`
	Feed                     uint8          `json:"feed" table:"feed" doc:"{names}"`
	Status                   string         `json:"status" enum:"trading,frozen,proposed,settled,void"`
	Strike                   U64            `json:"strike" pattern:"^[0-9]+$" doc:"At 1e8"`
	StrikeTick               *EvidenceTick  `json:"strike_tick" doc:"The index tick that is the strike"`
	BoundaryTs               U64            `json:"boundary_ts" pattern:"^[0-9]+$" doc:"ns; the window ends before it"`
	TwapWindowSecs           int64          `json:"twap_window_secs"`
	CoveredSecs              int64          `json:"covered_secs" doc:"Seconds of the window with a price"`
	RequiredSecs             int64          `json:"required_secs" doc:"Least covered_secs to settle without the operator"`
	FreshSourceCountAtFreeze uint8          `json:"fresh_source_count_at_freeze"`
	WeightedSum              string         `json:"weighted_sum" pattern:"^[0-9]+$" doc:"Sum of price x counted_secs over all ticks; twap is its floored quotient by covered_secs"`
	Twap                     U64            `json:"twap" pattern:"^[0-9]+$" doc:"At 1e8; 0 until frozen"`
	ByOperator               bool           `json:"by_operator" doc:"settle_price is the operator's, not twap"`
	SettlePrice              U64            `json:"settle_price" pattern:"^[0-9]+$" doc:"At 1e8; 0 until proposed"`
	Winner                   *string        `json:"winner" enum:"yes,no" pattern:"^(yes|no)$" doc:"yes if and only if settle_price > strike"`
	Ticks                    []EvidenceTick `json:"ticks" nullable:"false" doc:"Of the window and the 5 s before it, newest first"`
	PageEnd
}

// EvidenceTick is one index tick with the prices of its sources.
type EvidenceTick struct {
	Ts               U64           `json:"ts" pattern:"^[0-9]+$" doc:"ns; the second it stands for"`
	Price            U64           `json:"price" pattern:"^[0-9]+$" doc:"At 1e8"`
	FreshSourceCount uint8         `json:"fresh_source_count"`
	CountedSecs      int64         `json:"counted_secs" doc:"Seconds of the window it stands for, carried ones included"`
	Manual           bool          `json:"manual" doc:"Posted by an operator"`
	Sources          []SourcePrice `json:"sources" nullable:"false"`
}

// SourcePrice is the price of one source.
type SourcePrice struct {
	Source string `json:"source"`
	Price  U64    `json:"price" pattern:"^[0-9]+$" doc:"At 1e8"`
}
