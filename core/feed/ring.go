package feed

import (
	"slices"

	"duplex/core"
)

// RingTicks is how many ticks a Ring keeps: at one a second, at least the last
// 128 seconds, which the longest window, its carry and the wait for an
// operator's price fit into.
const RingTicks = 128

// lastSecond bounds the seconds a Ring takes (the year 36812), so that nothing
// computed from one can overflow.
const lastSecond = 1 << 40

// Ring keeps the newest ticks of one feed. It is part of the venue's state:
// Ticks is exported for the snapshot, depends on nothing but the ticks put, and
// is changed by Put alone. Sources of a tick are shared, never written.
type Ring struct {
	Ticks []core.IndexTick // at most RingTicks, seconds strictly rising
}

// Put takes a tick; false leaves the ring as it was. The first tick of a second
// wins, save that an operator's replaces it. Refused: a second before the newest
// (what a window has seen stays as it was), one below 0 or absurdly late, and
// price 0.
//
// A ring knows no clock: the caller refuses a tick of the future, which would
// shut out every tick until then.
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

// add appends, letting the oldest go where full. The ticks move down instead of
// wrapping around: one plain list is what a snapshot and a reader want, and 128
// small values a second cost nothing.
func (r *Ring) add(tick core.IndexTick) {
	if r.Ticks == nil {
		r.Ticks = make([]core.IndexTick, 0, RingTicks)
	}
	if extra := len(r.Ticks) - RingTicks + 1; extra > 0 {
		kept := copy(r.Ticks, r.Ticks[extra:])
		clear(r.Ticks[kept:])
		r.Ticks = r.Ticks[:kept]
	}
	r.Ticks = append(r.Ticks, tick)
}

// Last is the newest tick; false if there is none.
func (r *Ring) Last() (core.IndexTick, bool) {
	if len(r.Ticks) == 0 {
		return core.IndexTick{}, false
	}
	return r.Ticks[len(r.Ticks)-1], true
}

// TWAP is the settle price at a boundary; see the function of that name.
func (r *Ring) TWAP(boundary, window int64) (core.Price, int64) {
	return TWAP(r.Ticks, boundary, window)
}

// FreshAt is the fresh count of a freeze at a boundary in Unix seconds: that of
// the last tick before it, if at most 5 s older, else 0 (contract core, Rounds).
// A tick of the boundary's own second plays no part, so that it does not matter
// whether it or the freeze came first.
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

// Window copies the ticks a freeze at a boundary can use, in Unix seconds those
// of [boundary − window − 5, boundary): the evidence of a round. TWAP of them is
// TWAP of the ring.
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
