package client

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/internal/backoff"
	"duplex/internal/timeouts"
	"duplex/schemas"
)

// The wait before a repeat doubles each time. Its random half keeps many clients from
// repeating at the same moment.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// retry sends r until it gets a final response or may not be repeated, and returns the node that gave
// it. It keeps the first error after which r may have been executed, because a later rejection by the
// gate says nothing about the earlier attempt. With several nodes, an attempt is a pass through them.
func (c *Client) retry(ctx context.Context, r *request) (answer []byte, at *Node, repeated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(callTimeout, Timeout(0)))
	defer cancel()
	end, _ := ctx.Deadline()
	var unknown error
	var failed NodesError
	var sig signature
	for n := 1; ; {
		for _, at = range c.Nodes() {
			if unknown == nil || !r.sendsSameBytes(c.nodes.several()) {
				sig = signature{} // only what the venue knows again by its bytes needs the same ones
			}
			answer, err = c.attempt(ctx, at, r, &sig)
			if unknown != nil && r.isCancel() && isUnknownOrder(err) { // canceled by an attempt before, or ended
				at.Answered()
				return nil, at, true, unknown
			}
			if err == nil || isFinal(err, unknown != nil) {
				at.Answered()
				return answer, at, unknown != nil, err
			}
			if MayBeDone(err) && unknown == nil && !r.isRead() {
				unknown = err
			}
			failed.Add(at, err)
			if !c.mayRepeat(r, err, unknown != nil, &sig) || ctx.Err() != nil {
				return nil, at, unknown != nil, failed.Or(cmp.Or(unknown, err))
			}
			if !c.nodes.several() {
				break
			}
			if !NodeFailed(err) {
				at.Answered()
				break // another node would say the same
			}
			at.Failed(err)
		}
		wait, counts := c.waitAfter(err, n)
		stale := unknown != nil && r.sendsSameBytes(c.nodes.several()) && time.Since(sig.at)+wait > c.sameBytes
		last := counts && n == c.maxAttempts && !c.settles(r, unknown != nil)
		if stale || last || time.Until(end) < wait || !backoff.Sleep(ctx, wait) {
			return nil, at, unknown != nil, failed.Or(cmp.Or(unknown, err))
		}
		if counts {
			n++
		}
	}
}

// errNotJSON is the error of a 2xx that is not the venue's, such as a proxy's page: a lost response.
var errNotJSON = errors.New("the response is not JSON")

// attempt sends r to one node. If there are others, it waits a little less for this one.
func (c *Client) attempt(ctx context.Context, n *Node, r *request, sig *signature) ([]byte, error) {
	limit := timeouts.Of(Timeout(attemptTimeout))
	if c.nodes.several() {
		limit = min(limit, timeouts.Of(nodeTimeout))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := n.open(ctx, r.method, r.targetOn(n), contentType(r.body), r.body, sig)
	if err != nil {
		return nil, err
	}
	status, header, answer, err := readAll(resp)
	if err != nil {
		return nil, err
	}
	if status >= 300 {
		return nil, responseError(status, header, answer)
	}
	if !jsontext.Value(answer).IsValid() {
		return nil, errNotJSON
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

// mayRepeat reports whether r may be sent again after err. unknown reports whether this or an earlier
// attempt may have been executed.
func (c *Client) mayRepeat(r *request, err error, unknown bool, sig *signature) bool {
	var never notSent
	switch {
	case isRateLimited(err):
		return c.waitForTokens || c.settles(r, unknown)
	case errors.As(err, &never), isFinal(err, false), hasCode(err, codeReadOnlyNode) && !c.nodes.several():
		return false
	case !unknown, r.isRead(): // shed, draining, or not connected: not executed
		return true
	case r.isPlacement():
		return c.repeatPlacements || c.nodes.several()
	default:
		return r.sendsSameBytes(c.nodes.several()) && time.Since(sig.at) < c.sameBytes
	}
}

// markedTime is how long signed bytes are sent again: the venue's window less the time on the way.
const markedTime = schemas.ReplayWindowMs*time.Millisecond - time.Second

// isLate reports whether a 401 may be for a signature that left the venue's window on the way.
func isLate(signed time.Time) bool { return time.Since(signed) >= markedTime }

// settles reports whether r is repeated until its outcome is known, more often than MaxAttempts says: a placement by
// its client_order_id, other writes that may be repeated until their signature is too old.
func (c *Client) settles(r *request, unknown bool) bool {
	return unknown && c.maxAttempts != 1 && !r.isRead()
}

func isRateLimited(err error) bool  { return hasCode(err, "rate_limited") }
func isUnknownOrder(err error) bool { return hasCode(err, "unknown_order") }

func hasCode(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
}

// waitAfter returns how long to wait after the n-th failure, at least as long as the venue says. A wait for
// tokens does not count as an attempt: the context bounds it.
func (c *Client) waitAfter(err error, n int) (wait time.Duration, counts bool) {
	var named time.Duration
	if e, ok := errors.AsType[*Error](err); ok {
		named = e.RetryAfter()
	}
	if isRateLimited(err) {
		return max(named, time.Millisecond), false
	}
	return max(named, c.retryWait(n)), true
}

func (c *Client) retryWait(n int) time.Duration {
	return c.jitter(min(minBackoff<<(min(n, 10)-1), maxBackoff))
}
