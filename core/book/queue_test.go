package book

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"duplex/core"
)

// A queue is a list: whoever leaves, the others stay in the order of their time, forwards
// and backwards; and a chunk that is empty is there for others.
func TestQueueIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := NewPool(64)
		q := &pool.queues
		var lists [2]Queue
		var want [2][]Ref
		at := map[Ref]place{}
		for r := range Ref(rapid.IntRange(1, 200).Draw(t, "orders")) {
			i := rapid.IntRange(0, 1).Draw(t, "list")
			at[r] = q.push(&lists[i], r)
			want[i] = append(want[i], r)
			for range rapid.IntRange(0, 2).Draw(t, "leave") {
				i := rapid.IntRange(0, 1).Draw(t, "of")
				if n := len(want[i]); n > 0 {
					k := rapid.IntRange(0, n-1).Draw(t, "which")
					q.leave(&lists[i], at[want[i][k]])
					want[i] = slices.Delete(want[i], k, k+1)
				}
			}
			for i := range lists {
				walk(t, pool, &lists[i], at, want[i])
			}
		}
		used := len(q.chunks) - 1
		for c := q.free; c != 0; c = q.chunks[c].next {
			used--
		}
		if used > len(want[0])+len(want[1]) {
			t.Fatalf("%d chunks for %d and %d orders", used, len(want[0]), len(want[1]))
		}
	})
}

func walk(t *rapid.T, pool *Pool, l *Queue, at map[Ref]place, want []Ref) {
	var fore []Ref
	if l.head != 0 {
		for r := pool.queues.first(l); r != None; r = pool.queues.after(at[r]) {
			fore = append(fore, r)
		}
	}
	back := slices.Collect(pool.Backward(l))
	slices.Reverse(back)
	if !slices.Equal(fore, want) || !slices.Equal(back, want) {
		t.Fatalf("%v forwards, %v backwards, not %v", fore, back, want)
	}
}

// A walk of an account's orders goes on when the one it is at leaves.
func TestBackwardWhileLeaving(t *testing.T) {
	pool := NewPool(64)
	var l Queue
	const n = 5 * perChunk
	for i := range n {
		pool.Enlist(&l, pool.New(core.OrderID(i+1)))
	}
	left := n
	for r := range pool.Backward(&l) {
		if left--; int(r) != left {
			t.Fatalf("order %d where %d is next", r, left)
		}
		pool.Delist(&l, r)
		pool.Drop(r)
		if left == 3 {
			break
		}
	}
	if got := slices.Collect(pool.Backward(&l)); !slices.Equal(got, []Ref{2, 1, 0}) {
		t.Errorf("%v are left", got)
	}
}

// A chunk is filled before the next is taken, and there are more when all are in use.
func TestChunksAreFilledAndGrow(t *testing.T) {
	pool := NewPool(64)
	q := &pool.queues
	var one Queue
	for r := range Ref(2 * perChunk) {
		q.push(&one, r)
	}
	if first := &q.chunks[one.head]; first.next != one.tail || first.live != 1<<perChunk-1 {
		t.Errorf("%d orders stand in more than two chunks", 2*perChunk)
	}
	lists := make([]Queue, 10*len(q.chunks))
	for i := range lists {
		q.push(&lists[i], Ref(i))
	}
	for i := range lists {
		if got := q.first(&lists[i]); got != Ref(i) || lists[i].head != lists[i].tail {
			t.Fatalf("list %d begins with %d", i, got)
		}
	}
	if got := slices.Collect(pool.Backward(&one)); len(got) != 2*perChunk {
		t.Errorf("%d orders are left of %d", len(got), 2*perChunk)
	}
}

// What is touched for each command has the size of a cache line, or a part of it.
func TestSizes(t *testing.T) {
	for what, is := range map[string][2]uintptr{
		"a chunk": {unsafe.Sizeof(chunk{}), 64}, "an order": {unsafe.Sizeof(Order{}), 32}, "a level": {unsafe.Sizeof(level{}), 16},
	} {
		if is[0] != is[1] {
			t.Errorf("%s has %d bytes, not %d", what, is[0], is[1])
		}
	}
}
