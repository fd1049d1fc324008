package maker

import (
	"context"
	"math"
	"time"

	"duplex/schemas"
)

// A market's unit is a third of what its fair value moves in a second: quotes are
// wide where it moves much, above all near the end.
const (
	unitLeast = 100.0 // pips
	unitMost  = 500.0
	drift     = 0.75 // units a quote may be off before it is moved
	lean      = 2.0  // units the fair value is shifted at the full inventory
	stopLeft  = 3 * time.Second
)

// fit is what a market's quotes are measured by.
type fit struct {
	ref, unit float64 // pips: the fair value of YES with the inventory's lean, and the unit
	net, most int64   // contracts: YES less NO, and the limit of that
	grid      schemas.TickSize
}

// fit is false for a market that should have no quotes: paused, about to close, of a
// silent feed, or not understood.
func (m *maker) fit(ctx context.Context, mk *schemas.Market, p schemas.Position) (f fit, ok bool) {
	now, end := m.c.Now(), time.Unix(0, mk.CloseTs.Int64())
	r, ok := m.roundOf(ctx, mk)
	if !ok || mk.Paused || end.Sub(now) < stopLeft || r.Category < 1 || r.Category > 9 || r.Strike == 0 {
		return f, false
	}
	t := &m.feeds[(r.Category-1)/3]
	if !t.fresh(now) {
		return f, false
	}
	fair, move := t.fair(float64(r.Strike), now, end, time.Duration(r.TwapWindowSecs)*time.Second)
	f = fit{unit: min(max(move*10_000/3, unitLeast), unitMost), net: p.YesQty - p.NoQty, most: m.opt.Inventory, grid: mk.TickSize}
	tilt := min(max(float64(f.net)/float64(f.most), -1), 1)
	f.ref = fair*10_000 - lean*f.unit*tilt
	return f, true
}

// level is one quote as it should be.
type level struct {
	outcome string
	depth   int // 0 is the best
	tick    int64
}

// levels lists the quotes a market should have, the best first. Where the grid ends
// before the edge is there, a side has none.
func (f *fit) levels(n int) (out []level) {
	for depth := range n {
		for _, outcome := range []string{"yes", "no"} {
			tick := nearest(f.grid, f.value(outcome)-f.edge(depth))
			if l := (level{outcome, depth, tick}); !f.full(outcome) && f.serves(l, outcome, tick) {
				out = append(out, l)
			}
		}
	}
	return out
}

// full tells that no more of an outcome may be held.
func (f *fit) full(outcome string) bool {
	return outcome == "yes" && f.net >= f.most || outcome == "no" && -f.net >= f.most
}

// value is what an outcome is worth, in pips of its own.
func (f *fit) value(outcome string) float64 {
	if outcome == "yes" {
		return f.ref
	}
	return 10_000 - f.ref
}

// edge is how far below its value a level rests: 1, 3, 5 … units.
func (f *fit) edge(depth int) float64 { return f.unit * float64(1+2*depth) }

// serves tells whether an order at tick does for l. Depths do not overlap, and none
// reaches an edge of nothing.
func (f *fit) serves(l level, outcome string, tick int64) bool {
	off := f.value(outcome) - float64(tick) - f.edge(l.depth)
	return l.outcome == outcome && math.Abs(off) <= drift*f.unit
}

// lost tells that an order gives too much away to stand any longer.
func (f *fit) lost(o *schemas.Order) bool {
	return f.value(o.Outcome)-float64(o.Tick) < (1-drift)*f.unit
}

// nearest is the legal tick closest to a price.
func nearest(g schemas.TickSize, price float64) (tick int64) {
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
