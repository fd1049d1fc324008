package maker

import (
	"context"
	"time"

	"duplex/core"
	"duplex/schemas"
)

const (
	half     = 100 // pips from the fair value to the first quote
	apart    = 100 // pips between two levels
	wary     = 200 // pips more when little time is left
	waryLeft = 15 * time.Second
	stopLeft = 3 * time.Second // no quotes this close to the boundary
	skew     = 0.2             // pips the fair value moves per contract held
	drift    = 100             // pips a quote may be off before it is moved
)

var grid = core.Narrow()

// quote gives what to take out of a market and what to put in.
func (m *maker) quote(ctx context.Context, mk *schemas.Market, l look) (drop []schemas.U64, place []schemas.PlaceOrder) {
	want := m.wanted(ctx, mk, l.positions[mk.MarketID])
	for _, o := range l.orders[mk.MarketID] {
		if o.OrderID == nil {
			continue
		}
		if i := match(want, o); i >= 0 {
			want = append(want[:i], want[i+1:]...)
		} else {
			drop = append(drop, *o.OrderID)
		}
	}
	for _, w := range want {
		m.nextID++
		place = append(place, schemas.PlaceOrder{
			ClientOrderID: schemas.U64(m.nextID), MarketID: schemas.Int(mk.MarketID), Generation: schemas.Int(mk.Generation), Side: "buy", Outcome: w.outcome,
			Tick: schemas.Of(schemas.Int(w.tick)), Qty: schemas.Int(m.opt.Qty), PostOnly: true, CancelOnPause: true,
		})
	}
	return drop, place
}

// level is one quote as it should be.
type level struct {
	outcome string
	tick    core.Tick
}

// match finds the wanted quote that an order already serves well enough.
func match(want []level, o schemas.Order) int {
	for i, w := range want {
		if off := int64(w.tick) - o.Tick; w.outcome == o.Outcome && off > -drift && off < drift {
			return i
		}
	}
	return -1
}

// wanted lists the quotes a market should have; none when it is paused, about to
// close, or not understood.
func (m *maker) wanted(ctx context.Context, mk *schemas.Market, p schemas.Position) (out []level) {
	left := time.Unix(0, mk.CloseTs.Int64()).Sub(m.c.Now())
	r, ok := m.roundOf(ctx, mk)
	if !ok || mk.Paused || left < stopLeft || r.Category < 1 || r.Category > 9 || r.Strike == 0 {
		return nil
	}
	t := &m.trends[(r.Category-1)/3]
	if t.price == 0 {
		return nil
	}
	fair := 10000*t.fair(float64(r.Strike), left, time.Duration(r.TwapWindowSecs)*time.Second) - skew*float64(p.YesQty-p.NoQty)
	away := float64(half)
	if left < waryLeft {
		away += wary
	}
	for i := range m.opt.Levels {
		off := away + float64(i*apart)
		if p.YesQty < m.opt.Inventory {
			out = add(out, "yes", fair-off)
		}
		if p.NoQty < m.opt.Inventory {
			out = add(out, "no", 10000-fair-off)
		}
	}
	return out
}

// add brings a price down to the grid. On it, quotes of both outcomes stay apart by
// what they were apart before, so they never trade with each other.
func add(to []level, outcome string, price float64) []level {
	tick, _ := grid.Nearest(core.Tick(min(max(price, 0), float64(core.TickMax))))
	if tick == 0 {
		return to
	}
	for _, l := range to {
		if l.outcome == outcome && l.tick == tick {
			return to
		}
	}
	return append(to, level{outcome, tick})
}

// roundOf reads a market's round once in each of its lives.
func (m *maker) roundOf(ctx context.Context, mk *schemas.Market) (schemas.RoundRead, bool) {
	if r, ok := m.rounds[mk.MarketID]; ok && r.Generation == mk.Generation {
		return r, true
	}
	r, err := m.c.Round(ctx, int(mk.MarketID))
	if err != nil {
		m.complain(err)
		return r, false
	}
	m.rounds[mk.MarketID] = r
	return r, r.Generation == mk.Generation
}
