package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// segment is one file of the WAL. Its name has its place and the number of its first group.
type segment struct {
	path  string
	seq   uint64 // place in the log: 0, 1, 2 and so on
	first uint64 // number of its first group; 0 in the segment that Create made
}

// listSegments returns the segments in dir in order, none if dir does not exist. A name that
// is not a segment's, or a gap, is a *Damage.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var segs []segment
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
	for i := 1; i < len(segs); i++ {
		if segs[i].seq != segs[i-1].seq+1 {
			return nil, &Damage{File: segs[i].path, Group: segs[i].first, Err: fmt.Errorf("segment %d is missing", segs[i-1].seq+1)}
		}
	}
	return segs, err
}

func segmentName(place, first uint64) string { return fmt.Sprintf("%016x-%016x.wal", place, first) }

// before is the number of the last group before the segment, 0 if there is none.
func (s segment) before() uint64 { return max(s.first, 1) - 1 }
