package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"duplex/internal/backoff"
	"duplex/schemas"
)

// The wait before a repeat doubles each time. Its random half keeps many clients from
// repeating at the same moment.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// retry sends r until it gets a final response or may not be repeated. It keeps the first
// error after which r may have been executed, because a later rejection by the gate says
// nothing about the earlier attempt.
func (c *Client) retry(ctx context.Context, r *request) (answer []byte, repeated bool, err error) {
	var unknown error
	for n := 1; ; {
		answer, err = c.attempt(ctx, r)
		if err == nil || isFinal(err, unknown != nil) {
			return answer, unknown != nil, err
		}
		if MayBeDone(err) && unknown == nil {
			unknown = err
		}
		wait, counts, again := c.retryAfter(r, err, n)
		if !again || !backoff.Sleep(ctx, wait) {
			return nil, unknown != nil, cmp.Or(unknown, err)
		}
		if counts {
			n++
		}
	}
}

func (c *Client) attempt(ctx context.Context, r *request) ([]byte, error) {
	status, header, answer, err := c.Call(ctx, r.method, r.target, r.body)
	if err != nil {
		return nil, err
	}
	if status >= 300 {
		return nil, responseError(status, header, answer)
	}
	return answer, nil
}

// isFinal reports whether another attempt cannot change the response. After an attempt of
// unknown outcome only an error of the core is final, because only the core knows what
// that attempt did.
func isFinal(err error, afterUnknown bool) bool {
	var e *Error
	return errors.As(err, &e) && e.Retry() == schemas.Never && (!afterUnknown || e.Origin == schemas.OriginCore)
}

// retryAfter decides whether and when to repeat a request after its n-th failure. A wait
// for tokens does not count as an attempt: the venue names the time, and the context
// bounds it.
func (c *Client) retryAfter(r *request, err error, n int) (wait time.Duration, counts, again bool) {
	var e *Error
	if errors.As(err, &e) && e.Code == "rate_limited" {
		return max(e.RetryAfter(), time.Millisecond), false, c.waitForTokens
	}
	var never notSent
	switch {
	case n >= c.maxAttempts, errors.As(err, &never), isFinal(err, false):
		return 0, true, false
	case MayBeDone(err):
		return retryWait(n), true, r.isRead() || r.isPlacement() && c.repeatPlacements
	default: // shed, draining, or not connected: not executed
		return retryWait(n), true, true
	}
}

func retryWait(n int) time.Duration {
	most := min(minBackoff<<(min(n, 10)-1), maxBackoff)
	return backoff.Jitter(most)
}
