package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"duplex/schemas"
)

// The wait before a request goes again: doubled each time, and anything from half of
// that to all of it, so that many clients do not come back at once.
const (
	waitFirst = 50 * time.Millisecond
	waitMost  = 2 * time.Second
)

// retry sends r until it is answered, or may not go again. An error after which it
// may have been done is kept: that a later try was refused at the door says nothing
// of the first.
func (c *Client) retry(ctx context.Context, r *request) (answer []byte, repeated bool, err error) {
	var unknown error
	for n := 1; ; {
		answer, err = c.once(ctx, r)
		if err == nil || decided(err, unknown != nil) {
			return answer, unknown != nil, err
		}
		if MayBeDone(err) && unknown == nil {
			unknown = err
		}
		wait, counts, again := c.again(r, err, n)
		if !again || !sleep(ctx, wait) {
			return nil, unknown != nil, cmp.Or(unknown, err)
		}
		if counts {
			n++
		}
	}
}

func (c *Client) once(ctx context.Context, r *request) ([]byte, error) {
	status, header, answer, err := c.Call(ctx, r.method, r.target, r.body)
	if err != nil {
		return nil, err
	}
	if status >= 300 {
		return nil, failure(status, header, answer)
	}
	return answer, nil
}

// decided tells an answer that another try would not change. Behind a try of unknown
// outcome only the core can say, since it alone knows what the first one did.
func decided(err error, behind bool) bool {
	var e *Error
	return errors.As(err, &e) && e.Retry() == schemas.Never && (!behind || e.Origin == schemas.OriginCore)
}

// again decides what the n-th failure of a request means. Waiting for tokens does not
// count: the venue says how long, and the context bounds it.
func (c *Client) again(r *request, err error, n int) (wait time.Duration, counts, again bool) {
	var e *Error
	if errors.As(err, &e) && e.Code == "rate_limited" {
		return max(e.RetryAfter(), time.Millisecond), false, c.patient
	}
	var never unsent
	switch {
	case n >= c.tries, errors.As(err, &never), decided(err, false):
		return 0, true, false
	case MayBeDone(err):
		return backoff(n), true, r.reads() || r.places() && c.placeAgain
	default: // shed, draining, not even connected: surely not done
		return backoff(n), true, true
	}
}

func backoff(n int) time.Duration {
	most := min(waitFirst<<(min(n, 10)-1), waitMost)
	return most/2 + rand.N(most/2+1)
}

// sleep waits; false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
