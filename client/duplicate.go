package client

import (
	"context"
	"errors"
	"fmt"

	"duplex/internal/backoff"
	"duplex/schemas"
)

const codeDuplicateID = "duplicate_client_order_id"

func isDuplicate(err error) bool { return hasCode(err, codeDuplicateID) }

// lookups is how often Placed looks again for an order on several nodes.
const lookups = 8

// Placed returns the outcome of the placement with this client_order_id, or the error with which it was
// rejected. Status and fills are the current ones.
func (c *Client) Placed(ctx context.Context, id schemas.U64) (out schemas.Outcome, err error) {
	l, err := c.Orders(ctx, schemas.ListOrders{ClientOrderID: &id})
	// Another node than the one that knew the order may be a moment behind it.
	for n := 1; err == nil && len(l.Orders) == 0 && c.nodes.several() && n <= lookups && backoff.Sleep(ctx, c.retryWait(n)); n++ {
		l, err = c.Orders(ctx, schemas.ListOrders{ClientOrderID: &id})
	}
	if err != nil {
		return out, lookupError(id, err)
	}
	if len(l.Orders) == 0 {
		return out, lookupError(id, errors.New("the order is no longer listed"))
	}
	o := &l.Orders[0]
	if o.OrderID == nil {
		w := schemas.ErrorOf(o.Reason)
		return out, &Error{Wire: w, Status: w.HTTP()}
	}
	out = schemas.Outcome{
		OrderID: *o.OrderID, ClientOrderID: id, Status: o.Status, Seq: o.CreatedSeq, FilledQty: o.FilledQty, RestingQty: o.RemainingQty,
		Reason: o.Reason, Fills: []schemas.OutcomeFill{},
	}
	for f, err := range c.AllFills(ctx, schemas.ListFills{OrderID: o.OrderID}) {
		if err != nil {
			return out, lookupError(id, err)
		}
		out.Fills = append([]schemas.OutcomeFill{{TickYes: f.TickYes, Qty: f.Qty, Path: f.Path}}, out.Fills...) // listed newest first
		out.Fee += f.Fee
	}
	out.FeeUSD = schemas.USD(out.Fee)
	return out, nil
}

// lookupError returns the error of a placement that was executed but cannot be read. It
// does not wrap err, so that a caller cannot take the error of the read for that of the
// placement.
func lookupError(id schemas.U64, err error) error {
	return fmt.Errorf("client_order_id %s was placed, but reading it failed: %v", id, err)
}

// settleBatch finds the outcomes that the results of a batch do not have: a duplicate of a repeated batch is
// the order of the earlier attempt, and an order of unknown outcome is placed again with its client_order_id.
func (c *Client) settleBatch(ctx context.Context, orders []schemas.PlaceOrder, results []schemas.PlaceResult, repeated bool) error {
	for i := range min(len(results), len(orders)) {
		r := &results[i]
		if r.Error == nil {
			continue
		}
		var out schemas.Outcome
		err := error(&Error{Wire: *r.Error})
		switch {
		case repeated && isDuplicate(err):
		case r.Error.Retry() == schemas.Unknown && (c.repeatPlacements || c.nodes.several()):
			out, err = c.PlaceOrder(ctx, orders[i])
		default:
			continue
		}
		if isDuplicate(err) {
			out, err = c.Placed(ctx, orders[i].ClientOrderID)
		}
		var e *Error
		switch {
		case err == nil:
			*r = schemas.PlaceResult{Outcome: &out}
		case errors.As(err, &e):
			r.Error = &e.Wire
		default:
			return err
		}
	}
	return nil
}
