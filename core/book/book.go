package book

import (
	"iter"
	"math/bits"

	"duplex/core"
)

const (
	numLevels = int(core.TickMax) + 2
	numWords  = (numLevels + 63) / 64
)

// level is one price of a side; qty is the total of its orders.
type level struct {
	Queue
	qty int64
}

// side is one side of a book. occupied has a bit for each level that has orders, summary
// a bit for each word of occupied that is not 0.
type side struct {
	levels   [numLevels]level
	occupied [numWords]uint64
	summary  [(numWords + 63) / 64]uint64
	best     int // the best occupied level; -1 of empty bids, numLevels of empty asks
}

func (s *side) setOccupied(t int) {
	s.occupied[t>>6] |= 1 << (t & 63)
	s.summary[t>>12] |= 1 << (t >> 6 & 63)
}

func (s *side) clearOccupied(t int) {
	if s.occupied[t>>6] &^= 1 << (t & 63); s.occupied[t>>6] == 0 {
		s.summary[t>>12] &^= 1 << (t >> 6 & 63)
	}
}

// nextAbove is the lowest occupied level ≥ t, or numLevels.
func (s *side) nextAbove(t int) int {
	if t >= numLevels {
		return numLevels
	}
	if w := s.occupied[t>>6] >> (t & 63); w != 0 {
		return t + bits.TrailingZeros64(w)
	}
	w := t>>6 + 1
	for u := w >> 6; u < len(s.summary); u++ {
		m := s.summary[u]
		if u == w>>6 {
			m &= ^uint64(0) << (w & 63)
		}
		if m != 0 {
			x := u<<6 + bits.TrailingZeros64(m)
			return x<<6 + bits.TrailingZeros64(s.occupied[x])
		}
	}
	return numLevels
}

// nextBelow is the highest occupied level ≤ t, or -1.
func (s *side) nextBelow(t int) int {
	if t < 0 {
		return -1
	}
	if w := s.occupied[t>>6] << (63 - t&63); w != 0 {
		return t - bits.LeadingZeros64(w)
	}
	w := t>>6 - 1
	for u := w >> 6; u >= 0; u-- {
		m := s.summary[u]
		if u == w>>6 {
			m &= ^uint64(0) >> (63 - w&63)
		}
		if m != 0 {
			x := u<<6 + 63 - bits.LeadingZeros64(m)
			return x<<6 + 63 - bits.LeadingZeros64(s.occupied[x])
		}
	}
	return -1
}

// nextWorse is the next occupied level after t, away from the best price; if there is
// none, -1 for bids and numLevels for asks.
func (s *side) nextWorse(t int, bid bool) int {
	if bid {
		return s.nextBelow(t - 1)
	}
	return s.nextAbove(t + 1)
}

// Book is the order book of one market (docs/rules/prices.md#one-book).
type Book struct {
	pool  *Pool
	sides [2]side // bids, asks
	count int
}

// New returns an empty book whose orders are in p.
func New(p *Pool) *Book {
	b := &Book{pool: p}
	b.sides[0].best, b.sides[1].best = -1, numLevels
	return b
}

// Len is the number of orders in the book.
func (b *Book) Len() int { return b.count }

// At returns the order in slot r. The caller must not change it.
func (b *Book) At(r Ref) *Order { return b.pool.At(r) }

func (b *Book) side(bid bool) *side {
	i := 1
	if bid {
		i = 0
	}
	return &b.sides[i]
}

// levelFilled records that level t has its first order.
func (s *side) levelFilled(t int, bid bool) {
	s.setOccupied(t)
	if bid == (t > s.best) {
		s.best = t
	}
}

// levelEmptied records that level t has lost its last order.
func (s *side) levelEmptied(t int, bid bool) {
	s.clearOccupied(t)
	if t == s.best {
		s.best = s.nextWorse(t, bid)
	}
}

// Add appends an order to the level at tick yes, in YES space. It returns the level's new
// total.
func (b *Book) Add(r Ref, yes core.Tick) core.Qty {
	o := b.pool.At(r)
	o.tick = uint16(yes)
	s := &b.sides[o.ask()]
	l := &s.levels[yes]
	if l.head == 0 {
		s.levelFilled(int(yes), o.Bid())
	}
	o.levelPos = b.pool.queues.push(&l.Queue, r)
	l.qty += int64(o.Left)
	b.count++
	return core.Qty(l.qty)
}

// Remove removes an order from its level and returns the level's new total. The order
// keeps its slot until Pool.Free.
func (b *Book) Remove(r Ref) core.Qty {
	o := b.pool.At(r)
	s := &b.sides[o.ask()]
	l := &s.levels[o.tick]
	b.pool.queues.remove(&l.Queue, o.levelPos)
	if l.head == 0 {
		s.levelEmptied(int(o.tick), o.Bid())
	}
	l.qty -= int64(o.Left)
	b.count--
	return core.Qty(l.qty)
}

// Reduce takes n contracts off an order, which keeps its place in the queue. It returns
// the level's new total.
func (b *Book) Reduce(r Ref, n core.Qty) core.Qty {
	o := b.pool.At(r)
	l := &b.sides[o.ask()].levels[o.tick]
	o.Left -= uint32(n)
	l.qty -= int64(n)
	return core.Qty(l.qty)
}

// LevelQty is the total of the level at tick yes, in YES space; 0 if no order is there.
func (b *Book) LevelQty(bid bool, yes core.Tick) core.Qty {
	return core.Qty(b.side(bid).levels[yes].qty)
}

// Ahead is the total of the orders before r at its level. It takes time in proportion to
// their number.
func (b *Book) Ahead(r Ref) (n core.Qty) {
	q := &b.pool.queues
	for at, ok := q.prevPos(b.pool.At(r).levelPos); ok; at, ok = q.prevPos(at) {
		n += core.Qty(b.pool.At(q.chunks[at.chunk()].refs[at.slot()]).Left)
	}
	return n
}

// Best is the first order of a side, at the highest bid or lowest ask; None if the side
// is empty.
func (b *Book) Best(bid bool) Ref {
	s := b.side(bid)
	return b.first(s, s.best)
}

// BestTick is the best price of a side, in YES space; false if the side is empty.
func (b *Book) BestTick(bid bool) (core.Tick, bool) {
	s := b.side(bid)
	return core.Tick(s.best), uint(s.best) < uint(numLevels)
}

// BestPricesAreCorrect reports whether the kept best prices are those that a search finds.
func (b *Book) BestPricesAreCorrect() bool {
	return b.sides[0].best == b.sides[0].nextBelow(numLevels-1) && b.sides[1].best == b.sides[1].nextAbove(0)
}

// first is the oldest order of level t, None if t is not a level.
func (b *Book) first(s *side, t int) Ref {
	if uint(t) >= uint(numLevels) {
		return None
	}
	return b.pool.queues.first(&s.levels[t].Queue)
}

// Next is the order after r by price, then time; None at the end.
func (b *Book) Next(r Ref) Ref {
	o := b.pool.At(r)
	if next := b.pool.queues.next(o.levelPos); next != None {
		return next
	}
	s := b.side(o.Bid())
	return b.first(s, s.nextWorse(int(o.tick), o.Bid()))
}

// Level is one price of a side, in YES space, with its total quantity.
type Level struct {
	Tick core.Tick
	Qty  core.Qty
}

// Depth is the number of occupied levels of a side.
func (b *Book) Depth(bid bool) (n int) {
	for _, w := range b.side(bid).occupied {
		n += bits.OnesCount64(w)
	}
	return n
}

// Levels iterates over the levels of a side, the best price first.
func (b *Book) Levels(bid bool) iter.Seq[Level] {
	return func(yield func(Level) bool) {
		s := b.side(bid)
		for t := s.best; t >= 0 && t < numLevels; t = s.nextWorse(t, bid) {
			if !yield(Level{core.Tick(t), core.Qty(s.levels[t].qty)}) {
				return
			}
		}
	}
}

// Orders iterates over the orders of a side by price, then time. The book must not change
// meanwhile.
func (b *Book) Orders(bid bool) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for r := b.Best(bid); r != None; r = b.Next(r) {
			if !yield(r) {
				return
			}
		}
	}
}
