package venue

import (
	"math/bits"
	"runtime"
	"slices"
	"testing"
	"time"

	"duplex/core"
)

// bare is a book that only matches: levels and orders in arrays, linked by index, a bitmap of levels
// and a ring of the last fills. It has no accounts, money, checks or events. Its cost is the limit that
// the venue is compared with (docs/performance.md).
type bare struct {
	books  [streamMarkets][2]bareSide // 0 bids, 1 asks
	orders []bareOrder
	free   uint32
	at     []uint32 // by order id: its slot, bareNone if it does not rest
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
			x.books[m][s].clear()
		}
	}
	return x
}

func (s *bareSide) clear() {
	for p := range s.head {
		s.head[p], s.tail[p] = bareNone, bareNone
	}
}

func (s *bareSide) mark(p int) {
	s.taken[p>>6] |= 1 << (p & 63)
	s.upper[p>>12] |= 1 << (p >> 6 & 63)
}

func (s *bareSide) unmark(p int) {
	if s.taken[p>>6] &^= 1 << (p & 63); s.taken[p>>6] == 0 {
		s.upper[p>>12] &^= 1 << (p >> 6 & 63)
	}
}

// best returns the lowest level of asks or the highest of bids, −1 if there is none.
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
		s.mark(int(op.price))
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
		s.unmark(int(o.price))
	}
	x.at[o.id] = bareNone
	o.next, x.free = x.free, r
}

// matcher keeps the compiler from inlining the bare book into the benchmark's loop.
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

// streamTimes are the times that the three implementations took for one stream.
type streamTimes struct{ ours, bare, lean time.Duration }

// compareStream runs n operations of the stream through the venue, a bare book and a lean venue. All
// must make the stream's fills, and both venues must end with the same accounts and holdings.
func compareStream(tb testing.TB, n int) streamTimes {
	prefill, ops, g := stream(n)
	v, st := streamVenue(tb)
	cmds := streamCmds(st.Seq, slices.Concat(prefill, ops))
	before, cmds := cmds[:len(prefill)], cmds[len(prefill):]
	l, x, ev := newLean(v, int(st.Seq)+len(before)+n+1), newBare(len(before)+n), &core.Events{}
	streamThrough(v, ev, before)
	l.through(before)
	for i := range before {
		x.do(&before[i])
	}
	l.fills, l.volume, x.fills, x.volume = 0, 0, 0, 0
	var t streamTimes
	var fills int
	t.ours = timed(func() { fills = streamThrough(v, ev, cmds) })
	t.lean = timed(func() { l.through(cmds) })
	var m matcher = x
	t.bare = timed(func() {
		for i := range cmds {
			m.do(&cmds[i])
		}
	})
	for name, n := range map[string][2]int64{"the venue": {int64(fills), streamVolume(v)}, "the lean venue": {int64(l.fills), l.volume}, "the bare book": {int64(x.fills), x.volume}} {
		if n != [2]int64{int64(g.trades), g.volume} {
			tb.Errorf("%s: %d fills of %d contracts, the stream has %d of %d", name, n[0], n[1], g.trades, g.volume)
		}
	}
	l.compare(tb, v)
	v.Audit()
	return t
}

// timed collects garbage, then returns how long f takes.
func timed(f func()) time.Duration {
	runtime.GC()
	begun := time.Now()
	f()
	return time.Since(begun)
}

// TestBeside checks the three implementations against each other on a short stream.
func TestBeside(t *testing.T) { compareStream(t, 50_000) }

// BenchmarkStreamBeside reports the medians of five runs of the whole stream. x-bare is the venue's
// rate as a fraction of the bare book's, lean-x-bare the lean venue's.
func BenchmarkStreamBeside(b *testing.B) {
	if b.N > 1 {
		b.Skip("one iteration is five runs: use -benchtime 1x")
	}
	var all [3][]float64
	for range 5 {
		t := compareStream(b, streamOps)
		for i, d := range [3]time.Duration{t.ours, t.lean, t.bare} {
			all[i] = append(all[i], float64(d.Nanoseconds())/streamOps)
		}
	}
	for i := range all {
		slices.Sort(all[i])
	}
	ours, lean, bare := all[0][2], all[1][2], all[2][2]
	b.ReportMetric(ours, "ns/command")
	b.ReportMetric(bare, "ns/bare")
	b.ReportMetric(lean, "ns/lean")
	b.ReportMetric(bare/ours, "x-bare")
	b.ReportMetric(bare/lean, "lean-x-bare")
}
