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

// level is one price of a side.
type level struct {
	Queue
	qty int64
}

// side is one side of a book: its levels, and which of them are taken, in two
// storeys of bits.
type side struct {
	at    [levels]level
	taken [words]uint64
	upper [(words + 63) / 64]uint64
	best  int // level; if none is taken, -1 of bids, levels of asks
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

// behind is the taken level that is next to t, away from the best; if there is none, -1 of
// bids, levels of asks.
func (s *side) behind(t int, bid bool) int {
	if bid {
		return s.below(t - 1)
	}
	return s.above(t + 1)
}

// Book is the book of one market.
type Book struct {
	pool  *Pool
	sides [2]side // bids, asks
	n     int
}

// New makes an empty book over a pool.
func New(p *Pool) *Book {
	b := &Book{pool: p}
	b.sides[0].best, b.sides[1].best = -1, levels
	return b
}

// Len counts the orders in the book.
func (b *Book) Len() int { return b.n }

// At gives an order of the book; it must not be changed.
func (b *Book) At(r Ref) *Order { return b.pool.At(r) }

func (b *Book) side(bid bool) *side {
	i := 1
	if bid {
		i = 0
	}
	return &b.sides[i]
}

// open and shut keep the best level when one is taken, and when it is empty again.
func (s *side) open(t int, bid bool) {
	s.mark(t)
	if bid == (t > s.best) {
		s.best = t
	}
}

func (s *side) shut(t int, bid bool) {
	s.unmark(t)
	if t == s.best {
		s.best = s.behind(t, bid)
	}
}

// Put adds an order at the end of its level's queue. It gives the level's total.
func (b *Book) Put(r Ref, yes core.Tick) core.Qty {
	o := b.pool.At(r)
	o.tick = uint16(yes)
	s := &b.sides[o.ask()]
	l := &s.at[yes]
	if l.head == 0 {
		s.open(int(yes), o.Bid())
	}
	o.place = b.pool.queues.push(&l.Queue, r)
	l.qty += int64(o.Left)
	b.n++
	return core.Qty(l.qty)
}

// Take removes an order from its level. It gives the level's new total.
func (b *Book) Take(r Ref) core.Qty {
	o := b.pool.At(r)
	s := &b.sides[o.ask()]
	l := &s.at[o.tick]
	b.pool.queues.leave(&l.Queue, o.place)
	if l.head == 0 {
		s.shut(int(o.tick), o.Bid())
	}
	l.qty -= int64(o.Left)
	b.n--
	return core.Qty(l.qty)
}

// Lower takes n contracts off an order that stays. It gives the level's new total.
func (b *Book) Lower(r Ref, n core.Qty) core.Qty {
	o := b.pool.At(r)
	l := &b.sides[o.ask()].at[o.tick]
	o.Left -= uint32(n)
	l.qty -= int64(n)
	return core.Qty(l.qty)
}

// Best is the first order of a side: highest bid or lowest ask. None if empty.
func (b *Book) Best(bid bool) Ref {
	s := b.side(bid)
	return b.first(s, s.best)
}

// BestTick is the price of a side's first order, in YES space; false if it is empty.
func (b *Book) BestTick(bid bool) (core.Tick, bool) {
	s := b.side(bid)
	return core.Tick(s.best), uint(s.best) < uint(levels)
}

// Sound tells whether the best prices kept are what a search finds.
func (b *Book) Sound() bool {
	return b.sides[0].best == b.sides[0].below(levels-1) && b.sides[1].best == b.sides[1].above(0)
}

// first is the oldest order of a level, None if t is none.
func (b *Book) first(s *side, t int) Ref {
	if uint(t) >= uint(levels) {
		return None
	}
	return b.pool.queues.first(&s.at[t].Queue)
}

// Next is the order after r in price, then time. None at the end.
func (b *Book) Next(r Ref) Ref {
	o := b.pool.At(r)
	if next := b.pool.queues.after(o.place); next != None {
		return next
	}
	s := b.side(o.Bid())
	return b.first(s, s.behind(int(o.tick), o.Bid()))
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
		s := b.side(bid)
		for t := s.best; t >= 0 && t < levels; t = s.behind(t, bid) {
			if !yield(Level{core.Tick(t), core.Qty(s.at[t].qty)}) {
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
