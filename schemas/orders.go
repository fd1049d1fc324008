package schemas

import "duplex/core"

// PlaceOrder is the body of `POST /v1/portfolio/orders`, one item of a batch, and
// the body of a preview (spec 4.1; contract core, Orders).
type PlaceOrder struct {
	ClientOrderID U64    `json:"client_order_id" pattern:"^[0-9]+$" nonzero:"true" missing:"client_order_id_required" fault:"client_order_id_required" doc:"Idempotency key, unique per account for good. Not 0." example:"1001"`
	MarketID      Int    `json:"market_id" minimum:"0" maximum:"4294967295" doc:"Market slot" example:"1"`
	Side          string `json:"side" enum:"buy,sell"`
	Outcome       string `json:"outcome" enum:"yes,no"`
	Type          string `json:"type,omitzero" enum:"limit,market" doc:"Default limit. A market order is ioc."`
	Tick          *Int   `json:"tick,omitempty" minimum:"1" maximum:"9999" fault:"bad_price_tick" doc:"Limit orders only, and required there: price in pips (4700 = 47 cents) of the order's own outcome, on the grid" example:"4700"`
	WorstTick     *Int   `json:"worst_tick,omitempty" minimum:"1" maximum:"9999" doc:"Market orders only: worst price in pips. Default 9999 for a buy, 1 for a sell"`
	Qty           Int    `json:"qty" minimum:"1" maximum:"1000000" fault:"bad_qty" doc:"Shares" example:"10"`
	TIF           string `json:"tif,omitzero" enum:"gtc,gtt,ioc,fok" doc:"Limit orders only. Default gtc"`
	ExpiryTs      *U64   `json:"expiry_ts,omitempty" pattern:"^[0-9]+$" doc:"gtt only, and required there: ns since the Unix epoch"`
	MaxCost       U64    `json:"max_cost,omitzero" pattern:"^[0-9]+$" doc:"Cap on cash out in pips, fees included. Required for market buys; buys only"`
	GroupID       Int    `json:"group_id,omitzero" minimum:"0" maximum:"4294967295" doc:"Group for cancel-all"`
	PostOnly      bool   `json:"post_only,omitzero" doc:"Cancel instead of taking; gtc and gtt only"`
	ReduceOnly    bool   `json:"reduce_only,omitzero" doc:"Never beyond what is held"`
	CancelOnPause bool   `json:"cancel_on_pause,omitzero" doc:"Cancel when the market freezes or pauses"`
	StpMaker      bool   `json:"stp_maker,omitzero" doc:"On a self-trade cancel the resting order, not this one"`
	Generation    Int    `json:"generation,omitzero" minimum:"0" maximum:"4294967295" doc:"Only for this life of the slot"`

	// Fault is what decoding found that the core answers for: bad_qty,
	// bad_price_tick or client_order_id_required. The rest of the order is sound,
	// and the core still records it as a row.
	Fault core.Reject `json:"-"`
}

// PreviewOrder is the body of `POST /v1/portfolio/orders/preview`.
type PreviewOrder = PlaceOrder

// Default values and limits of orders (contract core).
const (
	QtyMax      = 1_000_000
	TickMin     = 1
	TickMax     = 9999
	U32Max      = 1<<32 - 1
	BatchCap    = 20
	DeadmanLow  = 1000  // ms
	DeadmanHigh = 60000 // ms
)

// IsMarket tells a market order from a limit.
func (o *PlaceOrder) IsMarket() bool { return o.Type == "market" }

// InForce is the time in force with its default: ioc for a market order, else gtc.
func (o *PlaceOrder) InForce() string {
	switch {
	case o.IsMarket():
		return "ioc"
	case o.TIF == "":
		return "gtc"
	default:
		return o.TIF
	}
}

// Bound is the limit's tick, or a market order's worst_tick with its default
// (spec 1.3). It is 0 for a limit without a tick.
func (o *PlaceOrder) Bound() Int {
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

// Check holds the rules that join fields (contract core, Orders). Saying a default
// explicitly is fine, but a market order has no tif at all.
func (o *PlaceOrder) Check() *Fault {
	if o.IsMarket() {
		return o.checkMarket()
	}
	return o.checkLimit()
}

func (o *PlaceOrder) checkMarket() *Fault {
	switch {
	case o.Tick != nil:
		return violation("tick", "a market order has no tick: bound it by worst_tick")
	case o.TIF != "":
		return violation("tif", "a market order is ioc: leave tif out")
	case o.ExpiryTs != nil && *o.ExpiryTs != 0:
		return violation("expiry_ts", "a market order does not rest: leave expiry_ts out")
	case o.PostOnly:
		return violation("post_only", "a market order takes: it cannot be post_only")
	case o.Side == "buy" && o.MaxCost == 0:
		return violation("max_cost", "a market buy needs a max_cost over 0")
	}
	return o.checkSell()
}

func (o *PlaceOrder) checkLimit() *Fault {
	switch tif := o.InForce(); {
	case o.Tick == nil:
		return violation("tick", "a limit order needs a tick")
	case o.WorstTick != nil:
		return violation("worst_tick", "worst_tick is for market orders: a limit has tick")
	case tif == "gtt" && o.ExpiryTs == nil:
		return violation("expiry_ts", "gtt needs an expiry_ts")
	case tif != "gtt" && o.ExpiryTs != nil && *o.ExpiryTs != 0:
		return violation("expiry_ts", "expiry_ts is for tif gtt alone")
	case o.PostOnly && (tif == "ioc" || tif == "fok"):
		return violation("post_only", "post_only needs an order that may rest: gtc or gtt")
	}
	return o.checkSell()
}

func (o *PlaceOrder) checkSell() *Fault {
	if o.Side == "sell" && o.MaxCost != 0 {
		return violation("max_cost", "max_cost is for buys alone")
	}
	return nil
}

// carry takes the core reject that decoding found.
func (o *PlaceOrder) carry(r core.Reject) { o.Fault = r }

// quick tells that o, decoded in one go, has nothing to diagnose. False is no
// verdict: it may be an absent field, which a zero value does not show.
func (o *PlaceOrder) quick() bool {
	return o.ClientOrderID != 0 && o.MarketID > 0 && o.MarketID <= U32Max && o.Qty > 0 && o.Qty <= QtyMax &&
		(o.Side == "buy" || o.Side == "sell") && (o.Outcome == "yes" || o.Outcome == "no") &&
		(o.Type == "" || o.Type == "limit" || o.Type == "market") &&
		(o.TIF == "" || o.TIF == "gtc" || o.TIF == "gtt" || o.TIF == "ioc" || o.TIF == "fok") &&
		quickTick(o.Tick) && quickTick(o.WorstTick) &&
		o.GroupID >= 0 && o.GroupID <= U32Max && o.Generation >= 0 && o.Generation <= U32Max && o.Check() == nil
}

func quickTick(t *Int) bool { return t == nil || (*t >= TickMin && *t <= TickMax) }

// PlaceOrders is the body of `POST /v1/portfolio/orders/batch` (spec 4.2).
type PlaceOrders struct {
	Orders []PlaceOrder `json:"orders" nullable:"false" minItems:"1" maxItems:"20" doc:"Each is independent; partial success is normal"`
}

func (o *PlaceOrders) quick() bool {
	if len(o.Orders) < 1 || len(o.Orders) > BatchCap {
		return false
	}
	for i := range o.Orders {
		if !o.Orders[i].quick() {
			return false
		}
	}
	return true
}

// CancelOrders is the body of `DELETE /v1/portfolio/orders/batch` (spec 4.3).
type CancelOrders struct {
	OrderIDs []U64 `json:"order_ids" nullable:"false" maxItems:"20" pattern:"^[0-9]+$" example:"[\"324\",\"325\"]"`
}

func (c *CancelOrders) quick() bool { return len(c.OrderIDs) > 0 && len(c.OrderIDs) <= BatchCap }

// CancelAll is the query of `DELETE /v1/portfolio/orders` (spec 4.4).
type CancelAll struct {
	MarketID Int `json:"market_id,omitzero" in:"query" minimum:"0" maximum:"65535" doc:"0 or absent: all markets"`
	GroupID  Int `json:"group_id,omitzero" in:"query" minimum:"0" maximum:"4294967295" doc:"0 or absent: all groups"`
}

// CancelOrder names the order of `DELETE /v1/portfolio/orders/{order_id}`.
type CancelOrder struct {
	OrderID U64 `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
}

// DecreaseOrder is `POST /v1/portfolio/orders/{order_id}/decrease`: exactly one of
// ReduceBy and ReduceTo, in shares of the remaining quantity (contract core).
type DecreaseOrder struct {
	OrderID  U64  `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
	ReduceBy *Int `json:"reduce_by,omitempty" minimum:"1" fault:"invalid_decrease" doc:"Shares to take off what remains. Exactly one of reduce_by and reduce_to"`
	ReduceTo *Int `json:"reduce_to,omitempty" minimum:"0" fault:"invalid_decrease" doc:"Shares that shall remain; 0 cancels. Safe to repeat" example:"5"`
}

// Check wants exactly one of the two forms.
func (d *DecreaseOrder) Check() *Fault {
	if (d.ReduceBy == nil) == (d.ReduceTo == nil) {
		return violation("reduce_by", "exactly one of reduce_by and reduce_to")
	}
	return nil
}

// ArmDeadman is the body of `POST /v1/portfolio/deadman` (spec 4.5).
type ArmDeadman struct {
	TimeoutMs Int `json:"timeout_ms" minimum:"1000" maximum:"60000" fault:"invalid_timeout" doc:"Cancel all unless armed again within this time, ms" example:"5000"`
}

// ListOrders is the query of `GET /v1/portfolio/orders`.
type ListOrders struct {
	Status        string `json:"status,omitempty" in:"query" list:"resting,partially_filled,executed,canceled,expired,rejected" doc:"Comma-separated: resting, partially_filled, executed, canceled, expired, rejected"`
	ClientOrderID *U64   `json:"client_order_id,omitempty" in:"query" pattern:"^[0-9]+$"`
	MarketID      *Int   `json:"market_id,omitempty" in:"query" minimum:"0" maximum:"65535"`
	Page
	AsOf
}

// GetOrder names the order of `GET /v1/portfolio/orders/{order_id}`.
type GetOrder struct {
	OrderID U64 `json:"order_id" in:"path" fault:"unknown_order" pattern:"^[0-9]+$"`
	AsOf
}

// Order as lists and single reads show it (spec 2.1).
type Order struct {
	OrderID       *U64   `json:"order_id" pattern:"^[0-9]+$" doc:"Null for a rejected order"`
	ClientOrderID U64    `json:"client_order_id" pattern:"^[0-9]+$"`
	MarketID      uint32 `json:"market_id"`
	Generation    uint32 `json:"generation"`
	Side          string `json:"side" enum:"buy,sell"`
	Outcome       string `json:"outcome" enum:"yes,no"`
	Type          string `json:"type" enum:"limit,market"`
	Tick          int64  `json:"tick" doc:"Pips in the order's own outcome; a market order's worst_tick"`
	Qty           int64  `json:"qty"`
	TIF           string `json:"tif" enum:"gtc,gtt,ioc,fok"`
	ExpiryTs      U64    `json:"expiry_ts" pattern:"^[0-9]+$" doc:"ns; 0 when not gtt"`
	MaxCost       U64    `json:"max_cost" pattern:"^[0-9]+$" doc:"Pips; 0 when unset"`
	GroupID       uint32 `json:"group_id"`
	Flags         uint8  `json:"flags" doc:"bit0 post_only, bit1 reduce_only, bit2 cancel_on_pause, bit3 stp_maker"`
	Status        string `json:"status" enum:"resting,partially_filled,executed,canceled,expired,rejected"`
	Reason        string `json:"reason" doc:"Why it was canceled or rejected; empty otherwise"`
	FilledQty     int64  `json:"filled_qty"`
	RemainingQty  int64  `json:"remaining_qty"`
	CreatedSeq    U64    `json:"created_seq" pattern:"^[0-9]+$"`
	CreatedTs     U64    `json:"created_ts" pattern:"^[0-9]+$" doc:"ns"`
	LastUpdateSeq U64    `json:"last_update_seq" pattern:"^[0-9]+$"`
}

// OrderRead is one order and the instant it is current as of.
type OrderRead struct {
	Order
	Seen
}

// OrderList is a page of orders, newest first by created_seq.
type OrderList struct {
	Orders []Order `json:"orders" nullable:"false"`
	More

	text []byte // all before Seen, once it was written
}

// OutcomeFill is one fill of a placement's outcome (spec 2.2).
type OutcomeFill struct {
	TickYes int64  `json:"tick_yes" minimum:"1" maximum:"9999"`
	Qty     int64  `json:"qty"`
	Path    string `json:"path" enum:"direct,mint,merge"`
}

// Outcome is what became of a placement (spec 2.2). Reason is there when it is
// canceled, and only then.
type Outcome struct {
	OrderID       U64           `json:"order_id" pattern:"^[0-9]+$"`
	ClientOrderID U64           `json:"client_order_id" pattern:"^[0-9]+$"`
	Status        string        `json:"status" enum:"resting,partially_filled,executed,canceled"`
	Seq           U64           `json:"seq" pattern:"^[0-9]+$"`
	FilledQty     int64         `json:"filled_qty"`
	RestingQty    int64         `json:"resting_qty"`
	Fills         []OutcomeFill `json:"fills" nullable:"false"`
	Reason        string        `json:"reason,omitzero" doc:"Present when canceled"`
}

// PlaceResult is one element of a batch placement: an outcome, or the error body.
// Exactly one of the two is set. A JSON Schema of it is their oneOf.
type PlaceResult struct {
	*Outcome
	Error *Error `json:"error,omitempty"`
}

// PlaceResults is a batch placement's answer to a tool, which must be an object;
// REST answers the bare array (spec 4.2; contract mcp, Tools).
type PlaceResults struct {
	Results []PlaceResult `json:"results" nullable:"false"`
}

// Canceled is what a cancel did.
type Canceled struct {
	Status      string `json:"status" enum:"canceled"`
	CanceledQty int64  `json:"canceled_qty"`
	Seq         U64    `json:"seq" pattern:"^[0-9]+$"`
}

// CancelResult is one element of a batch cancel: what it did, or the error body.
type CancelResult struct {
	*Canceled
	Error *Error `json:"error,omitempty"`
}

// CancelResults is the answer of a batch cancel, index-aligned (spec 4.3).
type CancelResults struct {
	Results []CancelResult `json:"results" nullable:"false"`
}

// Sequenced is the answer of a cancel-all: the command itself is the
// acknowledgment (spec 4.4).
type Sequenced struct {
	Seq U64 `json:"seq" pattern:"^[0-9]+$"`
}

// Decreased is the answer of a decrease.
type Decreased struct {
	OrderID      U64    `json:"order_id" pattern:"^[0-9]+$"`
	RemainingQty int64  `json:"remaining_qty"`
	Status       string `json:"status" enum:"resting,partially_filled,canceled"`
	Seq          U64    `json:"seq" pattern:"^[0-9]+$"`
}

// Armed is the answer of arming the dead-man switch.
type Armed struct {
	TimeoutMs int64 `json:"timeout_ms"`
	Armed     bool  `json:"armed"`
}

// Disarmed is the answer of taking it off; armed is false.
type Disarmed struct {
	Armed bool `json:"armed"`
}

// Deadman is the state of the dead-man switch: 0 and "0" when disarmed.
type Deadman struct {
	Armed      bool  `json:"armed"`
	TimeoutMs  int64 `json:"timeout_ms"`
	DeadlineTs U64   `json:"deadline_ts" pattern:"^[0-9]+$" doc:"ns"`
}

// Preview is what a placement would do now (contract rest).
type Preview struct {
	Status     string        `json:"status" enum:"resting,partially_filled,executed,canceled"`
	Fills      []OutcomeFill `json:"fills" nullable:"false"`
	AvgTickYes int64         `json:"avg_tick_yes" doc:"0 without a fill"`
	Fee        U64           `json:"fee" pattern:"^[0-9]+$" doc:"Pips"`
	Reserved   U64           `json:"reserved" pattern:"^[0-9]+$" doc:"Pips"`
	WorstLoss  U64           `json:"worst_loss" pattern:"^[0-9]+$" doc:"Pips"`
	BestPayout U64           `json:"best_payout" pattern:"^[0-9]+$" doc:"Pips"`
	CashAfter  U64           `json:"cash_after" pattern:"^[0-9]+$" doc:"Free cash, pips"`
	Reason     string        `json:"reason,omitzero" doc:"Present when canceled"`
	Seen
}
