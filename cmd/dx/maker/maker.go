package maker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// Options of Run; zero values are the defaults.
type Options struct {
	Refresh   time.Duration // between two looks at all markets; 1 s
	Levels    int           // quotes a side; 2
	Qty       int           // contracts a quote; 100
	Inventory int64         // most contracts of one outcome to hold; 5000
}

func (o Options) withDefaults() Options {
	if o.Refresh == 0 {
		o.Refresh = time.Second
	}
	if o.Levels == 0 {
		o.Levels = 2
	}
	if o.Qty == 0 {
		o.Qty = 100
	}
	if o.Inventory == 0 {
		o.Inventory = 5000
	}
	return o
}

const (
	deadman = 10_000 // ms
	goodbye = 2 * time.Second
)

// maker is one run.
type maker struct {
	c      *client.Client
	log    *slog.Logger
	opt    Options
	trends [3]trend
	rounds map[uint32]schemas.RoundRead // by market; of the generation quoted
	nextID uint64
	budget float64 // write tokens believed to be there
	rate   float64
	at     time.Time
	turn   int // which market comes first
}

// Run quotes until ctx ends, then takes its orders back. It goes on through refusals
// and restarts of the venue.
func Run(ctx context.Context, c *client.Client, log *slog.Logger, o Options) error {
	m := &maker{c: c, log: log, opt: o.withDefaults(), rounds: map[uint32]schemas.RoundRead{}, nextID: uint64(time.Now().UnixNano())}
	defer m.leave()
	tick := time.NewTicker(m.opt.Refresh)
	defer tick.Stop()
	for {
		if err := m.round(ctx); err != nil && ctx.Err() == nil {
			m.complain(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// complain logs what a maker cannot expect; limits and pauses are its daily bread.
func (m *maker) complain(err error) {
	var e *client.Error
	if errors.As(err, &e) {
		switch e.Code {
		case "rate_limited", "shed", "draining", "market_paused", "market_not_trading", "stale_generation", "unknown_order":
			return
		}
	}
	m.log.Warn("quoting", "err", err)
}

// leave cancels everything in a moment of its own.
func (m *maker) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	if _, err := m.c.CancelAll(ctx, schemas.CancelAll{}); err != nil {
		m.complain(err)
	}
}

// look is what the venue shows at the start of a round of quoting.
type look struct {
	markets   []schemas.Market
	orders    map[uint32][]schemas.Order
	positions map[uint32]schemas.Position
}

func (m *maker) round(ctx context.Context) error {
	if _, err := m.c.ArmDeadman(ctx, deadman); err != nil {
		return err
	}
	l, err := m.look(ctx)
	if err != nil {
		return err
	}
	if err := m.earn(ctx); err != nil {
		return err
	}
	var gone []schemas.U64
	var wanted []schemas.PlaceOrder
	m.turn++
	for i := range l.markets {
		mk := &l.markets[(i+m.turn)%len(l.markets)]
		if err := m.redeem(ctx, l.positions[mk.MarketID]); err != nil {
			m.complain(err)
		}
		drop, place := m.quote(ctx, mk, l)
		gone = append(gone, drop...)
		wanted = append(wanted, place...)
	}
	return errors.Join(m.cancel(ctx, gone), m.place(ctx, wanted))
}

func (m *maker) look(ctx context.Context) (l look, err error) {
	for f := range m.trends {
		p, err := m.c.OraclePrice(ctx, f)
		if err != nil {
			return l, err
		}
		m.trends[f].see(float64(p.Price), m.c.Now())
	}
	markets, err := m.c.Markets(ctx, schemas.ListMarkets{Status: "trading"})
	if err != nil {
		return l, err
	}
	positions, err := m.c.Positions(ctx, schemas.ListPositions{})
	if err != nil {
		return l, err
	}
	l = look{markets: markets.Markets, orders: map[uint32][]schemas.Order{}, positions: map[uint32]schemas.Position{}}
	for _, p := range positions.Positions {
		l.positions[p.MarketID] = p
	}
	for o, err := range m.c.AllOrders(ctx, schemas.ListOrders{Status: "resting,partially_filled"}) {
		if err != nil {
			return l, err
		}
		l.orders[o.MarketID] = append(l.orders[o.MarketID], o)
	}
	return l, nil
}

// earn counts the write tokens that have come since, at the rate the venue grants.
func (m *maker) earn(ctx context.Context) error {
	now := time.Now()
	if m.rate == 0 || now.Sub(m.at) > 30*time.Second {
		limits, err := m.c.Limits(ctx)
		if err != nil {
			return err
		}
		m.rate = float64(limits.Write.SustainedRatePerS)
		m.budget = m.rate
	}
	if !m.at.IsZero() {
		m.budget = min(m.rate, m.budget+m.rate*now.Sub(m.at).Seconds())
	}
	m.at = now
	return nil
}

// redeem turns pairs back into cash once it is worth a token.
func (m *maker) redeem(ctx context.Context, p schemas.Position) error {
	pairs := min(p.YesQty-p.YesReserved, p.NoQty-p.NoReserved)
	if pairs < int64(m.opt.Qty) || m.budget < 1 {
		return nil
	}
	m.budget--
	_, err := m.c.Redeem(ctx, schemas.Redeem{MarketID: schemas.Int(p.MarketID), Qty: schemas.Int(pairs)})
	return err
}

func (m *maker) cancel(ctx context.Context, ids []schemas.U64) error {
	for len(ids) > 0 {
		n := min(len(ids), schemas.BatchCap)
		if _, err := m.c.CancelMany(ctx, ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// place sends what the budget allows; the markets of the rest come first next time.
func (m *maker) place(ctx context.Context, orders []schemas.PlaceOrder) error {
	orders = orders[:min(len(orders), int(m.budget))]
	for len(orders) > 0 {
		n := min(len(orders), schemas.BatchCap)
		m.budget -= float64(n)
		if _, err := m.c.PlaceOrders(ctx, orders[:n]); err != nil {
			return err
		}
		orders = orders[n:]
	}
	return nil
}
