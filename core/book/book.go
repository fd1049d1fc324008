package book

import (
	"iter"
	"math/bits"

	"duplex/core"
)

const (
	levels = int(core.TickMax) + 2
	words  = (levels + 63) / 64
)

type level struct {
	head, tail Ref
	qty        int64
}

// side is one side of a book: its levels, and which of them are taken, in two
// storeys of bits.
type side struct {
	at    [levels]level
	taken [words]uint64
	upper [(words + 63) / 64]uint64
}

func (s *side) mark(t int) {
	s.taken[t>>6] |= 1 << (t & 63)
	s.upper[t>>12] |= 1 << (t >> 6 & 63)
}

func (s *side) unmark(t int) {
	if s.taken[t>>6] &^= 1 << (t & 63); s.taken[t>>6] == 0 {
		s.upper[t>>12] &^= 1 << (t >> 6 & 63)
	}
}

// above is the lowest taken level ≥ t, or levels.
func (s *side) above(t int) int {
	if t >= levels {
		return levels
	}
	if w := s.taken[t>>6] >> (t & 63); w != 0 {
		return t + bits.TrailingZeros64(w)
	}
	w := t>>6 + 1
	for u := w >> 6; u < len(s.upper); u++ {
		m := s.upper[u]
		if u == w>>6 {
			m &= ^uint64(0) << (w & 63)
		}
		if m != 0 {
			x := u<<6 + bits.TrailingZeros64(m)
			return x<<6 + bits.TrailingZeros64(s.taken[x])
		}
	}
	return levels
}

// below is the highest taken level ≤ t, or -1.
func (s *side) below(t int) int {
	if t < 0 {
		return -1
	}
	if w := s.taken[t>>6] << (63 - t&63); w != 0 {
		return t - bits.LeadingZeros64(w)
	}
	w := t>>6 - 1
	for u := w >> 6; u >= 0; u-- {
		m := s.upper[u]
		if u == w>>6 {
			m &= ^uint64(0) >> (63 - w&63)
		}
		if m != 0 {
			x := u<<6 + 63 - bits.LeadingZeros64(m)
			return x<<6 + 63 - bits.LeadingZeros64(s.taken[x])
		}
	}
	return -1
}

// Book is the book of one market.
type Book struct {
	pool *Pool
	bid  side
	ask  side
	n    int
}

// New makes an empty book over a pool.
func New(p *Pool) *Book {
	b := &Book{pool: p}
	for i := range levels {
		b.bid.at[i] = level{None, None, 0}
		b.ask.at[i] = level{None, None, 0}
	}
	return b
}

// Len counts the orders in the book.
func (b *Book) Len() int { return b.n }

// At gives an order of the book; it must not be changed.
func (b *Book) At(r Ref) *Order { return b.pool.At(r) }

func (b *Book) side(bid bool) *side {
	if bid {
		return &b.bid
	}
	return &b.ask
}

// Put adds an order at the end of its level's queue. It gives the level's total.
func (b *Book) Put(r Ref, yes core.Tick) core.Qty {
	o := b.pool.At(r)
	o.tick = uint16(yes)
	s := b.side(o.Bid())
	l := &s.at[yes]
	o.prev, o.next = l.tail, None
	if l.tail == None {
		l.head = r
		s.mark(int(yes))
	} else {
		b.pool.At(l.tail).next = r
	}
	l.tail = r
	l.qty += int64(o.Left)
	b.n++
	return core.Qty(l.qty)
}

// Take removes an order from its level. It gives the level's new total.
func (b *Book) Take(r Ref) core.Qty {
	o := b.pool.At(r)
	s := b.side(o.Bid())
	l := &s.at[o.tick]
	if o.prev == None {
		l.head = o.next
	} else {
		b.pool.At(o.prev).next = o.next
	}
	if o.next == None {
		l.tail = o.prev
	} else {
		b.pool.At(o.next).prev = o.prev
	}
	if l.head == None {
		s.unmark(int(o.tick))
	}
	l.qty -= int64(o.Left)
	b.n--
	return core.Qty(l.qty)
}

// Lower takes n contracts off an order that stays. It gives the level's new total.
func (b *Book) Lower(r Ref, n core.Qty) core.Qty {
	o := b.pool.At(r)
	l := &b.side(o.Bid()).at[o.tick]
	o.Left -= uint32(n)
	l.qty -= int64(n)
	return core.Qty(l.qty)
}

// Best is the first order of a side: highest bid or lowest ask. None if empty.
func (b *Book) Best(bid bool) Ref {
	if bid {
		if t := b.bid.below(levels - 1); t >= 0 {
			return b.bid.at[t].head
		}
		return None
	}
	if t := b.ask.above(0); t < levels {
		return b.ask.at[t].head
	}
	return None
}

// Next is the order after r in price, then time. None at the end.
func (b *Book) Next(r Ref) Ref {
	o := b.pool.At(r)
	if o.next != None {
		return o.next
	}
	if o.Bid() {
		if t := b.bid.below(int(o.tick) - 1); t >= 0 {
			return b.bid.at[t].head
		}
		return None
	}
	if t := b.ask.above(int(o.tick) + 1); t < levels {
		return b.ask.at[t].head
	}
	return None
}

// Level is one price of a side with what rests there, in YES space.
type Level struct {
	Tick core.Tick
	Qty  core.Qty
}

// Depth counts the levels of a side.
func (b *Book) Depth(bid bool) (n int) {
	for _, w := range b.side(bid).taken {
		n += bits.OnesCount64(w)
	}
	return n
}

// Levels walks a side from its best price on.
func (b *Book) Levels(bid bool) iter.Seq[Level] {
	return func(yield func(Level) bool) {
		if bid {
			for t := b.bid.below(levels - 1); t >= 0; t = b.bid.below(t - 1) {
				if !yield(Level{core.Tick(t), core.Qty(b.bid.at[t].qty)}) {
					return
				}
			}
			return
		}
		for t := b.ask.above(0); t < levels; t = b.ask.above(t + 1) {
			if !yield(Level{core.Tick(t), core.Qty(b.ask.at[t].qty)}) {
				return
			}
		}
	}
}

// Orders walks a side in price, then time. The walk must not change the book.
func (b *Book) Orders(bid bool) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for r := b.Best(bid); r != None; r = b.Next(r) {
			if !yield(r) {
				return
			}
		}
	}
}
