package maker

import (
	"context"
	"math"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// The unit of a market is a third of the standard deviation of its fair value in a second.
// Quotes are therefore wide when the fair value moves much, mostly near the end of a round.
const (
	minUnit         = 100.0 // pips
	maxUnit         = 500.0
	moveThreshold   = 0.75 // units that a quote may drift before it is replaced
	inventorySkew   = 2.0  // units by which a full inventory shifts the fair value
	stopBeforeClose = 3 * time.Second
)

// quoteParams determines the quotes of a market.
type quoteParams struct {
	fairTick, unit           float64 // pips; fairTick is the fair value of YES, shifted by the inventory
	netPosition, maxPosition int64   // contracts of YES less NO, and its greatest absolute value
	grid                     schemas.TickSize
}

// quoteParams returns the parameters of a market; false if it should have no quotes because
// it is paused, closes soon, has a silent feed, or belongs to an unknown series.
func (m *maker) quoteParams(ctx context.Context, mk *schemas.Market, p schemas.Position) (f quoteParams, ok bool) {
	now, end := m.c.Now(), time.Unix(0, mk.CloseTs.Int64())
	r, ok := m.roundOf(ctx, mk)
	series, known := core.SeriesOf(r.Category)
	if !ok || !known || mk.Paused || end.Sub(now) < stopBeforeClose || r.Strike == 0 {
		return f, false
	}
	t := &m.feeds[series.Feed]
	if !t.isFresh(now) {
		return f, false
	}
	fair, move := t.fair(float64(r.Strike), now, end, time.Duration(r.TwapWindowSecs)*time.Second)
	f = quoteParams{unit: min(max(move*10_000/3, minUnit), maxUnit), netPosition: p.YesQty - p.NoQty, maxPosition: m.opt.Inventory, grid: mk.TickSize}
	tilt := min(max(float64(f.netPosition)/float64(f.maxPosition), -1), 1)
	f.fairTick = fair*10_000 - inventorySkew*f.unit*tilt
	return f, true
}

// level is one wanted quote.
type level struct {
	outcome string
	depth   int // 0 is the best
	tick    int64
}

// levels returns the wanted quotes of a market, the best first. It omits those whose tick
// would be off the grid.
func (f *quoteParams) levels(n int) (out []level) {
	for depth := range n {
		for _, outcome := range []string{"yes", "no"} {
			tick := nearestTick(f.grid, f.value(outcome)-f.edge(depth))
			if l := (level{outcome, depth, tick}); !f.atLimit(outcome) && f.matches(l, outcome, tick) {
				out = append(out, l)
			}
		}
	}
	return out
}

// atLimit reports whether the inventory allows no more contracts of an outcome.
func (f *quoteParams) atLimit(outcome string) bool {
	return outcome == "yes" && f.netPosition >= f.maxPosition || outcome == "no" && -f.netPosition >= f.maxPosition
}

// value is the fair value of an outcome in pips.
func (f *quoteParams) value(outcome string) float64 {
	if outcome == "yes" {
		return f.fairTick
	}
	return 10_000 - f.fairTick
}

// edge is the distance of a level below the fair value: 1, 3, 5 … units.
func (f *quoteParams) edge(depth int) float64 { return f.unit * float64(1+2*depth) }

// matches reports whether an order at tick is close enough to level l. The ranges of two
// depths do not overlap, and none includes an edge of 0.
func (f *quoteParams) matches(l level, outcome string, tick int64) bool {
	off := f.value(outcome) - float64(tick) - f.edge(l.depth)
	return l.outcome == outcome && math.Abs(off) <= moveThreshold*f.unit
}

// crossesEdge reports whether an order has too little edge left to stay.
func (f *quoteParams) crossesEdge(o *schemas.Order) bool {
	return f.value(o.Outcome)-float64(o.Tick) < (1-moveThreshold)*f.unit
}

// nearestTick is the legal tick closest to a price.
func nearestTick(g schemas.TickSize, price float64) (tick int64) {
	off := math.Inf(1)
	for _, b := range g.Bands {
		from, to, step := float64(b.From), float64(b.To), float64(b.Step)
		x := min(max(from+math.Round((price-from)/step)*step, from), to)
		if d := math.Abs(x - price); d < off {
			tick, off = int64(x), d
		}
	}
	return tick
}
