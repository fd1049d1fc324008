package view

import "duplex/core"

const (
	volumeDays = 30
	dayNs      = 24 * 3600 * core.NsPerSec
)

// volume counts the contracts an account filled on each of the newest 30 UTC days.
type volume struct {
	Day  int64 // the newest day with a fill, in days since the epoch
	Days [volumeDays]core.Qty
}

func (v *volume) add(ts int64, n core.Qty) {
	v.rollDay(ts / dayNs)
	v.Days[v.Day%volumeDays] += n
}

// rollDay makes room for a later day by emptying the days between.
func (v *volume) rollDay(day int64) {
	if day-v.Day >= volumeDays {
		v.Days, v.Day = [volumeDays]core.Qty{}, day
	}
	for v.Day < day {
		v.Day++
		v.Days[v.Day%volumeDays] = 0
	}
}

// sum is what was filled on the day of ts and the 29 before.
func (v volume) sum(ts int64) (n core.Qty) {
	v.rollDay(ts / dayNs)
	for _, d := range v.Days {
		n += d
	}
	return n
}
