package maker

import (
	"context"

	"duplex/core"
	"duplex/schemas"
)

// venueState is the state of the venue at the start of a pass.
type venueState struct {
	markets   []schemas.Market
	orders    map[uint32][]schemas.Order
	positions map[uint32]schemas.Position
}

func (m *maker) readVenue(ctx context.Context) (l venueState, err error) {
	for f := range m.feeds {
		p, err := m.c.OraclePrice(ctx, f)
		if err != nil {
			return l, err
		}
		m.feeds[f].Observe(core.Price(p.Price), p.Ts.Int64()/core.NsPerSec)
	}
	markets, err := m.c.Markets(ctx, schemas.ListMarkets{Status: "trading"})
	if err != nil {
		return l, err
	}
	l = venueState{markets: markets.Markets, orders: map[uint32][]schemas.Order{}, positions: map[uint32]schemas.Position{}}
	for p, err := range m.c.AllPositions(ctx, schemas.ListPositions{}) {
		if err != nil {
			return l, err
		}
		l.positions[p.MarketID] = p
	}
	whole := schemas.Page{Limit: schemas.Ptr(schemas.Int(schemas.PageMax))}
	for o, err := range m.c.AllOrders(ctx, schemas.ListOrders{Status: "resting,partially_filled", Page: whole}) {
		if err != nil {
			return l, err
		}
		l.orders[o.MarketID] = append(l.orders[o.MarketID], o)
	}
	return l, nil
}

// roundOf returns the round of a market. It reads each generation once.
func (m *maker) roundOf(ctx context.Context, mk *schemas.Market) (schemas.Round, bool) {
	if r, ok := m.rounds[mk.MarketID]; ok && r.Generation == mk.Generation {
		return r, true
	}
	r, err := m.c.Round(ctx, int(mk.MarketID))
	if err != nil {
		m.logError(err)
		return r.Round, false
	}
	m.rounds[mk.MarketID] = r.Round
	return r.Round, r.Generation == mk.Generation
}
