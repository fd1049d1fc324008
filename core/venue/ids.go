package venue

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// idSet is the client_order_ids an account has used, for good. Callers count upwards,
// so the newest are a short rising list, where a higher one is new without a look; they
// go to a bitmap in bulk.
type idSet struct {
	recent [idBulk]uint32 // low halves, rising
	n      int            // of them
	high   uint32         // half of each of them
	last   uint64         // no id is higher
	old    []idPart       // by high half
}

// idPart is the low halves of the ids with one high half.
type idPart struct {
	high uint32
	low  *roaring.Bitmap
}

// idBulk is how many go to a bitmap at once, so short a time that no command stands out.
const idBulk = 16

func newIDSet() *idSet { return &idSet{} }

// add tells whether the id is new.
func (s *idSet) add(id uint64) bool {
	if id > s.last && s.n < idBulk && uint32(id>>32) == s.high {
		s.recent[s.n] = uint32(id)
		s.n++
		s.last = id
		return true
	}
	return s.addRare(id)
}

func (s *idSet) addRare(id uint64) bool {
	high, low := uint32(id>>32), uint32(id)
	if id > s.last {
		s.flush()
		s.high, s.last, s.n = high, id, 1
		s.recent[0] = low
		return true
	}
	at, used := s.look(id)
	switch {
	case used:
		return false
	case at > 0 && s.n < idBulk:
		copy(s.recent[at+1:], s.recent[at:s.n])
		s.recent[at] = low
		s.n++
		return true
	default: // of another half, below all recent ones, or between them where there is no room
		return s.part(high).CheckedAdd(low)
	}
}

// look searches the list: where the id stands, or would, and whether it does.
func (s *idSet) look(id uint64) (int, bool) {
	if uint32(id>>32) != s.high {
		return 0, false
	}
	return slices.BinarySearch(s.recent[:s.n], uint32(id))
}

func (s *idSet) flush() {
	if s.n > 0 {
		s.part(s.high).AddMany(s.recent[:s.n])
		s.n = 0
	}
}

func (s *idSet) find(high uint32) (int, bool) {
	return slices.BinarySearchFunc(s.old, high, func(p idPart, h uint32) int { return cmp.Compare(p.high, h) })
}

// part is the bitmap of a high half, made where there is none.
func (s *idSet) part(high uint32) *roaring.Bitmap {
	if n := len(s.old); n > 0 && s.old[n-1].high == high {
		return s.old[n-1].low
	}
	i, ok := s.find(high)
	if !ok {
		s.old = slices.Insert(s.old, i, idPart{high, roaring.New()})
	}
	return s.old[i].low
}

// fetch reads the newest.
func (s *idSet) fetch() uint32 { return s.recent[s.n&(idBulk-1)] }

func (s *idSet) has(id uint64) bool {
	if _, used := s.look(id); used {
		return true
	}
	i, ok := s.find(uint32(id >> 32))
	return ok && s.old[i].low.Contains(uint32(id))
}

// bytes are those of one roaring64 bitmap of all ids: the same for the same ids, however
// they came.
func (s *idSet) bytes() ([]byte, error) {
	all := s
	if s.n > 0 {
		c := *s
		c.old = slices.Clone(s.old)
		if i, ok := c.find(c.high); ok {
			c.old[i].low = c.old[i].low.Clone()
		}
		c.flush()
		all = &c
	}
	var b bytes.Buffer
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(all.old))))
	for _, p := range all.old {
		b.Write(binary.LittleEndian.AppendUint32(nil, p.high))
		if _, err := p.low.WriteTo(&b); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// restoreIDSet is the set of bytes.
func restoreIDSet(b []byte) (*idSet, error) {
	if err := partsFit(b); err != nil {
		return nil, err
	}
	s := newIDSet()
	n := binary.LittleEndian.Uint64(b)
	r := bytes.NewReader(b[8:])
	for range n {
		p := idPart{low: roaring.New()}
		if err := binary.Read(r, binary.LittleEndian, &p.high); err != nil {
			return nil, err
		}
		if _, err := p.low.ReadFrom(r); err != nil {
			return nil, err
		}
		if k := len(s.old); p.low.IsEmpty() || k > 0 && s.old[k-1].high >= p.high {
			return nil, fmt.Errorf("part %d is empty or out of order", k)
		}
		s.old = append(s.old, p)
		s.last = uint64(p.high)<<32 | uint64(p.low.Maximum())
	}
	if r.Len() > 0 {
		return nil, errors.New("more bytes than parts")
	}
	return s, nil
}

// partsFit holds the first word, the count of parts, against the length: room for so many
// is made before any is read.
func partsFit(b []byte) error {
	const least = 12 // bytes of a part: 4 of its key, 8 of an empty set
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8)/least {
		return errors.New("fewer bytes than parts")
	}
	return nil
}

// size is the memory it takes, in bytes.
func (s *idSet) size() uint64 {
	n := uint64(4 * idBulk)
	for _, p := range s.old {
		n += 4 + p.low.GetSizeInBytes()
	}
	return n
}
