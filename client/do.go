package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"duplex/schemas"
)

// request is what Do has to say, sent as often as it may be.
type request struct {
	method, target string
	body           []byte
}

// reads tells a request that changes nothing.
func (r *request) reads() bool {
	return r.method == "GET" || strings.HasSuffix(r.target, "/orders/preview")
}

// places tells a placement, which its client_order_id guards.
func (r *request) places() bool {
	return r.method == "POST" && (r.target == routeOrders || r.target == routeBatch)
}

// Do sends a request of a route and decodes its answer. The target may have fields,
// as in /v1/rounds/{market_id}; they, the query and the body come from in, a request
// of package schemas. out is a pointer; members it does not have are ignored.
func (c *Client) Do(ctx context.Context, method, target string, in, out any) error {
	_, err := c.run(ctx, method, target, in, out)
	return err
}

// run is Do; it also tells whether a placement was sent again.
func (c *Client) run(ctx context.Context, method, template string, in, out any) (repeated bool, err error) {
	r := request{method: method}
	if r.target, err = schemas.Target(template, in); err != nil {
		return false, unsent{err}
	}
	if r.body, err = schemas.Body(in); err != nil {
		return false, unsent{err}
	}
	answer, repeated, err := c.retry(ctx, &r)
	if err != nil {
		return repeated, fmt.Errorf("%s %s: %w", method, r.target, err)
	}
	if err := json.Unmarshal(answer, out); err != nil { // unknown fields are ignored (spec 1.1)
		return repeated, fmt.Errorf("%s %s: %w", method, r.target, err)
	}
	return repeated, nil
}

// do is Do with the type of the answer.
func do[Out any](ctx context.Context, c *Client, method, target string, in any) (out Out, err error) {
	err = c.Do(ctx, method, target, in, &out)
	return out, err
}
