package ws

import (
	"runtime"
	"slices"
	"sync"
)

// writerPool writes the queues of all connections with a few goroutines. With one goroutine
// per connection, a frame for thousands of readers would make thousands of goroutines
// runnable ahead of the next request. The pool has one writer for every two processors: the
// Go scheduler polls the network when a processor is idle, but otherwise only every 10 ms.
type writerPool struct {
	mu       sync.Mutex
	notEmpty sync.Cond
	ready    []*conn // scheduled connections, from head on
	head     int
	closed   bool
}

// yieldEvery is the number of queues after which a writer yields its processor.
const yieldEvery = 4

func newWriterPool() *writerPool {
	w := &writerPool{}
	w.notEmpty.L = &w.mu
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		go w.run()
	}
	return w
}

// add queues a connection for writing. Its field scheduled is set and stays set until a
// writer has emptied its queue.
func (w *writerPool) add(c *conn) {
	w.mu.Lock()
	w.ready = append(w.ready, c)
	w.mu.Unlock()
	w.notEmpty.Signal()
}

// close makes the writers return once no connection is ready.
func (w *writerPool) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.notEmpty.Broadcast()
}

func (w *writerPool) run() {
	buf := make([]byte, 0, 2*writeChunk)
	for n := 1; ; n++ {
		c := w.next()
		if c == nil {
			return
		}
		if c.writeQueued(&buf) {
			w.add(c)
		}
		if cap(buf) > 8*writeChunk {
			buf = make([]byte, 0, 2*writeChunk)
		}
		if n%yieldEvery == 0 {
			runtime.Gosched()
		}
	}
}

func (w *writerPool) next() *conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.head == len(w.ready) {
		if w.ready, w.head = w.ready[:0], 0; w.closed {
			return nil
		}
		w.notEmpty.Wait()
	}
	c := w.ready[w.head]
	w.ready[w.head] = nil
	if w.head++; w.head == 4096 { // reclaim the slots of a queue that never empties
		w.ready, w.head = slices.Delete(w.ready, 0, w.head), 0
	}
	return c
}
