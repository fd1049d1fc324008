package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
)

// The queue keeps the newest groups in memory, within these bounds. A consumer that falls
// further behind reads from disk. So a slow consumer costs no memory and never blocks
// Propose, and one goroutine may both propose and deliver.
const (
	queueGroups = 1024
	queueBytes  = 32 << 20
)

// queue passes groups from Propose to Deliver and Tail.
type queue struct {
	mu     sync.Mutex
	recent []Group       // the newest groups, without a gap, up to last
	bytes  int           // of their bodies
	last   uint64        // number of the newest durable group
	err    error         // why no group will follow; nil: more may follow
	busy   bool          // Deliver is active
	moved  chan struct{} // of Deliver: has a token when something changed
	tails  map[*tail]struct{}
}

func (q *queue) init() { q.moved = make(chan struct{}, 1) }

// start sets the number of the last durable group. recent are the newest groups up to it, of
// the last segment, which Open has read. They may exceed the bounds until the first push.
func (q *queue) start(last uint64, recent []Group) {
	q.last, q.recent = last, recent
	for i := range recent {
		q.bytes += len(recent[i].Body)
	}
}

func (q *queue) push(g Group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.recent = append(q.recent, g)
	q.bytes += len(g.Body)
	q.last = g.Number
	for len(q.recent) > queueGroups || q.bytes > queueBytes {
		q.bytes -= len(q.recent[0].Body)
		q.recent[0] = Group{}
		q.recent = q.recent[1:]
	}
	q.wake()
}

func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.wake()
}

func (q *queue) wake() {
	signal(q.moved)
	for t := range q.tails {
		signal(t.moved)
	}
}

// signal wakes the reader of a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns the groups in memory from number next on, or in disk the number up to which
// they are only on disk, or the error that ended the log. All are zero if the consumer must
// wait.
func (q *queue) take(next uint64) (live []Group, disk uint64, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.last + 1 - uint64(len(q.recent))
	switch {
	case next > q.last:
		return nil, 0, q.err
	case next < first:
		return nil, first - 1, nil
	}
	return slices.Clone(q.recent[next-first:]), 0, nil
}

func (q *queue) enter() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.busy
	q.busy = true
	return !was
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
}

// Deliver implements Log. It verifies again the groups that it reads from disk. The error of
// the last pair is ErrBusy, ErrTrimmed, ErrClosed, a *Damage, or the reason why the log failed.
func (f *File) Deliver(ctx context.Context, from uint64) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		if !f.queue.enter() {
			yield(Group{}, ErrBusy)
			return
		}
		defer f.queue.leave()
		if err := f.deliver(ctx, max(from, 1), f.queue.moved, yield); err != nil {
			yield(Group{}, err)
		}
	}
}

// deliver yields groups, and waits for new ones on moved. It returns the error to yield last; nil
// if ctx has ended or the consumer has stopped.
func (f *File) deliver(ctx context.Context, next uint64, moved <-chan struct{}, yield func(Group, error) bool) error {
	if last := f.Last().Number; next > last+1 {
		return fmt.Errorf("%w: group %d; the last is %d", ErrTrimmed, next, last)
	}
	for ctx.Err() == nil {
		live, disk, err := f.queue.take(next)
		switch {
		case err != nil:
			return err
		case disk > 0:
			gone, err := f.replay(ctx, next, disk, yield)
			if gone || err != nil {
				return err
			}
			next = disk + 1
		case len(live) > 0:
			for _, g := range live {
				if ctx.Err() != nil || !yield(g, nil) {
					return nil
				}
			}
			next += uint64(len(live))
		default:
			select {
			case <-moved:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// replay yields the groups from next to upto from disk; gone reports that the consumer has
// stopped.
func (f *File) replay(ctx context.Context, next, upto uint64, yield func(Group, error) bool) (gone bool, err error) {
	s, err := f.scannerAt(next)
	if err != nil {
		return false, err
	}
	defer s.close()
	for s.last.Number < upto {
		p, err := s.next()
		if err == io.EOF {
			err = s.damage(s.r.off, errors.New("a durable group is missing"))
		}
		if err != nil {
			return false, err
		}
		if p.Number < next {
			continue
		}
		if ctx.Err() != nil || !yield(p.Group, nil) {
			return true, nil
		}
	}
	return false, nil
}

// scannerAt returns a scanner at the segment of group next. It accepts the chain hash of the
// segment's first group, which Open has verified.
func (f *File) scannerAt(next uint64) (*scanner, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first := f.segs[0].before() + 1; next < first {
		return nil, fmt.Errorf("%w: group %d; the first is %d", ErrTrimmed, next, first)
	}
	i := 0
	for i+1 < len(f.segs) && f.segs[i+1].first <= next {
		i++
	}
	return &scanner{segs: slices.Clone(f.segs[i:])}, nil
}
