// Package client is a Go client of the venue's REST lane. It stands on schemas
// alone: what it sends is what the venue decodes, and it signs the very bytes it
// sends.
//
//	c := client.New("http://127.0.0.1:8080", key, secret)
//	o, err := c.PlaceOrder(ctx, schemas.PlaceOrder{…})
//
// An error is *Error when the venue answered with one, else of the transport. A
// write whose answer was lost is never sent again by itself: placements are safe to
// repeat with the same client_order_id, and the caller decides.
package client
