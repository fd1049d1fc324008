package book

import (
	"iter"
	"math/bits"
)

// A queue is a list of chunks, a cache line each, with orders in the order of their time:
// those of a level, or of an account. One that leaves clears its bit, and touches none of
// those before and behind it, which lie in memory that is far away.

const perChunk = 13

// chunk is a stretch of a queue; 0 in next and prev is none.
type chunk struct {
	refs       [perChunk]Ref
	next, prev uint32
	live       uint16 // a bit for each of refs that stands
}

// place is where an order stands in a queue: chunk, and number within it.
type place uint32

func (p place) chunk() uint32 { return uint32(p >> 4) }
func (p place) nth() int      { return int(p & 15) }

// Queue is a list of orders, oldest first.
type Queue struct{ head, tail uint32 } // chunks; 0 if it is empty

// queues keeps the chunks of all queues. Chunk 0 is none.
type queues struct {
	chunks []chunk
	free   uint32
}

func (q *queues) grow(n int) {
	from := len(q.chunks)
	q.chunks = append(q.chunks, make([]chunk, n)...)
	for i := len(q.chunks) - 1; i >= max(from, 1); i-- {
		q.chunks[i].next = q.free
		q.free = uint32(i)
	}
}

// push puts r behind all others of a queue.
func (q *queues) push(l *Queue, r Ref) place {
	c := l.tail
	n := bits.Len16(q.chunks[c].live)
	if c == 0 || n == perChunk {
		c, n = q.extend(l), 0
	}
	x := &q.chunks[c]
	x.refs[n] = r
	x.live |= 1 << n
	return place(c<<4 | uint32(n))
}

// extend puts an empty chunk behind the last of a queue.
func (q *queues) extend(l *Queue) uint32 {
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

// leave takes out the order at a place.
func (q *queues) leave(l *Queue, p place) {
	x := &q.chunks[p.chunk()]
	if x.live &^= 1 << p.nth(); x.live == 0 {
		q.drop(l, p.chunk())
	}
}

// drop takes an empty chunk out of its list.
func (q *queues) drop(l *Queue, c uint32) {
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

// first is the oldest of a queue, which has one.
func (q *queues) first(l *Queue) Ref {
	x := &q.chunks[l.head]
	return x.refs[bits.TrailingZeros16(x.live)]
}

// after is the next one behind a place, None if it is the last.
func (q *queues) after(p place) Ref {
	x := &q.chunks[p.chunk()]
	if rest := x.live >> p.nth() >> 1; rest != 0 {
		return x.refs[p.nth()+1+bits.TrailingZeros16(rest)]
	}
	if x.next == 0 {
		return None
	}
	x = &q.chunks[x.next]
	return x.refs[bits.TrailingZeros16(x.live)]
}

// before is the place of the one before a place; false if it is the first.
func (q *queues) before(p place) (place, bool) {
	x := &q.chunks[p.chunk()]
	if rest := x.live & (1<<p.nth() - 1); rest != 0 {
		return place(p.chunk()<<4 | uint32(bits.Len16(rest)-1)), true
	}
	return q.newest(x.prev)
}

// newest is the place of a chunk's last; false if it is none.
func (q *queues) newest(c uint32) (place, bool) {
	return place(c<<4 | uint32(bits.Len16(q.chunks[c].live)-1)), c != 0
}

// Enlist puts an order behind all others of its account, Delist takes it out.
func (p *Pool) Enlist(account *Queue, r Ref) { p.orders[r].entry = p.queues.push(account, r) }
func (p *Pool) Delist(account *Queue, r Ref) { p.queues.leave(account, p.orders[r].entry) }

// Backward walks an account's orders, newest first. The one it is at may leave.
func (p *Pool) Backward(account *Queue) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for at, ok := p.queues.newest(account.tail); ok; {
			r := p.queues.chunks[at.chunk()].refs[at.nth()]
			at, ok = p.queues.before(at)
			if !yield(r) {
				return
			}
		}
	}
}
