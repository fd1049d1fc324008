package book

import "duplex/core"

// Ref is the slot of an order in its pool. None is no order.
type Ref uint32

const None Ref = ^Ref(0)

// Order is one resting order: what matching and cancelling need, in half a cache line.
// Terms has what only some orders have; what only a reader wants is kept by the views.
type Order struct {
	ID        core.OrderID
	place     place // in its level; of a free slot, the next free one
	entry     place // among the orders of its account
	User      core.UserID
	Left      uint32 // contracts
	Unit      uint16 // pips reserved per contract; 0 for a sell
	MakerRate core.Rate
	tick      uint16 // YES space
	market    uint8
	marks     uint8 // side, outcome, whether it has terms; the flags above
}

const (
	markOutcome = 1 // shift
	markTerms   = 1 << 2
	markFlags   = 4 // shift
)

const _ = uint8(core.AllFlags << markFlags) // they fit

// Mark sets what an order is, which stays.
func (o *Order) Mark(m core.MarketID, s core.Side, out core.Outcome, f core.Flags) {
	o.market, o.marks = uint8(m), uint8(s)|uint8(out)<<markOutcome|uint8(f)<<markFlags
}

func (o *Order) Market() core.MarketID { return core.MarketID(o.market) }
func (o *Order) Side() core.Side       { return core.Side(o.marks & 1) }
func (o *Order) Outcome() core.Outcome { return core.Outcome(o.marks >> markOutcome & 1) }
func (o *Order) Flags() core.Flags     { return core.Flags(o.marks >> markFlags) }

// TickYes is the price in YES space.
func (o *Order) TickYes() core.Tick { return core.Tick(o.tick) }

// Bid tells on which side of the YES book it stands: a buy of YES or a sale of NO bids.
func (o *Order) Bid() bool { return o.ask() == 0 }

// ask is the number of its side: 0 bids, 1 asks.
func (o *Order) ask() uint8 { return (o.marks ^ o.marks>>markOutcome) & 1 }

// Terms are what few orders have.
type Terms struct {
	Expiry int64 // ns, 0 unless gtt
	Group  uint32
}

// Pool keeps the resting orders of all markets, and the queues they stand in.
type Pool struct {
	orders []Order
	terms  []Terms // by slot; as long as the last that has any
	free   Ref
	live   int
	index  index
	queues queues
}

// NewPool makes a pool with slots for n orders; it grows when it must.
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
		p.orders[i].place = place(p.free)
		p.free = Ref(i)
	}
}

// At gives the order in a slot. The pointer holds until the next New.
func (p *Pool) At(r Ref) *Order { return &p.orders[r] }

// Live counts the orders in the pool.
func (p *Pool) Live() int { return p.live }

// Terms gives what an order has of them.
func (p *Pool) Terms(r Ref) Terms {
	if p.orders[r].marks&markTerms == 0 {
		return Terms{}
	}
	return p.terms[r]
}

// SetTerms gives an order terms, once it is marked.
func (p *Pool) SetTerms(r Ref, t Terms) {
	if t == (Terms{}) {
		return
	}
	if n := len(p.terms); n <= int(r) {
		p.terms = append(p.terms, make([]Terms, len(p.orders)-n)...)
	}
	p.orders[r].marks |= markTerms
	p.terms[r] = t
}

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
	p.free = Ref(o.place)
	*o = Order{ID: id}
	p.live++
	p.index.add(uint32(id), uint32(r), p.live)
	return r
}

// Drop gives a slot back. The order must be out of its book.
func (p *Pool) Drop(r Ref) {
	o := &p.orders[r]
	p.index.remove(uint32(o.ID), uint32(r))
	o.ID, o.place, p.free = 0, place(p.free), r
	p.live--
}
