package book

import "duplex/core"

// Ref is the slot of an order in its pool.
type Ref uint32

// None is no slot.
const None Ref = ^Ref(0)

// Order is one resting order with the fields that matching and canceling need, in half a
// cache line. Fields that few orders have are in Terms; fields that only readers need are
// in core/view.
type Order struct {
	ID         core.OrderID
	levelPos   queuePos // in the queue of its level; in a free slot, the next free slot
	accountPos queuePos // in the queue of its account
	User       core.UserID
	Left       uint32 // contracts
	Unit       uint16 // pips reserved per contract; 0 for a sell
	MakerRate  core.Rate
	tick       uint16 // YES space
	market     uint8
	attributes uint8 // see the attr constants
}

// Order.attributes holds, from bit 0: the side, the outcome, whether the order has terms,
// whether it is clipped, and the four flags.
const (
	attrOutcomeShift = 1
	attrHasTerms     = 1 << 2
	attrClipped      = 1 << 3
	attrFlagsShift   = 4
)

const _ = uint8(core.AllFlags << attrFlagsShift) // all flags fit

// Clip records that reduce_only took contracts off the order
// (docs/rules/orders.md#reduce-only).
func (o *Order) Clip() { o.attributes |= attrClipped }

// Clipped reports whether reduce_only took contracts off the order.
func (o *Order) Clipped() bool { return o.attributes&attrClipped != 0 }

// SetAttributes sets the attributes that never change. It clears terms and Clipped.
func (o *Order) SetAttributes(m core.MarketID, s core.Side, out core.Outcome, f core.Flags) {
	o.market, o.attributes = uint8(m), uint8(s)|uint8(out)<<attrOutcomeShift|uint8(f)<<attrFlagsShift
}

func (o *Order) Market() core.MarketID { return core.MarketID(o.market) }
func (o *Order) Side() core.Side       { return core.Side(o.attributes & 1) }
func (o *Order) Outcome() core.Outcome { return core.Outcome(o.attributes >> attrOutcomeShift & 1) }
func (o *Order) Flags() core.Flags     { return core.Flags(o.attributes >> attrFlagsShift) }

// TickYes is the price in YES space.
func (o *Order) TickYes() core.Tick { return core.Tick(o.tick) }

// Bid reports whether the order is on the bid side of the YES book: a buy of YES or a
// sell of NO.
func (o *Order) Bid() bool { return o.ask() == 0 }

// ask is the index of the order's side: 0 for bids, 1 for asks.
func (o *Order) ask() uint8 { return (o.attributes ^ o.attributes>>attrOutcomeShift) & 1 }

// Terms are the fields that few orders have.
type Terms struct {
	Expiry int64 // ns, 0 unless gtt
	Group  uint32
}

// Pool keeps the resting orders of all markets and the chunks of their queues.
type Pool struct {
	orders []Order
	terms  []Terms // by slot; empty until the first order with terms
	free   Ref
	live   int
	index  index
	queues queuePool
}

// NewPool returns a pool with slots for n orders, at least 64. It doubles when it is full.
func NewPool(n int) *Pool {
	p := &Pool{free: None}
	p.index.resize(128)
	p.queues.grow(64)
	p.grow(max(n, 64))
	return p
}

func (p *Pool) grow(n int) {
	from := len(p.orders)
	p.orders = append(p.orders, make([]Order, n)...)
	for i := len(p.orders) - 1; i >= from; i-- {
		p.orders[i].levelPos = queuePos(p.free)
		p.free = Ref(i)
	}
}

// At returns the order in a slot. The pointer is valid until the next Alloc.
func (p *Pool) At(r Ref) *Order { return &p.orders[r] }

// Len is the number of orders in the pool.
func (p *Pool) Len() int { return p.live }

// Terms returns the terms of an order, zero if it has none.
func (p *Pool) Terms(r Ref) Terms {
	if p.orders[r].attributes&attrHasTerms == 0 {
		return Terms{}
	}
	return p.terms[r]
}

// SetTerms sets the terms of an order. It must follow SetAttributes.
func (p *Pool) SetTerms(r Ref, t Terms) {
	if t == (Terms{}) {
		return
	}
	if n := len(p.terms); n <= int(r) {
		p.terms = append(p.terms, make([]Terms, len(p.orders)-n)...)
	}
	p.orders[r].attributes |= attrHasTerms
	p.terms[r] = t
}

// Find returns the slot of an order, None if it does not rest.
func (p *Pool) Find(id core.OrderID) Ref {
	for i := p.index.firstCell(uint32(id)); ; i = p.index.nextCell(i) {
		e := p.index.cells[i]
		if e == empty {
			return None
		}
		if uint32(e>>32) == uint32(id) {
			if r := Ref(uint32(e)); p.orders[r].ID == id {
				return r
			}
		}
	}
}

// Alloc takes a slot for order id. All other fields of the order are zero.
func (p *Pool) Alloc(id core.OrderID) Ref {
	if p.free == None {
		p.grow(len(p.orders))
	}
	r := p.free
	o := &p.orders[r]
	p.free = Ref(o.levelPos)
	*o = Order{ID: id}
	p.live++
	p.index.add(uint32(id), uint32(r), p.live)
	return r
}

// Free releases a slot. The order must not be in a book or in the queue of an account.
func (p *Pool) Free(r Ref) {
	o := &p.orders[r]
	p.index.remove(uint32(o.ID), uint32(r))
	o.ID, o.levelPos, p.free = 0, queuePos(p.free), r
	p.live--
}
