package schemas

// ListRounds is the query of `GET /v1/rounds`. Category 0 means unclassified, not all.
type ListRounds struct {
	Category    *Int `json:"category,omitempty" in:"query" minimum:"0" maximum:"65535" doc:"Omit for all"`
	MarketID    *Int `json:"market_id,omitempty" in:"query" minimum:"0" maximum:"4294967295" doc:"Past lives of one slot"`
	RoundNumber *U64 `json:"round_number,omitempty" in:"query" pattern:"^[0-9]+$"`
	Page
	MinSeqQuery
}

// GetRound names the slot of `GET /v1/rounds/{market_id}`.
type GetRound struct {
	MarketID Int `json:"market_id" in:"path" minimum:"1" maximum:"4294967295" fault:"round_not_found"`
	MinSeqQuery
}

// Round is one round of a market slot. Prices are at 1e8 scale
// (docs/rules/rounds.md#what-a-round-shows).
type Round struct {
	MarketID                 uint32  `json:"market_id"`
	Status                   string  `json:"status" enum:"trading,frozen,proposed,settled,void"`
	Strike                   U64     `json:"strike" pattern:"^[0-9]+$" doc:"Open price at 1e8"`
	SettlePrice              U64     `json:"settle_price" pattern:"^[0-9]+$" doc:"Freeze price at 1e8; 0 until proposed"`
	Winner                   *string `json:"winner" enum:"yes,no" pattern:"^(yes|no)$" doc:"yes or no; null until proposed, and when void"`
	YesPayout                uint8   `json:"yes_payout" doc:"Cents per $1 to YES once decided, 0 or 100"`
	FreshSourceCountAtFreeze uint8   `json:"fresh_source_count_at_freeze"`
	Gen                      uint32  `json:"gen" doc:"Proposals of this round so far"`
	OpenTs                   U64     `json:"open_ts" pattern:"^[0-9]+$" doc:"ns"`
	FreezeTs                 U64     `json:"freeze_ts" pattern:"^[0-9]+$" doc:"ns; 0 until frozen"`
	ResolveTs                U64     `json:"resolve_ts" pattern:"^[0-9]+$" doc:"ns; 0 until resolved"`
	RoundNumber              U64     `json:"round_number" pattern:"^[0-9]+$"`
	Generation               uint32  `json:"generation" doc:"Life of the slot"`
	Category                 uint16  `json:"category" doc:"Series id, 0 unclassified"`
	TwapWindowSecs           int64   `json:"twap_window_secs"`
	Paused                   bool    `json:"paused"`
	CloseTs                  U64     `json:"close_ts" pattern:"^[0-9]+$" doc:"ns; when trading ends"`
	SecsToClose              int64   `json:"secs_to_close" doc:"At as_of_seq; 0 unless trading"`
}

// RoundRead is one round with its as_of_seq.
type RoundRead struct {
	Round
	AsOf
}

// RoundList is a page of rounds, descending by round_number.
type RoundList struct {
	Rounds []Round `json:"rounds" nullable:"false"`
	PageEnd
}
