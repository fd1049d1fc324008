package schemas

import "math"

// Time is the venue's clock (spec 4.8).
type Time struct {
	ServerTime U64 `json:"server_time" pattern:"^[0-9]+$" doc:"ns"`
}

// Status of the exchange; exchange_active is always true in v1.
type Status struct {
	ExchangeActive bool `json:"exchange_active"`
	Seen
}

// Retention tells the caps at which live listings truncate (spec 4.8).
type Retention struct {
	TapeCap     int64 `json:"tape_cap"`
	TerminalCap int64 `json:"terminal_cap"`
	RejectCap   int64 `json:"reject_cap"`
	FillCap     int64 `json:"fill_cap"`
}

// Window is an entry of the maintenance schedule, in ns.
type Window struct {
	Kind    string `json:"kind" minLength:"1" maxLength:"64" example:"maintenance"`
	StartTs U64    `json:"start_ts" pattern:"^[0-9]+$" doc:"ns"`
	EndTs   U64    `json:"end_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// Check wants a window that ends after it starts, at a time that a stamp can say.
func (w *Window) Check() *Fault {
	switch {
	case w.EndTs <= w.StartTs:
		return violation("end_ts", "after start_ts")
	case w.EndTs > math.MaxInt64:
		return violation("end_ts", "at most 2^63 − 1")
	}
	return nil
}

// Schedule is the maintenance schedule (spec 4.8).
type Schedule struct {
	Schedule []Window `json:"schedule" nullable:"false"`
}

// Fees is the live schedule: rates in 1/10000, shares in percent of the taker fee.
type Fees struct {
	MakerRate      int64 `json:"maker_rate"`
	TakerRate      int64 `json:"taker_rate" example:"250"`
	MakerRebatePct int64 `json:"maker_rebate_pct"`
	ReferralPct    int64 `json:"referral_pct"`
	Seen
}

// Venue is what the tool get_venue answers: all reference reads in one.
type Venue struct {
	Environment string    `json:"environment" enum:"dev,live"`
	Oracle      string    `json:"oracle" enum:"sim,manual,live,replay" doc:"How prices come; those of sim are made up"`
	Time        Time      `json:"time"`
	Status      Status    `json:"status"`
	Retention   Retention `json:"retention"`
	Schedule    Schedule  `json:"schedule"`
	Fees        Fees      `json:"fees"`
	Seen
}
