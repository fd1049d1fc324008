package client

import (
	"context"

	"duplex/schemas"
)

const (
	routeOrders = "/v1/portfolio/orders"
	routeOrder  = "/v1/portfolio/orders/{order_id}"
	routeBatch  = "/v1/portfolio/orders/batch"
)

// PlaceOrder places one order. A placement that was canceled at once, or in part, is
// an outcome with a reason and no error (spec 1.2).
func (c *Client) PlaceOrder(ctx context.Context, o schemas.PlaceOrder) (out schemas.Outcome, err error) {
	repeated, err := c.run(ctx, "POST", routeOrders, o, &out)
	if repeated && isDuplicate(err) {
		return c.first(ctx, o.ClientOrderID)
	}
	return out, err
}

// PlaceOrders places up to 20 orders, each by itself. The results are in the order of
// the request; each is an outcome or an error.
func (c *Client) PlaceOrders(ctx context.Context, orders []schemas.PlaceOrder) (out []schemas.PlaceResult, err error) {
	repeated, err := c.run(ctx, "POST", routeBatch, schemas.PlaceOrders{Orders: orders}, &out)
	if err != nil || !repeated {
		return out, err
	}
	return out, c.firsts(ctx, orders, out)
}

// Preview tells what a placement would do now, and does nothing.
func (c *Client) Preview(ctx context.Context, o schemas.PlaceOrder) (schemas.Preview, error) {
	return do[schemas.Preview](ctx, c, "POST", "/v1/portfolio/orders/preview", o)
}

// Cancel cancels one order. It gives unknown_order where there is no live one.
func (c *Client) Cancel(ctx context.Context, id schemas.U64) (schemas.Canceled, error) {
	return do[schemas.Canceled](ctx, c, "DELETE", routeOrder, schemas.CancelOrder{OrderID: id})
}

// CancelMany cancels up to 20 orders; the results are in the order of the ids.
func (c *Client) CancelMany(ctx context.Context, ids []schemas.U64) (schemas.CancelResults, error) {
	return do[schemas.CancelResults](ctx, c, "DELETE", routeBatch, schemas.CancelOrders{OrderIDs: ids})
}

// CancelAll cancels all orders, or those of a market, a group, or both.
func (c *Client) CancelAll(ctx context.Context, f schemas.CancelAll) (schemas.Sequenced, error) {
	return do[schemas.Sequenced](ctx, c, "DELETE", routeOrders, f)
}

// Decrease lowers what remains of an order, which keeps its place in the queue.
func (c *Client) Decrease(ctx context.Context, d schemas.DecreaseOrder) (schemas.Decreased, error) {
	return do[schemas.Decreased](ctx, c, "POST", routeOrder+"/decrease", d)
}

// Orders is a page of own orders, newest first.
func (c *Client) Orders(ctx context.Context, q schemas.ListOrders) (schemas.OrderList, error) {
	return do[schemas.OrderList](ctx, c, "GET", routeOrders, q)
}

// Order reads one own order.
func (c *Client) Order(ctx context.Context, id schemas.U64) (schemas.OrderRead, error) {
	return do[schemas.OrderRead](ctx, c, "GET", routeOrder, schemas.GetOrder{OrderID: id})
}
