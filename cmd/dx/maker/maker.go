package maker

import (
	"cmp"
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

// Options are the options of Run. A zero value selects the default.
type Options struct {
	Refresh time.Duration   // interval of passes, at least 100 ms; default 1 s
	Quotes  marketsim.Maker // default marketsim.DefaultMaker
}

func (o Options) withDefaults() Options {
	o.Refresh = max(cmp.Or(o.Refresh, time.Second), 100*time.Millisecond) // a pass takes 6 of 100 reads a second
	o.Quotes = cmp.Or(o.Quotes, marketsim.DefaultMaker())
	return o
}

const (
	deadmanMs       = 10_000
	rearmInterval   = 2 * time.Second
	shutdownTimeout = 2 * time.Second
	maxBackoff      = 5 * time.Second
)

// maker is the state of one Run.
type maker struct {
	c           *client.Client
	log         *slog.Logger
	opt         Options
	quotes      marketsim.Maker
	feeds       [core.Feeds]marketsim.PriceModel
	rounds      map[uint32]schemas.Round // by market, of the generation quoted
	budget      tokenBudget
	nextID      uint64
	armed       time.Time // when the dead-man switch was last armed
	firstMarket int       // rotates the order of the markets
}

func newMaker(c *client.Client, log *slog.Logger, o Options) *maker {
	o = o.withDefaults()
	return &maker{c: c, log: log, opt: o, quotes: o.Quotes, rounds: map[uint32]schemas.Round{}}
}

// Run quotes until ctx ends, then cancels its orders and returns nil. It continues after
// rejections, rate limits and restarts of the venue.
func Run(ctx context.Context, c *client.Client, log *slog.Logger, o Options) error {
	m := newMaker(c, log, o)
	m.nextID = uint64(c.Now().UnixNano()) // a run uses less than one id a nanosecond, so ids of two runs differ
	defer m.shutdown()
	for fails := 0; ctx.Err() == nil; {
		next := time.Now().Add(m.opt.Refresh)
		if err := m.quoteOnce(ctx); err == nil {
			fails = 0
		} else if ctx.Err() == nil {
			fails++
			next = time.Now().Add(m.backoff(err, fails))
		}
		backoff.Sleep(ctx, time.Until(next))
	}
	return nil
}

// quoteOnce performs one pass.
func (m *maker) quoteOnce(ctx context.Context) error {
	if time.Since(m.armed) > rearmInterval {
		if _, err := m.c.ArmDeadman(ctx, deadmanMs); err != nil {
			return err
		}
		m.armed = time.Now()
	}
	if err := m.budget.refill(ctx, m.c); err != nil {
		return err
	}
	l, err := m.readVenue(ctx)
	if err != nil {
		return err
	}
	var all []requote
	var stray []schemas.U64
	m.firstMarket++ // if tokens are short, another market goes without each time
	for i := range l.markets {
		mk := &l.markets[(i+m.firstMarket)%len(l.markets)]
		if err := m.redeem(ctx, l.positions[mk.MarketID]); err != nil {
			return err
		}
		changes, ofNoLevel := m.requotes(ctx, mk, l)
		all, stray = append(all, changes...), append(stray, ofNoLevel...)
	}
	return m.apply(ctx, all, stray)
}

// backoff is the wait after a failure: the time that the venue names, else a time that
// doubles with each failure and has random jitter.
func (m *maker) backoff(err error, fails int) time.Duration {
	m.logError(err)
	m.armed = time.Time{} // the switch may have fired meanwhile
	if e, ok := errors.AsType[*client.Error](err); ok && e.Code == "rate_limited" {
		m.budget.drain()
		return max(e.RetryAfter(), m.opt.Refresh)
	}
	limit := min(m.opt.Refresh<<min(fails, 6), maxBackoff)
	return backoff.Jitter(limit)
}

// expectedErrors are logged at debug level, all others as warnings.
var expectedErrors = []string{"rate_limited", "shed", "draining", "market_paused", "market_not_trading", "stale_generation"}

func (m *maker) logError(err error) {
	level := slog.LevelWarn
	if e, ok := errors.AsType[*client.Error](err); ok && slices.Contains(expectedErrors, e.Code) {
		level = slog.LevelDebug
	}
	m.log.Log(context.Background(), level, "quoting", "err", err)
}

// shutdown cancels all orders, with a timeout of its own. It disarms the dead-man switch
// only after that succeeded; otherwise the switch cancels the orders.
func (m *maker) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	_, err := m.c.CancelAll(ctx, schemas.CancelAll{})
	if err == nil {
		_, err = m.c.DisarmDeadman(ctx)
	}
	if err != nil {
		m.logError(err)
	}
}
