package book

import "duplex/core"

// Ref is the slot of an order in its pool. None is no order.
type Ref uint32

const None Ref = ^Ref(0)

// Order is one resting order: what matching, cancelling and expiring need, in one
// cache line. What only a reader wants is kept by the views.
type Order struct {
	ID         core.OrderID
	Expiry     int64  // ns, 0 unless gtt
	next, prev Ref    // in its level
	Entry      uint32 // in the list of its account, which the venue keeps
	User       core.UserID
	Left       uint32 // contracts
	Group      uint32
	Unit       uint16 // pips reserved per contract; 0 for a sell
	MakerRate  core.Rate
	tick       uint16 // YES space
	Market     core.MarketID
	Side       core.Side
	Outcome    core.Outcome
	Flags      core.Flags
}

// TickYes is the price in YES space.
func (o *Order) TickYes() core.Tick { return core.Tick(o.tick) }

// Bid tells on which side of the YES book it stands.
func (o *Order) Bid() bool { return core.IsBid(o.Side, o.Outcome) }

// Pool keeps the resting orders of all markets.
type Pool struct {
	orders []Order
	free   Ref
	live   int
	index  index
}

// NewPool makes a pool with room for n orders; it grows when it must.
func NewPool(n int) *Pool {
	p := &Pool{free: None}
	p.index.resize(128)
	p.grow(max(n, 64))
	return p
}

func (p *Pool) grow(n int) {
	from := len(p.orders)
	p.orders = append(p.orders, make([]Order, n)...)
	for i := len(p.orders) - 1; i >= from; i-- {
		p.orders[i].next = p.free
		p.free = Ref(i)
	}
}

// At gives the order in a slot. The pointer holds until the next New.
func (p *Pool) At(r Ref) *Order { return &p.orders[r] }

// Live counts the orders in the pool.
func (p *Pool) Live() int { return p.live }

// Find gives the slot of an order, None if it does not rest.
func (p *Pool) Find(id core.OrderID) Ref {
	for i := p.index.start(uint32(id)); ; i = p.index.step(i) {
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

// New takes a slot for order id, empty but for the id.
func (p *Pool) New(id core.OrderID) Ref {
	if p.free == None {
		p.grow(len(p.orders))
	}
	r := p.free
	o := &p.orders[r]
	p.free = o.next
	*o = Order{ID: id, next: None, prev: None}
	p.live++
	p.index.add(uint32(id), uint32(r), p.live)
	return r
}

// Drop gives a slot back. The order must be out of its book.
func (p *Pool) Drop(r Ref) {
	o := &p.orders[r]
	p.index.remove(uint32(o.ID), uint32(r))
	o.ID, o.next, p.free = 0, p.free, r
	p.live--
}
