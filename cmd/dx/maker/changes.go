package maker

import (
	"context"
	"time"

	"duplex/core"
	"duplex/internal/marketsim"
	"duplex/schemas"
)

// quoteChange places a quote and cancels the one that it replaces, if any.
type quoteChange struct {
	level  int
	cancel schemas.U64 // order id; 0 for none
	place  schemas.PlaceOrder

	// behind is set if an order of the maker with the same outcome and at least this price rests. Then the
	// quote cannot meet the maker's orders on the other side, and may be placed before any is canceled.
	behind bool
}

// quoteChanges are the changes of one pass: required cancels, and replacements as far as
// the tokens suffice.
type quoteChanges struct {
	cancels  []schemas.U64
	replaces []quoteChange
}

// add adds the changes between the orders that rest in a market and those that it should have.
func (c *quoteChanges) add(ctx context.Context, m *maker, mk *schemas.Market, l venueState) {
	ladder := m.ladder(ctx, mk, l.positions[mk.MarketID])
	var resting []marketsim.Resting
	var best [2]core.Tick // by outcome
	for _, o := range l.orders[mk.MarketID] {
		r := marketsim.Resting{ID: uint64(*o.OrderID), Outcome: outcomeOf(o.Outcome), Tick: core.Tick(o.Tick), Left: core.Qty(o.RemainingQty)}
		resting = append(resting, r)
		best[r.Outcome] = max(best[r.Outcome], r.Tick)
	}
	cancels, replaces := ladder.Changes(resting)
	for _, id := range cancels {
		c.cancels = append(c.cancels, schemas.U64(id))
	}
	for _, r := range replaces {
		c.replaces = append(c.replaces, quoteChange{r.Quote.Level, schemas.U64(r.Cancel), m.order(mk, r.Quote), r.Quote.Tick <= best[r.Quote.Outcome]})
	}
}

// ladder returns the quotes of a market. It has none if the market is paused or closed, its feed
// is silent, or its series is unknown.
func (m *maker) ladder(ctx context.Context, mk *schemas.Market, p schemas.Position) (l marketsim.Ladder) {
	now := m.c.Now()
	left := mk.CloseTs.Int64() - now.UnixNano()
	r, ok := m.roundOf(ctx, mk)
	series, known := core.SeriesOf(r.Category)
	if !ok || !known || mk.Paused || left < int64(stopBeforeClose) || r.Strike == 0 {
		return l
	}
	t := &m.feeds[series.Feed]
	if !t.Fresh(now.Unix()) {
		return l
	}
	value := t.Fair(core.Price(r.Strike), now.UnixNano(), mk.CloseTs.Int64(), r.TwapWindowSecs)
	return m.quotes.Ladder(value, left, core.Qty(p.YesQty-p.NoQty), gridOf(mk.TickSize))
}

// stopBeforeClose is the time before the close at which the maker stops placing orders, about as
// long as they take to arrive. Its resting quotes stay until the market freezes.
const stopBeforeClose = 100 * time.Millisecond

// order is the placement of a quote, for the current generation of the market only.
func (m *maker) order(mk *schemas.Market, q marketsim.Quote) schemas.PlaceOrder {
	m.nextID++
	return schemas.PlaceOrder{
		ClientOrderID: schemas.U64(m.nextID), MarketID: schemas.Int(mk.MarketID), Generation: schemas.Int(mk.Generation), Side: "buy", Outcome: q.Outcome.String(),
		Tick: schemas.Ptr(schemas.Int(q.Tick)), Qty: schemas.Int(q.Qty), PostOnly: true, CancelOnPause: true,
	}
}

func outcomeOf(name string) core.Outcome {
	if name == "no" {
		return core.No
	}
	return core.Yes
}

func gridOf(t schemas.TickSize) (g core.Grid) {
	g.Name = t.Name
	for _, b := range t.Bands {
		g.Bands = append(g.Bands, core.Band{From: core.Tick(b.From), To: core.Tick(b.To), Step: core.Tick(b.Step)})
	}
	return g
}
