package venue

import (
	"math/rand"
	"runtime"
	"slices"
	"testing"
	"time"

	"duplex/core"
)

// The stream is the workload for benchmarks of matching: nine books with 10,000 resting orders each,
// then 2,000,000 operations, of which 45 % are resting limit orders, 40 % cancels and 15 % marketable
// limit orders that fill completely. Other matching engines are measured with the same stream, so that
// figures compare; streamTrades guards against a change of it. For the venue every order includes
// accounts, reservations, fees, checks and events.
const (
	streamMarkets = 9
	streamPrefill = 10_000
	streamOps     = 2_000_000
	streamSeed    = 42
	streamTrades  = 416_516
)

type streamOp struct {
	kind   uint8 // rest, cancel or take
	market uint8
	buy    bool
	price  int32
	qty    int32
	id     uint32
}

const (
	opRest uint8 = iota
	opCancel
	opTake
)

// shadow is the generator's own book of a market, from which it draws cancels and takers.
type shadow struct {
	queue    [2][core.TickMax + 2][]uint32 // order ids, in time
	total    [2][core.TickMax + 2]int64
	bid, ask int
	live     []uint32
	mid      float64
}

type shadowOrder struct {
	price int32
	qty   int32
	side  int // 0 bid, 1 ask
	at    int // in live
	gone  bool
}

type generator struct {
	r      *rand.Rand
	books  [streamMarkets]*shadow
	orders []shadowOrder // by id
	trades int
	volume int64
}

// updateBest moves the best prices past empty levels.
func (g *generator) updateBest(b *shadow) {
	for b.bid > 0 && b.total[0][b.bid] == 0 {
		b.bid--
	}
	for b.ask <= int(core.TickMax) && b.total[1][b.ask] == 0 {
		b.ask++
	}
}

func (g *generator) offset() int {
	if g.r.Intn(100) < 70 {
		return 1 + g.r.Intn(12)
	}
	return 13 + g.r.Intn(400)
}

func (g *generator) rest(m int) streamOp {
	b := g.books[m]
	buy := g.r.Intn(2) == 0
	p, side := int(b.mid), 1
	if buy {
		side = 0
		if p -= g.offset(); p >= b.ask {
			p = b.ask - 1
		}
	} else if p += g.offset(); p <= b.bid {
		p = b.bid + 1
	}
	p = max(1, min(int(core.TickMax), p))
	id := uint32(len(g.orders))
	o := shadowOrder{price: int32(p), qty: int32(1 + g.r.Intn(100)), side: side, at: len(b.live)}
	g.orders = append(g.orders, o)
	b.live = append(b.live, id)
	b.queue[side][p] = append(b.queue[side][p], id)
	b.total[side][p] += int64(o.qty)
	if buy {
		b.bid = max(b.bid, p)
	} else {
		b.ask = min(b.ask, p)
	}
	return streamOp{opRest, uint8(m), buy, o.price, o.qty, id}
}

func (g *generator) remove(b *shadow, id uint32) {
	o := &g.orders[id]
	b.total[o.side][o.price] -= int64(o.qty)
	o.gone = true
	last := b.live[len(b.live)-1]
	b.live[o.at] = last
	g.orders[last].at = o.at
	b.live = b.live[:len(b.live)-1]
	g.updateBest(b)
}

// first returns the oldest live order at a price.
func (g *generator) first(b *shadow, side, p int) uint32 {
	q := b.queue[side][p]
	for g.orders[q[0]].gone {
		q = q[1:]
	}
	b.queue[side][p] = q
	return q[0]
}

func (g *generator) take(m int) (streamOp, bool) {
	b := g.books[m]
	buy := g.r.Intn(2) == 0
	side, limit := 1, 0
	var avail int64
	if buy {
		limit = min(int(core.TickMax), b.ask+4)
		for p := b.ask; p <= limit; p++ {
			avail += b.total[1][p]
		}
	} else {
		side, limit = 0, max(1, b.bid-4)
		for p := b.bid; p >= limit; p-- {
			avail += b.total[0][p]
		}
	}
	q := int64(1 + g.r.Intn(33))
	if g.r.Intn(50) == 0 {
		q *= 12 // now and then a sweep
	}
	if avail == 0 {
		return streamOp{}, false
	}
	q = min(q, avail)
	op := streamOp{opTake, uint8(m), buy, int32(limit), int32(q), uint32(len(g.orders))}
	g.orders = append(g.orders, shadowOrder{gone: true})
	for q > 0 {
		p := b.ask
		if !buy {
			p = b.bid
		}
		id := g.first(b, side, p)
		o := &g.orders[id]
		n := min(q, int64(o.qty))
		q -= n
		g.trades++
		g.volume += n
		if n == int64(o.qty) {
			g.remove(b, id)
		} else {
			o.qty -= int32(n)
			b.total[side][p] -= n
		}
	}
	return op, true
}

// stream returns the prefill and n operations.
func stream(n int) (prefill, ops []streamOp, g *generator) {
	g = &generator{r: rand.New(rand.NewSource(streamSeed)), orders: make([]shadowOrder, 1, streamOps)}
	for m := range g.books {
		g.books[m] = &shadow{ask: int(core.TickMax) + 1, mid: float64(1500 + 850*m)}
	}
	for m := range g.books {
		for range streamPrefill {
			prefill = append(prefill, g.rest(m))
		}
	}
	for len(ops) < n {
		m := g.r.Intn(streamMarkets)
		b := g.books[m]
		if g.r.Intn(50) == 0 {
			b.mid = max(600, min(9400, b.mid+float64(g.r.Intn(3)-1)))
		}
		switch x := g.r.Intn(100); {
		case x < 40 && len(b.live) > 100:
			id := b.live[g.r.Intn(len(b.live))]
			o := g.orders[id]
			g.remove(b, id)
			ops = append(ops, streamOp{opCancel, uint8(m), o.side == 0, o.price, o.qty, id})
		case x < 85:
			ops = append(ops, g.rest(m))
		default:
			if op, ok := g.take(m); ok {
				ops = append(ops, op)
			}
		}
	}
	if n == streamOps && g.trades != streamTrades {
		panic("the stream has changed")
	}
	return prefill, ops, g
}

const streamUsers = 256

// drive returns a function that applies commands at successive stamps and fails if one is rejected. ev
// holds the events of the last command.
func drive(tb testing.TB, v *Venue, st *core.Stamp, ev *core.Events) func(core.Command) {
	return func(c core.Command) {
		st.Seq++
		st.Ts++
		ev.Reset()
		if r := v.Apply(*st, c, ev); r != core.OK {
			tb.Fatalf("%T is rejected: %v", c, r)
		}
	}
}

// streamVenue returns a venue with nine trading markets on the full grid and accounts that can pay for
// everything. The stream's sells of YES become buys of NO at the complement, which have the same place
// in the book and need no holdings.
func streamVenue(tb testing.TB) (*Venue, core.Stamp) {
	v, st := New(), core.Stamp{Ts: origin + core.NsPerSec}
	do := drive(tb, v, &st, &core.Events{})
	rules := core.DefaultRules()
	rules.Grid, rules.OpenOrders, rules.Contracts = core.Full(), 1<<30, 1<<40
	do(&core.ActivateRules{Revision: core.RevisionNewest})
	do(&core.SetRules{Rules: rules})
	for u := range streamUsers {
		do(&core.CreateUser{Name: "u"})
		do(&core.Deposit{User: core.UserID(u + 1), DepositID: string(rune(u + 1)), Amount: core.DepositMax})
	}
	for f := core.Feed(0); f < core.Feeds; f++ {
		do(&core.SetSession{Feed: f, Open: true})
		do(&core.PostIndex{Tick: core.IndexTick{Feed: f, Second: st.Ts / core.NsPerSec, Price: 100, Count: 1}})
	}
	do(&core.Clock{})
	return v, st
}

// streamCmd is an operation of the stream with its user and order id. It becomes a command only when it
// is applied, as in a lane.
type streamCmd struct {
	order  uint32 // the order to cancel; an order's id is the seq of its placement, so it is known beforehand
	id     uint32
	price  int32
	qty    int32
	user   uint16
	market uint8
	kind   uint8
	buy    bool
}

// streamGroup is the number of commands in a group, as the journal delivers them.
const streamGroup = PrefetchMax

// commandMaker makes commands, a group at a time, in the memory of the previous group.
type commandMaker struct {
	places  [streamGroup]core.PlaceOrder
	cancels [streamGroup]core.CancelOrder
	group   [streamGroup]core.Command
}

func (f *commandMaker) next(cmds []streamCmd) []core.Command {
	for i := range cmds {
		x := &cmds[i]
		if x.kind == opCancel {
			f.cancels[i] = core.CancelOrder{User: core.UserID(x.user), Order: core.OrderID(x.order)}
			f.group[i] = &f.cancels[i]
			continue
		}
		c := &f.places[i] // the other fields stay zero
		c.User, c.ClientID, c.Market, c.Qty = core.UserID(x.user), uint64(x.id), core.MarketID(x.market+1), core.Qty(x.qty)
		c.Outcome, c.Tick = core.Yes, core.Tick(x.price)
		if !x.buy {
			c.Outcome, c.Tick = core.No, c.Tick.Opposite()
		}
		c.TIF, c.Flags = core.GTC, core.StpMaker
		if x.kind == opTake {
			c.TIF, c.Flags = core.IOC, 0
		}
		f.group[i] = c
	}
	return f.group[:len(cmds)]
}

func streamCmds(seq uint64, ops []streamOp) []streamCmd {
	seqs := make([]uint32, len(ops)+1)
	users := make([]uint16, len(ops)+1)
	out := make([]streamCmd, len(ops))
	for i := range ops {
		op := &ops[i]
		seq++
		if op.kind != opCancel {
			seqs[op.id] = uint32(seq)
			users[op.id] = uint16(1 + int(op.id)*7919%(streamUsers/2))
			if op.kind == opTake {
				users[op.id] += streamUsers / 2 // other accounts than the makers, so that self-trade prevention never applies
			}
		}
		out[i] = streamCmd{order: seqs[op.id], id: op.id, price: op.price, qty: op.qty, user: users[op.id], market: op.market, kind: op.kind, buy: op.buy}
	}
	return out
}

// BenchmarkStream measures matching. ns/op is the time to build and apply one command; run it
// with -benchtime 2000000x for the whole stream.
func BenchmarkStream(b *testing.B) {
	v, ev, cmds, g := streamReady(b)
	b.ReportAllocs()
	b.ResetTimer()
	fills := streamThrough(v, ev, cmds[:b.N])
	b.StopTimer()
	if n := streamVolume(v); b.N == streamOps && (fills != g.trades || n != g.volume) {
		b.Fatalf("%d fills of %d contracts, the stream has %d of %d", fills, n, g.trades, g.volume)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	b.ReportMetric(float64(fills), "fills")
	v.Audit()
}

func streamThrough(v *Venue, ev *core.Events, cmds []streamCmd) (fills int) {
	st, f := v.now, &commandMaker{}
	for list := range slices.Chunk(cmds, streamGroup) {
		group := f.next(list)
		v.Prefetch(group)
		for _, c := range group {
			st.Seq++
			st.Ts++
			v.Apply(st, c, ev)
			fills += fillsIn(ev)
			ev.Reset()
		}
	}
	return fills
}

func fillsIn(ev *core.Events) (n int) {
	for _, e := range ev.List {
		if _, ok := e.(*core.Filled); ok {
			n++
		}
	}
	return n
}

// streamVolume returns the number of contracts filled so far.
func streamVolume(v *Venue) (n int64) {
	for m := range v.markets {
		n += int64(v.markets[m].volume)
	}
	return n
}

// BenchmarkStreamEach measures each command alone, which includes 30 to 50 ns for reading the clock.
// The time of Prefetch is not included.
func BenchmarkStreamEach(b *testing.B) {
	v, ev, cmds, _ := streamReady(b)
	st, f := v.now, &commandMaker{}
	took := make([]int64, 0, b.N)
	b.ResetTimer()
	for list := range slices.Chunk(cmds[:b.N], streamGroup) {
		group := f.next(list)
		v.Prefetch(group)
		was := time.Now()
		for _, c := range group {
			st.Seq++
			st.Ts++
			v.Apply(st, c, ev)
			ev.Reset()
			now := time.Now()
			took = append(took, int64(now.Sub(was)))
			was = now
		}
	}
	b.StopTimer()
	slices.Sort(took)
	for q, name := range map[float64]string{.5: "p50-ns", .99: "p99-ns", .999: "p99.9-ns"} {
		b.ReportMetric(float64(took[int(q*float64(b.N-1))]), name)
	}
}

// streamReady returns a venue with the prefill in its books, and the stream's commands.
func streamReady(b *testing.B) (v *Venue, ev *core.Events, cmds []streamCmd, g *generator) {
	if b.N > streamOps {
		b.Skip("the stream has 2000000 operations: use -benchtime 2000000x")
	}
	var prefill, ops []streamOp
	if prefill, ops, g = stream(streamOps); g.trades == 0 {
		b.Fatal("no stream")
	}
	v, st := streamVenue(b)
	cmds = streamCmds(st.Seq, slices.Concat(prefill, ops))
	ev = &core.Events{}
	streamThrough(v, ev, cmds[:len(prefill)])
	runtime.GC() // the garbage of making the stream does not count
	return v, ev, cmds[len(prefill):], g
}
