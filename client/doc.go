// Package client is a Go client of the venue's REST lane. It stands on schemas
// alone: what it sends is what the venue decodes, and it signs the very bytes that
// go out.
//
//	c := client.New("http://127.0.0.1:8080", key, secret)
//	o, err := c.PlaceOrder(ctx, schemas.PlaceOrder{…})
//	for o, err := range c.AllOrders(ctx, schemas.ListOrders{Status: "resting"}) {…}
//
// A request goes this way:
//
//	route method   names the route, gives the types
//	Do             target and body from the input; the answer into the output
//	retry          what surely was not done goes again, with a growing wait
//	Call           one request; a 401 from a wrong clock is mended once
//	send           sign, send, read whole
//
// An answer that is not 2xx is an *Error; anything else wrong is of the transport.
// MayBeDone tells the errors after which a write may have happened all the same.
// Such a write is never sent again, but for placements when RepeatPlacements says
// so: their client_order_id keeps them from happening twice.
package client
