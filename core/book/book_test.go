package book

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
)

// plain is a book so simple that it is obviously right: one list, sorted when asked.
type plain struct{ orders []plainOrder }

type plainOrder struct {
	id   core.OrderID
	bid  bool
	tick core.Tick
	left core.Qty
	at   int // when it came
}

func (p *plain) side(bid bool) []plainOrder {
	var out []plainOrder
	for _, o := range p.orders {
		if o.bid == bid {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b plainOrder) int {
		switch {
		case a.tick != b.tick && (a.tick > b.tick) == bid:
			return -1
		case a.tick != b.tick:
			return 1
		default:
			return a.at - b.at
		}
	})
	return out
}

func (p *plain) levels(bid bool) (out []Level) {
	for _, o := range p.side(bid) {
		if n := len(out); n > 0 && out[n-1].Tick == o.tick {
			out[n-1].Qty += o.left
		} else {
			out = append(out, Level{o.tick, o.left})
		}
	}
	return out
}

// The quick book and the plain one agree after every step, on every order's place
// and every level's total.
func TestQuickBookAgreesWithPlainBook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := NewPool(1)
		quick, simple := New(pool), &plain{}
		ticks := rapid.SampledFrom([]core.Tick{1, 2, 63, 64, 65, 4095, 4096, 4097, 5000, 8191, 8192, 9998, 9999})
		id := core.OrderID(rapid.Uint64Range(1, 1<<40).Draw(t, "first id"))
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			pick := func() int { return rapid.IntRange(0, len(simple.orders)-1).Draw(t, "which") }
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case kind <= 1 || len(simple.orders) == 0:
				id += core.OrderID(rapid.SampledFrom([]uint64{1, 1, 2, 1 << 32}).Draw(t, "gap"))
				o := plainOrder{id, rapid.Bool().Draw(t, "bid"), ticks.Draw(t, "tick"), core.Qty(rapid.IntRange(1, 50).Draw(t, "qty")), step}
				r := pool.New(o.id)
				at := pool.At(r)
				at.Left = uint32(o.left)
				if !o.bid {
					at.Mark(1, core.Sell, core.Yes, 0)
				}
				quick.Put(r, o.tick)
				simple.orders = append(simple.orders, o)
			case kind == 2:
				i := pick()
				n := core.Qty(rapid.Int64Range(0, int64(simple.orders[i].left)-1).Draw(t, "lower"))
				quick.Lower(pool.Find(simple.orders[i].id), n)
				simple.orders[i].left -= n
			default:
				i := pick()
				r := pool.Find(simple.orders[i].id)
				quick.Take(r)
				pool.Drop(r)
				simple.orders = slices.Delete(simple.orders, i, i+1)
			}
			agree(t, quick, simple, pool)
		}
	})
}

func agree(t *rapid.T, quick *Book, simple *plain, pool *Pool) {
	if quick.Len() != len(simple.orders) || pool.Live() != len(simple.orders) {
		t.Fatalf("%d orders, %d in the pool, not %d", quick.Len(), pool.Live(), len(simple.orders))
	}
	for _, bid := range []bool{true, false} {
		want := simple.side(bid)
		i := 0
		for r := range quick.Orders(bid) {
			o := quick.At(r)
			if i >= len(want) || o.ID != want[i].id || core.Qty(o.Left) != want[i].left || o.TickYes() != want[i].tick {
				t.Fatalf("place %d of the bids (%v): order %d", i, bid, o.ID)
			}
			if pool.Find(o.ID) != r {
				t.Fatalf("order %d is not found", o.ID)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d orders on a side, not %d", i, len(want))
		}
		if got := slices.Collect(quick.Levels(bid)); !slices.Equal(got, simple.levels(bid)) || quick.Depth(bid) != len(got) {
			t.Fatalf("levels %v, not %v", got, simple.levels(bid))
		}
	}
	if pool.Find(1<<62) != None {
		t.Fatal("found what never was")
	}
}

// A pool that grows and shrinks finds every order that rests and none that does not,
// and takes slots again that were given back.
func TestPoolOfThousands(t *testing.T) {
	const most = 3000
	pool := NewPool(1)
	slots := map[core.OrderID]Ref{}
	var ids, gone []core.OrderID
	check := func() {
		t.Helper()
		if pool.Live() != len(slots) {
			t.Fatalf("%d live, not %d", pool.Live(), len(slots))
		}
		for id, r := range slots {
			if got := pool.Find(id); got != r || pool.At(r).ID != id {
				t.Fatalf("order %d is in slot %d, not %d", id, got, r)
			}
		}
		for _, id := range gone {
			if r := pool.Find(id); r != None {
				t.Fatalf("order %d is found in slot %d, and is gone", id, r)
			}
		}
	}
	next := core.OrderID(1)
	for range 6 {
		for len(slots) < most {
			r := pool.New(next)
			if o := pool.At(r); o.ID != next || o.Left != 0 {
				t.Fatalf("a slot that is not empty: %+v", *o)
			}
			pool.At(r).Left = 7
			slots[next] = r
			ids = append(ids, next)
			next += 1 + next%3 + (next%5)/4<<32 // low halves come again
		}
		check()
		gone = gone[:0]
		for i, id := range ids { // two of three go, from the oldest on
			if i%3 != 0 {
				pool.Drop(slots[id])
				delete(slots, id)
				gone = append(gone, id)
			}
		}
		ids = slices.DeleteFunc(ids, func(id core.OrderID) bool { _, ok := slots[id]; return !ok })
		check()
	}
	if len(pool.orders) != 4096 || len(pool.index.cells) != 8192 {
		t.Errorf("%d slots and %d cells for %d orders", len(pool.orders), len(pool.index.cells), most)
	}
}

// Room that was asked for is there, to the last slot.
func TestPoolHasRoom(t *testing.T) {
	for _, c := range []struct{ asked, room int }{{1, 64}, {64, 64}, {100, 100}} {
		pool := NewPool(c.asked)
		for i := range c.room {
			pool.New(core.OrderID(i + 1))
		}
		if len(pool.orders) != c.room {
			t.Errorf("asked for %d, %d slots", c.asked, len(pool.orders))
		}
		pool.New(1 << 20)
		if len(pool.orders) != 2*c.room {
			t.Errorf("asked for %d, then %d slots", c.asked, len(pool.orders))
		}
	}
}

// An id whose low half is 0, in the first slot, is an order like any other.
func TestPoolFindsAWholeId(t *testing.T) {
	pool := NewPool(1)
	if r := pool.New(1 << 32); r != 0 || pool.Find(1<<32) != r || pool.Find(1<<33) != None {
		t.Errorf("in slot %d, found in %d", r, pool.Find(1<<32))
	}
}

// The index finds most orders where it looks first: ids that follow each other do not
// crowd.
func TestIndexSpreads(t *testing.T) {
	pool := NewPool(1)
	for id := range 20_000 {
		pool.New(core.OrderID(3*id + 1))
	}
	x, steps := &pool.index, uint32(0)
	for i, e := range x.cells {
		if e != empty {
			steps += (uint32(i) - x.start(uint32(e>>32))) & uint32(len(x.cells)-1)
		}
	}
	if steps > 20_000 {
		t.Errorf("%d steps to 20000 orders", steps)
	}
}

// A walk ends where its reader wants it to.
func TestWalksStop(t *testing.T) {
	pool := NewPool(1)
	b := New(pool)
	for i, bid := range []bool{true, true, false, false} {
		r := pool.New(core.OrderID(i + 1))
		o := pool.At(r)
		o.Left = 1
		if !bid {
			o.Mark(1, core.Sell, core.Yes, 0)
		}
		b.Put(r, core.Tick(100+i))
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
		if n != 2 {
			t.Errorf("%d steps", n)
		}
	}
}

// What a change of a level answers is its total.
func TestLevelTotals(t *testing.T) {
	pool := NewPool(1)
	b := New(pool)
	put := func(id core.OrderID, left uint32) (Ref, core.Qty) {
		r := pool.New(id)
		pool.At(r).Left = left
		return r, b.Put(r, 5000)
	}
	first, n := put(1, 10)
	if n != 10 {
		t.Errorf("first of a level: %d", n)
	}
	second, n := put(2, 5)
	if n != 15 {
		t.Errorf("second of a level: %d", n)
	}
	if n := b.Lower(first, 4); n != 11 || pool.At(first).Left != 6 {
		t.Errorf("lowered: %d", n)
	}
	if n := b.Take(first); n != 5 {
		t.Errorf("first taken: %d", n)
	}
	if b.sides[0].best++; b.Sound() {
		t.Error("a best price beyond the first is not seen")
	}
	b.sides[0].best--
	if !b.Sound() {
		t.Error("a sound book is not")
	}
	if n := b.Take(second); n != 0 || b.Len() != 0 || b.Best(true) != None {
		t.Errorf("last taken: %d", n)
	}
}
