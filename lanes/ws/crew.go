package ws

import (
	"runtime"
	"slices"
	"sync"
)

// crew writes for all connections: a few goroutines, each a turn for one connection
// after the other. With a goroutine a connection, one frame for thousands of readers
// would put thousands before the next request that wants a processor. Half of the
// processors are left to others: Go looks for what has come over the network when one
// is idle, and else every 10 ms.
type crew struct {
	mu    sync.Mutex
	some  sync.Cond
	ready []*conn // have something to write, and nobody who does
	next  int     // of ready
	ended bool
}

// yieldEvery is after how many turns a writer lets others have its processor.
const yieldEvery = 4

func newCrew() *crew {
	w := &crew{}
	w.some.L = &w.mu
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		go w.work()
	}
	return w
}

// put hands over a connection. Its writing mark is set until the crew has done with it.
func (w *crew) put(c *conn) {
	w.mu.Lock()
	w.ready = append(w.ready, c)
	w.mu.Unlock()
	w.some.Signal()
}

// end lets the crew go once nothing is ready.
func (w *crew) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.some.Broadcast()
}

func (w *crew) work() {
	room := make([]byte, 0, 2*chunk)
	for n := 1; ; n++ {
		c := w.take()
		if c == nil {
			return
		}
		if c.turn(&room) {
			w.put(c)
		}
		if cap(room) > 8*chunk {
			room = make([]byte, 0, 2*chunk)
		}
		if n%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
}

func (w *crew) take() *conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.next == len(w.ready) {
		if w.ready, w.next = w.ready[:0], 0; w.ended {
			return nil
		}
		w.some.Wait()
	}
	c := w.ready[w.next]
	w.ready[w.next] = nil
	if w.next++; w.next == 4096 { // a queue that never empties must not grow
		w.ready, w.next = slices.Delete(w.ready, 0, w.next), 0
	}
	return c
}
