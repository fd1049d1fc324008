package client

import (
	"context"

	"duplex/schemas"
)

// Time is the venue's clock; SyncClock measures ours against it.
func (c *Client) Time(ctx context.Context) (schemas.Time, error) {
	return do[schemas.Time](ctx, c, "GET", "/v1/time", schemas.None{})
}

// Status tells whether the exchange is active.
func (c *Client) Status(ctx context.Context) (schemas.Status, error) {
	return do[schemas.Status](ctx, c, "GET", "/v1/exchange/status", schemas.Now{})
}

// Retention tells how much history listings keep.
func (c *Client) Retention(ctx context.Context) (schemas.Retention, error) {
	return do[schemas.Retention](ctx, c, "GET", "/v1/exchange/retention", schemas.None{})
}

// Schedule lists maintenance and session boundaries to come.
func (c *Client) Schedule(ctx context.Context) (schemas.Schedule, error) {
	return do[schemas.Schedule](ctx, c, "GET", "/v1/exchange/schedule", schemas.None{})
}

// Fees is the fee schedule in force.
func (c *Client) Fees(ctx context.Context) (schemas.Fees, error) {
	return do[schemas.Fees](ctx, c, "GET", "/v1/exchange/fees", schemas.Now{})
}
