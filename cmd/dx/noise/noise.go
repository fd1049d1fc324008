package noise

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/internal/backoff"
	"duplex/internal/marketsim"
	"duplex/schemas"
)

// shutdownTimeout bounds the cancel-all at the end.
const shutdownTimeout = 2 * time.Second

// Run trades with c until ctx ends, then cancels its orders. The trader of a name and a seed has
// the same intents in every run. It continues after rejections and restarts of the venue.
func Run(ctx context.Context, c *client.Client, log *slog.Logger, seed uint64, name string, o marketsim.NoiseOptions) {
	t := &trader{c: c, log: log, nextID: uint64(c.Now().UnixNano())} // ids of two runs differ
	defer t.cancelAll()
	for generator := marketsim.NewNoise(seed, name, o); ; {
		wait, intent := generator.Next()
		if !backoff.Sleep(ctx, wait) {
			return
		}
		if err := t.act(ctx, intent); err != nil && ctx.Err() == nil {
			t.logError(err)
		}
	}
}

// trader is the state of one Run.
type trader struct {
	c      *client.Client
	log    *slog.Logger
	nextID uint64
}

// act reads the markets and places the order of one intent, if it leads to one.
func (t *trader) act(ctx context.Context, intent marketsim.Intent) error {
	markets, err := t.markets(ctx)
	if err != nil {
		return err
	}
	o, ok := intent.Order(markets)
	if !ok {
		return nil
	}
	t.nextID++
	place := schemas.PlaceOrder{
		ClientOrderID: schemas.U64(t.nextID), MarketID: schemas.Int(o.Market), Generation: schemas.Int(o.Generation), Side: o.Side.String(), Outcome: o.Outcome.String(),
		Tick: schemas.Ptr(schemas.Int(o.Tick)), Qty: schemas.Int(o.Qty), TIF: "ioc",
	}
	if o.Rests > 0 {
		place.TIF, place.PostOnly, place.CancelOnPause = "gtt", true, true
		place.ExpiryTs = schemas.Ptr(schemas.U64(t.c.Now().Add(o.Rests).UnixNano()))
	}
	_, err = t.c.PlaceOrder(ctx, place)
	return err
}

// markets reads the trading markets with what the trader holds in them, by category.
func (t *trader) markets(ctx context.Context) (out []marketsim.Market, err error) {
	held := map[uint32]schemas.Position{}
	for p, err := range t.c.AllPositions(ctx, schemas.ListPositions{}) {
		if err != nil {
			return nil, err
		}
		held[p.MarketID] = p
	}
	l, err := t.c.Series(ctx, schemas.ListSeries{})
	if err != nil {
		return nil, err
	}
	for i := range l.Series {
		live := l.Series[i].Live
		if live == nil || live.Paused {
			continue
		}
		m := marketsim.Market{
			ID: core.MarketID(live.MarketID), Generation: live.Generation, Category: l.Series[i].Category, Bid: core.Tick(live.YesBid), Ask: core.Tick(live.YesAsk),
			Left: time.Duration(live.CloseTs.Int64() - t.c.Now().UnixNano()), Grid: core.Narrow(),
		}
		if p := held[live.MarketID]; p.Generation == live.Generation {
			m.Free = [2]core.Qty{core.Qty(p.YesQty - p.YesReserved), core.Qty(p.NoQty - p.NoReserved)}
		}
		out = append(out, m)
	}
	return out, nil
}

func (t *trader) cancelAll() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if _, err := t.c.CancelAll(ctx, schemas.CancelAll{}); err != nil {
		t.logError(err)
	}
}

// expectedErrors are logged at debug level, all others as warnings.
var expectedErrors = []string{"rate_limited", "shed", "draining", "market_paused", "market_not_trading", "stale_generation", "bad_expiry"}

func (t *trader) logError(err error) {
	level := slog.LevelWarn
	if e, ok := errors.AsType[*client.Error](err); ok && slices.Contains(expectedErrors, e.Code) {
		level = slog.LevelDebug
	}
	t.log.Log(context.Background(), level, "noise", "err", err)
}
