package arena

import (
	"context"
	"errors"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/internal/backoff"
)

// now is venue time, and not before the last command.
func (s *seedRun) now() int64 { return s.turns.Now() }

// due returns the time at which the venue, the market, a seat or a fault acts next.
func (s *seedRun) due() int64 {
	at := min(s.tick, s.venue.Engine().Due(), s.noise.next(s.now()), s.turns.wakes())
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

// sequenceDue submits what is due now, in the order of docs/guides/arena.md: index ticks, timers, the
// orders of the market maker, those of the noise traders.
func (s *seedRun) sequenceDue() error {
	now := s.now()
	if err := s.beginFaults(now); err != nil {
		return err
	}
	second := false
	for s.tick <= now {
		price, err := s.prices.next()
		if err != nil {
			return err
		}
		stale := false
		for _, x := range s.seats {
			stale = stale || x.faults.indexIsStale()
		}
		if !stale {
			t := core.IndexTick{Feed: s.c.series.Feed, Second: s.tick / core.NsPerSec, Price: price, Count: 1}
			if err := s.submit(&core.PostIndex{Tick: t}); err != nil {
				return err
			}
		}
		s.tick += core.NsPerSec
		second = true
	}
	for s.venue.Engine().Due() <= now {
		if err := s.submit(&core.Clock{}); err != nil {
			return err
		}
	}
	var cmds []core.Command
	if second {
		readVenue(s.venue.Engine().Read, func(v *venue.Venue) { cmds = s.maker.orders(now, v) })
		if err := s.submit(cmds...); err != nil {
			return err
		}
	}
	readVenue(s.venue.Engine().Read, func(v *venue.Venue) { cmds = s.noise.orders(now, v) })
	return s.submit(cmds...)
}
