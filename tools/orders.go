package tools

import (
	"context"
	"iter"
	"slices"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/history"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
)

var placeErrors = []string{
	"unknown_market", "insufficient_balance", "insufficient_position", "duplicate_client_order_id", "bad_price_tick", "bad_qty", "per_market_limit",
	"market_not_trading", "market_paused", "client_order_id_required", "reduce_only_violation", "user_suspended", "open_order_limit", "bad_expiry",
	"stale_generation", "too_late", "group_tripped", "mandate_violation", "approval_limit", "shed", "draining", "sequencing_timeout",
}

var writeErrors = []string{"shed", "draining", "sequencing_timeout"}

var PlaceOrder = &Op[schemas.PlaceOrder, schemas.Placed]{
	Spec: Spec{
		Name: "place_order", Title: "Place an order", Method: "POST", Path: "/v1/portfolio/orders", Scope: core.ScopeTrade, Bucket: Write, PlacesOrders: true, SuccessStatus: 201, Errors: placeErrors, Idempotent: true,
		Doc: "Place one order, priced in pips of its own outcome. To bet against YES, buy NO. Use a new client_order_id each time; after a lost answer send the same again.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.PlaceOrder) (schemas.Placed, error) {
		c := placeCommand(caller, in)
		if v.unfunded(caller.User) {
			return schemas.Placed{}, v.unfundedRejection(in, c)
		}
		r, err := v.submit(ctx, &caller, c)
		if err != nil {
			return schemas.Placed{}, err
		}
		return v.placed(in, r)
	},
}

var PreviewOrder = &Op[schemas.PlaceOrder, schemas.Preview]{
	Spec: Spec{
		Name: "preview_order", Title: "Preview an order", Method: "POST", Path: "/v1/portfolio/orders/preview", Scope: core.ScopeRead, Errors: placeErrors[:len(placeErrors)-3], Idempotent: true,
		Doc: "What place_order with these arguments would do now. Changes nothing; use it when unsure.",
	},
	Do: func(_ context.Context, v *Venue, caller Caller, in *schemas.PlaceOrder) (out schemas.Preview, err error) {
		c := placeCommand(caller, in)
		if v.unfunded(caller.User) {
			return out, v.unfundedRejection(in, c)
		}
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			p, r := m.Preview(c, v.Config.Now())
			if r != core.OK {
				err = rejection(in, r, p.Violation)
				return
			}
			out = preview(c, &p)
			out.NeedsApproval = p.Violation != nil
			out.AsOf = asOf(m)
		})
		return out, err
	},
}

// preview converts a preview (docs/rules/orders.md#preview). The worst loss of a buy is
// its cost and its reservation, its best payout 10000 pips a contract. A sell costs no
// cash; its best payout is its proceeds, at the order's own tick for the part that rests.
func preview(c *core.PlaceOrder, p *venue.Preview) schemas.Preview {
	collared := int64(0)
	if p.Tick != c.Tick {
		collared = int64(p.Tick)
	}
	out := schemas.Preview{WorstTick: collared, Status: p.Status.String(), Reason: p.Reason.String(), Fills: []schemas.OutcomeFill{}, Fee: pips(p.Fee), Reserved: pips(p.Reserved), CashAfter: pips(p.Cash)}
	var sum int64
	for _, g := range p.Fills {
		out.Fills = append(out.Fills, schemas.OutcomeFill{TickYes: int64(g.TickYes), Qty: int64(g.Qty), Path: g.Path.String()})
		sum += int64(g.TickYes) * int64(g.Qty)
	}
	if p.Filled > 0 {
		out.AvgTickYes = sum / int64(p.Filled)
	}
	if c.Side == core.Buy {
		out.WorstLoss = pips(p.Spent + p.Fee + p.Reserved)
		out.BestPayout = pips(core.Pips(p.Filled+p.Resting) * core.Payout)
	} else {
		out.BestPayout = pips(p.Earned - p.Fee + core.Pips(p.Resting)*core.Pips(c.Tick))
	}
	if p.Resting > 0 {
		out.QueueAhead = schemas.Ptr(int64(p.Ahead))
	}
	out.FeeUSD, out.ReservedUSD, out.CashAfterUSD = schemas.USD(out.Fee), schemas.USD(out.Reserved), schemas.USD(out.CashAfter)
	out.WorstLossUSD, out.BestPayoutUSD = schemas.USD(out.WorstLoss), schemas.USD(out.BestPayout)
	return out
}

var ListOrders = &Op[schemas.ListOrders, schemas.OrderList]{
	Spec: Spec{
		Name: "list_orders", Title: "Your orders", Method: "GET", Path: "/v1/portfolio/orders", Scope: core.ScopeRead, Errors: []string{"bad_cursor", "history_behind", "sequencing_timeout"},
		Doc: "Your orders, newest first, rejected ones too. By client_order_id after a lost answer.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.ListOrders) (out schemas.OrderList, err error) {
		var q orderListKey
		var repeat bool
		var cached *schemas.OrderList
		ids := make([]schemas.U64, in.Size()) // one allocation for all rows
		span := spanOf(in.TimeRange)
		l := deepList[*view.Order, schemas.Order]{
			memory: func(m *venue.Venue, w *view.View) (func(uint64) iter.Seq2[uint64, *view.Order], view.Released, error) {
				q = orderListKeyOf(in, w.Changes(caller.User))
				if cached, repeat = v.caches.pages.get(caller.User, q); cached != nil {
					return func(uint64) iter.Seq2[uint64, *view.Order] { return func(func(uint64, *view.Order) bool) {} }, view.Released{}, nil
				}
				released := w.OrdersReleased(caller.User)
				if onlyLive(in.Status) || !anyReleased(m, w, caller.User, in, released) {
					released = view.Released{}
				}
				return func(from uint64) iter.Seq2[uint64, *view.Order] {
					return WithPositions(w.Orders(caller.User, from), createdSeq)
				}, released, nil
			},
			keep: func(o *view.Order) bool {
				return matchesFilter(in.Status, o.Status.String()) && matchesMarket(in.MarketID, o.Market) &&
					span.Has(o.CreatedTs) && matchesFilter(in.Side, o.Side.String()) && (in.GroupID == 0 || in.GroupID == schemas.Int(o.Group)) &&
					(in.OrderID == nil || core.OrderID(*in.OrderID) == o.ID && o.ID != 0) && (in.ClientOrderID == nil || uint64(*in.ClientOrderID) == o.ClientID)
			},
			past: func(o *view.Order) bool { return o.CreatedTs < span.From },
			show: func(o *view.Order) schemas.Order {
				if len(ids) == 0 { // rows of the mirror in the place of some of memory
					return OrderOf(o)
				}
				id := &ids[0]
				ids = ids[1:]
				return orderOf(o, id)
			},
			at: createdSeq,
			mirror: func(ctx context.Context, below uint64, limit int) ([]*view.Order, error) {
				rows, err := v.History.Orders(ctx, caller.User, below, limit, history.OrderFilter{
					Market: marketFilter(in.MarketID), Order: (*core.OrderID)(in.OrderID), ClientID: (*uint64)(in.ClientOrderID), Statuses: namesOf(in.Status),
					Span: span, Side: in.Side, Group: uint32(in.GroupID),
				})
				return pointers(rows), err
			},
		}
		out.Orders, out.PageEnd, err = l.page(ctx, v, caller, "orders", in)
		if cached != nil {
			asOf := out.AsOf
			out = *cached
			out.AsOf = asOf
			return out, err
		}
		if repeat && !l.beyond && err == nil && len(out.Orders) <= maxCachedRows {
			out.PreEncode()
			v.caches.pages.put(caller.User, q, out)
		}
		return out, err
	},
}

// anyReleased reports whether memory can have released an order with the ids that a request names. An id
// is that of one order at most, except the client_order_id 0 of rejected ones.
func anyReleased(m *venue.Venue, w *view.View, u core.UserID, in *schemas.ListOrders, released view.Released) bool {
	if id := in.OrderID; id != nil && (uint64(*id) > released.Newest || w.Order(u, core.OrderID(*id)) != nil) {
		return false
	}
	id := in.ClientOrderID
	return id == nil || *id == 0 || m.UsedID(u, uint64(*id)) && w.ByClientID(u, uint64(*id)) == nil
}

// onlyLive reports whether a filter of statuses admits live orders alone, all of which are in memory.
func onlyLive(filter string) bool {
	names := namesOf(filter)
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return n != core.Resting.String() && n != core.PartiallyFilled.String() })
}

// createdSeq is the position of a cursor.
func createdSeq(o *view.Order) uint64 { return o.CreatedSeq }

var GetOrder = &Op[schemas.GetOrder, schemas.OrderRead]{
	Spec: Spec{
		Name: "get_order", Title: "Read an order", Method: "GET", Path: "/v1/portfolio/orders/{order_id}", Scope: core.ScopeRead, Errors: []string{"unknown_order", "history_behind", "sequencing_timeout"},
		Doc: "One order in any status. Without its order_id use list_orders.",
	},
	Do: func(ctx context.Context, v *Venue, caller Caller, in *schemas.GetOrder) (out schemas.OrderRead, err error) {
		var released view.Released
		var o *view.Order
		v.Engine.Read(func(m *venue.Venue, w *view.View) {
			if o = w.Order(caller.User, core.OrderID(in.OrderID)); o != nil {
				out.Order = OrderOf(o)
			}
			if ahead, rests := m.QueueAhead(core.OrderID(in.OrderID)); rests && o != nil {
				out.QueueAhead = schemas.Ptr(int64(ahead))
			}
			out.AsOf, released = asOf(m), w.OrdersReleased(caller.User)
		})
		if o == nil && released.Newest >= uint64(in.OrderID) {
			err = v.readHistory(caller, v.mirrorHas(released.Seq), func() (err error) {
				o, err = v.History.Order(ctx, caller.User, core.OrderID(in.OrderID))
				return err
			})
			if err == nil && o != nil {
				out.Order = OrderOf(o)
			}
		}
		if err == nil && o == nil {
			err = core.UnknownOrder
		}
		return out, err
	},
}

// OrderOf converts an order.
func OrderOf(o *view.Order) schemas.Order { return orderOf(o, new(schemas.U64)) }

// orderOf is OrderOf with the memory for the order's id.
func orderOf(o *view.Order, id *schemas.U64) schemas.Order {
	out := schemas.Order{
		ClientOrderID: schemas.U64(o.ClientID), MarketID: uint32(o.Market), Generation: o.Generation, Side: o.Side.String(), Outcome: o.Outcome.String(),
		Type: o.Type.String(), Tick: int64(o.Tick), Qty: int64(o.Qty), TIF: o.TIF.String(), ExpiryTs: ns(o.Expiry), MaxCost: schemas.U64(o.MaxCost),
		GroupID: o.Group, Flags: uint8(o.Flags), Status: o.Status.String(), Reason: o.Reason.String(), FilledQty: int64(o.Filled), RemainingQty: int64(o.Left),
		CreatedSeq: schemas.U64(o.CreatedSeq), CreatedTs: ns(o.CreatedTs), LastUpdateSeq: schemas.U64(o.UpdateSeq), APIKey: o.APIKey,
	}
	if o.ID != 0 {
		*id = schemas.U64(o.ID)
		out.OrderID = id
	}
	if o.Status == core.Rejected {
		out.Reason = o.Reject.String()
	}
	return out
}

// rejection returns the error of a rejected placement: its violation if it has one, or the fault of one of its fields.
func rejection(in *schemas.PlaceOrder, r core.Reject, v *core.Violation) error {
	if v != nil {
		return v
	}
	if f := in.FaultOfReject(r); f != nil {
		return f
	}
	return r
}

// violationOf returns the violation of a rejected placement, or nil.
func violationOf(events []core.Event) *core.Violation {
	for _, e := range events {
		if p, ok := e.(*core.OrderPlaced); ok {
			return p.Violation
		}
	}
	return nil
}

// placeCommand returns the command of an order. A tick outside the range of core.Tick
// saturates, so it stays illegal.
func placeCommand(caller Caller, in *schemas.PlaceOrder) *core.PlaceOrder {
	c := &core.PlaceOrder{
		User: caller.User, Key: caller.KeyNumber(), ClientID: uint64(in.ClientOrderID), Market: marketID(in.MarketID), Generation: uint32(in.Generation),
		Qty: core.Qty(in.Qty), Tick: core.Tick(in.LimitTick().Clamp32()), MaxCost: uint64(in.MaxCost), Group: uint32(in.GroupID), Fault: in.Fault,
		NotAfter: in.NotAfterTs.Int64(),
	}
	if in.Side == "sell" {
		c.Side = core.Sell
	}
	if in.Outcome == "no" {
		c.Outcome = core.No
	}
	if in.IsMarket() {
		c.Type, c.Unpriced = core.Market, in.WorstTick == nil
	}
	switch in.EffectiveTIF() {
	case "gtt":
		c.TIF = core.GTT
		c.Expiry = in.ExpiryTs.Int64()
	case "ioc":
		c.TIF = core.IOC
	case "fok":
		c.TIF = core.FOK
	}
	c.Flags = flagIf(in.PostOnly, core.PostOnly) | flagIf(in.ReduceOnly, core.ReduceOnly) | flagIf(in.CancelOnPause, core.CancelOnPause) | flagIf(in.StpMaker, core.StpMaker)
	return c
}

// Differs returns the fields in which a placement differs from an order. A placement
// without a generation agrees with any. The generation of a rejected order is not
// compared, because its row does not keep the one that was requested. A market order of an
// agent that names no worst_tick agrees with any, because a price collar may have chosen the
// one of the row.
func Differs(in *schemas.PlaceOrder, o *view.Order, agent bool) (fields []string) {
	c := placeCommand(Caller{}, in)
	tick := "tick"
	if c.Type == core.Market {
		tick = "worst_tick"
	}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"market_id", c.Market == o.Market},
		{"side", c.Side == o.Side},
		{"outcome", c.Outcome == o.Outcome},
		{"type", c.Type == o.Type},
		{tick, c.Type != o.Type || c.Unpriced && agent || c.Tick == o.Tick},
		{"qty", c.Qty == o.Qty},
		{"tif", c.Type != o.Type || c.TIF == o.TIF},
		{"expiry_ts", c.Expiry == o.Expiry},
		{"max_cost", c.MaxCost == o.MaxCost},
		{"group_id", c.Group == o.Group},
		{"post_only", c.Flags.Has(core.PostOnly) == o.Flags.Has(core.PostOnly)},
		{"reduce_only", c.Flags.Has(core.ReduceOnly) == o.Flags.Has(core.ReduceOnly)},
		{"cancel_on_pause", c.Flags.Has(core.CancelOnPause) == o.Flags.Has(core.CancelOnPause)},
		{"stp_maker", c.Flags.Has(core.StpMaker) == o.Flags.Has(core.StpMaker)},
		{"generation", c.Generation == 0 || c.Generation == o.Generation || o.Status == core.Rejected},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

func flagIf(on bool, f core.Flags) core.Flags {
	if on {
		return f
	}
	return 0
}

// outcome returns the outcome of a placement from the events of its command
// (docs/rules/orders.md#outcomes).
func outcome(in *schemas.PlaceOrder, r engine.Receipt) (schemas.Outcome, error) {
	if r.Reject != core.OK {
		return schemas.Outcome{}, rejection(in, r.Reject, violationOf(r.Events))
	}
	id := core.OrderID(r.Stamp.Seq)
	out := schemas.Outcome{OrderID: schemas.U64(id), ClientOrderID: in.ClientOrderID, Seq: schemas.U64(r.Stamp.Seq), Fills: []schemas.OutcomeFill{}}
	var left, total core.Qty
	var own core.LevelChanged // the level of the order
	for _, e := range r.Events {
		switch e := e.(type) {
		case *core.OrderPlaced:
			left = e.Place.Qty
			own.Market, own.Bid, own.Tick = e.Place.Market, core.IsBid(e.Place.Side, e.Place.Outcome), core.InYes(e.Place.Outcome, e.Tick)
			if e.Tick != e.Place.Tick {
				out.WorstTick = int64(e.Tick)
			}
		case *core.LevelChanged: // others may follow, of a group that the order trips
			if e.Market == own.Market && e.Bid == own.Bid && e.Tick == own.Tick {
				total = e.Qty
			}
		case *core.Filled:
			out.Fills = append(out.Fills, schemas.OutcomeFill{TickYes: int64(e.TickYes), Qty: int64(e.Qty), Path: e.Path.String()})
			out.FilledQty += int64(e.Qty)
			out.Fee += pips(e.TakerFee)
			left -= e.Qty
		case *core.OrderClosed:
			if e.Order == id {
				out.Status, out.Reason = e.Status.String(), e.Reason.String()
			}
		}
	}
	out.FeeUSD = schemas.USD(out.Fee)
	switch {
	case out.Status != "":
	case left == 0:
		out.Status = core.Executed.String()
	case out.FilledQty > 0:
		out.Status, out.RestingQty = core.PartiallyFilled.String(), int64(left)
	default:
		out.Status, out.RestingQty = core.Resting.String(), int64(left)
	}
	if out.RestingQty > 0 {
		out.QueueAhead = schemas.Ptr(int64(total - left))
	}
	return out, nil
}
