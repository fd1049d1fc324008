package tools

import (
	"context"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var PutQuotes = &Op[schemas.PutQuotes, schemas.QuoteResults]{
	Spec: Spec{
		Name: "put_quotes", Title: "Quote", Method: "PUT", Path: "/v1/portfolio/quotes", Scope: core.ScopeTrade, Bucket: Write, PlacesOrders: true, Errors: writeErrors, Destructive: true, Idempotent: true, Deduplicated: true,
		Doc: "Set a group's bid and ask in up to 20 markets.",
	},
	Cost: func(in *schemas.PutQuotes) int { return len(in.Quotes) },
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.PutQuotes) (schemas.QuoteResults, error) {
		out := schemas.QuoteResults{Results: make([]schemas.QuoteResult, len(in.Quotes))}
		sides := make([]quotedSide, 0, 2*len(in.Quotes))
		cmds := make([]core.Command, 0, cap(sides))
		unfunded := v.unfunded(caller.User)
		for i := range in.Quotes {
			q, r := &in.Quotes[i], &out.Results[i]
			r.MarketID, r.GroupID = uint32(q.MarketID), uint32(q.GroupID)
			for _, s := range []quotedSide{{q, core.Buy, q.Bid, &r.Bid}, {q, core.Sell, q.Ask, &r.Ask}} {
				c := s.command(caller)
				if unfunded && !c.Cancel {
					if s.of == core.Sell { // it holds nothing to sell
						c.Side, c.Outcome, c.Tick = core.Buy, core.No, c.Tick.Opposite()
					}
					p := q.Placement(s.side)
					s.out.Error = batchError(v.unfundedRejection(p, &c.PlaceOrder), p)
					continue
				}
				sides, cmds = append(sides, s), append(cmds, c)
			}
		}
		ends, err := v.submitAll(ctx, &caller, cmds)
		if err != nil {
			return schemas.QuoteResults{}, err
		}
		for i, e := range ends {
			v.quoted(&sides[i], caller.User, e)
		}
		return out, nil
	},
}

// quotedSide is a side of a quote, nil if it is null, with its result.
type quotedSide struct {
	quote *schemas.Quote
	of    core.Side
	side  *schemas.QuoteSide
	out   *schemas.QuotedSide
}

// command returns the command of a side.
func (s *quotedSide) command(caller Caller) *core.QuoteSide {
	if s.side != nil {
		return &core.QuoteSide{PlaceOrder: *placeCommand(caller, s.quote.Placement(s.side))}
	}
	q := s.quote
	return &core.QuoteSide{Cancel: true, PlaceOrder: core.PlaceOrder{
		User: caller.User, Key: caller.KeyNumber(), Market: marketID(q.MarketID), Generation: uint32(q.Generation), Side: s.of, Group: uint32(q.GroupID),
		NotAfter: q.NotAfterTs.Int64(),
	}}
}

// quoted sets the result of a side, from the event of its command alone, because a repeat has no other
// (docs/rules/accounts.md#exact-repeats).
func (v *Venue) quoted(s *quotedSide, u core.UserID, e engine.Outcome) {
	r, err := Accepted(e.Receipt, e.Err)
	var did core.Quoted
	for _, e := range r.Events {
		if q, ok := e.(*core.Quoted); ok {
			did = *q
		}
	}
	seq := schemas.U64(r.Stamp.Seq)
	switch {
	case err != nil && s.side == nil:
		s.out.Error = batchError(err, s.quote)
	case err != nil:
		p := s.quote.Placement(s.side)
		if r.Reject != core.OK {
			err = rejection(p, r.Reject, violationOf(r.Events))
		}
		s.out.Error = batchError(err, p)
	case s.side == nil:
		s.out.Emptied = &schemas.QuoteEmptied{Canceled: int64(did.Canceled), Seq: seq}
	default:
		o := &schemas.QuoteOutcome{Kept: did.Kept, Canceled: int64(did.Canceled)}
		o.OrderID, o.ClientOrderID, o.Seq, o.Fills = schemas.U64(did.Order), s.side.ClientOrderID, seq, []schemas.OutcomeFill{}
		switch {
		case did.Reason != core.NoReason:
			o.Status, o.Reason = core.Canceled.String(), did.Reason.String()
		case did.Kept:
			o.Status, o.RestingQty, o.ClientOrderID = core.Resting.String(), int64(did.Left), v.clientIDOf(u, did.Order)
		default:
			o.Status, o.RestingQty, o.QueueAhead = core.Resting.String(), int64(did.Left), schemas.Ptr(int64(did.Ahead))
		}
		s.out.Outcome = o
	}
}

// clientIDOf returns the client_order_id of an order, 0 if its row is not kept any more.
func (v *Venue) clientIDOf(u core.UserID, id core.OrderID) (client schemas.U64) {
	v.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if o := w.Order(u, id); o != nil {
			client = schemas.U64(o.ClientID)
		}
	})
	return client
}
