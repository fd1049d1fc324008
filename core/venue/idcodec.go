package venue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// A set of ids is kept in snapshots as one 64-bit roaring bitmap, little-endian: the number
// of parts, then each part with its high half and its 32-bit bitmap. The bytes depend on
// the ids alone. This is the subset of the format that the venue writes:
//
//	u64 parts
//	  u32 high half of the ids
//	  u32 cookie 12346, u32 containers
//	  u16 key, u16 ids - 1      for each container
//	  u32 offset in the bitmap  for each container
//	  the containers: up to 4,096 ids their low 16 bits, else 65,536 bits
//
// https://github.com/RoaringBitmap/RoaringFormatSpec
const (
	roaringCookie   = 12346
	roaringArrayMax = 4096
	roaringBitmap   = 1 << 16 / 8 // bytes
	roaringLeast    = 12          // bytes of a part
)

// container is 65,536 ids that share all bits but the lowest 16, of which some are used.
type container struct {
	high uint32 // of its part
	key  uint16
	less uint16 // ids - 1
}

func (c container) ids() int { return int(c.less) + 1 }

// bytes is the length of a container with so many ids.
func containerBytes(ids int) int {
	if ids > roaringArrayMax {
		return roaringBitmap
	}
	return 2 * ids
}

// segment is a run within a container.
type segment struct{ from, to uint16 }

// segments gives f the runs of a set, split at the bounds of containers.
func (s *idSet) segments(f func(prefix uint64, x segment)) {
	s.runs(func(r run) {
		for prefix := r.from >> 16; prefix < r.to>>16; prefix++ {
			f(prefix, segment{uint16(r.from), 1<<16 - 1})
			r.from = (prefix + 1) << 16
		}
		f(r.to>>16, segment{uint16(r.from), uint16(r.to)})
	})
}

// containers lists the containers of a set, in the room of a list before.
func (s *idSet) containers(room []container) []container {
	list, last := room[:0], uint64(0)
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

// encodedSize is the length of the encoding of a set with these containers.
func encodedSize(list []container) uint64 {
	n := uint64(8)
	for i, c := range list {
		if i == 0 || list[i-1].high != c.high {
			n += roaringLeast
		}
		n += 8 + uint64(containerBytes(c.ids()))
	}
	return n
}

// idEncoder encodes sets. What it needs for one it uses for the next.
type idEncoder struct {
	out  []byte
	list []container
	segs []segment
	bits [roaringBitmap / 8]uint64
}

// measure prepares the encoding of a set, and gives its length.
func (e *idEncoder) measure(s *idSet) uint64 {
	e.list = s.containers(e.list)
	return encodedSize(e.list)
}

// append encodes the set that was measured last.
func (e *idEncoder) append(dst []byte, s *idSet) []byte {
	parts := uint64(0)
	for i := range e.list {
		if i == 0 || e.list[i-1].high != e.list[i].high {
			parts++
		}
	}
	e.out = binary.LittleEndian.AppendUint64(dst, parts)
	at := 0 // of the container whose segments are collected
	e.segs = e.segs[:0]
	s.segments(func(prefix uint64, x segment) {
		if c := e.list[at]; uint32(prefix>>16) != c.high || uint16(prefix) != c.key {
			e.container(at)
			at++
			e.segs = e.segs[:0]
		}
		e.segs = append(e.segs, x)
	})
	if len(e.segs) > 0 {
		e.container(at)
	}
	dst, e.out = e.out, nil
	return dst
}

// container writes the i-th container, behind the head of its part if it is the first there.
func (e *idEncoder) container(i int) {
	if i == 0 || e.list[i-1].high != e.list[i].high {
		e.part(i)
	}
	if e.list[i].ids() <= roaringArrayMax {
		for _, x := range e.segs {
			for v := uint32(x.from); v <= uint32(x.to); v++ {
				e.out = binary.LittleEndian.AppendUint16(e.out, uint16(v))
			}
		}
	} else {
		clear(e.bits[:])
		for _, x := range e.segs {
			setBits(&e.bits, x)
		}
		for _, w := range e.bits {
			e.out = binary.LittleEndian.AppendUint64(e.out, w)
		}
	}
}

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

// part writes the head of the part that begins with the i-th container.
func (e *idEncoder) part(i int) {
	part := e.list[i:]
	n := 1
	for n < len(part) && part[n].high == part[0].high {
		n++
	}
	part = part[:n]
	e.out = binary.LittleEndian.AppendUint32(e.out, part[0].high)
	e.out = binary.LittleEndian.AppendUint32(e.out, roaringCookie)
	e.out = binary.LittleEndian.AppendUint32(e.out, uint32(n))
	for _, c := range part {
		e.out = binary.LittleEndian.AppendUint16(e.out, c.key)
		e.out = binary.LittleEndian.AppendUint16(e.out, c.less)
	}
	offset := 8 + 8*n
	for _, c := range part {
		e.out = binary.LittleEndian.AppendUint32(e.out, uint32(offset))
		offset += containerBytes(c.ids())
	}
}

var (
	errIDsShort = errors.New("fewer bytes than parts")
	errIDsForm  = errors.New("not as the venue writes it")
	errIDsOrder = errors.New("ids are missing or out of order")
)

// restoreIDSet decodes a set. It takes what encode writes and nothing else.
func restoreIDSet(b []byte) (s idSet, err error) {
	if len(b) < 8 {
		return s, errIDsShort
	}
	parts := binary.LittleEndian.Uint64(b)
	b = b[8:]
	if parts > uint64(len(b))/roaringLeast {
		return s, errIDsShort
	}
	for i := range parts {
		if len(b) < 4 {
			return idSet{}, errIDsShort
		}
		high := uint64(binary.LittleEndian.Uint32(b)) << 32
		if b, err = s.restorePart(high, b[4:]); err != nil {
			return idSet{}, fmt.Errorf("part %d: %w", i, err)
		}
	}
	if len(b) > 0 {
		return idSet{}, errors.New("more bytes than parts")
	}
	return s, nil
}

// restorePart adds the ids of a bitmap, and gives the bytes behind it.
func (s *idSet) restorePart(high uint64, b []byte) ([]byte, error) {
	if len(b) < 8 {
		return nil, errIDsShort
	}
	n := int64(binary.LittleEndian.Uint32(b[4:]))
	switch {
	case binary.LittleEndian.Uint32(b) != roaringCookie, n < 1, n > 1<<16:
		return nil, errIDsForm
	case int64(len(b)) < 8+8*n:
		return nil, errIDsShort
	}
	heads, offsets := b[8:8+4*n], b[8+4*n:8+8*n]
	offset := 8 + 8*n
	for i := range n {
		c := container{key: binary.LittleEndian.Uint16(heads[4*i:]), less: binary.LittleEndian.Uint16(heads[4*i+2:])}
		end := offset + int64(containerBytes(c.ids()))
		switch {
		case int64(binary.LittleEndian.Uint32(offsets[4*i:])) != offset:
			return nil, errIDsForm
		case end > int64(len(b)):
			return nil, errIDsShort
		}
		if err := s.restoreContainer(high|uint64(c.key)<<16, c.ids(), b[offset:end]); err != nil {
			return nil, err
		}
		offset = end
	}
	return b[offset:], nil
}

// restoreContainer adds the ids of a container, which are above all others.
func (s *idSet) restoreContainer(prefix uint64, ids int, b []byte) error {
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
	for i := 0; i < len(b); i += 8 {
		for w := binary.LittleEndian.Uint64(b[i:]); w != 0; { // a run of ones at a time
			from := bits.TrailingZeros64(w)
			n := bits.TrailingZeros64(^(w >> from))
			at := prefix | uint64(i*8+from)
			if s.n == 0 {
				s.add(at)
				s.n, s.last = uint64(n), at+uint64(n-1)
			} else {
				s.addRun(run{at, at + uint64(n-1)})
			}
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
