package client

import (
	"context"
	"errors"
	"fmt"

	"duplex/schemas"
)

const duplicate = "duplicate_client_order_id"

func isDuplicate(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == duplicate
}

// first finds what became of a placement that turned out to have been done by an
// earlier try, or was rejected then. Status and fills are as they are now: the order
// may have gone on since.
func (c *Client) first(ctx context.Context, id schemas.U64) (out schemas.Outcome, err error) {
	l, err := c.Orders(ctx, schemas.ListOrders{ClientOrderID: &id})
	if err != nil {
		return out, unread(id, err)
	}
	if len(l.Orders) == 0 {
		return out, unread(id, errors.New("it is no longer listed"))
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
			return out, unread(id, err)
		}
		out.Fills = append([]schemas.OutcomeFill{{TickYes: f.TickYes, Qty: f.Qty, Path: f.Path}}, out.Fills...) // listed newest first
	}
	return out, nil
}

// unread is that a placement was done, but not what became of it. It hides the error
// of the read, which must not pass for the placement's.
func unread(id schemas.U64, err error) error {
	return fmt.Errorf("client_order_id %s is placed; reading it back: %v", id, err)
}

// firsts puts what earlier tries did in the place of the duplicates of a batch.
func (c *Client) firsts(ctx context.Context, orders []schemas.PlaceOrder, results []schemas.PlaceResult) error {
	for i := range results {
		r := &results[i]
		if r.Error == nil || r.Error.Code != duplicate || i >= len(orders) {
			continue
		}
		out, err := c.first(ctx, orders[i].ClientOrderID)
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
