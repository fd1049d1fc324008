package venue

import "container/heap"

const never = int64(1<<63 - 1)

// timer is something due at a time. Whether it still stands is looked up when its
// time comes: an order that left, or a switch that was reset, just passes.
type timer struct {
	at  int64
	key uint64
}

// timers gives the earliest first; among equals the lower key.
type timers struct{ heap timerHeap }

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].key < h[j].key
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func (t *timers) add(at int64, key uint64) { heap.Push(&t.heap, timer{at, key}) }

// due is the time of the first, never if there is none.
func (t *timers) due() int64 {
	if len(t.heap) == 0 {
		return never
	}
	return t.heap[0].at
}

// pop takes the first that is due at ts.
func (t *timers) pop(ts int64) (timer, bool) {
	if t.due() > ts {
		return timer{}, false
	}
	return heap.Pop(&t.heap).(timer), true
}

// firstCurrent is the time of the first that still stands; those before it are dropped.
func (t *timers) firstCurrent(stands func(timer) bool) int64 {
	for len(t.heap) > 0 && !stands(t.heap[0]) {
		heap.Pop(&t.heap)
	}
	return t.due()
}

// prune drops the timers that no longer stand once they outnumber those that do.
func (t *timers) prune(live int, stands func(timer) bool) {
	if len(t.heap) < 1024 || len(t.heap) < 2*live {
		return
	}
	kept := t.heap[:0]
	for _, x := range t.heap {
		if stands(x) {
			kept = append(kept, x)
		}
	}
	t.heap = kept
	heap.Init(&t.heap)
}
