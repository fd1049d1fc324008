package engine

import (
	"context"
	"sync"

	"duplex/core"
)

// Applied is one command with what it did.
type Applied struct {
	Stamp   core.Stamp
	Command core.Command
	Reject  core.Reject
	Events  []core.Event
}

// Batch is what one group did. It must not be changed.
type Batch struct {
	Number  uint64
	Applied []Applied

	next  *Batch
	ready chan struct{} // closed when next is set
}

// batchFeed is the list of batches. It holds only its end: what every follower has
// passed is collected.
type batchFeed struct {
	mu   sync.Mutex
	tail *Batch
}

func (f *batchFeed) init() { f.tail = &Batch{ready: make(chan struct{})} }

func (f *batchFeed) push(b *Batch) {
	b.ready = make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tail.next = b
	close(f.tail.ready)
	f.tail = b
}

// Follower reads batches one after the other. One that does not keep up costs the
// memory of what it has not read; the sequencer never waits for it.
type Follower struct{ at *Batch }

// Follow gives a follower of every batch applied from now on. Follow first, then
// Read a state at seq S, then drop what is ≤ S: nothing is missed in between.
func (e *Engine) Follow() *Follower {
	e.feed.mu.Lock()
	defer e.feed.mu.Unlock()
	return &Follower{at: e.feed.tail}
}

// Next waits for the next batch.
func (f *Follower) Next(ctx context.Context) (*Batch, error) {
	select {
	case <-f.at.ready:
		f.at = f.at.next
		return f.at, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Ready is closed when Next will not block.
func (f *Follower) Ready() <-chan struct{} { return f.at.ready }

// seqWaiters are readers that want a seq to be applied first.
type seqWaiters struct {
	mu   sync.Mutex
	list []seqWaiter
}

type seqWaiter struct {
	seq  uint64
	done chan struct{}
}

func (w *seqWaiters) wake(seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.list[:0]
	for _, x := range w.list {
		if x.seq <= seq {
			close(x.done)
		} else {
			kept = append(kept, x)
		}
	}
	clear(w.list[len(kept):])
	w.list = kept
}

func (w *seqWaiters) remove(done chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		if w.list[i].done == done {
			w.list[i] = w.list[len(w.list)-1]
			w.list[len(w.list)-1] = seqWaiter{}
			w.list = w.list[:len(w.list)-1]
			return
		}
	}
}

// WaitApplied waits until seq is applied. It gives ErrUnknown when ctx ends first.
func (e *Engine) WaitApplied(ctx context.Context, seq uint64) error {
	if e.Seq() >= seq {
		return nil
	}
	done := make(chan struct{})
	e.waiters.mu.Lock()
	e.waiters.list = append(e.waiters.list, seqWaiter{seq, done})
	e.waiters.mu.Unlock()
	if e.Seq() >= seq { // applied while we were entering
		e.waiters.remove(done)
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		e.waiters.remove(done)
		return ErrUnknown
	}
}
