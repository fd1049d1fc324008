package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
)

// Reader reads the log in a folder, also while a venue writes it. It locks and changes nothing.
type Reader struct {
	dir  string
	segs []segment
	last Position
}

// NewReader returns a reader of the log in dir as it is now. Errors: ErrNoLog, or a *Damage of the
// last segment, up to which the reader can be used.
func NewReader(dir string) (*Reader, error) {
	r := &Reader{dir: dir}
	return r, r.Refresh()
}

// Refresh makes the groups known that were added since.
func (r *Reader) Refresh() error {
	segs, err := listSegments(filepath.Join(r.dir, walDir))
	if err == nil && len(segs) == 0 {
		err = fmt.Errorf("%s: %w", r.dir, ErrNoLog)
	}
	if err != nil {
		return err
	}
	r.segs = segs
	for i := len(segs) - 1; i >= 0; i-- { // a segment may have no group yet
		found := false
		err = readAll(&scanner{segs: segs[i:]}, func(g Group) bool {
			r.last, found = g.After(), true
			return true
		})
		if found {
			break
		}
	}
	return err
}

// readAll calls f for each group of a scanner until f returns false or the log ends.
func readAll(s *scanner, f func(Group) bool) error {
	defer s.close()
	for {
		p, err := s.next()
		if torn := (*Torn)(nil); err == io.EOF || errors.As(err, &torn) {
			return nil
		}
		if err != nil {
			return err
		}
		if !f(p.Group) {
			return nil
		}
	}
}

// Last returns the position after the newest group.
func (r *Reader) Last() Position { return r.last }

// First returns the number of the oldest group.
func (r *Reader) First() uint64 { return r.segs[0].before() + 1 }

// SegmentBytes returns 0: a reader keeps no segment.
func (r *Reader) SegmentBytes(_, _ uint64) (int64, error) { return 0, nil }

// Tail is File.Tail, but ends at Last.
func (r *Reader) Tail(ctx context.Context, after Position) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		next := after.Number + 1
		switch {
		case after.Number > r.last.Number || after.Number == r.last.Number && after.Chain != r.last.Chain:
			yield(Group{}, fmt.Errorf("%w: group %d", ErrOtherLog, after.Number))
			return
		case after.Number == r.last.Number:
			return
		case next < r.First():
			yield(Group{}, fmt.Errorf("%w: group %d; the first is %d", ErrTrimmed, next, r.First()))
			return
		}
		i := 0
		for i+1 < len(r.segs) && r.segs[i+1].first <= next {
			i++
		}
		stopped := false
		err := readAll(&scanner{segs: r.segs[i:]}, func(g Group) bool {
			switch {
			case ctx.Err() != nil:
				stopped = true
			case g.Number < next:
				return true
			case g.Number == next && !g.follows(&after.Chain):
				yield(Group{}, fmt.Errorf("%w: group %d has another running hash", ErrOtherLog, after.Number))
				stopped = true
			default:
				stopped = !yield(g, nil) || g.Number == r.last.Number
			}
			return !stopped
		})
		if err != nil && !stopped {
			yield(Group{}, err)
		}
	}
}
