package schemas

import "math"

// Time is the response of `GET /v1/time`: the machine's clock, with which clients sign, and venue
// time, with which the venue stamps (docs/rules/rest.md#get_time).
type Time struct {
	ServerTime U64    `json:"server_time" pattern:"^[0-9]+$" doc:"ns; sign with it"`
	Clock      string `json:"clock" enum:"wall,virtual" doc:"wall: both times are the same"`
	VenueTime  U64    `json:"venue_time" pattern:"^[0-9]+$" doc:"ns; stamps and rounds go by it"`
}

// Status is the status of the exchange. exchange_active is always true in v1.
type Status struct {
	ExchangeActive bool `json:"exchange_active"`
	AsOf
}

// Retention holds the caps at which listings drop their oldest rows
// (docs/rules/limits.md#retention).
type Retention struct {
	TapeCap            int64 `json:"tape_cap"`
	TerminalCap        int64 `json:"terminal_cap"`
	RejectCap          int64 `json:"reject_cap"`
	FillCap            int64 `json:"fill_cap"`
	LedgerCap          int64 `json:"ledger_cap"`
	PortfolioRoundsCap int64 `json:"portfolio_rounds_cap" doc:"Final rounds; the others are always kept"`
	DepositsCap        int64 `json:"deposits_cap"`
	ForecastCap        int64 `json:"forecast_cap"`
	EventCap           int64 `json:"event_cap" doc:"Events of the user channel"`

	History *HistorySpan `json:"history" doc:"Of the mirror; null without one"`
}

// HistorySpan is what the mirror holds: the rows of the commands above SinceSeq, up to AsOfSeq
// (docs/rules/history.md).
type HistorySpan struct {
	SinceSeq U64 `json:"since_seq" pattern:"^[0-9]+$" doc:"Rows begin after this seq"`
	AsOf
}

// Window is an entry of the maintenance schedule, in ns.
type Window struct {
	Kind    string `json:"kind" minLength:"1" maxLength:"64" example:"maintenance"`
	StartTs U64    `json:"start_ts" pattern:"^[0-9]+$" doc:"ns"`
	EndTs   U64    `json:"end_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// Check requires that the window ends after it starts, and within the range of a stamp.
func (w *Window) Check() *Fault {
	switch {
	case w.EndTs <= w.StartTs:
		return schemaViolation("end_ts", "after start_ts")
	case w.EndTs > math.MaxInt64:
		return schemaViolation("end_ts", "at most 2^63 − 1")
	}
	return nil
}

// Schedule lists planned maintenance and the coming session boundaries.
type Schedule struct {
	Schedule []Window `json:"schedule" nullable:"false"`
}

// FeeRates is a fee schedule: rates in 1/10000, shares in percent of the taker fee
// (docs/rules/money.md#fee-schedule).
type FeeRates struct {
	MakerRate      int64 `json:"maker_rate"`
	TakerRate      int64 `json:"taker_rate" example:"250"`
	MakerRebatePct int64 `json:"maker_rebate_pct"`
	ReferralPct    int64 `json:"referral_pct"`
}

// Fees is the fee schedule in force.
type Fees struct {
	FeeRates
	AsOf
}

// Venue is the result of the tool get_venue: all reference reads in one.
type Venue struct {
	Environment string    `json:"environment" enum:"dev,live,arena"`
	Oracle      string    `json:"oracle" enum:"sim,manual,live,replay" doc:"How prices come; those of sim are made up"`
	Time        Time      `json:"time"`
	Status      Status    `json:"status"`
	Retention   Retention `json:"retention"`
	Schedule    Schedule  `json:"schedule"`
	Fees        Fees      `json:"fees"`
	AsOf
}
