package venue

import "container/heap"

// never is the time of what no clock tick brings about.
const never = int64(1<<63 - 1)

// timer is due at a time. A timer is not removed when its order ends or its switch is armed again:
// it is outdated then, which its owner checks when it is due.
type timer struct {
	at  int64  // ns
	key uint64 // the order or the account
}

// timers is a priority queue: the earliest first, of equal times the lowest key.
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

// due returns the time of the first timer, outdated or not; never if there is none.
func (t *timers) due() int64 {
	if len(t.heap) == 0 {
		return never
	}
	return t.heap[0].at
}

// pop removes and returns the first timer if it is due at ts.
func (t *timers) pop(ts int64) (timer, bool) {
	if t.due() > ts {
		return timer{}, false
	}
	return heap.Pop(&t.heap).(timer), true
}

// firstCurrent returns the time of the first timer that is not outdated, or never. It removes the
// outdated ones before it.
func (t *timers) firstCurrent(current func(timer) bool) int64 {
	for len(t.heap) > 0 && !current(t.heap[0]) {
		heap.Pop(&t.heap)
	}
	return t.due()
}

// prune removes all outdated timers if there are at least 1024 timers and at most half of them can
// be current. live bounds the number of current ones. So the cost per added timer is constant.
func (t *timers) prune(live int, current func(timer) bool) {
	if len(t.heap) < 1024 || len(t.heap) < 2*live {
		return
	}
	kept := t.heap[:0]
	for _, x := range t.heap {
		if current(x) {
			kept = append(kept, x)
		}
	}
	t.heap = kept
	heap.Init(&t.heap)
}
