package book

import "duplex/core"

// The functions of this file read cache lines that a later command will need, so that the misses of
// several commands overlap. Their results have no meaning: they keep the compiler from removing the
// reads.

// ReadTails reads the last chunks of a level and of an account, to which an order will be appended.
func (b *Book) ReadTails(bid bool, yes core.Tick, account *Queue) uint32 {
	c := b.pool.queues.chunks
	return uint32(c[b.side(bid).levels[yes].tail].live) + uint32(c[account.tail].live)
}

// ReadPositions reads the chunks of an order's queues, and its level.
func (b *Book) ReadPositions(o *Order) uint32 {
	c := b.pool.queues.chunks
	return uint32(c[o.levelPos.chunk()].live) + uint32(c[o.accountPos.chunk()].live) + uint32(b.sides[o.ask()].levels[o.tick].qty)
}

// ReadIndex reads the cell of the index at which an order id begins. It reads no more than that, so it does
// not wait for the cell.
func (p *Pool) ReadIndex(id core.OrderID) uint32 {
	return uint32(p.index.cells[p.index.firstCell(uint32(id))])
}
