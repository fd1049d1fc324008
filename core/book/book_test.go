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
					at.Side = core.Sell
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
			o := pool.At(r)
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
		if got := slices.Collect(quick.Levels(bid)); !slices.Equal(got, simple.levels(bid)) {
			t.Fatalf("levels %v, not %v", got, simple.levels(bid))
		}
	}
	if pool.Find(1<<62) != None {
		t.Fatal("found what never was")
	}
}
