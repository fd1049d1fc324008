package client

import (
	"context"

	"duplex/schemas"
)

const (
	routeOrders = "/v1/portfolio/orders"
	routeOrder  = "/v1/portfolio/orders/{order_id}"
	routeByID   = "/v1/portfolio/orders/by-client-order-id/{client_order_id}"
	routeBatch  = "/v1/portfolio/orders/batch"
	routeQuotes = "/v1/portfolio/quotes"
	routeGroups = "/v1/portfolio/groups"
	routeGroup  = routeGroups + "/{group_id}"

	replaceSuffix  = "/replace"
	decreaseSuffix = "/decrease"
)

// PlaceOrder places one order. An order that was canceled at once, in whole or in part,
// is an outcome with a reason, not an error (docs/rules/orders.md#outcomes). One that waits for the owner of
// an agent has Waiting (docs/rules/agent-accounts.md#approvals). If a response was lost, Waiting has the status of now,
// and if another order has the client_order_id, the error is duplicate_client_order_id.
func (c *Client) PlaceOrder(ctx context.Context, o schemas.PlaceOrder) (out schemas.Placed, err error) {
	repeated, err := c.run(ctx, "POST", routeOrders, o, &out)
	if repeated && isDuplicate(err) {
		return c.placed(ctx, o.ClientOrderID, func(row *schemas.Order) error { return differs(&o, row, err) })
	}
	return out, err
}

// PlaceOrders places up to 20 independent orders. Each result is an outcome or an error,
// in the order of the request (docs/rules/orders.md#batches). One whose outcome is unknown is sent again
// alone where PlaceOrder would repeat it; else it has the error, whose retry rule is unknown.
func (c *Client) PlaceOrders(ctx context.Context, orders []schemas.PlaceOrder) (out []schemas.PlaceResult, err error) {
	repeated, err := c.run(ctx, "POST", routeBatch, schemas.PlaceOrders{Orders: orders}, &out)
	if err != nil {
		return out, err
	}
	return out, c.settleBatch(ctx, orders, out, repeated)
}

// PutQuotes quotes up to 20 markets, each for a group of orders (docs/rules/orders.md#quotes). The results are in the
// order of the request; each side is an outcome, the number of orders that a nil side canceled, or an error.
func (c *Client) PutQuotes(ctx context.Context, quotes []schemas.Quote) ([]schemas.QuoteResult, error) {
	return do[[]schemas.QuoteResult](ctx, c, "PUT", routeQuotes, schemas.PutQuotes{Quotes: quotes})
}

// SetGroup bounds how many contracts the orders of a group fill in a window (docs/rules/orders.md#group-bounds).
func (c *Client) SetGroup(ctx context.Context, g schemas.SetGroup) (schemas.GroupChanged, error) {
	return do[schemas.GroupChanged](ctx, c, "PUT", routeGroup, g)
}

// ResetGroup lets a group that has tripped take orders again, and counts from 0.
func (c *Client) ResetGroup(ctx context.Context, id uint32) (schemas.GroupChanged, error) {
	return do[schemas.GroupChanged](ctx, c, "POST", routeGroup+"/reset", schemas.GroupPath{GroupID: schemas.Int(id)})
}

// DeleteGroup removes the bound of a group, whose orders stay.
func (c *Client) DeleteGroup(ctx context.Context, id uint32) (schemas.GroupChanged, error) {
	return do[schemas.GroupChanged](ctx, c, "DELETE", routeGroup, schemas.GroupPath{GroupID: schemas.Int(id)})
}

// Groups returns the account's groups that have a bound, a dead-man switch or a connection.
func (c *Client) Groups(ctx context.Context) (schemas.GroupList, error) {
	return do[schemas.GroupList](ctx, c, "GET", routeGroups, schemas.None{})
}

// Preview returns the result that a placement would have now, without placing it.
func (c *Client) Preview(ctx context.Context, o schemas.PlaceOrder) (schemas.Preview, error) {
	return do[schemas.Preview](ctx, c, "POST", "/v1/portfolio/orders/preview", o)
}

// Cancel cancels one order. It returns unknown_order if the order does not rest.
func (c *Client) Cancel(ctx context.Context, id schemas.U64) (schemas.Canceled, error) {
	return do[schemas.Canceled](ctx, c, "DELETE", routeOrder, schemas.CancelOrder{OrderID: id})
}

// CancelByClientOrderID cancels the order that a client_order_id placed, as Cancel does: after a placement
// whose response was lost.
func (c *Client) CancelByClientOrderID(ctx context.Context, id schemas.U64) (schemas.Canceled, error) {
	return do[schemas.Canceled](ctx, c, "DELETE", routeByID, schemas.CancelByClientOrderID{ClientOrderID: id})
}

// CancelMany cancels up to 20 orders; the results are in the order of the ids.
func (c *Client) CancelMany(ctx context.Context, ids []schemas.U64) (schemas.CancelResults, error) {
	return do[schemas.CancelResults](ctx, c, "DELETE", routeBatch, schemas.CancelOrders{OrderIDs: ids})
}

// CancelAll cancels all orders, or those of a market, a group, or both.
func (c *Client) CancelAll(ctx context.Context, f schemas.CancelAll) (schemas.Sequenced, error) {
	return do[schemas.Sequenced](ctx, c, "DELETE", routeOrders, f)
}

// Decrease lowers the remaining quantity of an order, which keeps its priority.
func (c *Client) Decrease(ctx context.Context, d schemas.DecreaseOrder) (schemas.Decreased, error) {
	return do[schemas.Decreased](ctx, c, "POST", routeOrder+decreaseSuffix, d)
}

// Replace cancels a resting order and places a limit order of the same market, side and outcome in its
// stead, in one step (docs/rules/orders.md#replace). If it returns an error of the venue, the old order
// rests as before, unless the error is unknown_order: then it did not rest. If the response of an
// earlier attempt was lost, CanceledQty is qty less filled_qty of the old order, decreases included.
func (c *Client) Replace(ctx context.Context, r schemas.ReplaceOrder) (out schemas.Replacement, err error) {
	repeated, err := c.run(ctx, "POST", routeOrder+replaceSuffix, r, &out)
	if !repeated || !isDuplicate(err) {
		return out, err
	}
	placed, err := c.placed(ctx, r.ClientOrderID, func(row *schemas.Order) error { return differsReplaced(&r, row, err) })
	if out.Outcome = placed.Outcome; err != nil {
		return out, err
	}
	old, err := c.Order(ctx, r.OrderID)
	if err != nil {
		return out, lookupError(r.ClientOrderID, err)
	}
	out.Replaced = schemas.Replaced{OrderID: r.OrderID, CanceledQty: old.Qty - old.FilledQty}
	return out, nil
}

// Orders returns a page of the account's orders, newest first.
func (c *Client) Orders(ctx context.Context, q schemas.ListOrders) (schemas.OrderList, error) {
	return do[schemas.OrderList](ctx, c, "GET", routeOrders, q)
}

// Order returns one order of the account.
func (c *Client) Order(ctx context.Context, id schemas.U64) (schemas.OrderRead, error) {
	return do[schemas.OrderRead](ctx, c, "GET", routeOrder, schemas.GetOrder{OrderID: id})
}
