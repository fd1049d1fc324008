package maker

import (
	"context"
	"slices"
	"time"

	"duplex/core"
	"duplex/internal/marketsim"
	"duplex/schemas"
)

// requote is a level of a market that changes.
type requote struct {
	market      *schemas.Market
	level       int
	rests, want marketsim.Pair
	ids         [2]schemas.U64 // of what rests, by outcome
	stale       [2]bool        // what rests has lost its edge

	// crosses is set if a new order of the market would meet one of the maker's that has not moved yet. Then the
	// orders that move away from the middle come in a request before.
	crosses bool
}

// requotes returns the levels of a market that change, and the orders that are of no level. Each level is a group of
// orders, so that a quote finds the order that it replaces.
func (m *maker) requotes(ctx context.Context, mk *schemas.Market, l venueState) (list []requote, stray []schemas.U64) {
	ladder := m.ladder(ctx, mk, l.positions[mk.MarketID])
	var levels [marketsim.MaxLevels]requote
	for _, o := range l.orders[mk.MarketID] {
		side, tick := sideOf(&o)
		level := int(o.GroupID) - 1
		if level < 0 || level >= len(levels) || levels[level].ids[side] != 0 {
			stray = append(stray, *o.OrderID)
			continue
		}
		r := &levels[level]
		r.rests[side], r.ids[side] = marketsim.Side{Tick: tick, Qty: core.Qty(o.RemainingQty)}, *o.OrderID
		r.stale[side] = !ladder.HasEdge(side, tick)
	}
	for i := range levels {
		r := &levels[i]
		r.market, r.level = mk, i
		if r.want = ladder.Requote(i, r.rests); r.want != r.rests {
			list = append(list, *r)
		}
	}
	for i := range list {
		list[i].crosses = slices.ContainsFunc(list, func(r requote) bool {
			return slices.ContainsFunc(levels[:], func(x requote) bool { return x.level != r.level && (meet(r, x, core.Yes) || meet(r, x, core.No)) })
		})
	}
	return list, stray
}

// meet reports whether the new order of an outcome would meet what rests of the other one at another level.
func meet(r, other requote, o core.Outcome) bool {
	want, rests := r.want[o], other.rests[o.Other()]
	return want.Qty > 0 && want != r.rests[o] && rests.Qty > 0 && want.Tick+rests.Tick >= core.Tick(core.Payout)
}

// away is what a level has once its orders have moved away from the middle and the others have not moved.
func (r *requote) away() (p marketsim.Pair) {
	for o := range p {
		if p[o] = r.rests[o]; r.want[o].Qty == 0 || r.want[o].Tick <= r.rests[o].Tick {
			p[o] = r.want[o]
		}
	}
	return p
}

// sideOf returns the outcome on whose side an order is, and its price there: a sale of YES is an offer at the price of
// a buy of NO.
func sideOf(o *schemas.Order) (core.Outcome, core.Tick) {
	outcome, tick := core.Yes, core.Tick(o.Tick)
	if o.Outcome == "no" {
		outcome = core.No
	}
	if o.Side == "sell" {
		return outcome.Other(), tick.Opposite()
	}
	return outcome, tick
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

// quoteOf is the quote of a level, for the current generation of the market only. An order that stays is named again.
func (m *maker) quoteOf(r *requote, p marketsim.Pair) schemas.Quote {
	return schemas.Quote{
		MarketID: schemas.Int(r.market.MarketID), Generation: schemas.Int(r.market.Generation), GroupID: schemas.Int(r.level + 1),
		Bid: m.sideFor(p[core.Yes], core.Yes), Ask: m.sideFor(p[core.No], core.No),
		NotAfterTs: schemas.U64(m.c.Now().Add(shutdownTimeout).UnixNano()),
	}
}

func (m *maker) sideFor(o marketsim.Side, outcome core.Outcome) *schemas.QuoteSide {
	if o.Qty == 0 {
		return nil
	}
	m.nextID++
	return &schemas.QuoteSide{ClientOrderID: schemas.U64(m.nextID), Tick: schemas.Int(core.InYes(outcome, o.Tick)), Qty: schemas.Int(o.Qty)}
}

func gridOf(t schemas.TickSize) (g core.Grid) {
	g.Name = t.Name
	for _, b := range t.Bands {
		g.Bands = append(g.Bands, core.Band{From: core.Tick(b.From), To: core.Tick(b.To), Step: core.Tick(b.Step)})
	}
	return g
}
