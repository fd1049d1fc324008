package sim

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"duplex/core"
)

// source quotes one feed. Run or World.Step drives it, never both.
type source struct {
	name    string
	walk    *walk
	rng     *rand.Rand
	feed    core.Feed
	done    int64 // steps
	silent  int64 // steps left of an outage
	outage  *int64
	started *atomic.Pointer[time.Time]
}

func (s *source) Name() string    { return s.name }
func (s *source) Feed() core.Feed { return s.feed }

// Run quotes by wall time until ctx ends; it does not fail.
func (s *source) Run(ctx context.Context, out func(price core.Price, at time.Time)) error {
	now := time.Now()
	s.started.CompareAndSwap(nil, &now)
	start := *s.started.Load()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		now := time.Now()
		if price, ok := s.catchUp(int64(now.Sub(start) / quantum)); ok {
			out(price, now)
		}
		timer.Reset(time.Until(start.Add(time.Duration(s.done+1) * quantum)))
	}
}

// catchUp steps to the given count and gives the last quote on the way.
func (s *source) catchUp(steps int64) (price core.Price, ok bool) {
	for s.done < steps {
		if p, quoted := s.step(); quoted {
			price, ok = p, true
		}
	}
	return price, ok
}

// step moves on by one quantum; true if the source quotes in it, as it does in
// every second one on average.
func (s *source) step() (core.Price, bool) {
	s.done++
	s.walk.step()
	speaks := s.rng.IntN(2) == 0
	noise := gauss(s.rng, s.walk.noise)
	if s.dark() || !speaks {
		return 0, false
	}
	p := shift(s.walk.price, noise)
	return p - p%s.walk.grain, true
}

// Outages last from 2 to 20 s.
const (
	shortOutage = 2 * int64(time.Second/quantum)
	longOutage  = 20 * int64(time.Second/quantum)
)

// dark tells whether an outage is on, and may begin one.
func (s *source) dark() bool {
	if s.silent > 0 {
		s.silent--
		return true
	}
	if *s.outage > 0 && s.rng.Int64N(*s.outage) == 0 {
		s.silent = shortOutage + s.rng.Int64N(longOutage-shortOutage)
	}
	return false
}
