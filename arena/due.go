package arena

import (
	"context"
	"errors"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/backoff"
)

// market is what a seed plays on a venue beside its seats: the index, the market maker and the noise traders.
type market struct {
	series core.Series
	prices *prices
	tick   int64 // when the next index tick is due, ns
	maker  marketMaker
	noise  *noise
}

func newMarket(c *Config, seed uint64, w *window) market {
	m := market{
		series: c.series, prices: newPrices(c, seed, w), tick: c.start - c.start%core.NsPerSec + core.NsPerSec,
		maker: marketMaker{user: makerUser, series: c.series, last: lastSec(c.tape)},
		noise: newNoise(stream(seed, "noise"), c.series, noiseUser, int64(c.Noise*1000)),
	}
	if c.tape != nil && c.tape.minutes {
		m.noise.last = minutesLastSec
	}
	return m
}

// sequencer is the venue of a market.
type sequencer interface {
	// submit submits commands of one account.
	submit(cmds ...core.Command) error
	// clockDue returns when a Clock is due, as engine.Engine.Due does.
	clockDue() int64
	// read calls f with the state of the venue.
	read(f func(*venue.Venue))
}

// due returns the time at which the venue or the market acts next.
func (m *market) due(now int64, v sequencer) int64 {
	return min(m.tick, v.clockDue(), m.noise.next(now))
}

// sequence submits what is due now, in the order of docs/guides/arena.md: index ticks, timers, the orders of
// the market maker, those of the noise traders. A stale index has no ticks.
func (m *market) sequence(now int64, v sequencer, stale bool) error {
	second := false
	for m.tick <= now {
		price, err := m.prices.next()
		if err != nil {
			return err
		}
		if !stale {
			t := core.IndexTick{Feed: m.series.Feed, Second: m.tick / core.NsPerSec, Price: price, Count: 1}
			if err := v.submit(&core.PostIndex{Tick: t}); err != nil {
				return err
			}
		}
		m.tick += core.NsPerSec
		second = true
	}
	for v.clockDue() <= now {
		if err := v.submit(&core.Clock{}); err != nil {
			return err
		}
	}
	var cmds []core.Command
	if second {
		v.read(func(x *venue.Venue) { cmds = m.maker.orders(now, x) })
		if err := v.submit(cmds...); err != nil {
			return err
		}
	}
	v.read(func(x *venue.Venue) { cmds = m.noise.orders(now, x) })
	return v.submit(cmds...)
}

// submit implements sequencer.
func (s *seedRun) submit(cmds ...core.Command) error {
	for _, c := range cmds {
		if _, err := s.venue.Engine().Submit(context.Background(), c); err != nil {
			return err
		}
	}
	return nil
}

func (s *seedRun) clockDue() int64 { return s.venue.Engine().Due() }

func (s *seedRun) read(f func(*venue.Venue)) {
	s.venue.Engine().Read(func(v *venue.Venue, _ *view.View) { f(v) })
}

// now is venue time, and not before the last command.
func (s *seedRun) now() int64 { return s.turns.Now() }

// due returns the time at which the venue, the market, a seat or a fault acts next.
func (s *seedRun) due() int64 {
	at := min(s.market.due(s.now(), s), s.turns.wakes())
	for _, x := range s.seats {
		if x.builtin != nil {
			at = min(at, x.builtin.wake)
		}
		at = min(at, x.faults.next())
	}
	return at
}

// wait moves venue time to at; a paced run sleeps until then.
func (s *seedRun) wait(ctx context.Context, at int64) error {
	if at == never {
		return errors.New("nothing is due any more")
	}
	if s.c.pace == 0 {
		s.turns.advance(max(at, s.turns.Now()))
		return nil
	}
	if left := time.Duration((at - s.turns.Now()) / s.c.pace); left > 0 {
		backoff.Sleep(ctx, left)
	}
	return nil
}

// sequenceDue begins the faults that are due now, and submits what the market brings.
func (s *seedRun) sequenceDue() error {
	now := s.now()
	if err := s.beginFaults(now); err != nil {
		return err
	}
	stale := false
	for _, x := range s.seats {
		stale = x.faults.indexIsStale() || stale
	}
	return s.sequence(now, s, stale)
}
