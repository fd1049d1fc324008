package marketsim

import (
	"math"

	"duplex/core"
)

// Maker are the options of a house maker.
type Maker struct {
	Levels    int      // quotes of an outcome; at most MaxLevels
	Qty       core.Qty // contracts of the best quote; the next have two times, three times … as many
	Inventory core.Qty // most contracts of one outcome, net of the other
}

// DefaultMaker returns five levels of 100 to 500 contracts, with an inventory of at most 5000.
func DefaultMaker() Maker { return Maker{Levels: 5, Qty: 100, Inventory: 5000} }

// The unit of a ladder is a third of the deviation of the fair value in a second. Quotes are
// therefore wide when the fair value moves much, mostly near the end of a round. In the last
// seconds the unit grows to twice its size, because a quote cannot follow the index then.
const (
	minUnit       = 100.0 // pips
	maxUnit       = 500.0
	widenNs       = 10 * core.NsPerSec
	inventorySkew = 2.0 // units by which a full inventory shifts the fair value
)

// MaxLevels is the number of levels of a whole ladder.
const MaxLevels = 5

// edges are the distances of the levels below the fair value, in units, and bounds the limits of
// the range in which an order counts as the quote of its level: level i is between bounds[i] and
// bounds[i+1]. An order above bounds[0] has lost its edge.
var (
	edges  = [MaxLevels]float64{1, 2.5, 4.5, 7, 10}
	bounds = [MaxLevels + 1]float64{0.25, 1.75, 3.5, 5.75, 8.5, 11.5}
)

// Quote is one wanted order: a buy of an outcome, post-only.
type Quote struct {
	Outcome core.Outcome
	Level   int // 0 is the best
	Tick    core.Tick
	Qty     core.Qty
}

// Ladder has the quotes of one market.
type Ladder struct {
	fair   float64    // pips: the value of YES, shifted by the inventory
	unit   [2]float64 // pips, by outcome
	Quotes []Quote    // the best levels first
}

// Ladder returns the quotes of a market: buys of YES below the fair value and buys of NO below its
// complement. left is the time until the close in ns, and net the contracts of YES held, less
// those of NO. At the limit of the inventory there are no quotes of that outcome, and none where
// the grid has no tick for them.
func (m *Maker) Ladder(v Value, left int64, net core.Qty, grid core.Grid) (l Ladder) {
	unit := min(max(mul(v.Move, 10_000)/3, minUnit), maxUnit)
	if left < widenNs {
		unit = mul(unit, 2-float64(max(left, 0))/float64(widenNs))
	}
	tilt := min(max(float64(net)/float64(m.Inventory), -1), 1)
	l.fair = mul(v.P, 10_000) - mul(inventorySkew, mul(unit, tilt))
	for _, o := range []core.Outcome{core.Yes, core.No} {
		l.unit[o] = min(unit, l.value(o)/2) // a cheap outcome still has a bid
	}
	for level := range min(m.Levels, MaxLevels) {
		for _, o := range []core.Outcome{core.Yes, core.No} {
			if o == core.Yes && net >= m.Inventory || o == core.No && -net >= m.Inventory {
				continue
			}
			tick := nearest(grid, l.value(o)-mul(l.unit[o], edges[level]))
			if l.levelOf(o, tick) == level {
				l.Quotes = append(l.Quotes, Quote{o, level, tick, m.Qty * core.Qty(level+1)})
			}
		}
	}
	return l
}

// value is the fair value of an outcome in pips.
func (l *Ladder) value(o core.Outcome) float64 {
	if o == core.Yes {
		return l.fair
	}
	return 10_000 - l.fair
}

// levelOf returns the level of an order at a tick; -1 if it has lost its edge, MaxLevels if it is
// below the last level.
func (l *Ladder) levelOf(o core.Outcome, tick core.Tick) int {
	edge := l.value(o) - float64(tick)
	for i, b := range bounds {
		if edge < mul(b, l.unit[o]) {
			return i - 1
		}
	}
	return MaxLevels
}

// nearest is the legal tick closest to a price.
func nearest(g core.Grid, price float64) (tick core.Tick) {
	off := math.Inf(1)
	for _, b := range g.Bands {
		from, to, step := float64(b.From), float64(b.To), float64(b.Step)
		x := min(max(from+mul(math.Floor((price-from)/step+0.5), step), from), to)
		if d := math.Abs(x - price); d < off {
			tick, off = core.Tick(x), d
		}
	}
	return tick
}

// Side is the order of one outcome at a level: Qty 0 is none.
type Side struct {
	Tick core.Tick
	Qty  core.Qty
}

// Pair is the orders of a level, by outcome.
type Pair [2]Side

// Requote returns what a level should have, given what rests of it. An order stays as it is if it is near enough to its
// level and has at least half of its contracts. The zero Ladder has nothing.
func (l *Ladder) Requote(level int, rests Pair) (want Pair) {
	for _, q := range l.Quotes {
		if q.Level != level {
			continue
		}
		want[q.Outcome] = Side{q.Tick, q.Qty}
		if r := rests[q.Outcome]; r.Qty >= q.Qty-r.Qty && l.levelOf(q.Outcome, r.Tick) == level {
			want[q.Outcome] = r
		}
	}
	return want
}

// HasEdge reports whether an order at a tick is below the fair value of its outcome, so that it may stay for a while.
func (l *Ladder) HasEdge(o core.Outcome, tick core.Tick) bool {
	return len(l.Quotes) > 0 && l.levelOf(o, tick) >= 0
}
