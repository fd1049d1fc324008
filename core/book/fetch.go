package book

import "duplex/core"

// What is fetched here is memory: a command that is about to come needs lines of it that
// are in no cache, and the reads of several commands can wait for it side by side. The
// numbers given have no meaning but that they were read.

// FetchCell reads where the search for an order begins.
func (p *Pool) FetchCell(id core.OrderID) uint32 {
	return uint32(p.index.cells[p.index.start(uint32(id))])
}

// Guess gives the slot where an order of that id's low half rests, None if there is none.
func (p *Pool) Guess(id core.OrderID) Ref {
	for i := p.index.start(uint32(id)); ; i = p.index.step(i) {
		e := p.index.cells[i]
		if e == empty || uint32(e>>32) == uint32(id) {
			return Ref(uint32(e))
		}
	}
}

// Tail is the last order of a level, None if the level is empty.
func (b *Book) Tail(bid bool, t core.Tick) Ref { return b.side(bid).at[t].tail }

// FetchNeighbours reads an order's level and those before and behind it there.
func (b *Book) FetchNeighbours(o *Order) uint32 {
	n := uint32(b.side(o.Bid()).at[o.tick].qty)
	if o.prev != None {
		n += b.pool.At(o.prev).Left
	}
	if o.next != None {
		n += b.pool.At(o.next).Left
	}
	return n
}
