package venue

import (
	"bytes"
	"encoding/binary"
)

// idSet is the set of client order ids that an account has used. Ids are never removed
// (docs/rules/orders.md#client-order-id). It stores runs of consecutive ids. Most clients count
// upwards, so the highest run is a field of its own and extending it costs nothing. The runs
// below are encoded in blocks of at most idBlockMax bytes: the tail, which only grows, and the
// full blocks, in a copy-on-write B-tree. Whatever the ids are, an insert costs at most the
// work of one block and one path of the tree. An image shares all memory with its set: the tree
// by a lazy copy, the tail by its length.
type idSet struct {
	last uint64 // the highest id
	n    uint64 // number of ids in the highest run, which ends at last; 0: the set is empty

	tail       []byte // the runs below the highest run, from tailFrom to tailTo
	tailFrom   uint64
	tailTo     uint64
	blocks     tree[uint64, []byte] // by their first id; all below the tail; nil: none
	blockBytes uint64
}

const (
	idBlockMax = 512 // bytes
	idRunMax   = 2 * binary.MaxVarintLen64
	idSelf     = 96 // bytes of the struct
	// idNode is the tree's memory for one block: a key and a slice header, in nodes that are
	// two thirds full.
	idNode = 48
)

// run is the consecutive ids from..to, both included.
type run struct{ from, to uint64 }

// appendRun appends a run to a block. A block is a list of runs, two uvarints each: the number
// of unused ids between the previous run (at first: the block's first id) and this one, and the
// number of ids of this run less one. at is the id after the previous run.
func appendRun(b []byte, at uint64, r run) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, r.from-at), r.to-r.from)
}

// blockRuns calls f with each run of a block, in rising order.
func blockRuns(first uint64, b []byte, f func(run)) {
	c := cursor{at: first, b: b}
	for r, ok := c.next(); ok; r, ok = c.next() {
		f(r.run)
	}
}

// add adds an id, and reports whether it is new.
func (s *idSet) add(id uint64) bool {
	if id <= s.last || s.n == 0 {
		return s.addBelow(id)
	}
	if id-s.last == 1 {
		s.n++
	} else {
		s.pushRun(run{s.last - s.n + 1, s.last})
		s.n = 1
	}
	s.last = id
	return true
}

// addRun adds a run above all ids of the set.
func (s *idSet) addRun(r run) {
	if s.n > 0 && r.from-s.last > 1 {
		s.pushRun(run{s.last - s.n + 1, s.last})
		s.n = 0
	}
	s.n += r.to - r.from + 1
	s.last = r.to
}

// pushRun appends a run to the tail. A full tail becomes a block.
func (s *idSet) pushRun(r run) {
	if len(s.tail) > idBlockMax-idRunMax {
		s.setBlock(s.tailFrom, s.tail)
		s.tail = make([]byte, 0, idBlockMax)
	}
	if len(s.tail) == 0 {
		s.tailFrom, s.tailTo = r.from, r.from-1
	}
	s.tail = appendRun(s.tail, s.tailTo+1, r)
	s.tailTo = r.to
}

func (s *idSet) setBlock(first uint64, b []byte) {
	if s.blocks == nil {
		s.blocks = newTree[uint64, []byte]()
	}
	was, _ := s.blocks.Set(first, b)
	s.blockBytes += uint64(cap(b)) - uint64(cap(was))
}

// addBelow adds the first id, or an id that is not above all others.
func (s *idSet) addBelow(id uint64) bool {
	if s.n == 0 {
		s.last, s.n = id, 1
		return true
	}
	if s.last-id < s.n {
		return false
	}
	if first, b, ok := s.findBlock(id); ok {
		return s.addToBlock(id, first, b)
	}
	blocks := insert(id, s.tailFrom, s.tail)
	if blocks == nil {
		return false
	}
	tail := blocks[len(blocks)-1]
	for _, x := range blocks[:len(blocks)-1] {
		s.setBlock(x.first, x.bytes)
	}
	s.tailFrom, s.tail, s.tailTo = tail.first, tail.bytes, max(s.tailTo, id)
	return true
}

// findBlock returns the block that an id belongs to. ok is false if that is the tail.
func (s *idSet) findBlock(id uint64) (first uint64, b []byte, ok bool) {
	if s.blocks == nil || id >= s.tailFrom {
		return 0, nil, false
	}
	s.blocks.Descend(id, func(k uint64, v []byte) bool {
		first, b, ok = k, v, true
		return false
	})
	if !ok { // the id is below every block
		first, b, ok = s.blocks.Min()
	}
	return first, b, ok
}

func (s *idSet) addToBlock(id, first uint64, b []byte) bool {
	blocks := insert(id, first, b)
	if blocks == nil {
		return false
	}
	if blocks[0].first != first {
		s.blocks.Delete(first)
		s.blockBytes -= uint64(cap(b))
	}
	for _, x := range blocks {
		s.setBlock(x.first, x.bytes)
	}
	return true
}

// idBlock is a block with its first id.
type idBlock struct {
	first uint64
	bytes []byte
}

// insert returns a copy of the block with the id added, split in two if it would be too long,
// or nil if the block has the id. It does not change b, because an image may share it.
func insert(id, first uint64, b []byte) []idBlock {
	var before, after blockRun // the runs on both sides of the id
	c := cursor{at: first, b: b}
	for {
		r, ok := c.next()
		if !ok {
			break
		}
		if id < r.from {
			after = r
			break
		}
		if id <= r.to {
			return nil
		}
		before = r
	}
	whole := idBlock{first, make([]byte, 0, len(b)+idRunMax)}
	at := id
	if before.end > 0 {
		at = before.to + 1
	} else {
		whole.first = id // below all runs of the block
	}
	mid := run{id, id}
	keep := before.end // bytes of b up to the changed runs
	if before.end > 0 && id == at {
		mid.from, at, keep = before.from, before.at, before.begin
	}
	whole.bytes = append(whole.bytes, b[:keep]...)
	switch {
	case after.end == 0:
		whole.bytes = appendRun(whole.bytes, at, mid)
	case after.from-id == 1:
		whole.bytes = appendRun(whole.bytes, at, run{mid.from, after.to})
		whole.bytes = append(whole.bytes, b[after.end:]...)
	default:
		whole.bytes = appendRun(whole.bytes, at, mid)
		whole.bytes = appendRun(whole.bytes, id+1, after.run)
		whole.bytes = append(whole.bytes, b[after.end:]...)
	}
	if len(whole.bytes) > idBlockMax {
		return split(whole)
	}
	return []idBlock{whole}
}

// split divides a block in two near its middle.
func split(whole idBlock) []idBlock {
	c := cursor{at: whole.first, b: whole.bytes}
	for {
		r, _ := c.next()
		if r.begin < idBlockMax/2 {
			continue
		}
		high := appendRun(make([]byte, 0, len(whole.bytes)-r.begin), r.from, r.run)
		high = append(high, whole.bytes[r.end:]...)
		return []idBlock{{whole.first, bytes.Clone(whole.bytes[:r.begin])}, {r.from, high}}
	}
}

// cursor iterates over the runs of a block.
type cursor struct {
	at  uint64 // the id from which the next run's distance counts
	b   []byte
	off int
}

// blockRun is a run and its position in the block.
type blockRun struct {
	run
	at         uint64 // the id from which its distance counts
	begin, end int    // its bytes; end 0: no run
}

func (c *cursor) next() (r blockRun, ok bool) {
	if c.off >= len(c.b) {
		return r, false
	}
	skip, i := binary.Uvarint(c.b[c.off:])
	more, j := binary.Uvarint(c.b[c.off+i:])
	r = blockRun{run{c.at + skip, c.at + skip + more}, c.at, c.off, c.off + i + j}
	c.at, c.off = r.to+1, r.end
	return r, true
}

// has reports whether an id is used.
func (s *idSet) has(id uint64) bool {
	if s.n == 0 || id > s.last {
		return false
	}
	if s.last-id < s.n {
		return true
	}
	first, b, ok := s.findBlock(id)
	if !ok {
		first, b = s.tailFrom, s.tail
	}
	for c := (cursor{at: first, b: b}); ; {
		if r, ok := c.next(); !ok || id <= r.to {
			return ok && id >= r.from
		}
	}
}

// runs calls f with all runs in rising order. Adjacent runs may touch.
func (s *idSet) runs(f func(run)) {
	if s.n == 0 {
		return
	}
	if s.blocks != nil {
		s.blocks.Scan(func(first uint64, b []byte) bool {
			blockRuns(first, b, f)
			return true
		})
	}
	blockRuns(s.tailFrom, s.tail, f)
	f(run{s.last - s.n + 1, s.last})
}

// image returns a copy of the set that later adds do not change.
func (s *idSet) image() idSet {
	m := *s
	if s.blocks != nil {
		m.blocks = copyTree(s.blocks)
	}
	return m
}

// size returns the memory that the set occupies, in bytes.
func (s *idSet) size() uint64 {
	if s.n == 0 {
		return 0
	}
	n := idSelf + uint64(cap(s.tail)) + s.blockBytes
	if s.blocks != nil {
		n += idNode * uint64(s.blocks.Len())
	}
	return n
}
