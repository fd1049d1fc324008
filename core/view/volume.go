package view

import "duplex/core"

const (
	volumeDays = 30
	dayNs      = 24 * 3600 * core.NsPerSec
)

// volume counts the contracts that an account filled, by UTC day, for 30 days.
type volume struct {
	Day  int64                // the newest day with a fill, in days since the epoch
	Days [volumeDays]core.Qty // by day modulo volumeDays
}

func (v *volume) add(ts int64, n core.Qty) {
	v.rollDay(ts / dayNs)
	v.Days[v.Day%volumeDays] += n
}

// rollDay advances to a later day, and clears the days between.
func (v *volume) rollDay(day int64) {
	if day-v.Day >= volumeDays {
		v.Days, v.Day = [volumeDays]core.Qty{}, day
	}
	for v.Day < day {
		v.Day++
		v.Days[v.Day%volumeDays] = 0
	}
}

// sum returns the contracts filled on the day of ts and the 29 days before. v is a copy, so rollDay does
// not change the account.
func (v volume) sum(ts int64) (n core.Qty) {
	v.rollDay(ts / dayNs)
	for _, d := range v.Days {
		n += d
	}
	return n
}
