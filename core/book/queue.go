package book

import (
	"iter"
	"math/bits"
)

// A queue is a doubly linked list of chunks, each one cache line of order slots in the
// sequence of their arrival. Removing an order clears its bit and reads no other order: a
// list linked through the orders would miss the cache at both neighbors.

const refsPerChunk = 13

// chunk is a part of a queue; 0 in next and prev is none.
type chunk struct {
	refs       [refsPerChunk]Ref
	next, prev uint32
	live       uint16 // a bit for each of refs that holds an order
}

// queuePos is the position of an order in a queue: the chunk, and the slot in it.
type queuePos uint32

func (p queuePos) chunk() uint32 { return uint32(p >> 4) }
func (p queuePos) slot() int     { return int(p & 15) }

// Queue is a list of orders, oldest first. The zero Queue is empty.
type Queue struct{ head, tail uint32 } // chunks; 0 if the queue is empty

// queuePool keeps the chunks of all queues. Chunk 0 is none.
type queuePool struct {
	chunks []chunk
	free   uint32
}

func (q *queuePool) grow(n int) {
	from := len(q.chunks)
	q.chunks = append(q.chunks, make([]chunk, n)...)
	for i := len(q.chunks) - 1; i >= max(from, 1); i-- {
		q.chunks[i].next = q.free
		q.free = uint32(i)
	}
}

// push appends r to a queue.
func (q *queuePool) push(l *Queue, r Ref) queuePos {
	c := l.tail
	n := bits.Len16(q.chunks[c].live)
	if c == 0 || n == refsPerChunk {
		c, n = q.appendChunk(l), 0
	}
	x := &q.chunks[c]
	x.refs[n] = r
	x.live |= 1 << n
	return queuePos(c<<4 | uint32(n))
}

// appendChunk appends an empty chunk to a queue.
func (q *queuePool) appendChunk(l *Queue) uint32 {
	if q.free == 0 {
		q.grow(len(q.chunks))
	}
	c := q.free
	x := &q.chunks[c]
	q.free = x.next
	x.next, x.prev, x.live = 0, l.tail, 0
	if l.tail == 0 {
		l.head = c
	} else {
		q.chunks[l.tail].next = c
	}
	l.tail = c
	return c
}

// remove removes the order at a position.
func (q *queuePool) remove(l *Queue, p queuePos) {
	x := &q.chunks[p.chunk()]
	if x.live &^= 1 << p.slot(); x.live == 0 {
		q.unlink(l, p.chunk())
	}
}

// unlink removes an empty chunk from its queue and frees it.
func (q *queuePool) unlink(l *Queue, c uint32) {
	x := &q.chunks[c]
	if x.prev == 0 {
		l.head = x.next
	} else {
		q.chunks[x.prev].next = x.next
	}
	if x.next == 0 {
		l.tail = x.prev
	} else {
		q.chunks[x.next].prev = x.prev
	}
	x.next, q.free = q.free, c
}

// first is the oldest order of a queue that is not empty.
func (q *queuePool) first(l *Queue) Ref {
	x := &q.chunks[l.head]
	return x.refs[bits.TrailingZeros16(x.live)]
}

// next is the order after a position, None at the end.
func (q *queuePool) next(p queuePos) Ref {
	x := &q.chunks[p.chunk()]
	if later := x.live >> p.slot() >> 1; later != 0 {
		return x.refs[p.slot()+1+bits.TrailingZeros16(later)]
	}
	if x.next == 0 {
		return None
	}
	x = &q.chunks[x.next]
	return x.refs[bits.TrailingZeros16(x.live)]
}

// prevPos is the position before p; false if p is the first.
func (q *queuePool) prevPos(p queuePos) (queuePos, bool) {
	x := &q.chunks[p.chunk()]
	if earlier := x.live & (1<<p.slot() - 1); earlier != 0 {
		return queuePos(p.chunk()<<4 | uint32(bits.Len16(earlier)-1)), true
	}
	return q.lastPos(x.prev)
}

// lastPos is the position of the last order of chunk c; false if c is none.
func (q *queuePool) lastPos(c uint32) (queuePos, bool) {
	return queuePos(c<<4 | uint32(bits.Len16(q.chunks[c].live)-1)), c != 0
}

// AddToAccount appends an order to the queue of its account.
func (p *Pool) AddToAccount(account *Queue, r Ref) {
	p.orders[r].accountPos = p.queues.push(account, r)
}

// RemoveFromAccount removes an order from the queue of its account.
func (p *Pool) RemoveFromAccount(account *Queue, r Ref) {
	p.queues.remove(account, p.orders[r].accountPos)
}

// OldestFirst iterates over an account's orders, oldest first. The loop must not remove any.
func (p *Pool) OldestFirst(account *Queue) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		if account.head == 0 {
			return
		}
		for r := p.queues.first(account); r != None && yield(r); {
			r = p.queues.next(p.orders[r].accountPos)
		}
	}
}

// NewestFirst iterates over an account's orders, newest first. The loop may remove the
// current order.
func (p *Pool) NewestFirst(account *Queue) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for at, ok := p.queues.lastPos(account.tail); ok; {
			r := p.queues.chunks[at.chunk()].refs[at.slot()]
			at, ok = p.queues.prevPos(at)
			if !yield(r) {
				return
			}
		}
	}
}
