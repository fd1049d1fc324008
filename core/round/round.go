package round

import (
	"duplex/core"
	"duplex/core/feed"
)

const (
	minute = 60 * core.NsPerSec
	// openWindow is the time after the start of a period in which any series may open.
	openWindow = 5 * core.NsPerSec
	// lateOpenMinLeft is the least time left of a period for a late opening.
	lateOpenMinLeft = 60 * core.NsPerSec
	// coverage is the least percentage of the window's seconds that have a price.
	coverage = 80
	never    = int64(1<<63 - 1)
)

// Period returns the period of a series that contains ts, in ns. A period is as long as
// the cadence and starts at a Unix minute that the cadence divides
// (docs/rules/rounds.md#opening).
func Period(s core.Series, ts int64) (start, end int64) {
	cadence := s.Cadence * minute
	start = ts - ts%cadence
	return start, start + cadence
}

// MayOpen reports whether a series without a trading round may open one at ts. last is
// the start of the period of its last round. If it may not, next is the earliest time at
// which it may.
//
// Every series may open in the first 5 s of a period (docs/rules/rounds.md#opening). The
// longer ones may also open later while at least 60 s are left
// (docs/rules/rounds.md#late-opening). Each period has at most one round.
func MayOpen(s core.Series, ts, last int64) (ok bool, next int64) {
	start, end := Period(s, ts)
	late := s.Cadence > 1 && end-ts >= lateOpenMinLeft
	if last < start && (ts-start < openWindow || late) {
		return true, ts
	}
	return false, end
}

// Freeze ends a round's trading and computes its settle price from the ticks of the ring.
// Later ticks do not count (docs/rules/rounds.md#freeze).
func Freeze(r *core.Round, ticks *feed.Ring, ts int64) {
	r.Status, r.FreezeTs = core.Frozen, ts
	boundary := r.CloseTs / core.NsPerSec
	r.Settle, r.Covered = ticks.TWAP(boundary, r.Window)
	r.FreshCount = ticks.FreshAt(boundary)
}

// HasCoverage reports whether a frozen round can propose its own price: 80 % of the
// window's seconds have a price, and the last index had enough fresh sources
// (docs/rules/rounds.md#coverage).
func HasCoverage(r *core.Round, rules *core.Rules) bool {
	return r.Covered >= RequiredSeconds(r.Window) && r.FreshCount >= rules.LeastSources(r.Feed)
}

// RequiredSeconds is the number of a window's seconds that must have a price.
func RequiredSeconds(window int64) int64 { return (coverage*window + 99) / 100 }

// Propose proposes a settle price and names the winner: YES if and only if the price is
// strictly above the strike (docs/rules/rounds.md#winner).
func Propose(r *core.Round, price core.Price, byOperator bool, ts int64) {
	r.Status, r.Settle, r.ProposedTs, r.ByOperator = core.Proposed, price, ts, byOperator
	r.Gen++
	r.Winner = core.No
	if price > r.Strike {
		r.Winner = core.Yes
	}
}

// YesPayout is 100 cents per dollar if YES has won a proposed or settled round, else 0.
func YesPayout(r *core.Round) int {
	if (r.Status == core.Proposed || r.Status == core.Settled) && r.Winner == core.Yes {
		return 100
	}
	return 0
}

// NextTransition is the time, in ns, at which the clock alone changes the round's status;
// never if it does not.
func NextTransition(r *core.Round, rules *core.Rules) int64 {
	switch r.Status {
	case core.Trading:
		return r.CloseTs
	case core.Frozen:
		if HasCoverage(r, rules) {
			return r.FreezeTs + 1
		}
		return r.FreezeTs + rules.CoverageWaitNs
	case core.Proposed:
		return r.ProposedTs + rules.DisputeNs
	default:
		return never
	}
}
