package view

import (
	"bytes"
	"fmt"
	"iter"

	"duplex/core"
)

// history keeps the newest max entries of one list of an account, such as its fills,
// in little memory: all but the newest are encoded, chunkLen at a time. Entries are
// numbered from 1 without gaps, and an entry's number never changes, which is what
// cursors rely on.
//
// An encoded chunk is never changed, so an image of the history (image.go) shares it.
type history[T any, P entry[T]] struct {
	max    int
	next   uint64   // number of the entry to come
	first  uint64   // number of the oldest entry that is held, perhaps beyond max
	chunks [][]byte // encoded, the oldest first
	open   []T      // the newest, at most chunkLen
}

// entry is what a history can keep.
type entry[T any] interface {
	*T
	encode(*encoder)
	decode(*decoder)
}

// chunkLen is how many entries are encoded together: reading one of them decodes all.
// A chunk ends with an entry whose number it divides.
const chunkLen = 64

func newHistory[T any, P entry[T]](max int) history[T, P] {
	return history[T, P]{max: max, next: 1, first: 1}
}

// add enters an entry. scratch is memory to encode in, of any length.
func (h *history[T, P]) add(x T, scratch *[]byte) {
	if len(h.open) > 0 && (h.next-1)%chunkLen == 0 {
		h.chunks = append(h.chunks, pack[T, P](h.open, scratch))
		clear(h.open) // lets go of what its entries refer to
		h.open = h.open[:0]
	}
	h.open = append(h.open, x)
	h.next++
	h.shrink()
}

// shrink drops the chunks of which no entry shows any more.
func (h *history[T, P]) shrink() {
	for len(h.chunks) > 0 && chunkEnd(h.first) <= h.oldest() {
		h.first = chunkEnd(h.first)
		h.chunks[0] = nil // the array behind the slice would keep it
		h.chunks = h.chunks[1:]
	}
}

// pack encodes entries on their own.
func pack[T any, P entry[T]](list []T, scratch *[]byte) []byte {
	e := encoder{b: (*scratch)[:0]}
	for i := range list {
		P(&list[i]).encode(&e)
	}
	*scratch = e.b
	return bytes.Clone(e.b) // without room to grow
}

// unpack decodes n entries.
func unpack[T any, P entry[T]](b []byte, n int, u core.UserID) ([]T, error) {
	d := decoder{b: b, user: u}
	list := make([]T, n)
	for i := range list {
		P(&list[i]).decode(&d)
	}
	return list, d.end()
}

// prove decodes n entries and keeps none.
func prove[T any, P entry[T]](b []byte, n int, u core.UserID) error {
	d := decoder{b: b, user: u, proving: true}
	var x T
	for range n {
		P(&x).decode(&d)
	}
	return d.end()
}

// oldest is the number of the oldest entry that shows.
func (h *history[T, P]) oldest() uint64 {
	if kept := h.next - h.first; kept > uint64(h.max) {
		return h.next - uint64(h.max)
	}
	return h.first
}

// chunkEnd is the number behind the last entry of the chunk that entry n belongs to.
func chunkEnd(n uint64) uint64 { return (n-1)/chunkLen*chunkLen + chunkLen + 1 }

// newest is the entry added last; nil if there is none. It may be changed until the
// command that added it ends.
func (h *history[T, P]) newest() *T {
	if len(h.open) == 0 {
		return nil
	}
	return &h.open[len(h.open)-1]
}

// newestFirst walks from the newest entry below number from (0: from the newest) to the
// oldest that shows.
func (h *history[T, P]) newestFirst(u core.UserID, from uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		end := h.next
		if from != 0 {
			end = min(end, from)
		}
		oldest, opened := h.oldest(), h.next-uint64(len(h.open))
		for n := end; n > opened; n-- {
			if n-1 < oldest || !yield(n-1, &h.open[n-1-opened]) {
				return
			}
		}
		end = min(end, opened)
		for i := len(h.chunks) - 1; i >= 0 && end > oldest; i-- {
			first, behind := h.bounds(i)
			if first >= end {
				continue
			}
			list := mustUnpack[T, P](h.chunks[i], int(behind-first), u)
			for n := min(end, behind); n > first; n-- {
				if n-1 < oldest || !yield(n-1, &list[n-1-first]) {
					return
				}
			}
			end = first
		}
	}
}

// bounds are the numbers of the first entry of chunk i and of the one behind its last.
func (h *history[T, P]) bounds(i int) (first, behind uint64) {
	first = h.first
	if i > 0 {
		first = (h.first-1)/chunkLen*chunkLen + 1 + uint64(i)*chunkLen
	}
	return first, chunkEnd(first)
}

// mustUnpack decodes a chunk that was made here or proved when it was restored.
func mustUnpack[T any, P entry[T]](b []byte, n int, u core.UserID) []T {
	list, err := unpack[T, P](b, n, u)
	if err != nil {
		panic(core.InvariantViolation{Detail: fmt.Sprintf("a history of account %d: %v", u, err)})
	}
	return list
}

// copied is the history as it is now: what is added later does not change it.
func (h *history[T, P]) copied() history[T, P] {
	c := *h
	c.chunks = append([][]byte(nil), h.chunks...)
	c.open = append([]T(nil), h.open...)
	return c
}

// encode writes the entries that show. What is encoded already is written as it is,
// save for the entries of the first chunk that do not show.
func (h *history[T, P]) encode(e *encoder, u core.UserID) {
	var scratch []byte
	oldest := h.oldest()
	e.uint(h.next)
	e.uint(oldest)
	for i, b := range h.chunks {
		first, behind := h.bounds(i)
		if behind <= oldest {
			continue
		}
		if first < oldest {
			list := mustUnpack[T, P](b, int(behind-first), u)
			b = pack[T, P](list[oldest-first:], &scratch)
		}
		e.bytes(b)
	}
	opened := h.next - uint64(len(h.open))
	if open := h.open[max(oldest, opened)-opened:]; len(open) > 0 {
		e.bytes(pack[T, P](open, &scratch))
	}
}

// decode reads what encode wrote, and proves every entry.
func (h *history[T, P]) decode(d *decoder, u core.UserID) {
	next, first := d.uint(), d.uint()
	if first == 0 || next < first {
		d.fail(errRange)
		return
	}
	h.next, h.first, h.chunks, h.open = next, first, nil, nil
	for n := first; n < next && d.err == nil; {
		behind := min(chunkEnd(n), next)
		b := bytes.Clone(d.bytes())
		var err error
		switch {
		case d.err != nil:
		case behind == next:
			h.open, err = unpack[T, P](b, int(behind-n), u)
		default:
			h.chunks, err = append(h.chunks, b), prove[T, P](b, int(behind-n), u)
		}
		if err != nil {
			d.fail(err)
		}
		n = behind
	}
	h.shrink()
}

// restore fills a history with entries that end before number next.
func (h *history[T, P]) restore(list []T, next uint64) {
	if next <= uint64(len(list)) {
		panic("more entries than were numbered")
	}
	h.next = next - uint64(len(list))
	h.first = h.next
	var scratch []byte
	for _, x := range list {
		h.add(x, &scratch)
	}
}
