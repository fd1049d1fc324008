package engine

import (
	"sync"
	"time"
)

// slewRate bounds how fast the clock of a member approaches the wall clock: 1 ms in a second.
const slewRate = 1000

// anchoredClock is the clock of a member: the monotonic clock, anchored to the wall clock at the
// start and slewed towards it. So a step of the wall clock never moves a stamp, and a clock that
// was wrong at the start becomes right without a step (docs/rules/operation.md#stamps).
type anchoredClock struct {
	wall  func() int64 // ns since the Unix epoch
	since func() time.Duration

	mu   sync.Mutex
	now  int64         // ns since the Unix epoch, at last
	last time.Duration // by since
}

func newAnchoredClock(wall func() int64) *anchoredClock {
	began := time.Now()
	c := &anchoredClock{wall: wall, since: func() time.Duration { return time.Since(began) }}
	c.now, c.last = c.wall(), c.since()
	return c
}

// Now returns ns since the Unix epoch. It never falls.
func (c *anchoredClock) Now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.now
}

// ahead is how far the clock is ahead of the wall clock.
func (c *anchoredClock) ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(c.now - c.advance())
}

// advance brings the clock to the present, and returns the wall clock.
func (c *anchoredClock) advance() (wall int64) {
	at := c.since()
	passed := int64(at - c.last)
	c.last = at
	c.now += passed
	wall = c.wall()
	limit := passed / slewRate
	c.now += max(-limit, min(limit, wall-c.now))
	return wall
}
