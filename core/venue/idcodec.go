package venue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A snapshot stores a set of ids as one 64-bit roaring bitmap, little-endian: the number of
// parts, then each part with the high half of its ids and a 32-bit bitmap of their low halves.
// The bytes depend on the ids alone, not on the order in which they were added. The venue
// writes this subset of the format:
//
//	u64 parts
//	  u32 high half of the ids
//	  u32 cookie: 12346, then u32 containers; or, if a container is full,
//	      12347 | (containers - 1) << 16, then a bit for each container: 1 if it is full
//	  u16 key, u16 ids - 1      for each container
//	  u32 offset in the bitmap  for each container; absent in a part that has a full
//	                            container and fewer than 4 containers
//	  the containers: up to 4,096 ids as their low 16 bits; more as 65,536 bits;
//	      all 65,536 as one run: u16 1, u16 0, u16 65535
//
// The library for this format takes 3 to 8 times as long for ids that are far apart and 70 times for
// consecutive ones, and each checkpoint writes the set of every account.
//
// https://github.com/RoaringBitmap/RoaringFormatSpec
const (
	roaringCookie     = 12346
	roaringRunCookie  = 12347
	roaringArrayMax   = 4096
	roaringBitmap     = 1 << 16 / 8 // bytes
	roaringRun        = 6           // bytes of a full container
	roaringOffsetsMin = 4           // containers of a part with offsets, if one of them is full
	roaringPartMin    = 12          // bytes of a part, at least
	containerMax      = 1 << 16     // ids
)

// fullContainer is the encoding of a container that has all its ids.
var fullContainer = [roaringRun]byte{1, 0, 0, 0, 0xff, 0xff}

// container is the 65,536 ids that share all bits but the lowest 16, some of them used.
type container struct {
	high uint32 // the high half of its ids
	key  uint16 // the bits between the high half and the lowest 16
	less uint16 // ids used - 1
}

func (c container) ids() int   { return int(c.less) + 1 }
func (c container) full() bool { return c.ids() == containerMax }

// size returns the length of the encoded container, in bytes.
func (c container) size() int {
	switch n := c.ids(); {
	case n == containerMax:
		return roaringRun
	case n > roaringArrayMax:
		return roaringBitmap
	default:
		return 2 * n
	}
}

// partOf returns the containers at the start of the list that belong to one part.
func partOf(list []container) []container {
	n := 1
	for n < len(list) && list[n].high == list[0].high {
		n++
	}
	return list[:n]
}

// partHead describes what precedes the containers of a part, behind its high half.
type partHead struct{ cookie, fullBits, keys, offsets int } // bytes of each

// headOf returns the layout of a part with n containers, hasFull if one of them is full.
func headOf(n int, hasFull bool) partHead {
	if !hasFull {
		return partHead{cookie: 8, keys: 4 * n, offsets: 4 * n}
	}
	h := partHead{cookie: 4, fullBits: (n + 7) / 8, keys: 4 * n}
	if n >= roaringOffsetsMin {
		h.offsets = 4 * n
	}
	return h
}

func (h partHead) size() int { return h.cookie + h.fullBits + h.keys + h.offsets }

// segment is a run within a container.
type segment struct{ from, to uint16 }

// segments calls f with the runs of a set in rising order, split at the bounds of containers.
func (s *idSet) segments(f func(prefix uint64, x segment)) {
	s.runs(func(r run) {
		for prefix := r.from >> 16; prefix < r.to>>16; prefix++ {
			f(prefix, segment{uint16(r.from), 1<<16 - 1})
			r.from = (prefix + 1) << 16
		}
		f(r.to>>16, segment{uint16(r.from), uint16(r.to)})
	})
}

// containers returns the containers of a set in rising order. It reuses the memory of buf.
func (s *idSet) containers(buf []container) []container {
	list, last := buf[:0], uint64(0)
	s.segments(func(prefix uint64, x segment) {
		n := x.to - x.from
		if len(list) > 0 && prefix == last {
			list[len(list)-1].less += n + 1
		} else {
			list = append(list, container{uint32(prefix >> 16), uint16(prefix), n})
		}
		last = prefix
	})
	return list
}

// encodedSize returns the length of the encoding of a set with these containers.
func encodedSize(list []container) uint64 {
	n := uint64(8)
	for len(list) > 0 {
		part := partOf(list)
		n += 4 + uint64(headOf(len(part), slices.ContainsFunc(part, container.full)).size())
		for _, c := range part {
			n += uint64(c.size())
		}
		list = list[len(part):]
	}
	return n
}

// idEncoder encodes sets, one after another. It reuses its buffers.
type idEncoder struct {
	out  []byte
	list []container
	segs []segment
	bits [roaringBitmap / 8]uint64
}

// measure prepares the encoding of a set and returns its length in bytes.
func (e *idEncoder) measure(s *idSet) uint64 {
	e.list = s.containers(e.list)
	return encodedSize(e.list)
}

// append appends the encoding of s to dst. The last call of measure must have been for s.
func (e *idEncoder) append(dst []byte, s *idSet) []byte {
	parts := uint64(0)
	for list := e.list; len(list) > 0; parts++ {
		list = list[len(partOf(list)):]
	}
	e.out = binary.LittleEndian.AppendUint64(dst, parts)
	i := 0 // index of the container whose segments are being collected
	e.segs = e.segs[:0]
	s.segments(func(prefix uint64, x segment) {
		if c := e.list[i]; uint32(prefix>>16) != c.high || uint16(prefix) != c.key {
			e.container(i)
			i++
			e.segs = e.segs[:0]
		}
		e.segs = append(e.segs, x)
	})
	if len(e.segs) > 0 {
		e.container(i)
	}
	dst, e.out = e.out, nil
	return dst
}

// container writes container i. If it is the first of a part, it writes the part's head first.
func (e *idEncoder) container(i int) {
	if i == 0 || e.list[i-1].high != e.list[i].high {
		e.part(partOf(e.list[i:]))
	}
	switch c := e.list[i]; {
	case c.full():
		e.out = append(e.out, fullContainer[:]...)
	case c.ids() <= roaringArrayMax:
		for _, x := range e.segs {
			for v := uint32(x.from); v <= uint32(x.to); v++ {
				e.out = binary.LittleEndian.AppendUint16(e.out, uint16(v))
			}
		}
	default:
		clear(e.bits[:])
		for _, x := range e.segs {
			setBits(&e.bits, x)
		}
		for _, w := range e.bits {
			e.out = binary.LittleEndian.AppendUint64(e.out, w)
		}
	}
}

// setBits sets the bits of a segment.
func setBits(bits *[roaringBitmap / 8]uint64, x segment) {
	first, last := x.from>>6, x.to>>6
	for w := first; w <= last; w++ {
		mask := ^uint64(0)
		if w == first {
			mask &= ^uint64(0) << (x.from & 63)
		}
		if w == last {
			mask &= ^uint64(0) >> (63 - x.to&63)
		}
		bits[w] |= mask
	}
}

// part writes the head of a part.
func (e *idEncoder) part(part []container) {
	hasFull := slices.ContainsFunc(part, container.full)
	head := headOf(len(part), hasFull)
	e.out = binary.LittleEndian.AppendUint32(e.out, part[0].high)
	if hasFull {
		e.out = binary.LittleEndian.AppendUint32(e.out, roaringRunCookie|uint32(len(part)-1)<<16)
		at := len(e.out)
		e.out = append(e.out, make([]byte, head.fullBits)...)
		for i, c := range part {
			if c.full() {
				e.out[at+i/8] |= 1 << (i % 8)
			}
		}
	} else {
		e.out = binary.LittleEndian.AppendUint32(e.out, roaringCookie)
		e.out = binary.LittleEndian.AppendUint32(e.out, uint32(len(part)))
	}
	for _, c := range part {
		e.out = binary.LittleEndian.AppendUint16(e.out, c.key)
		e.out = binary.LittleEndian.AppendUint16(e.out, c.less)
	}
	if head.offsets == 0 {
		return
	}
	offset := head.size()
	for _, c := range part {
		e.out = binary.LittleEndian.AppendUint32(e.out, uint32(offset))
		offset += c.size()
	}
}

var (
	errIDsShort = errors.New("the encoding of the ids is too short")
	errIDsForm  = errors.New("the encoding of the ids is not in the venue's form")
	errIDsOrder = errors.New("ids are missing or out of order")
)

// restoreIDSet decodes a set. It accepts exactly the bytes that idEncoder writes.
func restoreIDSet(b []byte) (s idSet, err error) {
	if len(b) < 8 {
		return s, errIDsShort
	}
	parts := binary.LittleEndian.Uint64(b)
	b = b[8:]
	if parts > uint64(len(b))/roaringPartMin {
		return s, errIDsShort
	}
	for i := range parts {
		if len(b) < 4 {
			return idSet{}, errIDsShort
		}
		high := uint64(binary.LittleEndian.Uint32(b)) << 32
		if i > 0 && high>>32 <= s.last>>32 {
			return idSet{}, fmt.Errorf("part %d of the ids: %w", i, errIDsOrder)
		}
		if b, err = s.restorePart(high, b[4:]); err != nil {
			return idSet{}, fmt.Errorf("part %d of the ids: %w", i, err)
		}
	}
	if len(b) > 0 {
		return idSet{}, errors.New("bytes follow the last id")
	}
	return s, nil
}

// restorePart adds the ids of the part at the start of b, and returns the bytes behind it.
func (s *idSet) restorePart(high uint64, b []byte) ([]byte, error) {
	if len(b) < 8 {
		return nil, errIDsShort
	}
	cookie, n, hasFull := binary.LittleEndian.Uint32(b), int64(binary.LittleEndian.Uint32(b[4:])), false
	if cookie&0xffff == roaringRunCookie {
		n, hasFull = int64(cookie>>16)+1, true
	} else if cookie != roaringCookie || n < 1 || n > 1<<16 {
		return nil, errIDsForm
	}
	head := headOf(int(n), hasFull)
	if len(b) < head.size() {
		return nil, errIDsShort
	}
	fullBits := b[head.cookie:][:head.fullBits]
	keys := b[head.cookie+head.fullBits:][:head.keys]
	offsets := b[head.cookie+head.fullBits+head.keys:][:head.offsets]
	rest, someFull := b[head.size():], false
	for i := range int(n) {
		c := container{key: binary.LittleEndian.Uint16(keys[4*i:]), less: binary.LittleEndian.Uint16(keys[4*i+2:])}
		someFull = someFull || c.full()
		switch {
		case i > 0 && c.key <= binary.LittleEndian.Uint16(keys[4*i-4:]):
			return nil, errIDsOrder
		case c.full() && !hasFull, hasFull && c.full() != (fullBits[i/8]>>(i%8)&1 == 1):
			return nil, errIDsForm
		case head.offsets > 0 && int(binary.LittleEndian.Uint32(offsets[4*i:])) != len(b)-len(rest):
			return nil, errIDsForm
		case c.size() > len(rest):
			return nil, errIDsShort
		}
		if err := s.restoreContainer(high|uint64(c.key)<<16, c, rest[:c.size()]); err != nil {
			return nil, err
		}
		rest = rest[c.size():]
	}
	if hasFull && (!someFull || n%8 != 0 && fullBits[len(fullBits)-1]>>(n%8) != 0) {
		return nil, errIDsForm
	}
	return rest, nil
}

// restoreContainer adds the ids of a container. They must be above all ids of the set.
func (s *idSet) restoreContainer(prefix uint64, c container, b []byte) error {
	ids := c.ids()
	if ids <= roaringArrayMax {
		for i := 0; i < len(b); i += 2 {
			id := prefix | uint64(binary.LittleEndian.Uint16(b[i:]))
			if s.n > 0 && id <= s.last || !s.add(id) {
				return errIDsOrder
			}
		}
		return nil
	}
	if s.n > 0 && prefix <= s.last {
		return errIDsOrder
	}
	if c.full() {
		if [roaringRun]byte(b) != fullContainer {
			return errIDsForm
		}
		s.addRun(run{prefix, prefix | (containerMax - 1)})
		return nil
	}
	for i := 0; i < len(b); i += 8 {
		for w := binary.LittleEndian.Uint64(b[i:]); w != 0; { // a run of ones at a time
			from := bits.TrailingZeros64(w)
			n := bits.TrailingZeros64(^(w >> from))
			at := prefix | uint64(i*8+from)
			s.addRun(run{at, at + uint64(n-1)})
			ids -= n
			if from+n == 64 {
				break
			}
			w &^= (1<<n - 1) << from
		}
	}
	if ids != 0 {
		return errIDsOrder
	}
	return nil
}
