package maker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"duplex/client"
	"duplex/schemas"
)

// Options of Run; zero values are the defaults.
type Options struct {
	Refresh   time.Duration // between two looks at all markets; 1 s, and at least 100 ms
	Levels    int           // quotes a side; 2
	Qty       int           // contracts a quote; 100
	Inventory int64         // most contracts of one outcome, net of the other, to hold; 5000
}

func (o Options) withDefaults() Options {
	o.Refresh = max(cmp.Or(o.Refresh, time.Second), 100*time.Millisecond) // six reads each, of 100 a second
	o.Levels, o.Qty, o.Inventory = cmp.Or(o.Levels, 2), cmp.Or(o.Qty, 100), cmp.Or(o.Inventory, 5000)
	return o
}

const (
	deadmanMs = 10_000
	rearm     = 2 * time.Second
	goodbye   = 2 * time.Second
	restMost  = 5 * time.Second
)

// maker is one run.
type maker struct {
	c      *client.Client
	log    *slog.Logger
	opt    Options
	feeds  [3]trend
	rounds map[uint32]schemas.Round // by market; of the generation quoted
	budget budget
	nextID uint64
	armed  time.Time
	turn   int // which market comes first
}

// Run quotes until ctx ends, then takes its orders back. It goes on through refusals,
// limits and restarts of the venue.
func Run(ctx context.Context, c *client.Client, log *slog.Logger, o Options) error {
	m := &maker{c: c, log: log, opt: o.withDefaults(), rounds: map[uint32]schemas.Round{}}
	m.nextID = uint64(c.Now().UnixNano()) // far fewer than one a nanosecond are used, so a later run never meets them
	defer m.leave()
	for fails := 0; ctx.Err() == nil; {
		next := time.Now().Add(m.opt.Refresh)
		if err := m.pass(ctx); err == nil {
			fails = 0
		} else if ctx.Err() == nil {
			fails++
			next = time.Now().Add(m.rest(err, fails))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(next)):
		}
	}
	return nil
}

// pass looks once at everything and puts the quotes right.
func (m *maker) pass(ctx context.Context) error {
	if time.Since(m.armed) > rearm {
		if _, err := m.c.ArmDeadman(ctx, deadmanMs); err != nil {
			return err
		}
		m.armed = time.Now()
	}
	if err := m.budget.earn(ctx, m.c); err != nil {
		return err
	}
	l, err := m.look(ctx)
	if err != nil {
		return err
	}
	var all changes
	m.turn++ // what is short is short for another market each time
	for i := range l.markets {
		mk := &l.markets[(i+m.turn)%len(l.markets)]
		if err := m.redeem(ctx, l.positions[mk.MarketID]); err != nil {
			return err
		}
		all.join(m.changes(ctx, mk, l))
	}
	return m.act(ctx, &all)
}

// rest is how long to leave the venue alone after a failure: as long as it says, else
// longer each time, and not as long as everyone else.
func (m *maker) rest(err error, fails int) time.Duration {
	m.complain(err)
	m.armed = time.Time{} // a venue that comes back may have fired the switch
	var e *client.Error
	if errors.As(err, &e) && e.Code == "rate_limited" {
		m.budget.empty()
		return max(e.RetryAfter(), m.opt.Refresh)
	}
	most := min(m.opt.Refresh<<min(fails, 6), restMost)
	return most/2 + rand.N(most/2+1)
}

// daily are the refusals that a maker expects; others are worth a warning.
var daily = []string{"rate_limited", "shed", "draining", "market_paused", "market_not_trading", "stale_generation"}

func (m *maker) complain(err error) {
	level := slog.LevelWarn
	var e *client.Error
	if errors.As(err, &e) && slices.Contains(daily, e.Code) {
		level = slog.LevelDebug
	}
	m.log.Log(context.Background(), level, "quoting", "err", err)
}

// leave cancels everything in a moment of its own. The switch goes only with the
// orders: if they could not be canceled, it will do that.
func (m *maker) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_, err := m.c.CancelAll(ctx, schemas.CancelAll{})
	if err == nil {
		_, err = m.c.DisarmDeadman(ctx)
	}
	if err != nil {
		m.complain(err)
	}
}
