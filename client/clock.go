package client

import (
	"context"
	"net/http"
	"time"
)

// moment is a time of the venue, and of the local monotonic clock.
type moment struct {
	venue time.Time // without a monotonic clock
	local time.Time // with it
}

// Now returns the venue's time: the local clock when the client was made, or what the venue said last, plus what has
// passed since by the monotonic clock. A local clock that is set, forward or back, changes nothing. A clock that
// stands still while a machine sleeps is corrected by the next 401, or by a stream (see OnLate of StreamOptions).
func (c *Client) Now() time.Time {
	m := c.clock.Load()
	return m.venue.Add(time.Since(m.local))
}

// SetClock sets how far the venue's clock is ahead of the local clock.
func (c *Client) SetClock(ahead time.Duration) {
	now := time.Now()
	c.clock.Store(&moment{now.Round(0).Add(ahead), now})
}

// SyncClock measures how far the venue's clock is ahead of the local clock, and uses the
// result for later requests. The error is at most half of a round trip
// (docs/rules/rest.md#read-the-clock).
func (c *Client) SyncClock(ctx context.Context) (time.Duration, error) {
	off, _, err := c.syncClock(ctx)
	return off, err
}

// syncClock is SyncClock. It also reports whether the venue's time is virtual.
func (c *Client) syncClock(ctx context.Context) (off time.Duration, virtual bool, err error) {
	if _, err := c.Time(ctx); err != nil { // opens the connection, so that the handshake is not measured
		return 0, false, err
	}
	sent := time.Now()
	t, err := c.Time(ctx)
	if err != nil {
		return 0, false, err
	}
	m := &moment{time.Unix(0, t.ServerTime.Int64()), sent.Add(time.Since(sent) / 2)}
	c.clock.Store(m)
	return m.venue.Sub(m.local), t.Clock == "virtual", nil
}

// minDateOffset is the smallest difference of a Date header from the local clock that can
// explain a 401. Date is cut to the second, and the venue accepts 5 s.
const minDateOffset = 2 * time.Second

// correctClock sets the clock from a Date header. It reports false if the clock already
// agrees with it.
func (c *Client) correctClock(date string) bool {
	t, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	t = t.Add(time.Second / 2)
	if diff := t.Sub(c.Now()); diff.Abs() < minDateOffset {
		return false
	}
	c.clock.Store(&moment{t, time.Now()})
	return true
}
