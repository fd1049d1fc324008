package client

import (
	"cmp"
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
// rejected. Status and fills are the current ones. Of one that waits for the owner, or has ended waiting without an
// order, it has Waiting with the current status of the approval (docs/rules/agent-accounts.md#approvals).
func (c *Client) Placed(ctx context.Context, id schemas.U64) (schemas.Placed, error) {
	return c.placed(ctx, id, func(*schemas.Order) error { return nil })
}

// differs returns refused, which is duplicate_client_order_id, with the order that has the client_order_id, if row is
// another order than o. It compares what a decrease, a fill or a price collar does not change. A rejected row may lack
// a tick and a quantity that were not valid.
func differs(o *schemas.PlaceOrder, row *schemas.Order, refused error) error {
	same := int64(o.MarketID) == int64(row.MarketID) && o.Side == row.Side && o.Outcome == row.Outcome && cmp.Or(o.Type, "limit") == row.Type
	if row.Status != "rejected" {
		same = same && int64(o.Qty) == row.Qty && (row.Type != "limit" || isTick(o.Tick, row))
	}
	return otherOrder(same, row, refused)
}

// differsReplaced is differs for a replace, which may leave out what the old order has, and never waits for the owner.
func differsReplaced(r *schemas.ReplaceOrder, row *schemas.Order, refused error) error {
	same := row.Status == "rejected" || isTick(r.Tick, row) && (r.Qty == nil || r.KeepTotal || int64(*r.Qty) == row.Qty)
	return otherOrder(same && row.Type == "limit" && row.Status != waiting, row, refused)
}

func isTick(tick *schemas.Int, row *schemas.Order) bool {
	return tick == nil || int64(*tick) == row.Tick
}

func otherOrder(same bool, row *schemas.Order, refused error) error {
	if same {
		return nil
	}
	id := "a rejected order"
	switch {
	case row.Status == waiting:
		id = "an order that the owner is asked about"
	case row.OrderID != nil:
		id = "order " + row.OrderID.String()
	}
	return fmt.Errorf("client_order_id %s belongs to %s, %s %d %s of market %d at %d: %w", row.ClientOrderID, id, row.Side, row.Qty, row.Outcome, row.MarketID, row.Tick, refused)
}

// placed is Placed. It fails if check does for the order.
func (c *Client) placed(ctx context.Context, id schemas.U64, check func(*schemas.Order) error) (out schemas.Placed, err error) {
	var l schemas.OrderList
	for n := 1; ; n++ {
		if l, err = c.Orders(ctx, schemas.ListOrders{ClientOrderID: &id}); err != nil {
			return out, lookupError(id, err)
		}
		if len(l.Orders) > 0 {
			break
		}
		a, err := c.asked(ctx, id)
		if err != nil {
			return out, lookupError(id, err)
		}
		if a != nil && a.Status != "placed" && a.Status != "refused" {
			if err := check(rowOf(a)); err != nil {
				return out, err
			}
			// The address where the owner decides is in the first answer alone.
			out.Await(&schemas.Waiting{Status: a.Status, ApprovalID: a.ApprovalID, ClientOrderID: id, Cost: a.Cost, ExpiresTs: a.ExpiresTs, Seq: a.ApprovalID})
			return out, nil
		}
		// The owner has decided since the orders were read, or another node than the one that knew the order is a moment
		// behind it.
		if a == nil && !c.nodes.several() || n > lookups || !backoff.Sleep(ctx, c.retryWait(n)) {
			break
		}
	}
	if len(l.Orders) == 0 {
		return out, lookupError(id, errors.New("the order is no longer listed"))
	}
	o := &l.Orders[0]
	if err := check(o); err != nil {
		return out, err
	}
	if o.OrderID == nil {
		w := schemas.ErrorOf(o.Reason)
		return out, &Error{Wire: w, Status: w.HTTP()}
	}
	out.Outcome = schemas.Outcome{
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

// waiting is the status of an approval about which the owner has not decided, and in rowOf of every one.
const waiting = "waiting"

// asked returns the placement with this client_order_id that waits for the owner, or has ended waiting; nil if there is
// none.
func (c *Client) asked(ctx context.Context, id schemas.U64) (*schemas.AgentApproval, error) {
	for a, err := range c.AllApprovals(ctx, schemas.ListAgentApprovals{}) {
		if err != nil {
			return nil, err
		}
		if a.ClientOrderID == id {
			return &a, nil
		}
	}
	return nil, nil
}

// rowOf is the order that an approval is about, with what differs compares. It has not been placed.
func rowOf(a *schemas.AgentApproval) *schemas.Order {
	return &schemas.Order{ClientOrderID: a.ClientOrderID, MarketID: a.MarketID, Side: a.Side, Outcome: a.Outcome, Type: a.Type, Tick: a.Tick, Qty: a.Qty, Status: waiting}
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
		var out schemas.Placed
		err := error(&Error{Wire: *r.Error})
		switch {
		case repeated && isDuplicate(err):
		case r.Error.Retry() == schemas.Unknown && (c.repeatPlacements || c.nodes.several()):
			out, err = c.PlaceOrder(ctx, orders[i])
		default:
			continue
		}
		if isDuplicate(err) {
			refused := err
			out, err = c.placed(ctx, orders[i].ClientOrderID, func(row *schemas.Order) error { return differs(&orders[i], row, refused) })
		}
		var e *Error
		switch {
		case err == nil:
			*r = schemas.PlaceResult{Placed: &out}
		case errors.As(err, &e):
			r.Error = &e.Wire
		default:
			return err
		}
	}
	return nil
}
