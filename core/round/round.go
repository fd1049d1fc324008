package round

import (
	"duplex/core"
	"duplex/core/feed"
)

const (
	minute = 60 * core.NsPerSec
	// opening is how long after its boundary a round of any series may open.
	opening = 5 * core.NsPerSec
	// lateLeft is what must be left of a stretch for a late opening.
	lateLeft = 60 * core.NsPerSec
	// coverage is the least share of the window's seconds with a price, in percent.
	coverage = 80
	never    = int64(1<<63 - 1)
)

// Stretch is the time one round of a series may span: from a minute that starts
// its cadence to the next such.
func Stretch(s core.Series, ts int64) (start, end int64) {
	cadence := s.Cadence * minute
	start = ts - ts%cadence
	return start, start + cadence
}

// MayOpen tells whether a series without a trading round may open one at ts, when
// last is the start of the stretch that had its last round. If not, next is when
// the clock alone could allow it.
//
// It may in the first 5 s of a stretch; the longer series also late in a stretch
// that has had no round yet, with at least 60 s left.
func MayOpen(s core.Series, ts, last int64) (ok bool, next int64) {
	start, end := Stretch(s, ts)
	late := s.Cadence > 1 && end-ts >= lateLeft
	if last < start && (ts-start < opening || late) {
		return true, ts
	}
	return false, end
}

// Freeze closes a round's trading and fixes what it settles on from the ticks that
// are there now. Ticks that come later do not count.
func Freeze(r *core.Round, ticks *feed.Ring, ts int64) {
	r.Status, r.FreezeTs = core.Frozen, ts
	boundary := r.CloseTs / core.NsPerSec
	r.Settle, r.Covered = ticks.TWAP(boundary, r.Window)
	r.FreshCount = ticks.FreshAt(boundary)
}

// Decided tells whether a frozen round can propose its own price: 80 % of the
// window's seconds are covered and the last index had a fresh source.
func Decided(r *core.Round) bool {
	return r.Covered >= Required(r.Window) && r.FreshCount >= 1
}

// Required is the least number of covered seconds of a window.
func Required(window int64) int64 { return (coverage*window + 99) / 100 }

// Propose names the winner: YES if and only if the settle price is strictly above
// the strike (spec 1.3).
func Propose(r *core.Round, price core.Price, byOperator bool, ts int64) {
	r.Status, r.Settle, r.ProposedTs, r.ByOperator = core.Proposed, price, ts, byOperator
	r.Gen++
	r.Winner = core.No
	if price > r.Strike {
		r.Winner = core.Yes
	}
}

// YesPayout is cents per dollar to holders of YES once decided, else 0.
func YesPayout(r *core.Round) int {
	if (r.Status == core.Proposed || r.Status == core.Settled) && r.Winner == core.Yes {
		return 100
	}
	return 0
}

// Due is when the clock alone moves a round on; never if it does not.
func Due(r *core.Round, rules *core.Rules) int64 {
	switch r.Status {
	case core.Trading:
		return r.CloseTs
	case core.Frozen:
		if Decided(r) {
			return r.FreezeTs + 1
		}
		return r.FreezeTs + rules.CoverageWaitNs
	case core.Proposed:
		return r.ProposedTs + rules.DisputeNs
	default:
		return never
	}
}
