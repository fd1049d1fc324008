package ws

import (
	"sync"
	"sync/atomic"
)

// Stats counts the activity of a lane. It is safe for concurrent use.
type Stats struct {
	Opened    atomic.Uint64 // connections opened
	Frames    atomic.Uint64 // public messages encoded
	Delivered atomic.Uint64 // public messages queued, counted once per reader
	codes     sync.Map      // close code to *atomic.Uint64

	// Conflations of a slow reader's queue that dropped something: of a queue too long, and of
	// one whose oldest message had waited too long.
	ConflatedBytes, ConflatedAge atomic.Uint64
}

func (s *Stats) countClose(code int) {
	n, ok := s.codes.Load(code)
	if !ok {
		n, _ = s.codes.LoadOrStore(code, new(atomic.Uint64))
	}
	n.(*atomic.Uint64).Add(1)
}

// Closes calls visit for each close code sent, with its count, in no particular order.
func (s *Stats) Closes(visit func(code int, n uint64)) {
	s.codes.Range(func(k, v any) bool { visit(k.(int), v.(*atomic.Uint64).Load()); return true })
}

// Usage returns the numbers of open connections and subscriptions, and the total of bytes
// queued for them.
func (l *Lane) Usage() (connections, subscriptions, queued int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		subscriptions += len(c.subs)
		c.mu.Lock()
		queued += c.queuedBytes
		c.mu.Unlock()
	}
	return len(l.conns), subscriptions, queued
}
