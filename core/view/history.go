package view

import (
	"bytes"
	"fmt"
	"iter"

	"duplex/core"
)

// history keeps the newest max entries of one list of an account, such as its fills, in little memory:
// all but the newest are encoded, chunkLen at a time. Entries are numbered from 1 without gaps, and an
// entry's number never changes, so that it can be a cursor.
//
// An encoded chunk never changes, so an Image shares it.
type history[T any, P entry[T]] struct {
	max    int
	next   uint64   // number of the next entry
	first  uint64   // number of the oldest entry in memory; it can be beyond max, because whole chunks are removed
	chunks [][]byte // encoded entries, the oldest chunk first
	open   []T      // the newest entries, at most chunkLen
}

// entry is the type of a history's entries.
type entry[T any] interface {
	*T
	encode(*encoder)
	decode(*decoder)
}

// chunkLen is the number of entries in a chunk. Reading one of them decodes the whole chunk. The number
// of a chunk's last entry is a multiple of chunkLen.
const chunkLen = 64

func newHistory[T any, P entry[T]](max int) history[T, P] {
	return history[T, P]{max: max, next: 1, first: 1}
}

// add appends an entry. It encodes in *scratch, which it may grow.
func (h *history[T, P]) add(x T, scratch *[]byte) {
	if len(h.open) > 0 && (h.next-1)%chunkLen == 0 {
		h.chunks = append(h.chunks, pack[T, P](h.open, scratch))
		clear(h.open) // so that the garbage collector can free what the entries refer to
		h.open = h.open[:0]
	}
	h.open = append(h.open, x)
	h.next++
	h.shrink()
}

// shrink removes the chunks whose entries are all beyond max.
func (h *history[T, P]) shrink() {
	for len(h.chunks) > 0 && chunkEnd(h.first) <= h.oldest() {
		h.first = chunkEnd(h.first)
		h.chunks[0] = nil // the slice's array would still refer to it
		h.chunks = h.chunks[1:]
	}
}

// pack encodes entries as a chunk.
func pack[T any, P entry[T]](list []T, scratch *[]byte) []byte {
	e := encoder{b: (*scratch)[:0]}
	for i := range list {
		P(&list[i]).encode(&e)
	}
	*scratch = e.b
	return bytes.Clone(e.b) // of exact capacity
}

// unpack decodes a chunk of n entries.
func unpack[T any, P entry[T]](b []byte, n int, u core.UserID) ([]T, error) {
	d := decoder{b: b, user: u}
	list := make([]T, n)
	for i := range list {
		P(&list[i]).decode(&d)
	}
	return list, d.end()
}

// validate decodes a chunk of n entries and keeps none.
func validate[T any, P entry[T]](b []byte, n int, u core.UserID) error {
	d := decoder{b: b, user: u, discard: true}
	var x T
	for range n {
		P(&x).decode(&d)
	}
	return d.end()
}

// oldest returns the number of the oldest entry within max.
func (h *history[T, P]) oldest() uint64 {
	if kept := h.next - h.first; kept > uint64(h.max) {
		return h.next - uint64(h.max)
	}
	return h.first
}

// chunkEnd returns the number after the last entry of the chunk that entry n belongs to.
func chunkEnd(n uint64) uint64 { return (n-1)/chunkLen*chunkLen + chunkLen + 1 }

// newest returns the entry added last, or nil. The caller may modify it until the command that added it
// ends.
func (h *history[T, P]) newest() *T {
	if len(h.open) == 0 {
		return nil
	}
	return &h.open[len(h.open)-1]
}

// newestFirst returns the entries below number from (0: all) with their numbers, newest first. u is the
// account, which entries do not contain.
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
			first, after := h.bounds(i)
			if first >= end {
				continue
			}
			list := mustUnpack[T, P](h.chunks[i], int(after-first), u)
			for n := min(end, after); n > first; n-- {
				if n-1 < oldest || !yield(n-1, &list[n-1-first]) {
					return
				}
			}
			end = first
		}
	}
}

// bounds returns the number of the first entry of chunk i, and the number after its last.
func (h *history[T, P]) bounds(i int) (first, after uint64) {
	first = h.first
	if i > 0 {
		first = (h.first-1)/chunkLen*chunkLen + 1 + uint64(i)*chunkLen
	}
	return first, chunkEnd(first)
}

// mustUnpack decodes a chunk that pack made or validate accepted.
func mustUnpack[T any, P entry[T]](b []byte, n int, u core.UserID) []T {
	list, err := unpack[T, P](b, n, u)
	if err != nil {
		panic(core.InvariantViolation{Detail: fmt.Sprintf("history of account %d: %v", u, err)})
	}
	return list
}

// clone returns a copy that shares only the encoded chunks.
func (h *history[T, P]) clone() history[T, P] {
	c := *h
	c.chunks = append([][]byte(nil), h.chunks...)
	c.open = append([]T(nil), h.open...)
	return c
}

// encode writes the entries within max. Chunks are written as they are; only a first chunk with entries
// beyond max is encoded again without those.
func (h *history[T, P]) encode(e *encoder, u core.UserID) {
	var scratch []byte
	oldest := h.oldest()
	e.uint(h.next)
	e.uint(oldest)
	for i, b := range h.chunks {
		first, after := h.bounds(i)
		if after <= oldest {
			continue
		}
		if first < oldest {
			list := mustUnpack[T, P](b, int(after-first), u)
			b = pack[T, P](list[oldest-first:], &scratch)
		}
		e.bytes(b)
	}
	opened := h.next - uint64(len(h.open))
	if open := h.open[max(oldest, opened)-opened:]; len(open) > 0 {
		e.bytes(pack[T, P](open, &scratch))
	}
}

// decode reads what encode wrote, and validates every entry.
func (h *history[T, P]) decode(d *decoder, u core.UserID) {
	next, first := d.uint(), d.uint()
	if first == 0 || next < first {
		d.fail(errRange)
		return
	}
	h.next, h.first, h.chunks, h.open = next, first, nil, nil
	for n := first; n < next && d.err == nil; {
		after := min(chunkEnd(n), next)
		b := bytes.Clone(d.bytes())
		var err error
		switch {
		case d.err != nil:
		case after == next:
			h.open, err = unpack[T, P](b, int(after-n), u)
		default:
			h.chunks, err = append(h.chunks, b), validate[T, P](b, int(after-n), u)
		}
		if err != nil {
			d.fail(err)
		}
		n = after
	}
	h.shrink()
}

// restore fills an empty history with entries of which the last has number next-1. It panics if the
// first would have a number below 1.
func (h *history[T, P]) restore(list []T, next uint64) {
	if next <= uint64(len(list)) {
		panic("more entries than numbers")
	}
	h.next = next - uint64(len(list))
	h.first = h.next
	var scratch []byte
	for _, x := range list {
		h.add(x, &scratch)
	}
}
