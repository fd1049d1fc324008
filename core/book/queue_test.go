package book

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"duplex/core"
)

// TestQueueKeepsItsSequence checks that removing any order keeps the sequence of the
// others in both directions, and frees empty chunks.
func TestQueueKeepsItsSequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := NewPool(64)
		q := &pool.queues
		var lists [2]Queue
		var want [2][]Ref
		at := map[Ref]queuePos{}
		for r := range Ref(rapid.IntRange(1, 200).Draw(t, "orders")) {
			i := rapid.IntRange(0, 1).Draw(t, "list")
			at[r] = q.push(&lists[i], r)
			want[i] = append(want[i], r)
			for range rapid.IntRange(0, 2).Draw(t, "leave") {
				i := rapid.IntRange(0, 1).Draw(t, "of")
				if n := len(want[i]); n > 0 {
					k := rapid.IntRange(0, n-1).Draw(t, "which")
					q.remove(&lists[i], at[want[i][k]])
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

func walk(t *rapid.T, pool *Pool, l *Queue, at map[Ref]queuePos, want []Ref) {
	var fore []Ref
	if l.head != 0 {
		for r := pool.queues.first(l); r != None; r = pool.queues.next(at[r]) {
			fore = append(fore, r)
		}
	}
	back := slices.Collect(pool.NewestFirst(l))
	slices.Reverse(back)
	if !slices.Equal(fore, want) || !slices.Equal(back, want) {
		t.Fatalf("%v forwards, %v backwards, want %v", fore, back, want)
	}
}

// TestNewestFirstAllowsRemoval removes the current order during the iteration.
func TestNewestFirstAllowsRemoval(t *testing.T) {
	pool := NewPool(64)
	var l Queue
	const n = 5 * refsPerChunk
	for i := range n {
		pool.AddToAccount(&l, pool.Alloc(core.OrderID(i+1)))
	}
	left := n
	for r := range pool.NewestFirst(&l) {
		if left--; int(r) != left {
			t.Fatalf("slot %d, want %d", r, left)
		}
		pool.RemoveFromAccount(&l, r)
		pool.Free(r)
		if left == 3 {
			break
		}
	}
	if got := slices.Collect(pool.NewestFirst(&l)); !slices.Equal(got, []Ref{2, 1, 0}) {
		t.Errorf("%v are left, want [2 1 0]", got)
	}
}

// TestChunksAreFilledAndGrow checks that a queue fills a chunk before it takes another,
// and that the pool of chunks grows.
func TestChunksAreFilledAndGrow(t *testing.T) {
	pool := NewPool(64)
	q := &pool.queues
	var one Queue
	for r := range Ref(2 * refsPerChunk) {
		q.push(&one, r)
	}
	if first := &q.chunks[one.head]; first.next != one.tail || first.live != 1<<refsPerChunk-1 {
		t.Errorf("%d orders are in more than two chunks", 2*refsPerChunk)
	}
	lists := make([]Queue, 10*len(q.chunks))
	for i := range lists {
		q.push(&lists[i], Ref(i))
	}
	for i := range lists {
		if got := q.first(&lists[i]); got != Ref(i) || lists[i].head != lists[i].tail {
			t.Fatalf("queue %d begins with %d", i, got)
		}
	}
	if got := slices.Collect(pool.NewestFirst(&one)); len(got) != 2*refsPerChunk {
		t.Errorf("%d orders, want %d", len(got), 2*refsPerChunk)
	}
}

// TestSizes checks that the types of the hot path fit cache lines.
func TestSizes(t *testing.T) {
	for what, is := range map[string][2]uintptr{
		"a chunk": {unsafe.Sizeof(chunk{}), 64}, "an order": {unsafe.Sizeof(Order{}), 32}, "a level": {unsafe.Sizeof(level{}), 16},
	} {
		if is[0] != is[1] {
			t.Errorf("%s has %d bytes, want %d", what, is[0], is[1])
		}
	}
}
