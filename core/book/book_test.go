package book

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
)

// plainBook is a simple reference: one list of orders, sorted on each read.
type plainBook struct{ orders []plainOrder }

type plainOrder struct {
	id   core.OrderID
	bid  bool
	tick core.Tick
	left core.Qty
	at   int // step of its arrival
}

func (p *plainBook) side(bid bool) []plainOrder {
	var out []plainOrder
	for _, o := range p.orders {
		if o.bid == bid {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b plainOrder) int {
		best := cmp.Compare(a.tick, b.tick)
		if bid {
			best = -best
		}
		return cmp.Or(best, a.at-b.at)
	})
	return out
}

func (p *plainBook) levels(bid bool) (out []Level) {
	for _, o := range p.side(bid) {
		if n := len(out); n > 0 && out[n-1].Tick == o.tick {
			out[n-1].Qty += o.left
		} else {
			out = append(out, Level{o.tick, o.left})
		}
	}
	return out
}

// TestBookAgreesWithPlainBook compares a Book with the reference after every step: the
// sequence of the orders and the total of every level.
func TestBookAgreesWithPlainBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := NewPool(1)
		quick, simple := New(pool), &plainBook{}
		ticks := rapid.SampledFrom([]core.Tick{1, 2, 63, 64, 65, 4095, 4096, 4097, 5000, 8191, 8192, 9998, 9999})
		id := core.OrderID(rapid.Uint64Range(1, 1<<40).Draw(t, "first id"))
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			pick := func() int { return rapid.IntRange(0, len(simple.orders)-1).Draw(t, "which") }
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case kind <= 1 || len(simple.orders) == 0:
				id += core.OrderID(rapid.SampledFrom([]uint64{1, 1, 2, 1 << 32}).Draw(t, "gap"))
				o := plainOrder{id, rapid.Bool().Draw(t, "bid"), ticks.Draw(t, "tick"), core.Qty(rapid.IntRange(1, 50).Draw(t, "qty")), step}
				r := pool.Alloc(o.id)
				at := pool.At(r)
				at.Left = uint32(o.left)
				if !o.bid {
					at.SetAttributes(1, core.Sell, core.Yes, 0)
				}
				quick.Add(r, o.tick)
				simple.orders = append(simple.orders, o)
			case kind == 2:
				i := pick()
				n := core.Qty(rapid.Int64Range(0, int64(simple.orders[i].left)-1).Draw(t, "lower"))
				quick.Reduce(pool.Find(simple.orders[i].id), n)
				simple.orders[i].left -= n
			default:
				i := pick()
				r := pool.Find(simple.orders[i].id)
				quick.Remove(r)
				pool.Free(r)
				simple.orders = slices.Delete(simple.orders, i, i+1)
			}
			agree(t, quick, simple, pool)
		}
	})
}

func agree(t *rapid.T, quick *Book, simple *plainBook, pool *Pool) {
	if quick.Len() != len(simple.orders) || pool.Len() != len(simple.orders) {
		t.Fatalf("%d orders in the book and %d in the pool, want %d", quick.Len(), pool.Len(), len(simple.orders))
	}
	for _, bid := range []bool{true, false} {
		want := simple.side(bid)
		i := 0
		for r := range quick.Orders(bid) {
			o := quick.At(r)
			if i >= len(want) || o.ID != want[i].id || core.Qty(o.Left) != want[i].left || o.TickYes() != want[i].tick {
				t.Fatalf("position %d, bid %v: wrong order %d", i, bid, o.ID)
			}
			if pool.Find(o.ID) != r {
				t.Fatalf("Find(%d) does not find the order", o.ID)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("bid %v: %d orders, want %d", bid, i, len(want))
		}
		if got := slices.Collect(quick.Levels(bid)); !slices.Equal(got, simple.levels(bid)) || quick.Depth(bid) != len(got) {
			t.Fatalf("bid %v: levels %v, want %v", bid, got, simple.levels(bid))
		}
	}
	if pool.Find(1<<62) != None {
		t.Fatal("Find finds an order that never existed")
	}
}

// TestPoolGrowsAndReusesSlots checks that a pool that grows and shrinks finds exactly its
// orders and reuses free slots.
func TestPoolGrowsAndReusesSlots(t *testing.T) {
	const capacity = 3000
	pool := NewPool(1)
	slots := map[core.OrderID]Ref{}
	var ids, gone []core.OrderID
	check := func() {
		t.Helper()
		if pool.Len() != len(slots) {
			t.Fatalf("Len is %d, want %d", pool.Len(), len(slots))
		}
		for id, r := range slots {
			if got := pool.Find(id); got != r || pool.At(r).ID != id {
				t.Fatalf("Find(%d) = %d, want %d", id, got, r)
			}
		}
		for _, id := range gone {
			if r := pool.Find(id); r != None {
				t.Fatalf("Find(%d) = %d after Free", id, r)
			}
		}
	}
	next := core.OrderID(1)
	for range 6 {
		for len(slots) < capacity {
			r := pool.Alloc(next)
			if o := pool.At(r); o.ID != next || o.Left != 0 {
				t.Fatalf("Alloc returned a slot that is not empty: %+v", *o)
			}
			pool.At(r).Left = 7
			slots[next] = r
			ids = append(ids, next)
			next += 1 + next%3 + (next%5)/4<<32 // some ids share their low 32 bits
		}
		check()
		gone = gone[:0]
		for i, id := range ids { // free two of three
			if i%3 != 0 {
				pool.Free(slots[id])
				delete(slots, id)
				gone = append(gone, id)
			}
		}
		ids = slices.DeleteFunc(ids, func(id core.OrderID) bool { _, ok := slots[id]; return !ok })
		check()
	}
	if len(pool.orders) != 4096 || len(pool.index.cells) != 8192 {
		t.Errorf("%d slots and %d cells for %d orders", len(pool.orders), len(pool.index.cells), capacity)
	}
}

// TestNewPoolSize checks that a pool does not grow before its initial slots are used.
func TestNewPoolSize(t *testing.T) {
	for _, c := range []struct{ n, room int }{{1, 64}, {64, 64}, {100, 100}} {
		pool := NewPool(c.n)
		for i := range c.room {
			pool.Alloc(core.OrderID(i + 1))
		}
		if len(pool.orders) != c.room {
			t.Errorf("NewPool(%d) has %d slots, want %d", c.n, len(pool.orders), c.room)
		}
		pool.Alloc(1 << 20)
		if len(pool.orders) != 2*c.room {
			t.Errorf("NewPool(%d) grew to %d slots, want %d", c.n, len(pool.orders), 2*c.room)
		}
	}
}

// TestFindComparesTheWholeID uses an id whose low 32 bits are 0, in slot 0.
func TestFindComparesTheWholeID(t *testing.T) {
	pool := NewPool(1)
	if r := pool.Alloc(1 << 32); r != 0 || pool.Find(1<<32) != r || pool.Find(1<<33) != None {
		t.Errorf("slot %d, found in slot %d", r, pool.Find(1<<32))
	}
}

// TestIndexProbesAreShort checks that ids at regular distances need at most one extra
// probe on average.
func TestIndexProbesAreShort(t *testing.T) {
	pool := NewPool(1)
	for id := range 20_000 {
		pool.Alloc(core.OrderID(3*id + 1))
	}
	x, steps := &pool.index, uint32(0)
	for i, e := range x.cells {
		if e != empty {
			steps += (uint32(i) - x.firstCell(uint32(e>>32))) & uint32(len(x.cells)-1)
		}
	}
	if steps > 20_000 {
		t.Errorf("%d extra probes for 20000 orders", steps)
	}
}

// TestIteratorsStop checks that Levels, Orders and All of an image end when the loop breaks.
func TestIteratorsStop(t *testing.T) {
	pool := NewPool(1)
	b := New(pool)
	for i, bid := range []bool{true, true, false, false} {
		r := pool.Alloc(core.OrderID(i + 1))
		o := pool.At(r)
		o.Left = 1
		if !bid {
			o.SetAttributes(1, core.Sell, core.Yes, 0)
		}
		b.Add(r, core.Tick(100+i))
	}
	for _, bid := range []bool{true, false} {
		n := 0
		for range b.Levels(bid) {
			n++
			break
		}
		for range b.Orders(bid) {
			n++
			break
		}
		image := pool.Image()
		for range image.All() {
			n++
			break
		}
		if n != 3 {
			t.Errorf("%d steps, want 3", n)
		}
	}
}

// TestLevelTotals checks that Add, Reduce and Remove return the level's new total.
func TestLevelTotals(t *testing.T) {
	pool := NewPool(1)
	b := New(pool)
	put := func(id core.OrderID, left uint32) (Ref, core.Qty) {
		r := pool.Alloc(id)
		pool.At(r).Left = left
		return r, b.Add(r, 5000)
	}
	first, n := put(1, 10)
	if n != 10 {
		t.Errorf("Add returned %d, want 10", n)
	}
	second, n := put(2, 5)
	if n != 15 {
		t.Errorf("second Add returned %d, want 15", n)
	}
	if n := b.Reduce(first, 4); n != 11 || pool.At(first).Left != 6 {
		t.Errorf("Reduce returned %d, want 11", n)
	}
	if n := b.Remove(first); n != 5 {
		t.Errorf("Remove returned %d, want 5", n)
	}
	if b.sides[0].best++; b.BestPricesAreCorrect() {
		t.Error("BestPricesAreCorrect accepts a wrong best price")
	}
	b.sides[0].best--
	if !b.BestPricesAreCorrect() {
		t.Error("BestPricesAreCorrect rejects a correct book")
	}
	if n := b.Remove(second); n != 0 || b.Len() != 0 || b.Best(true) != None {
		t.Errorf("last Remove returned %d, want 0", n)
	}
}
