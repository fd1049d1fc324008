package view

import "iter"

// RetentionCaps bounds the number of entries that a View keeps (docs/rules/limits.md#retention). Caps
// apply per account (Terminal orders, Rejects, Fills, Settlements, Events), per market (Tape), per
// series (Rounds), or to the whole venue (Actions, and Routine actions, which are frequent).
type RetentionCaps struct {
	Tape, Terminal, Rejects, Fills int
	Settlements, Events, Rounds    int
	Actions, Routine               int
}

// DefaultRetentionCaps returns the caps of docs/rules/limits.md#retention.
func DefaultRetentionCaps() RetentionCaps {
	return RetentionCaps{Tape: 1000, Terminal: 1000, Rejects: 200, Fills: 2000, Settlements: 1000, Events: 4096, Rounds: 1024, Actions: 10_000, Routine: 1000}
}

// ring keeps the newest max entries of a list. Entries are numbered from 1 without gaps, and an entry's
// number never changes, so that it can be a cursor.
type ring[T any] struct {
	max  int
	next uint64 // number of the next entry
	head int    // index of the oldest in buf; 0 while the ring is not full
	buf  []T
}

func newRing[T any](max int) ring[T] { return ring[T]{max: max, next: 1} }

func (r *ring[T]) add(x T) {
	if len(r.buf) < r.max {
		r.buf = append(r.buf, x)
	} else {
		r.buf[r.head] = x
		r.head = (r.head + 1) % r.max
	}
	r.next++
}

// oldest returns the number of the oldest entry kept, next if there is none.
func (r *ring[T]) oldest() uint64 { return r.next - uint64(len(r.buf)) }

// at returns entry n, which must be kept.
func (r *ring[T]) at(n uint64) *T { return &r.buf[(r.head+int(n-r.oldest()))%len(r.buf)] }

// get returns entry n, or nil if it is not kept.
func (r *ring[T]) get(n uint64) *T {
	if n == 0 || n < r.oldest() || n >= r.next {
		return nil
	}
	return r.at(n)
}

// newestFirst returns the entries below number from (0: all) with their numbers, newest first.
func (r *ring[T]) newestFirst(from uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		n := r.next
		if from != 0 {
			n = min(n, from)
		}
		for n--; n >= r.oldest() && n > 0; n-- {
			if !yield(n, r.at(n)) {
				return
			}
		}
	}
}

// list returns a copy of the entries, oldest first.
func (r *ring[T]) list() []T {
	out := make([]T, 0, len(r.buf))
	return append(append(out, r.buf[r.head:]...), r.buf[:r.head]...)
}

// restore fills an empty ring with entries of which the last has number next-1. It panics if the first
// would have a number below 1.
func (r *ring[T]) restore(list []T, next uint64) {
	if next <= uint64(len(list)) {
		panic("more entries than numbers")
	}
	if over := len(list) - r.max; over > 0 { // the cap was higher when the list was saved
		list = list[over:]
	}
	r.buf, r.head, r.next = append([]T(nil), list...), 0, next
}
