package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"duplex/schemas"
)

// Client speaks to one venue with one key. Many goroutines may use it.
type Client struct {
	base   string
	key    string
	secret []byte
	http   *http.Client
	offset atomic.Int64 // venue's clock less ours, ms
}

// New makes a client of the API listener at base.
func New(base, key string, secret []byte) *Client {
	transport := &http.Transport{
		DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second,
	}
	c := &Client{base: strings.TrimRight(base, "/"), key: key, secret: secret}
	c.http = &http.Client{Transport: transport, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// Error is what the venue answered.
type Error struct {
	Code   string
	Status int
	Wire   schemas.Error
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Code, e.Status) }

// RetryAfter is how long a rate limit asks to wait; 0 if it does not.
func (e *Error) RetryAfter() time.Duration {
	ms, _ := e.Wire.RetryAfterMs()
	return time.Duration(ms) * time.Millisecond
}

// Now is the venue's clock as far as it is known: ours, corrected.
func (c *Client) Now() time.Time {
	return time.Now().Add(time.Duration(c.offset.Load()) * time.Millisecond)
}

// SetClock tells how far the venue's clock is ahead of ours, where that is known.
func (c *Client) SetClock(ahead time.Duration) { c.offset.Store(ahead.Milliseconds()) }

// Call sends one signed request and gives the answer as it came. A 401 whose Date is
// far from our clock is tried once more with the venue's time.
func (c *Client) Call(ctx context.Context, method, target string, body []byte) (status int, header http.Header, answer []byte, err error) {
	status, header, answer, err = c.send(ctx, method, target, body)
	if err == nil && status == http.StatusUnauthorized && c.correct(header.Get("Date")) {
		return c.send(ctx, method, target, body)
	}
	return status, header, answer, err
}

func (c *Client) send(ctx context.Context, method, target string, body []byte) (int, http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	ts := strconv.FormatInt(c.Now().UnixMilli(), 10)
	r.Header.Set(schemas.HeaderKey, c.key)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(c.secret, ts, method, target, body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

// correct takes the venue's time from a Date header; false if it agrees with ours.
func (c *Client) correct(date string) bool {
	t, err := http.ParseTime(date)
	if err != nil {
		return false
	}
	off := time.Until(t).Milliseconds() + 500 // Date is cut to the second
	if diff := off - c.offset.Load(); diff < 2000 && diff > -2000 {
		return false
	}
	c.offset.Store(off)
	return true
}

// do sends a request of a route and decodes its answer.
func do[Out any](ctx context.Context, c *Client, method, template string, in any) (out Out, err error) {
	target, err := schemas.Target(template, in)
	if err != nil {
		return out, err
	}
	body, err := schemas.Body(in)
	if err != nil {
		return out, err
	}
	status, _, answer, err := c.Call(ctx, method, target, body)
	if err != nil {
		return out, err
	}
	if status >= 300 {
		return out, failure(status, answer)
	}
	if err := json.Unmarshal(answer, &out); err != nil { // unknown fields are ignored (spec 1.1)
		return out, fmt.Errorf("%s %s: %w", method, target, err)
	}
	return out, nil
}

func failure(status int, answer []byte) error {
	var b schemas.ErrorBody
	if err := json.Unmarshal(answer, &b); err != nil || b.Error.Code == "" {
		return fmt.Errorf("status %d: %s", status, answer)
	}
	return &Error{Code: b.Error.Code, Status: status, Wire: b.Error}
}
