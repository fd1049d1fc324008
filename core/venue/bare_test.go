package venue

import (
	"math/bits"
	"runtime"
	"slices"
	"testing"
	"time"

	"duplex/core"
)

// bare is what a book costs that only matches: levels and orders in arrays that refer to
// each other by index, a bitmap of levels, a ring of the last fills, and nothing else: no
// accounts, no money, no checks, no events. It is the limit that the venue is measured
// beside.
type bare struct {
	books  [streamMarkets][2]bareSide // 0 bids, 1 asks
	orders []bareOrder
	free   uint32
	at     []uint32 // by order id, none if it does not rest
	fills  int
	volume int64
	last   [4096]bareFill
}

type bareFill struct {
	maker, taker uint32
	price, qty   int32
}

type bareOrder struct {
	next, prev, id uint32
	qty            int32
	price          int16
	market, side   uint8
}

type bareSide struct {
	head, tail [core.TickMax + 2]uint32
	taken      [157]uint64
	upper      [3]uint64
}

const bareNone = ^uint32(0)

func newBare(ids int) *bare {
	x := &bare{orders: make([]bareOrder, 1<<18), at: make([]uint32, ids+1)}
	for i := range x.orders {
		x.orders[i].next = uint32(i + 1)
	}
	for i := range x.at {
		x.at[i] = bareNone
	}
	for m := range x.books {
		for s := range x.books[m] {
			for p := range x.books[m][s].head {
				x.books[m][s].head[p], x.books[m][s].tail[p] = bareNone, bareNone
			}
		}
	}
	return x
}

// best is the lowest level of asks, the highest of bids, −1 if there is none.
func (s *bareSide) best(bids bool) int {
	if bids {
		for u := 2; u >= 0; u-- {
			if m := s.upper[u]; m != 0 {
				w := u<<6 + 63 - bits.LeadingZeros64(m)
				return w<<6 + 63 - bits.LeadingZeros64(s.taken[w])
			}
		}
		return -1
	}
	for u, m := range s.upper {
		if m != 0 {
			w := u<<6 + bits.TrailingZeros64(m)
			return w<<6 + bits.TrailingZeros64(s.taken[w])
		}
	}
	return -1
}

func (x *bare) rest(op *streamCmd, side int, qty int32) {
	r := x.free
	o := &x.orders[r]
	x.free = o.next
	s := &x.books[op.market][side]
	last := s.tail[op.price]
	*o = bareOrder{next: bareNone, prev: last, id: op.id, qty: qty, price: int16(op.price), market: op.market, side: uint8(side)}
	if last == bareNone {
		s.head[op.price] = r
		w := op.price >> 6
		s.taken[w] |= 1 << (op.price & 63)
		s.upper[w>>6] |= 1 << (w & 63)
	} else {
		x.orders[last].next = r
	}
	s.tail[op.price] = r
	x.at[op.id] = r
}

func (x *bare) drop(r uint32) {
	o := &x.orders[r]
	s := &x.books[o.market][o.side]
	if o.prev == bareNone {
		s.head[o.price] = o.next
	} else {
		x.orders[o.prev].next = o.next
	}
	if o.next == bareNone {
		s.tail[o.price] = o.prev
	} else {
		x.orders[o.next].prev = o.prev
	}
	if s.head[o.price] == bareNone {
		w := o.price >> 6
		if s.taken[w] &^= 1 << (o.price & 63); s.taken[w] == 0 {
			s.upper[w>>6] &^= 1 << (w & 63)
		}
	}
	x.at[o.id] = bareNone
	o.next, x.free = x.free, r
}

// matcher is how a book is driven that may be any.
type matcher interface{ do(*streamCmd) }

func (x *bare) do(op *streamCmd) {
	if op.kind == opCancel {
		if r := x.at[op.id]; r != bareNone {
			x.drop(r)
		}
		return
	}
	side, left := 1, op.qty
	if op.buy {
		side = 0
	}
	other := &x.books[op.market][1-side]
	for left > 0 {
		p := other.best(side == 1)
		if p < 0 || op.buy && p > int(op.price) || !op.buy && p < int(op.price) {
			break
		}
		for r := other.head[p]; left > 0 && r != bareNone; r = other.head[p] {
			o := &x.orders[r]
			n := min(left, o.qty)
			left -= n
			x.last[x.fills%len(x.last)] = bareFill{o.id, op.id, int32(p), n}
			x.fills++
			x.volume += int64(n)
			if o.qty -= n; o.qty == 0 {
				x.drop(r)
			}
		}
	}
	if left > 0 {
		x.rest(op, side, left)
	}
}

// BenchmarkStreamBeside runs the whole stream through the venue and through a bare book
// in turn, and gives the median of each: x-bare is the venue's rate in bare books.
func BenchmarkStreamBeside(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run has five of each: -benchtime 1x")
	}
	prefill, ops, g := stream()
	all := slices.Concat(prefill, ops)
	var ours, bares []float64
	for range 5 {
		v, st := streamVenue(b)
		cmds := streamCmds(st.Seq, all)
		ev := &core.Events{}
		streamThrough(v, ev, cmds[:len(prefill)])
		runtime.GC()
		begun := time.Now()
		fills := streamThrough(v, ev, cmds[len(prefill):])
		ours = append(ours, time.Since(begun).Seconds())
		x := newBare(len(all))
		for i := range cmds[:len(prefill)] {
			x.do(&cmds[i])
		}
		x.fills, x.volume = 0, 0
		var m matcher = x
		runtime.GC()
		begun = time.Now()
		for i := range cmds[len(prefill):] {
			m.do(&cmds[len(prefill)+i])
		}
		bares = append(bares, time.Since(begun).Seconds())
		if n := streamVolume(v); n != g.volume || fills != g.trades || x.volume != g.volume || x.fills != g.trades {
			b.Fatalf("%d fills of %d contracts, %d of %d of the bare book, the stream has %d of %d", fills, n, x.fills, x.volume, g.trades, g.volume)
		}
	}
	slices.Sort(ours)
	slices.Sort(bares)
	b.ReportMetric(ours[2]/streamOps*1e9, "ns/command")
	b.ReportMetric(bares[2]/streamOps*1e9, "ns/bare")
	b.ReportMetric(bares[2]/ours[2], "x-bare")
}
