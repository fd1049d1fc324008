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

// FetchEnds reads where an order at a level will stand, there and in its account.
func (b *Book) FetchEnds(bid bool, t core.Tick, account *Queue) uint32 {
	c := b.pool.queues.chunks
	return uint32(c[b.side(bid).at[t].tail].live) + uint32(c[account.tail].live)
}

// FetchPlaces reads where an order stands.
func (b *Book) FetchPlaces(o *Order) uint32 {
	c := b.pool.queues.chunks
	return uint32(c[o.place.chunk()].live) + uint32(c[o.entry.chunk()].live) + uint32(b.sides[o.ask()].at[o.tick].qty)
}
