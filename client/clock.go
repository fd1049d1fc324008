package client

import (
	"context"
	"net/http"
	"time"
)

// Now is the venue's clock as far as it is known: ours, and the offset measured.
func (c *Client) Now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

// SetClock tells how far the venue's clock is ahead of ours, where that is known.
func (c *Client) SetClock(ahead time.Duration) { c.offset.Store(int64(ahead)) }

// SyncClock measures how far the venue's clock is ahead of ours, as the venue says
// to (spec 4.8), and uses it from then on.
func (c *Client) SyncClock(ctx context.Context) (time.Duration, error) {
	if _, err := c.Time(ctx); err != nil { // opens the connection, whose handshake would count
		return 0, err
	}
	sent := time.Now()
	t, err := c.Time(ctx)
	if err != nil {
		return 0, err
	}
	middle := sent.Add(time.Since(sent) / 2)
	off := time.Unix(0, t.ServerTime.Int64()).Sub(middle)
	c.offset.Store(int64(off))
	return off, nil
}

// coarse is how far a Date must be from our clock to be the cause of a 401: it is cut
// to the second, and the venue lets 5 s pass.
const coarse = 2 * time.Second

// correct takes the venue's time from a Date header; false if it agrees with ours.
func (c *Client) correct(date string) bool {
	t, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	t = t.Add(time.Second / 2)
	if diff := t.Sub(c.Now()); diff.Abs() < coarse {
		return false
	}
	c.offset.Store(int64(time.Until(t)))
	return true
}
