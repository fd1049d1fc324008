package feed

import (
	"slices"

	"duplex/core"
)

// RingTicks is the number of ticks that a Ring keeps. At one a second they span at least
// 128 seconds, more than the longest window, its carry and the wait for an operator's
// price together.
const RingTicks = 128

// lastSecond bounds the seconds of ticks (the year 36812), so that computations with them
// cannot overflow.
const lastSecond = 1 << 40

// Ring keeps the newest ticks of one feed. It is part of the venue's state: Ticks is
// exported for the snapshot, and only Put changes it. The Sources of a tick are shared
// and read-only.
type Ring struct {
	Ticks []core.IndexTick // at most RingTicks, by strictly rising second
}

// Put adds a tick and reports whether it was accepted
// (docs/rules/prices-sources.md#which-tick-counts). The first tick of a second wins, but an
// operator's tick replaces it. Put rejects price 0, a second below 0 or above lastSecond,
// and a second before the newest, so that what a window has used does not change.
//
// A Ring has no clock. The caller must reject ticks of the future, because after one of
// them every tick of an earlier second is rejected.
func (r *Ring) Put(tick core.IndexTick) bool {
	if tick.Price == 0 || tick.Second < 0 || tick.Second > lastSecond {
		return false
	}
	n := len(r.Ticks)
	switch {
	case n == 0 || tick.Second > r.Ticks[n-1].Second:
		r.add(tick)
	case tick.Second == r.Ticks[n-1].Second && tick.Manual:
		r.Ticks[n-1] = tick
	default:
		return false
	}
	return true
}

// add appends a tick and drops the oldest if the ring is full. It moves the ticks down
// instead of wrapping around: snapshots and readers need a plain list, and moving 128
// values once a second is cheap.
func (r *Ring) add(tick core.IndexTick) {
	if r.Ticks == nil {
		r.Ticks = make([]core.IndexTick, 0, RingTicks)
	}
	if extra := len(r.Ticks) - RingTicks + 1; extra > 0 {
		r.Ticks = slices.Delete(r.Ticks, 0, extra)
	}
	r.Ticks = append(r.Ticks, tick)
}

// Last returns the newest tick; false if there is none.
func (r *Ring) Last() (core.IndexTick, bool) {
	if len(r.Ticks) == 0 {
		return core.IndexTick{}, false
	}
	return r.Ticks[len(r.Ticks)-1], true
}

// TWAP is TWAP of the ring's ticks.
func (r *Ring) TWAP(boundary, window int64) (core.Price, int64) {
	return TWAP(r.Ticks, boundary, window)
}

// FreshAt is the number of sources of the last tick before a boundary in Unix seconds, or
// 0 if that tick is more than 5 s older (docs/rules/rounds.md#fresh-sources-at-the-freeze).
// The tick of the boundary's own second does not count, so that the result does not
// depend on whether that tick or the freeze was sequenced first.
func (r *Ring) FreshAt(boundary int64) uint8 {
	for i := len(r.Ticks) - 1; i >= 0; i-- {
		if t := &r.Ticks[i]; t.Second < boundary {
			if boundary-t.Second > CarrySecs {
				return 0
			}
			return t.Count
		}
	}
	return 0
}

// Window returns a copy of the ticks that a freeze at a boundary can use, those of the
// Unix seconds [boundary − window − 5, boundary): the evidence of a round
// (docs/rules/rounds.md#evidence). TWAP of these ticks equals TWAP of the ring.
func (r *Ring) Window(boundary, window int64) []core.IndexTick {
	from, ok := windowStart(boundary, window)
	if !ok {
		return nil
	}
	lo, hi := len(r.Ticks), len(r.Ticks)
	for lo > 0 && r.Ticks[lo-1].Second >= from-CarrySecs {
		lo--
		if r.Ticks[lo].Second >= boundary {
			hi = lo
		}
	}
	return slices.Clone(r.Ticks[lo:hi])
}
