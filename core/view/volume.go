package view

import "duplex/core"

const (
	volumeDays = 30
	dayNs      = 24 * 3600 * core.NsPerSec
)

// volume counts the contracts that an account filled on each of the last 30 UTC days, for
// the write rate (docs/rules/limits.md#write-rate).
type volume struct {
	Day  int64 // the newest day with a fill, in days since the Unix epoch
	Days [volumeDays]core.Qty
}

func (v *volume) add(ts int64, n core.Qty) {
	v.rollDay(ts / dayNs)
	v.Days[v.Day%volumeDays] += n
}

// rollDay advances to a later day and empties the days in between.
func (v *volume) rollDay(day int64) {
	if day-v.Day >= volumeDays {
		v.Days, v.Day = [volumeDays]core.Qty{}, day
	}
	for v.Day < day {
		v.Day++
		v.Days[v.Day%volumeDays] = 0
	}
}

// sum returns the contracts filled on the UTC day of ts (ns) and the 29 days before.
func (v volume) sum(ts int64) (n core.Qty) {
	v.rollDay(ts / dayNs)
	for _, d := range v.Days {
		n += d
	}
	return n
}
