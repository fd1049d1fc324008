package view

import "iter"

// ring keeps the newest `max` of a list whose entries are numbered from 1 without
// gaps. The number of an entry never changes, which is what cursors hold on to.
type ring[T any] struct {
	max  int
	next uint64 // number of the entry to come
	head int    // where the oldest stands; 0 while the ring is not full
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

// oldest is the number of the oldest entry kept.
func (r *ring[T]) oldest() uint64 { return r.next - uint64(len(r.buf)) }

func (r *ring[T]) at(n uint64) *T { return &r.buf[(r.head+int(n-r.oldest()))%len(r.buf)] }

// get is the entry of a number, nil if it is not kept.
func (r *ring[T]) get(n uint64) *T {
	if n == 0 || n < r.oldest() || n >= r.next {
		return nil
	}
	return r.at(n)
}

// newestFirst walks from the newest entry below number `from` (0: from the newest) to the
// oldest.
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

// list gives the entries oldest first.
func (r *ring[T]) list() []T {
	out := make([]T, 0, len(r.buf))
	return append(append(out, r.buf[r.head:]...), r.buf[:r.head]...)
}

// restore fills an empty ring with entries that end before number next. It panics where
// they would have had to begin before 1.
func (r *ring[T]) restore(list []T, next uint64) {
	if next <= uint64(len(list)) {
		panic("more entries than were numbered")
	}
	if over := len(list) - r.max; over > 0 { // the cap was lowered since
		list = list[over:]
	}
	r.buf, r.head, r.next = append([]T(nil), list...), 0, next
}
