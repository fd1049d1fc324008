// Package client is a Go client of the venue's REST and event lanes. It depends on
// package schemas only, so it encodes the types that the venue decodes.
//
//	c, err := client.New("http://127.0.0.1:8080", key, secret)
//	o, err := c.PlaceOrder(ctx, schemas.PlaceOrder{…})
//	for o, err := range c.AllOrders(ctx, schemas.ListOrders{Status: "resting"}) {…}
//
// A request:
//
//	route method   choose the route and the types
//	Do             build target and body, decode the response
//	retry          repeat a request that was not executed, at the next node or after a growing wait
//	Node.open      send once; after a 401 caused by a wrong clock, correct it and resend
//	send           sign and send
//
// Invariants:
//
//  1. The signature covers the bytes that are sent.
//  2. A write whose outcome is unknown is not sent again. The exceptions are a placement with
//     RepeatPlacements or of several nodes, whose client_order_id prevents a second execution, and
//     a write whose signed bytes the venue executes once: these bytes, for 4 s.
//  3. A response that is not 2xx is an *Error. Any other error is an error of the
//     transport. MayBeDone reports whether the request may have been executed. One that got no
//     connection was not.
//  4. A Stream delivers each event of the account once and in order.
//  5. With several nodes, no read is behind what the client has written or read before.
//
// The package never stores a secret outside the Client and never follows a redirect.
package client
