package schemas

import "duplex/core"

// PlaceOrder is the body of `POST /v1/portfolio/orders`, an item of a batch, and the body
// of a preview (docs/rules/orders.md#fields).
type PlaceOrder struct {
	ClientOrderID U64    `json:"client_order_id" pattern:"^[0-9]+$" nonzero:"true" missing:"client_order_id_required" fault:"client_order_id_required" doc:"Digits, not 0; used once per account" example:"1001"`
	MarketID      Int    `json:"market_id" minimum:"0" maximum:"4294967295" doc:"Market slot" example:"1"`
	Side          string `json:"side" enum:"buy,sell"`
	Outcome       string `json:"outcome" enum:"yes,no"`
	Type          string `json:"type,omitzero" enum:"limit,market" doc:"Default limit"`
	Tick          *Int   `json:"tick,omitempty" minimum:"1" maximum:"9999" fault:"bad_price_tick" exact:"true" doc:"Limit: price in pips (4700 = 47 cents), 100-390 by 10, 400-9600 by 100, 9610-9990 by 10; required" example:"4700"`
	WorstTick     *Int   `json:"worst_tick,omitempty" minimum:"1" maximum:"9999" exact:"true" doc:"Market: worst price to accept, pips"`
	Qty           Int    `json:"qty" minimum:"1" maximum:"1000000" fault:"bad_qty" doc:"Contracts" example:"10"`
	TIF           string `json:"tif,omitzero" enum:"gtc,gtt,ioc,fok" doc:"Limit; default gtc"`
	ExpiryTs      *U64   `json:"expiry_ts,omitempty" pattern:"^[0-9]+$" doc:"gtt: Unix ns; required"`
	NotAfterTs    U64    `json:"not_after_ts,omitzero" pattern:"^[0-9]+$" doc:"Unix ns: later, too_late"`
	MaxCost       U64    `json:"max_cost,omitzero" pattern:"^[0-9]+$" exact:"true" doc:"Market buy: most pips to spend with fees; required"`
	GroupID       Int    `json:"group_id,omitzero" minimum:"0" maximum:"4294967295" doc:"Group for cancel-all"`
	PostOnly      bool   `json:"post_only,omitzero" doc:"Cancel rather than take"`
	ReduceOnly    bool   `json:"reduce_only,omitzero" doc:"Only close what is held"`
	CancelOnPause bool   `json:"cancel_on_pause,omitzero" doc:"Cancel at a freeze or pause"`
	StpMaker      bool   `json:"stp_maker,omitzero" doc:"At a self-trade cancel the resting one"`
	Generation    Int    `json:"generation,omitzero" minimum:"1" maximum:"4294967295" tool:"required" doc:"Round of the slot"`

	// Fault is a fault that decoding found and the core records: bad_qty,
	// bad_price_tick or client_order_id_required. The other fields are valid, and the
	// core keeps the order as a rejected row.
	Fault core.Reject `json:"-"`
}

// Limits of orders (docs/rules/orders.md#fields, docs/rules/limits.md#batch-size).
const (
	QtyMax       = 1_000_000
	TickMin      = 1
	TickMax      = 9999
	U32Max       = 1<<32 - 1
	BatchCap     = 20
	DeadmanMinMs = 1000  // ms
	DeadmanMaxMs = 60000 // ms
)

// IsMarket reports whether o is a market order.
func (o *PlaceOrder) IsMarket() bool { return o.Type == "market" }

// EffectiveTIF returns the time in force or its default, which is ioc for a market order
// and gtc for a limit order (docs/rules/orders.md#time-in-force).
func (o *PlaceOrder) EffectiveTIF() string {
	switch {
	case o.IsMarket():
		return "ioc"
	case o.TIF == "":
		return "gtc"
	default:
		return o.TIF
	}
}

// LimitTick returns the tick of a limit order, or the worst_tick of a market order or
// its default (docs/rules/orders.md#market-orders). It is 0 for a limit order without a
// tick.
func (o *PlaceOrder) LimitTick() Int {
	switch {
	case !o.IsMarket() && o.Tick != nil:
		return *o.Tick
	case !o.IsMarket():
		return 0
	case o.WorstTick != nil:
		return *o.WorstTick
	case o.Side == "buy":
		return TickMax
	default:
		return TickMin
	}
}

// Check applies the rules that involve several fields (docs/rules/orders.md#types). An
// explicit default is allowed, except that a market order has no tif.
func (o *PlaceOrder) Check() *Fault {
	if o.IsMarket() {
		return o.checkMarket()
	}
	return o.checkLimit()
}

func (o *PlaceOrder) checkMarket() *Fault {
	switch {
	case o.Tick != nil:
		return schemaViolation("tick", "a market order has no tick: bound it by worst_tick")
	case o.TIF != "":
		return schemaViolation("tif", "a market order is ioc: leave tif out")
	case o.ExpiryTs != nil && *o.ExpiryTs != 0:
		return schemaViolation("expiry_ts", "a market order does not rest: leave expiry_ts out")
	case o.PostOnly:
		return schemaViolation("post_only", "a market order takes: it cannot be post_only")
	case o.Side == "buy" && o.MaxCost == 0:
		return schemaViolation("max_cost", "over 0 for a market buy")
	}
	return o.checkSell()
}

func (o *PlaceOrder) checkLimit() *Fault {
	switch tif := o.EffectiveTIF(); {
	case o.Tick == nil:
		return schemaViolation("tick", "required for a limit order")
	case o.WorstTick != nil:
		return schemaViolation("worst_tick", "for market orders alone: a limit has tick")
	case tif == "gtt" && o.ExpiryTs == nil:
		return schemaViolation("expiry_ts", "required for gtt")
	case tif != "gtt" && o.ExpiryTs != nil && *o.ExpiryTs != 0:
		return schemaViolation("expiry_ts", "for tif gtt alone")
	case o.PostOnly && (tif == "ioc" || tif == "fok"):
		return schemaViolation("post_only", "only for an order that may rest: gtc or gtt")
	}
	return o.checkSell()
}

func (o *PlaceOrder) checkSell() *Fault {
	if o.Side == "sell" && o.MaxCost != 0 {
		return schemaViolation("max_cost", "for buys alone")
	}
	return nil
}

// setReject sets the reject that decoding found.
func (o *PlaceOrder) setReject(r core.Reject) { o.Fault = r }

// validFast reports whether o, decoded by the fast decoder, is valid. False is not final:
// a zero value may be an absent field, which only the general decoder can tell.
func (o *PlaceOrder) validFast(tool bool) bool {
	return (o.Generation > 0 || !tool) && o.ClientOrderID != 0 && o.MarketID > 0 && o.MarketID <= U32Max && o.Qty > 0 && o.Qty <= QtyMax &&
		(o.Side == "buy" || o.Side == "sell") && (o.Outcome == "yes" || o.Outcome == "no") &&
		(o.Type == "" || o.Type == "limit" || o.Type == "market") &&
		(o.TIF == "" || o.TIF == "gtc" || o.TIF == "gtt" || o.TIF == "ioc" || o.TIF == "fok") &&
		validTick(o.Tick) && validTick(o.WorstTick) &&
		o.GroupID >= 0 && o.GroupID <= U32Max && o.Generation >= 0 && o.Generation <= U32Max &&
		(!tool || o.checkArguments() == nil) && o.Check() == nil
}

func validTick(t *Int) bool { return t == nil || (*t >= TickMin && *t <= TickMax) }

// CancelAll is the query of `DELETE /v1/portfolio/orders` (docs/rules/orders.md#cancel-all).
type CancelAll struct {
	MarketID Int `json:"market_id,omitzero" in:"query" minimum:"0" maximum:"4294967295" doc:"0: all"`
	GroupID  Int `json:"group_id,omitzero" in:"query" minimum:"0" maximum:"4294967295" doc:"0: all"`
}

// CancelOrder names the order of `DELETE /v1/portfolio/orders/{order_id}`.
type CancelOrder struct {
	OrderID U64 `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
}

// CancelByClientOrderID names the order of `DELETE /v1/portfolio/orders/by-client-order-id/{client_order_id}`
// (docs/rules/orders.md#cancel-by-client-order-id).
type CancelByClientOrderID struct {
	ClientOrderID U64 `json:"client_order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
}

// CancelOneOrder holds the arguments of the tool cancel_order, which has both routes. It has exactly one
// of its fields.
type CancelOneOrder struct {
	OrderID       *U64 `json:"order_id,omitempty" pattern:"^[0-9]+$"`
	ClientOrderID *U64 `json:"client_order_id,omitempty" pattern:"^[0-9]+$" doc:"Instead of order_id"`
}

// Check requires exactly one of order_id and client_order_id.
func (c *CancelOneOrder) Check() *Fault {
	if (c.OrderID == nil) == (c.ClientOrderID == nil) {
		return schemaViolation("order_id", "exactly one of order_id and client_order_id")
	}
	return nil
}

// DecreaseOrder is `POST /v1/portfolio/orders/{order_id}/decrease`. It has exactly one of
// ReduceBy and ReduceTo, in contracts of the remaining quantity
// (docs/rules/orders.md#decrease).
type DecreaseOrder struct {
	OrderID  U64  `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
	ReduceBy *Int `json:"reduce_by,omitempty" minimum:"1" fault:"invalid_decrease" doc:"Contracts to take off; give this or reduce_to"`
	ReduceTo *Int `json:"reduce_to,omitempty" minimum:"0" fault:"invalid_decrease" doc:"Contracts to remain; 0 cancels. Safe to repeat" example:"5"`
	RequestIdentity
}

// RequestIdentity is the account's own id of a request that it makes once (docs/rules/orders.md#client-request-id).
type RequestIdentity struct {
	ClientRequestID U64 `json:"client_request_id,omitzero" pattern:"^[0-9]+$" nonzero:"true" doc:"Digits; used once"`
}

// Check requires exactly one of reduce_by and reduce_to.
func (d *DecreaseOrder) Check() *Fault {
	if (d.ReduceBy == nil) == (d.ReduceTo == nil) {
		return schemaViolation("reduce_by", "exactly one of reduce_by and reduce_to")
	}
	return nil
}

// ReplaceOrder is `POST /v1/portfolio/orders/{order_id}/replace`: a limit order in the stead of a
// resting one, in the same market, side and outcome. What is absent is that of the old order
// (docs/rules/orders.md#replace).
type ReplaceOrder struct {
	OrderID       U64    `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
	ClientOrderID U64    `json:"client_order_id" pattern:"^[0-9]+$" nonzero:"true" missing:"client_order_id_required" fault:"client_order_id_required" doc:"Of the new order; never used before" example:"1002"`
	Type          string `json:"type,omitzero" enum:"limit" doc:"Default limit"`
	Tick          *Int   `json:"tick,omitempty" minimum:"1" maximum:"9999" fault:"bad_price_tick" exact:"true" doc:"Pips" example:"4800"`
	Qty           *Int   `json:"qty,omitempty" minimum:"1" maximum:"1000000" fault:"bad_qty" doc:"Contracts; default: what remains" example:"10"`
	KeepTotal     bool   `json:"keep_total,omitzero" doc:"qty counts what has filled"`
	TIF           string `json:"tif,omitzero" enum:"gtc,gtt,ioc,fok"`
	ExpiryTs      *U64   `json:"expiry_ts,omitempty" pattern:"^[0-9]+$" doc:"gtt: Unix ns"`
	NotAfterTs    U64    `json:"not_after_ts,omitzero" pattern:"^[0-9]+$" doc:"Unix ns: later, too_late"`
	MaxCost       *U64   `json:"max_cost,omitempty" pattern:"^[0-9]+$" exact:"true" doc:"Buy: most pips to spend with fees"`
	GroupID       *Int   `json:"group_id,omitempty" minimum:"0" maximum:"4294967295" doc:"Group for cancel-all"`
	PostOnly      *bool  `json:"post_only,omitempty" doc:"Cancel rather than take"`
	ReduceOnly    *bool  `json:"reduce_only,omitempty" doc:"Only close what is held"`
	CancelOnPause *bool  `json:"cancel_on_pause,omitempty" doc:"Cancel at a freeze or pause"`
	StpMaker      *bool  `json:"stp_maker,omitempty" doc:"At a self-trade cancel the resting one"`

	// Fault is as in PlaceOrder.
	Fault core.Reject `json:"-"`
}

// Check applies the rules that involve several fields and not the old order.
func (r *ReplaceOrder) Check() *Fault {
	if r.TIF == "" || r.TIF == "gtt" {
		return nil
	}
	return r.Placement(&PlaceOrder{Tick: new(Int)}).checkLimit()
}

// setReject sets the reject that decoding found.
func (r *ReplaceOrder) setReject(x core.Reject) { r.Fault = x }

// Placement returns the new order that replaces old. Of the members of old it uses those that a limit order
// has; its quantity is that of a request without one.
func (r *ReplaceOrder) Placement(old *PlaceOrder) *PlaceOrder {
	p := *old
	p.ClientOrderID, p.Type, p.Fault, p.NotAfterTs = r.ClientOrderID, r.Type, r.Fault, r.NotAfterTs
	set(&p.Qty, r.Qty)
	set(&p.MaxCost, r.MaxCost)
	set(&p.GroupID, r.GroupID)
	if r.Tick != nil {
		p.Tick = r.Tick
	}
	if r.ExpiryTs != nil {
		p.ExpiryTs = r.ExpiryTs
	}
	switch r.TIF {
	case "":
	case "gtt":
		p.TIF = r.TIF
	case "ioc", "fok":
		p.TIF, p.ExpiryTs, p.PostOnly = r.TIF, r.ExpiryTs, false
	default:
		p.TIF, p.ExpiryTs = r.TIF, r.ExpiryTs
	}
	set(&p.PostOnly, r.PostOnly)
	set(&p.ReduceOnly, r.ReduceOnly)
	set(&p.CancelOnPause, r.CancelOnPause)
	set(&p.StpMaker, r.StpMaker)
	return &p
}

// set sets a member that is not absent.
func set[T any](to, v *T) {
	if v != nil {
		*to = *v
	}
}

// ListOrders is the query of `GET /v1/portfolio/orders`.
type ListOrders struct {
	Status        string `json:"status,omitempty" in:"query" list:"resting,partially_filled,executed,canceled,expired,rejected" doc:"Comma-separated: resting, partially_filled, executed, canceled, expired, rejected"`
	OrderID       *U64   `json:"order_id,omitempty" in:"query" pattern:"^[0-9]+$"`
	ClientOrderID *U64   `json:"client_order_id,omitempty" in:"query" pattern:"^[0-9]+$"`
	MarketID      *Int   `json:"market_id,omitempty" in:"query" minimum:"0" maximum:"4294967295"`
	Side          string `json:"side,omitzero" in:"query" enum:"buy,sell"`
	GroupID       Int    `json:"group_id,omitzero" in:"query" minimum:"0" maximum:"4294967295" doc:"0: all"`
	TimeRange
	Page
	MinSeqQuery
}

// GetOrder names the order of `GET /v1/portfolio/orders/{order_id}`.
type GetOrder struct {
	OrderID U64 `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
	MinSeqQuery
}

// Order is a row of an order list, and the response to a read of one order.
type Order struct {
	OrderID       *U64    `json:"order_id" pattern:"^[0-9]+$" doc:"Null for a rejected order"`
	ClientOrderID U64     `json:"client_order_id" pattern:"^[0-9]+$"`
	MarketID      uint32  `json:"market_id"`
	Generation    uint32  `json:"generation"`
	Side          string  `json:"side" enum:"buy,sell"`
	Outcome       string  `json:"outcome" enum:"yes,no"`
	Type          string  `json:"type" enum:"limit,market"`
	Tick          int64   `json:"tick" doc:"Pips in the order's own outcome; a market order's worst_tick"`
	Qty           int64   `json:"qty"`
	TIF           string  `json:"tif" enum:"gtc,gtt,ioc,fok"`
	ExpiryTs      U64     `json:"expiry_ts" pattern:"^[0-9]+$" doc:"ns; 0 when not gtt"`
	MaxCost       U64     `json:"max_cost" pattern:"^[0-9]+$" doc:"Pips; 0 when unset"`
	GroupID       uint32  `json:"group_id"`
	Flags         uint8   `json:"flags" doc:"bit0 post_only, bit1 reduce_only, bit2 cancel_on_pause, bit3 stp_maker"`
	Status        string  `json:"status" enum:"resting,partially_filled,executed,canceled,expired,rejected"`
	Reason        string  `json:"reason" values:"OrderReason" doc:"Why it was canceled or rejected; empty otherwise"`
	FilledQty     int64   `json:"filled_qty"`
	RemainingQty  int64   `json:"remaining_qty"`
	CreatedSeq    U64     `json:"created_seq" pattern:"^[0-9]+$"`
	CreatedTs     U64     `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
	LastUpdateSeq U64     `json:"last_update_seq" pattern:"^[0-9]+$"`
	APIKey        *string `json:"api_key" doc:"Null when unknown"`
}

// OrderRead is one order with its as_of_seq.
type OrderRead struct {
	Order
	QueueAhead *int64 `json:"queue_ahead,omitempty" doc:"Contracts ahead of it at its price; present while it rests"`
	AsOf
}

// OrderList is a page of orders, newest first by created_seq.
type OrderList struct {
	Orders []Order `json:"orders" nullable:"false"`
	PageEnd

	encoded []byte // all members before AsOf; set by PreEncode
}

// OutcomeFill is one fill of a placement's outcome.
type OutcomeFill struct {
	TickYes int64  `json:"tick_yes" minimum:"1" maximum:"9999" doc:"Pips"`
	Qty     int64  `json:"qty"`
	Path    string `json:"path" enum:"direct,mint,merge"`
}

// Outcome is the result of a placement (docs/rules/orders.md#outcomes). Reason is present
// if and only if Status is canceled.
type Outcome struct {
	OrderID       U64           `json:"order_id" pattern:"^[0-9]+$"`
	ClientOrderID U64           `json:"client_order_id" pattern:"^[0-9]+$"`
	Status        string        `json:"status" enum:"resting,partially_filled,executed,canceled"`
	Seq           U64           `json:"seq" pattern:"^[0-9]+$"`
	FilledQty     int64         `json:"filled_qty"`
	RestingQty    int64         `json:"resting_qty"`
	Fills         []OutcomeFill `json:"fills" nullable:"false"`
	Fee           U64           `json:"fee" pattern:"^[0-9]+$" doc:"Pips; of these fills"`
	FeeUSD        USD           `json:"fee_usd" doc:"Dollars"`
	WorstTick     int64         `json:"worst_tick,omitzero" doc:"Pips; present when a price collar chose it"`
	Reason        string        `json:"reason,omitzero" values:"CancelReason" doc:"Present when canceled"`
	QueueAhead    *int64        `json:"queue_ahead,omitempty" doc:"Contracts ahead at its price; present when it rests"`
}

// Replacement is the outcome of a replace: that of the new order, and what became of the old one.
type Replacement struct {
	Outcome
	Replaced Replaced `json:"replaced"`
}

// Replaced is the order that a replace canceled.
type Replaced struct {
	OrderID     U64   `json:"order_id" pattern:"^[0-9]+$"`
	CanceledQty int64 `json:"canceled_qty" doc:"Contracts that were left"`
}

// Canceled is the response of a cancel.
type Canceled struct {
	Status      string `json:"status" enum:"canceled"`
	CanceledQty int64  `json:"canceled_qty"`
	Seq         U64    `json:"seq" pattern:"^[0-9]+$"`
}

// Sequenced is the response of a cancel-all: the seq of the command.
type Sequenced struct {
	Seq U64 `json:"seq" pattern:"^[0-9]+$"`
}

// Decreased is the response of a decrease.
type Decreased struct {
	OrderID      U64    `json:"order_id" pattern:"^[0-9]+$"`
	RemainingQty int64  `json:"remaining_qty"`
	Status       string `json:"status" enum:"resting,partially_filled,canceled"`
	Seq          U64    `json:"seq" pattern:"^[0-9]+$"`
}

// Preview is the result that a placement would have now (docs/rules/orders.md#preview).
type Preview struct {
	Status        string        `json:"status" enum:"resting,partially_filled,executed,canceled"`
	Fills         []OutcomeFill `json:"fills" nullable:"false"`
	AvgTickYes    int64         `json:"avg_tick_yes" doc:"Pips; 0 without a fill"`
	Fee           U64           `json:"fee" pattern:"^[0-9]+$" doc:"Pips"`
	Reserved      U64           `json:"reserved" pattern:"^[0-9]+$" doc:"Pips"`
	WorstLoss     U64           `json:"worst_loss" pattern:"^[0-9]+$" doc:"Pips"`
	BestPayout    U64           `json:"best_payout" pattern:"^[0-9]+$" doc:"Pips"`
	CashAfter     U64           `json:"cash_after" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	FeeUSD        USD           `json:"fee_usd" doc:"Dollars"`
	ReservedUSD   USD           `json:"reserved_usd" doc:"Dollars"`
	WorstLossUSD  USD           `json:"worst_loss_usd" doc:"Dollars"`
	BestPayoutUSD USD           `json:"best_payout_usd" doc:"Dollars"`
	CashAfterUSD  USD           `json:"cash_after_usd" doc:"Dollars"`
	WorstTick     int64         `json:"worst_tick,omitzero" doc:"Pips; present when a price collar chose it"`
	Reason        string        `json:"reason,omitzero" values:"CancelReason" doc:"Present when canceled"`
	QueueAhead    *int64        `json:"queue_ahead,omitempty" doc:"Contracts ahead at its price; present when it would rest"`
	NeedsApproval bool          `json:"needs_approval,omitzero" doc:"It would wait for the owner; the rest is what it would do if approved now"`
	AsOf
}
