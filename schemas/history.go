package schemas

// Steps selects the length of the steps of a history. Steps begin at Unix multiples of it.
type Steps struct {
	StepSecs *Int `json:"step_secs,omitempty" in:"query" minimum:"1" maximum:"3600" doc:"Default 1"`
}

// Secs returns the length of a step in seconds.
func (s Steps) Secs() int64 {
	if s.StepSecs == nil {
		return 1
	}
	return int64(*s.StepSecs)
}

// GetPriceHistory is the query of `GET /v1/oracle/history`; no feed means 0. The history is that
// of the steps that begin at or after from_ts, rounded down to a step, and before to_ts.
type GetPriceHistory struct {
	Feed Int `json:"feed,omitzero" in:"query" table:"feed" doc:"{names}; default 0"`
	TimeRange
	Steps
	Page
	MinSeqQuery
}

// PriceHistory is a page of the index of a feed, newest first
// (docs/rules/prices-sources.md#price-history).
type PriceHistory struct {
	Feed          uint8      `json:"feed"`
	StepSecs      int64      `json:"step_secs"`
	Rows          []PriceRow `json:"rows" nullable:"false"`
	VolatilityPpb string     `json:"volatility_ppb" pattern:"^[0-9]+$" doc:"Of the rows, per step, in parts per billion"`
	PageEnd
}

// PriceRow is the index of a feed in one step. Prices are at 1e8 scale.
type PriceRow struct {
	Ts      U64   `json:"ts" pattern:"^[0-9]+$" doc:"ns; start of the step"`
	Open    U64   `json:"open" pattern:"^[0-9]+$" doc:"At 1e8"`
	High    U64   `json:"high" pattern:"^[0-9]+$" doc:"At 1e8"`
	Low     U64   `json:"low" pattern:"^[0-9]+$" doc:"At 1e8"`
	Close   U64   `json:"close" pattern:"^[0-9]+$" doc:"At 1e8"`
	Sources uint8 `json:"sources" doc:"Of the last tick"`
}

// GetRoundHistory is `GET /v1/rounds/{market_id}/history`: the latest round of the slot, or an
// earlier one.
type GetRoundHistory struct {
	MarketID    Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"round_not_found"`
	RoundNumber U64 `json:"round_number,omitzero" in:"query" pattern:"^[0-9]+$" nonzero:"true" fault:"round_not_found" doc:"Omit for the latest"`
	Steps
	Page
	MinSeqQuery
}

// RoundHistory is a page of the states of a round while it was trading, newest first
// (docs/rules/rounds.md#round-history).
type RoundHistory struct {
	RoundNumber U64        `json:"round_number" pattern:"^[0-9]+$"`
	StepSecs    int64      `json:"step_secs"`
	Rows        []RoundRow `json:"rows" nullable:"false"`
	PageEnd
}

// RoundRow is the state of a round at the end of one step. A price is 0 when there is none.
type RoundRow struct {
	Ts     U64   `json:"ts" pattern:"^[0-9]+$" doc:"ns; start of the step"`
	Index  U64   `json:"index" pattern:"^[0-9]+$" doc:"At 1e8"`
	YesBid int64 `json:"yes_bid" doc:"Pips"`
	YesAsk int64 `json:"yes_ask" doc:"Pips"`
	Last   int64 `json:"last" doc:"Pips of YES"`
	Volume U64   `json:"volume" pattern:"^[0-9]+$" doc:"Of the round so far"`
}
