package journal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
)

// ErrOtherLog means that the log does not contain a position: it belongs to another venue, or
// one of the two was restored from a backup.
var ErrOtherLog = errors.New("journal: not a position of this log")

// tail is one active call of Tail.
type tail struct {
	next  atomic.Uint64 // number of the next group; Trim keeps it and all later ones
	moved chan struct{} // has a token when something changed
}

// Tail yields the durable groups after a position: those on disk, then each new one, until ctx
// ends. Unlike Deliver it may be called any number of times at once. A slow caller delays neither
// Propose nor Deliver and costs no memory, because it reads from disk again; Trim keeps the
// segments that it has still to read. Groups are shared and read-only.
//
// The error of the last pair is ErrOtherLog, ErrTrimmed, ErrClosed, a *Damage, or the reason why
// the log failed.
func (f *File) Tail(ctx context.Context, after Position) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		t := &tail{moved: make(chan struct{}, 1)}
		t.next.Store(after.Number + 1)
		f.queue.addTail(t)
		defer f.queue.removeTail(t)
		if err := f.checkPosition(after); err != nil {
			yield(Group{}, err)
			return
		}
		first, other := true, false
		err := f.deliver(ctx, after.Number+1, t.moved, func(g Group, err error) bool {
			if first && err == nil && !g.follows(&after.Chain) {
				other = true
				return false
			}
			first = false
			if !yield(g, err) {
				return false
			}
			t.next.Store(g.Number + 1)
			return true
		})
		if other {
			err = fmt.Errorf("%w: group %d has another running hash", ErrOtherLog, after.Number)
		}
		if err != nil {
			yield(Group{}, err)
		}
	}
}

// checkPosition checks a position that no group of the log follows yet. Tail checks any other by
// the first group after it.
func (f *File) checkPosition(p Position) error {
	last := f.Last()
	switch {
	case p.Number > last.Number:
		return fmt.Errorf("%w: group %d; the last is %d", ErrOtherLog, p.Number, last.Number)
	case p.Number == last.Number && p.Chain != last.Chain:
		return fmt.Errorf("%w: group %d has another running hash", ErrOtherLog, p.Number)
	}
	return nil
}

// First returns the number of the oldest group that the log has, or that it will have if it is
// empty.
func (f *File) First() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.segs[0].before() + 1
}

// SegmentBytes returns the size, in bytes, of the segments that Trim(below) would remove and
// Trim(from) would not.
func (f *File) SegmentBytes(from, below uint64) (n int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := 0; i+1 < len(f.segs) && f.segs[i+1].first <= below; i++ {
		if f.segs[i+1].first <= from {
			continue
		}
		st, err := os.Stat(f.segs[i].path)
		if err != nil {
			return n, err
		}
		n += st.Size()
	}
	return n, nil
}

func (q *queue) addTail(t *tail) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tails == nil {
		q.tails = map[*tail]struct{}{}
	}
	q.tails[t] = struct{}{}
}

func (q *queue) removeTail(t *tail) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.tails, t)
}

// limitTrim returns below, or the number of the first group that a tail has still to read if that
// is less.
func (q *queue) limitTrim(below uint64) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	for t := range q.tails {
		below = min(below, t.next.Load())
	}
	return below
}
