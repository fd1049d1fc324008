package engine

import (
	"context"
	"slices"
	"sync"

	"duplex/core/replica"
)

// Applied is one applied command and its outcome.
type Applied = replica.Applied

// Batch is the outcome of one group. It is shared and read-only.
type Batch struct {
	Number uint64 // of the group
	replica.Result

	next  *Batch
	ready chan struct{} // closed when next is set
}

// batchFeed is a linked list of batches, of which it holds the last. A batch that every
// follower has passed is garbage.
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

// Follower reads one batch after the other. The pipeline never waits for a follower: a slow
// one keeps the batches that it has not read in memory. A Follower belongs to one goroutine.
type Follower struct{ at *Batch }

// Follow returns a follower of every batch that is applied from now on. To miss nothing,
// call Follow first, then Read the state at a seq S, and skip what has a seq up to S.
func (e *Engine) Follow() *Follower {
	e.feed.mu.Lock()
	defer e.feed.mu.Unlock()
	return &Follower{at: e.feed.tail}
}

// Next waits for the next batch. It returns the error of ctx if ctx ends first.
func (f *Follower) Next(ctx context.Context) (*Batch, error) {
	select {
	case <-f.at.ready:
		f.at = f.at.next
		return f.at, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Ready returns a channel that is closed when Next would not block.
func (f *Follower) Ready() <-chan struct{} { return f.at.ready }

// seqWaiters are the readers that wait until a seq is applied.
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
	w.list = slices.DeleteFunc(w.list, func(x seqWaiter) bool {
		if x.seq <= seq {
			close(x.done)
		}
		return x.seq <= seq
	})
}

func (w *seqWaiters) remove(done chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(x seqWaiter) bool { return x.done == done })
}

// WaitApplied waits until the command seq is applied. It returns ErrUnknown if ctx ends
// first.
func (e *Engine) WaitApplied(ctx context.Context, seq uint64) error {
	if e.Seq() >= seq {
		return nil
	}
	done := make(chan struct{})
	e.waiters.mu.Lock()
	e.waiters.list = append(e.waiters.list, seqWaiter{seq, done})
	e.waiters.mu.Unlock()
	if e.Seq() >= seq { // applied before the waiter was in the list
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
