package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// segment is one file of the log. Its name is seq and first, as in 0000000000000003-0000000000001a2b.wal.
type segment struct {
	path  string
	seq   uint64 // place in the log: 0, 1, 2 and so on
	first uint64 // number of its first group; 0 in the segment that Create made
}

// listSegments returns the segments in dir in order, none if dir does not exist. A name that
// is not a segment's, or a gap, is a *Damage.
func listSegments(dir string) ([]segment, error) {
	return withoutGap(func() ([]segment, error) { return namedSegments(dir) })
}

// withoutGap returns what list returns. It lists again after a gap, because a running venue may
// have begun or removed several segments meanwhile: a gap that a second list has too is a *Damage.
func withoutGap(list func() ([]segment, error)) ([]segment, error) {
	var before []segment
	for {
		segs, err := list()
		if err != nil {
			return nil, err
		}
		i := 1
		for i < len(segs) && segs[i].seq == segs[i-1].seq+1 {
			i++
		}
		switch {
		case i >= len(segs):
			return segs, nil
		case slices.Equal(segs, before):
			return nil, &Damage{File: segs[i].path, Group: segs[i].first, Err: fmt.Errorf("segment %d is missing", segs[i-1].seq+1)}
		}
		before = segs
	}
}

// namedSegments returns the segments in dir by their names, in order.
func namedSegments(dir string) (segs []segment, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".wal") {
			continue
		}
		s := segment{path: filepath.Join(dir, e.Name())}
		if _, err := fmt.Sscanf(e.Name(), "%016x-%016x.wal", &s.seq, &s.first); err != nil || e.Name() != segmentName(s.seq, s.first) {
			return nil, &Damage{File: s.path, Err: errors.New("not the name of a segment")}
		}
		segs = append(segs, s)
	}
	slices.SortFunc(segs, func(a, b segment) int { return strings.Compare(a.path, b.path) })
	return segs, err
}

func segmentName(place, first uint64) string { return fmt.Sprintf("%016x-%016x.wal", place, first) }

// before is the number of the last group before the segment, 0 if there is none.
func (s segment) before() uint64 { return max(s.first, 1) - 1 }
