package book

import "duplex/core"

// The functions of this file read the cache lines that a later command will need, so that
// the misses of several commands overlap. Their results have no meaning; returning them
// keeps the compiler from removing the reads.

// PrefetchIndexCell reads the index cell at which Find(id) begins.
func (p *Pool) PrefetchIndexCell(id core.OrderID) uint32 {
	return uint32(p.index.cells[p.index.firstCell(uint32(id))])
}

// ProbeIndex returns the slot of an order with the low 32 bits of id, without reading
// orders; None if there is none.
func (p *Pool) ProbeIndex(id core.OrderID) Ref {
	for i := p.index.firstCell(uint32(id)); ; i = p.index.nextCell(i) {
		e := p.index.cells[i]
		if e == empty || uint32(e>>32) == uint32(id) {
			return Ref(uint32(e))
		}
	}
}

// PrefetchQueueTails reads the last chunks of a level and of an account, to which an
// order will be appended.
func (b *Book) PrefetchQueueTails(bid bool, t core.Tick, account *Queue) uint32 {
	c := b.pool.queues.chunks
	return uint32(c[b.side(bid).levels[t].tail].live) + uint32(c[account.tail].live)
}

// PrefetchQueuePositions reads the chunks of an order's queues, and its level.
func (b *Book) PrefetchQueuePositions(o *Order) uint32 {
	c := b.pool.queues.chunks
	return uint32(c[o.levelPos.chunk()].live) + uint32(c[o.accountPos.chunk()].live) + uint32(b.sides[o.ask()].levels[o.tick].qty)
}
