package client

import (
	"context"
	"net/http"
	"time"
)

// Now returns the venue's time: the local clock plus the measured offset.
func (c *Client) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// SetClock sets how far the venue's clock is ahead of the local clock.
func (c *Client) SetClock(ahead time.Duration) { c.offset.Store(int64(ahead)) }

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
	middle := sent.Add(time.Since(sent) / 2)
	off = time.Unix(0, t.ServerTime.Int64()).Sub(middle)
	c.offset.Store(int64(off))
	return off, t.Clock == "virtual", nil
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
	c.offset.Store(int64(time.Until(t)))
	return true
}
