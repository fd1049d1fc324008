package venue

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// idSet is the client_order_ids an account has used, for good. Callers count upwards,
// so the newest are a short rising list, where a higher one is new without a look; they
// go to the bitmap in bulk.
type idSet struct {
	recent []uint64          // rising
	old    *roaring64.Bitmap // all of them below the first of recent
	top    uint64            // of old: none is higher
}

// idBulk is how many go to the bitmap at once.
const idBulk = 128

func newIDSet() *idSet { return &idSet{recent: make([]uint64, 0, idBulk), old: roaring64.New()} }

// add tells whether the id is new.
func (s *idSet) add(id uint64) bool {
	n := len(s.recent)
	switch {
	case n > 0 && id > s.recent[n-1], n == 0 && id > s.top:
		s.recent = append(s.recent, id)
	case n > 0 && id > s.top: // out of order, or used
		at, used := slices.BinarySearch(s.recent, id)
		if used {
			return false
		}
		s.recent = slices.Insert(s.recent, at, id)
	default:
		return s.old.CheckedAdd(id)
	}
	if len(s.recent) == idBulk {
		s.top = s.recent[idBulk-1]
		s.old.AddMany(s.recent)
		s.recent = s.recent[:0]
	}
	return true
}

// fetch reads the newest.
func (s *idSet) fetch() uint32 {
	if n := len(s.recent); n > 0 {
		return uint32(s.recent[n-1])
	}
	return 0
}

func (s *idSet) has(id uint64) bool {
	_, used := slices.BinarySearch(s.recent, id)
	return used || s.old.Contains(id)
}

// bytes are those of one bitmap of all ids: the same for the same ids, however they
// came.
func (s *idSet) bytes() ([]byte, error) {
	all := s.old
	if len(s.recent) > 0 {
		all = s.old.Clone()
		all.AddMany(s.recent)
	}
	return all.ToBytes()
}

// restoreIDSet is the set of bytes.
func restoreIDSet(b []byte) (*idSet, error) {
	if err := partsFit(b); err != nil {
		return nil, err
	}
	s := newIDSet()
	if err := s.old.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	if !s.old.IsEmpty() {
		s.top = s.old.Maximum()
	}
	return s, nil
}

// partsFit holds the first word of a roaring64 set, the count of its parts, against its
// length: room for so many is made before any is read.
func partsFit(b []byte) error {
	const least = 12 // bytes of a part: 4 of its key, 8 of an empty set
	if len(b) < 8 || binary.LittleEndian.Uint64(b) > uint64(len(b)-8)/least {
		return errors.New("fewer bytes than parts")
	}
	return nil
}

// size is the memory it takes, in bytes.
func (s *idSet) size() uint64 { return s.old.GetSizeInBytes() + 8*idBulk }
