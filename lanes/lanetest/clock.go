package lanetest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that a test can stop and move. It starts stopped, one second after the
// quarter of an hour in which the process started, when rounds of all series open: all clocks
// of a process start at the same time, also if the test opens a venue again after the next
// quarter. Its methods are safe for concurrent use, except that Freeze, Run and Advance must
// not run concurrently.
type Clock struct {
	offset   atomic.Int64 // to the clock of the machine, while the clock runs
	frozenAt atomic.Int64 // ns; 0 while the clock runs
}

var processStart = time.Now()

// NewClock returns a stopped clock.
func NewClock() *Clock {
	start := processStart
	if time.Now().Year() < 2001 { // the clock of synctest starts in 2000, when Unix milliseconds have 12 digits; a signature needs 13
		start = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	}
	c := &Clock{}
	c.frozenAt.Store(start.Truncate(15 * time.Minute).Add(time.Second).UnixNano())
	return c
}

// Now returns the time, ns.
func (c *Clock) Now() int64 {
	if at := c.frozenAt.Load(); at != 0 {
		return at
	}
	return time.Now().UnixNano() + c.offset.Load()
}

// Time returns the time.
func (c *Clock) Time() time.Time { return time.Unix(0, c.Now()) }

// Freeze stops the clock, so that no timer fires. Advance still moves it.
func (c *Clock) Freeze() { c.frozenAt.Store(c.Now()) }

// Run lets the clock run with the clock of the machine, from its present time.
func (c *Clock) Run() {
	c.offset.Store(c.Now() - time.Now().UnixNano())
	c.frozenAt.Store(0)
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.offset.Add(int64(d))
	if at := c.frozenAt.Load(); at != 0 {
		c.frozenAt.Store(at + int64(d))
	}
}
