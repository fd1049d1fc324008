package view

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"sort"

	"duplex/core"
)

// RetentionCaps limit the number of rows kept (docs/rules/limits.md#retention). Terminal,
// Rejects, Fills, Settlements, Events, Ledger, AccountRounds (of final rounds), Deposits and Forecasts
// are per account, Tape is per market slot, Rounds is per series, and Actions and Routine are for the whole
// venue. Routine limits the actions
// that come in large numbers: manual prices and resealed keys.
type RetentionCaps struct {
	Tape, Terminal, Rejects, Fills  int
	Settlements, Events, Rounds     int
	Actions, Routine                int
	Ledger, AccountRounds, Deposits int
	Forecasts                       int
}

// DefaultRetentionCaps returns the caps of docs/rules/limits.md#retention.
func DefaultRetentionCaps() RetentionCaps {
	return RetentionCaps{
		Tape: 1000, Terminal: 1000, Rejects: 200, Fills: 2000,
		Settlements: 1000, Events: 4096, Rounds: 1024,
		Actions: 10_000, Routine: 1000,
		Ledger: 2000, AccountRounds: 200, Deposits: 1000, Forecasts: 1000,
	}
}

// MirroredRetentionCaps returns the caps of a venue with a mirror, which has the older rows
// (docs/rules/limits.md#retention).
func MirroredRetentionCaps() RetentionCaps {
	c := DefaultRetentionCaps()
	c.Fills, c.Terminal, c.Ledger, c.AccountRounds = 200, 200, 200, 20
	return c
}

// ring keeps the newest max entries of a list. Entries are numbered from 1 without gaps,
// and the number of an entry never changes.
type ring[T any] struct {
	max  int
	next uint64 // number of the next entry
	head int    // index of the oldest entry; 0 while the ring is not full
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

// oldest returns the number of the oldest entry kept.
func (r *ring[T]) oldest() uint64 { return r.next - uint64(len(r.buf)) }

func (r *ring[T]) at(n uint64) *T { return &r.buf[(r.head+int(n-r.oldest()))%len(r.buf)] }

// get returns entry n, or nil if it is not kept.
func (r *ring[T]) get(n uint64) *T {
	if n == 0 || n < r.oldest() || n >= r.next {
		return nil
	}
	return r.at(n)
}

// newestFirst iterates from the newest entry with a number below from (0: from the newest
// of all) to the oldest.
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

// restore fills an empty ring with entries, the last of which has number next-1. It panics
// if the first would have a number below 1.
func (r *ring[T]) restore(list []T, next uint64) {
	if next <= uint64(len(list)) {
		panic("more entries than numbers")
	}
	if over := len(list) - r.max; over > 0 { // the cap is lower than when the entries were written
		list = list[over:]
	}
	r.buf, r.head, r.next = append([]T(nil), list...), 0, next
}

// history keeps the newest entries of one list of an account, such as its fills. Entries are
// numbered from 1 without gaps, and the number of an entry never changes. It is an interface for
// the sake of compile time: each package that uses a View would compile all methods of a generic
// type in its fields again, and those of an interface are compiled here alone.
type history[T any] interface {
	// add appends an entry. It encodes in scratch, which it may replace by a larger buffer.
	add(x T, scratch *[]byte)
	// end returns the number of the next entry.
	end() uint64
	// oldest returns the number of the oldest visible entry.
	oldest() uint64
	// newest returns the entry added last, or nil. The caller may change it until the command
	// that added it has been folded.
	newest() *T
	// unencoded returns the newest entries, as far as they are not encoded.
	unencoded() []T
	// newestFirst iterates from the newest entry with a number below from (0: from the newest
	// of all) to the oldest visible one. It decodes the chunks it reaches.
	newestFirst(u core.UserID, from uint64) iter.Seq2[uint64, *T]
	// search returns the number of the first visible entry for which found is true, or that after
	// the newest. found must be false for all entries before it and true for all after it.
	search(found func(*T) bool) uint64
	// detached iterates over the newest n visible entries with a number below end, newest first.
	// The caller need not hold the lock while it iterates: entries are copies, and chunks never
	// change.
	detached(end uint64, n int) iter.Seq[*T]
	// released returns the bounds of the entries that were dropped; seq returns the seq of an entry.
	released(u core.UserID, seq func(*T) uint64) Released
	// clone returns a history that later additions do not change. It shares the chunks.
	clone() history[T]
	// code codes the visible entries. Reading validates every entry.
	code(c *coder)
}

// encodedHistory is the history of every list. To save memory all but the newest entries are
// encoded, in chunks of chunkLen. An encoded chunk never changes, so an image (image.go) shares it.
type encodedHistory[T any, P entry[T]] struct {
	max    int
	next   uint64   // number of the next entry
	first  uint64   // number of the oldest entry in memory; entries before oldest() are not visible
	chunks [][]byte // encoded entries, oldest chunk first
	tail   []T      // the newest entries, at most chunkLen, not encoded
}

// entry is the constraint on the elements of a history.
type entry[T any] interface {
	*T
	code(*coder)
}

// chunkLen is the number of entries encoded together; reading one of them decodes all. A
// chunk ends with an entry whose number is a multiple of chunkLen.
const chunkLen = 64

func newHistory[T any, P entry[T]](max int) history[T] {
	return &encodedHistory[T, P]{max: max, next: 1, first: 1}
}

func (h *encodedHistory[T, P]) add(x T, scratch *[]byte) {
	if len(h.tail) > 0 && (h.next-1)%chunkLen == 0 {
		h.chunks = append(h.chunks, encodeChunk[T, P](h.tail, scratch))
		clear(h.tail) // releases what the entries refer to
		h.tail = h.tail[:0]
	}
	h.tail = append(h.tail, x)
	h.next++
	h.dropOldChunks()
}

// dropOldChunks drops the chunks without a visible entry.
func (h *encodedHistory[T, P]) dropOldChunks() {
	for len(h.chunks) > 0 && chunkEnd(h.first) <= h.oldest() {
		h.first = chunkEnd(h.first)
		h.chunks[0] = nil // otherwise the backing array keeps the chunk in memory
		h.chunks = h.chunks[1:]
	}
}

// encodeChunk encodes entries. The first is encoded in full, each other as a difference.
func encodeChunk[T any, P entry[T]](list []T, scratch *[]byte) []byte {
	c := coder{b: (*scratch)[:0]}
	for i := range list {
		P(&list[i]).code(&c)
	}
	*scratch = c.b
	return bytes.Clone(c.b) // a clone has no spare capacity
}

// decodeChunk decodes n entries of account u.
func decodeChunk[T any, P entry[T]](b []byte, n int, u core.UserID) ([]T, error) {
	c := coder{reading: true, b: b, user: u}
	list := make([]T, n)
	for i := range list {
		P(&list[i]).code(&c)
	}
	return list, c.end()
}

// validateChunk checks that b holds exactly n valid entries, and discards them.
func validateChunk[T any, P entry[T]](b []byte, n int, u core.UserID) error {
	c := coder{reading: true, b: b, user: u, validating: true}
	var x T
	for range n {
		P(&x).code(&c)
	}
	return c.end()
}

func (h *encodedHistory[T, P]) oldest() uint64 {
	if kept := h.next - h.first; kept > uint64(h.max) {
		return h.next - uint64(h.max)
	}
	return h.first
}

// chunkEnd returns the number after the last entry of the chunk that holds entry n.
func chunkEnd(n uint64) uint64 { return (n-1)/chunkLen*chunkLen + chunkLen + 1 }

func (h *encodedHistory[T, P]) end() uint64 { return h.next }

func (h *encodedHistory[T, P]) unencoded() []T { return h.tail }

func (h *encodedHistory[T, P]) newest() *T {
	if len(h.tail) == 0 {
		return nil
	}
	return &h.tail[len(h.tail)-1]
}

func (h *encodedHistory[T, P]) newestFirst(u core.UserID, from uint64) iter.Seq2[uint64, *T] {
	return func(yield func(uint64, *T) bool) {
		end := h.next
		if from != 0 {
			end = min(end, from)
		}
		oldest, tailFirst := h.oldest(), h.next-uint64(len(h.tail))
		for n := end; n > tailFirst; n-- {
			if n-1 < oldest || !yield(n-1, &h.tail[n-1-tailFirst]) {
				return
			}
		}
		end = min(end, tailFirst)
		for i := len(h.chunks) - 1; i >= 0 && end > oldest; i-- {
			first, behind := h.bounds(i)
			if first >= end {
				continue
			}
			list := mustDecodeChunk[T, P](h.chunks[i], int(behind-first), u)
			for n := min(end, behind); n > first; n-- {
				if n-1 < oldest || !yield(n-1, &list[n-1-first]) {
					return
				}
			}
			end = first
		}
	}
}

func (h *encodedHistory[T, P]) search(found func(*T) bool) uint64 {
	inList := func(list []T, first uint64) uint64 {
		return max(h.oldest(), first+uint64(sort.Search(len(list), func(i int) bool { return found(&list[i]) })))
	}
	if len(h.chunks) == 0 || len(h.tail) > 0 && !found(&h.tail[0]) {
		return inList(h.tail, h.next-uint64(len(h.tail)))
	}
	i := sort.Search(len(h.chunks), func(i int) bool {
		c, first := coder{reading: true, b: h.chunks[i]}, new(T)
		P(first).code(&c)
		return found(first)
	})
	first, behind := h.bounds(max(i-1, 0)) // the chunk before may have it, but not as its first
	return inList(mustDecodeChunk[T, P](h.chunks[max(i-1, 0)], int(behind-first), 0), first)
}

func (h *encodedHistory[T, P]) detached(end uint64, n int) iter.Seq[*T] {
	type part struct {
		first, behind uint64
		chunk         []byte
	}
	oldest, tailFirst := max(h.oldest(), end-min(uint64(n), end)), h.next-uint64(len(h.tail))
	var tail []T
	if from := max(oldest, tailFirst); from < end {
		tail = slices.Clone(h.tail[from-tailFirst : end-tailFirst])
	}
	var parts []part // newest first
	for i := len(h.chunks) - 1; i >= 0; i-- {
		first, behind := h.bounds(i)
		if behind <= oldest {
			break
		}
		if first < end {
			parts = append(parts, part{first, behind, h.chunks[i]})
		}
	}
	return func(yield func(*T) bool) {
		for i := len(tail) - 1; i >= 0; i-- {
			if !yield(&tail[i]) {
				return
			}
		}
		for _, p := range parts {
			list := mustDecodeChunk[T, P](p.chunk, int(p.behind-p.first), 0)
			for n := min(p.behind, end); n > max(p.first, oldest); n-- {
				if !yield(&list[n-1-p.first]) {
					return
				}
			}
		}
	}
}

// bounds returns the number of the first entry of chunk i and the number after its last.
func (h *encodedHistory[T, P]) bounds(i int) (first, behind uint64) {
	first = h.first
	if i > 0 {
		first = (h.first-1)/chunkLen*chunkLen + 1 + uint64(i)*chunkLen
	}
	return first, chunkEnd(first)
}

// mustDecodeChunk decodes a chunk that add encoded or decode validated.
func mustDecodeChunk[T any, P entry[T]](b []byte, n int, u core.UserID) []T {
	list, err := decodeChunk[T, P](b, n, u)
	if err != nil {
		panic(core.InvariantViolation{Detail: fmt.Sprintf("cannot decode a history of account %d: %v", u, err)})
	}
	return list
}

func (h *encodedHistory[T, P]) clone() history[T] {
	c := *h
	c.chunks = append([][]byte(nil), h.chunks...)
	c.tail = append([]T(nil), h.tail...)
	return &c
}

func (h *encodedHistory[T, P]) code(c *coder) {
	next, oldest := h.next, h.oldest()
	unsigned(c, &next)
	unsigned(c, &oldest)
	if c.reading {
		h.read(c, next, oldest)
	} else {
		h.write(c, oldest)
	}
}

// write writes chunks as they are, except the first: it is encoded again if some of its entries are
// no longer visible.
func (h *encodedHistory[T, P]) write(c *coder, oldest uint64) {
	var scratch []byte
	for i, b := range h.chunks {
		first, behind := h.bounds(i)
		if behind <= oldest {
			continue
		}
		if first < oldest {
			list := mustDecodeChunk[T, P](b, int(behind-first), c.user)
			b = encodeChunk[T, P](list[oldest-first:], &scratch)
		}
		c.bytes(&b)
	}
	tailFirst := h.next - uint64(len(h.tail))
	if tail := h.tail[max(oldest, tailFirst)-tailFirst:]; len(tail) > 0 {
		b := encodeChunk[T, P](tail, &scratch)
		c.bytes(&b)
	}
}

// read reads and validates the entries from first to that before next.
func (h *encodedHistory[T, P]) read(c *coder, next, first uint64) {
	if first == 0 || next < first {
		c.fail(errRange)
		return
	}
	h.next, h.first, h.chunks, h.tail = next, first, nil, nil
	for n := first; n < next && c.err == nil; {
		behind := min(chunkEnd(n), next)
		var b []byte
		c.bytes(&b)
		b = bytes.Clone(b)
		var err error
		switch {
		case c.err != nil:
		case behind == next:
			h.tail, err = decodeChunk[T, P](b, int(behind-n), c.user)
		default:
			h.chunks, err = append(h.chunks, b), validateChunk[T, P](b, int(behind-n), c.user)
		}
		if err != nil {
			c.fail(err)
		}
		n = behind
	}
	h.dropOldChunks()
}
