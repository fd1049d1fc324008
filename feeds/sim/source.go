package sim

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"duplex/core"
)

// source quotes one feed. Either Run or World.Step drives it, never both.
type source struct {
	name        string
	walk        *walk
	rng         *rand.Rand
	feed        core.Feed
	done        int64                      // steps so far
	outageLeft  int64                      // steps left of an outage
	outageEvery *int64                     // World.outageEvery
	started     *atomic.Pointer[time.Time] // World.started
}

func (s *source) Name() string    { return s.name }
func (s *source) Feed() core.Feed { return s.feed }

// Continue sets the price from which the walk goes on. Else the prices of a venue that is started again would jump to
// where they began.
func (s *source) Continue(last core.Price) { s.walk.price = last }

// Run quotes by wall time until ctx ends and returns the error of ctx.
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
		if price, ok := s.catchUp(int64(now.Sub(start) / stepLength)); ok {
			out(price, now)
		}
		timer.Reset(time.Until(start.Add(time.Duration(s.done+1) * stepLength)))
	}
}

// catchUp performs all steps up to the given number and returns the last quote of them.
func (s *source) catchUp(steps int64) (price core.Price, ok bool) {
	for s.done < steps {
		if p, quoted := s.step(); quoted {
			price, ok = p, true
		}
	}
	return price, ok
}

// step performs one step. The source quotes in every second step on average.
func (s *source) step() (core.Price, bool) {
	s.done++
	s.walk.step()
	quotes := s.rng.IntN(2) == 0
	noise := normal(s.rng, s.walk.noise)
	if s.inOutage() || !quotes {
		return 0, false
	}
	p := moveBy(s.walk.price, noise)
	return p - p%s.walk.grain, true
}

// Outages last from 2 to 20 s.
const (
	shortOutage = 2 * int64(time.Second/stepLength)
	longOutage  = 20 * int64(time.Second/stepLength)
)

// inOutage reports whether an outage is on; it starts one at random.
func (s *source) inOutage() bool {
	if s.outageLeft > 0 {
		s.outageLeft--
		return true
	}
	if *s.outageEvery > 0 && s.rng.Int64N(*s.outageEvery) == 0 {
		s.outageLeft = shortOutage + s.rng.Int64N(longOutage-shortOutage)
	}
	return false
}
