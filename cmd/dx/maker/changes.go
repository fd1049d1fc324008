package maker

import (
	"context"
	"slices"

	"duplex/schemas"
)

// change puts a quote in, for one that goes out if there is one.
type change struct {
	depth int
	out   schemas.U64 // 0: none
	in    schemas.PlaceOrder
}

// changes are what a pass wants done: what must go at any rate, and what may be
// changed as far as the tokens reach.
type changes struct {
	drop []schemas.U64
	swap []change
}

func (c *changes) join(d changes) {
	c.drop, c.swap = append(c.drop, d.drop...), append(c.swap, d.swap...)
}

// changes compares what a market should have with what rests there.
func (m *maker) changes(ctx context.Context, mk *schemas.Market, l look) (c changes) {
	f, ok := m.fit(ctx, mk, l.positions[mk.MarketID])
	var want []level
	if ok {
		want = f.levels(m.opt.Levels)
	}
	spare := map[string][]schemas.U64{} // of each outcome: not where it should be, and harmless
	for _, o := range l.orders[mk.MarketID] {
		i := slices.IndexFunc(want, func(l level) bool { return f.serves(l, o.Outcome, o.Tick) })
		switch {
		case i >= 0 && 2*o.RemainingQty >= int64(m.opt.Qty): // else it is but a crumb
			want = slices.Delete(want, i, i+1)
		case !ok || f.lost(&o):
			c.drop = append(c.drop, *o.OrderID)
		default:
			spare[o.Outcome] = append(spare[o.Outcome], *o.OrderID)
		}
	}
	for _, w := range want {
		s := change{depth: w.depth, in: m.order(mk, w)}
		if ids := spare[w.outcome]; len(ids) > 0 {
			s.out, spare[w.outcome] = ids[0], ids[1:]
		}
		c.swap = append(c.swap, s)
	}
	c.drop = append(append(c.drop, spare["yes"]...), spare["no"]...)
	return c
}

// order is the placement of a level. It is for this life of the slot alone.
func (m *maker) order(mk *schemas.Market, l level) schemas.PlaceOrder {
	m.nextID++
	return schemas.PlaceOrder{
		ClientOrderID: schemas.U64(m.nextID), MarketID: schemas.Int(mk.MarketID), Generation: schemas.Int(mk.Generation), Side: "buy", Outcome: l.outcome,
		Tick: schemas.Of(schemas.Int(l.tick)), Qty: schemas.Int(m.opt.Qty), PostOnly: true, CancelOnPause: true,
	}
}
