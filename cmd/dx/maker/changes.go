package maker

import (
	"context"
	"slices"

	"duplex/schemas"
)

// quoteChange places a quote and cancels the one that it replaces, if any.
type quoteChange struct {
	depth  int
	cancel schemas.U64 // order id; 0 for none
	place  schemas.PlaceOrder
}

// quoteChanges are the changes of one pass: required cancels, and replacements as far as
// the tokens suffice.
type quoteChanges struct {
	cancels  []schemas.U64
	replaces []quoteChange
}

func (c *quoteChanges) join(d quoteChanges) {
	c.cancels, c.replaces = append(c.cancels, d.cancels...), append(c.replaces, d.replaces...)
}

// changes compares the wanted quotes of a market with those that rest.
func (m *maker) changes(ctx context.Context, mk *schemas.Market, l venueState) (c quoteChanges) {
	f, ok := m.quoteParams(ctx, mk, l.positions[mk.MarketID])
	var want []level
	if ok {
		want = f.levels(m.opt.Levels)
	}
	spare := map[string][]schemas.U64{} // by outcome: orders to replace that still have an edge
	for _, o := range l.orders[mk.MarketID] {
		i := slices.IndexFunc(want, func(l level) bool { return f.matches(l, o.Outcome, o.Tick) })
		switch {
		case i >= 0 && 2*o.RemainingQty >= int64(m.opt.Qty): // less than half is worth replacing
			want = slices.Delete(want, i, i+1)
		case !ok || f.crossesEdge(&o):
			c.cancels = append(c.cancels, *o.OrderID)
		default:
			spare[o.Outcome] = append(spare[o.Outcome], *o.OrderID)
		}
	}
	for _, w := range want {
		s := quoteChange{depth: w.depth, place: m.order(mk, w)}
		if ids := spare[w.outcome]; len(ids) > 0 {
			s.cancel, spare[w.outcome] = ids[0], ids[1:]
		}
		c.replaces = append(c.replaces, s)
	}
	c.cancels = append(append(c.cancels, spare["yes"]...), spare["no"]...)
	return c
}

// order is the placement of a level, for the current generation of the market only.
func (m *maker) order(mk *schemas.Market, l level) schemas.PlaceOrder {
	m.nextID++
	return schemas.PlaceOrder{
		ClientOrderID: schemas.U64(m.nextID), MarketID: schemas.Int(mk.MarketID), Generation: schemas.Int(mk.Generation), Side: "buy", Outcome: l.outcome,
		Tick: schemas.Ptr(schemas.Int(l.tick)), Qty: schemas.Int(m.opt.Qty), PostOnly: true, CancelOnPause: true,
	}
}
