package ws

import (
	"sync"
	"sync/atomic"
)

// Stats counts what an operator watches.
type Stats struct {
	Opened  atomic.Uint64 // connections
	Frames  atomic.Uint64 // encoded
	Handed  atomic.Uint64 // to a reader's queue
	Thinned atomic.Uint64 // queues cut down because their reader was behind
	codes   sync.Map      // close code → *atomic.Uint64
}

func (s *Stats) closed(code int) {
	n, ok := s.codes.Load(code)
	if !ok {
		n, _ = s.codes.LoadOrStore(code, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
}

// Closed visits the close codes that were sent.
func (s *Stats) Closed(visit func(code int, n uint64)) {
	s.codes.Range(func(k, v any) bool { visit(k.(int), v.(*atomic.Uint64).Load()); return true })
}

// Now tells how many connections and subscriptions there are, and how many bytes
// wait for their readers.
func (l *Lane) Now() (connections, subscriptions, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		subscriptions += len(c.subs)
		c.mu.Lock()
		queued += c.queued
		c.mu.Unlock()
	}
	return len(l.conns), subscriptions, queued
}
