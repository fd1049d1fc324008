package journal

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// walMeta is the wal's metadata, at the head of each segment.
const walMeta = "duplex journal 1"

// Place is a group and where it lies.
type Place struct {
	Group
	File   string
	Offset int64 // of its frame, bytes
}

// Scan reads a log in place, proving everything Open would, and yields the groups
// from number from on. It locks and changes nothing. A log that does not end well
// yields its error last: a *Damage, or a *Torn that Open would cut.
//
// The first group of a trimmed log is taken at its own word; whether it continues
// a snapshot is for Open to prove.
func Scan(dir string, from uint64) iter.Seq2[Place, error] {
	return func(yield func(Place, error) bool) {
		s, err := newScanner(dir)
		if err != nil {
			yield(Place{}, err)
			return
		}
		defer s.close()
		for {
			p, err := s.next()
			if err != nil {
				if err = s.finish(err); err != io.EOF {
					yield(Place{}, err)
				}
				return
			}
			if p.Number >= from && !yield(p, nil) {
				return
			}
		}
	}
}

// scanner walks the segments of a log and proves that they are one unbroken run
// of groups: wal CRC, record CRC, number, stamp and chain.
type scanner struct {
	segs  []segment
	pins  []Position // what the log must contain, known from elsewhere
	at    int        // index of the current segment
	r     *frames
	seen  int      // frames seen in the current segment
	crc   uint32   // of the segment before
	last  Position // the group before the next
	known bool     // whether last.Chain is known, not only last.Number
	mark  walMark  // the wal's last snapshot record
	tail  frame    // the last frame of the current segment that holds a group
}

// walMark is a snapshot record of the wal: where wal.Open can start to read.
type walMark struct {
	index uint64
	at    int // index of its segment
	ok    bool
}

// newScanner starts at the first segment of the log in dir, and holds it against
// the log's mark.
func newScanner(dir string) (*scanner, error) {
	segs, err := listSegments(filepath.Join(dir, walDir))
	if err != nil {
		return nil, err
	}
	m, ok, err := readMark(dir)
	if err != nil {
		return nil, err
	}
	s := &scanner{segs: segs}
	if ok {
		s.pins = append(s.pins, m.Position)
		if len(segs) == 0 || segs[len(segs)-1].place < m.place {
			return nil, &Damage{File: filepath.Join(dir, walDir, segmentName(m.place, m.first)), Group: m.first, Err: errors.New("segment is missing")}
		}
	}
	return s, nil
}

// from sets where the first segment begins.
func (s *scanner) from(p Position) {
	s.last, s.known = p, true
}

func (s *scanner) close() {
	if s.r != nil {
		s.r.close()
		s.r = nil
	}
}

// next gives the next group. io.EOF is the clean end of the log.
func (s *scanner) next() (Place, error) {
	for {
		if s.r == nil {
			if err := s.open(); err != nil {
				return Place{}, err
			}
		}
		fr, err := s.r.next()
		switch {
		case err == io.EOF && s.at < len(s.segs)-1:
			if err := s.turn(); err != nil {
				return Place{}, err
			}
			continue
		case err != nil:
			return Place{}, s.end(err)
		}
		p, ok, err := s.take(fr)
		if err != nil || ok {
			return p, err
		}
	}
}

func (s *scanner) open() (err error) {
	if len(s.segs) == 0 {
		return io.EOF
	}
	s.r, err = openFrames(s.segs[s.at])
	s.seen = 0
	return err
}

// turn leaves a segment that was read to its end for the one after it.
func (s *scanner) turn() error {
	if s.seen < s.headers() {
		return s.damage(s.r.off, errPastEnd)
	}
	s.crc, s.tail = s.r.crc, frame{}
	s.close()
	s.at++
	return nil
}

// headers counts the frames before a segment's first group: they were synced
// before the file got its name, so they are never torn.
func (s *scanner) headers() int {
	if s.segs[s.at].place == 0 {
		return 3
	}
	return 2
}

// end judges where reading stopped: a clean end, a torn tail, or damage.
func (s *scanner) end(cause error) error {
	off := s.r.off
	if s.at < len(s.segs)-1 || s.seen < s.headers() {
		if cause == io.EOF {
			cause = errPastEnd
		}
		return s.damage(off, cause)
	}
	if cause == io.EOF {
		return io.EOF
	}
	n, err := tornTail(s.r.seg.path, off, s.last.Number+1)
	if err != nil {
		return s.damage(off, fmt.Errorf("%w; %w", cause, err))
	}
	if n > 0 {
		return &Torn{File: s.r.seg.path, Offset: off, Bytes: n, Group: s.last.Number + 1}
	}
	return io.EOF
}

// finish asks, where a log ended cleanly or torn, for what is known to be durable.
func (s *scanner) finish(end error) error {
	if t := (*Torn)(nil); end != io.EOF && !errors.As(end, &t) || s.r == nil {
		return end
	}
	for _, p := range s.pins {
		if s.last.Number < p.Number {
			return s.damage(s.r.off, fmt.Errorf("the log ends before group %d, which was durable", p.Number))
		}
	}
	return end
}

func (s *scanner) damage(off int64, err error) error {
	return &Damage{File: s.r.seg.path, Offset: off, Group: s.last.Number + 1, Err: err}
}

// take proves one frame; ok tells that it holds a group.
func (s *scanner) take(fr frame) (p Place, ok bool, err error) {
	switch {
	case s.seen == 0:
		err = s.takeCRC(fr)
	case s.seen == 1:
		if fr.kind != wal.MetadataType || string(fr.data) != walMeta {
			err = errors.New("not a journal, or of another version")
		}
	case fr.kind == wal.SnapshotType:
		err = s.takeMark(fr)
	case fr.kind == wal.EntryType && s.seen >= s.headers():
		p.Group, err = s.takeGroup(fr)
		p.File, p.Offset, ok = s.r.seg.path, fr.off, true
	default:
		err = fmt.Errorf("record of type %d where none belongs", fr.kind)
	}
	if err != nil {
		return p, false, s.damage(fr.off, err)
	}
	s.seen++
	return p, ok, nil
}

// takeCRC opens a segment: it must continue the one before.
func (s *scanner) takeCRC(fr frame) error {
	seg := s.segs[s.at]
	switch {
	case fr.kind != wal.CrcType:
		return errEnvelope
	case s.at > 0 && fr.crc != s.crc, seg.place == 0 && fr.crc != 0:
		return fmt.Errorf("does not continue the segment before: %w", errChecksum)
	case s.at == 0 && !s.known:
		s.last.Number, s.known = seg.before(), seg.place == 0
	}
	if seg.before() != s.last.Number {
		return fmt.Errorf("segment begins at group %d", seg.before()+1)
	}
	return nil
}

// takeMark remembers the wal's own snapshot record; it holds none of our state.
func (s *scanner) takeMark(fr frame) error {
	index, n := varintField(fr.data, 1)
	if n < 0 {
		return errEnvelope
	}
	if term, m := varintField(fr.data[n:], 2); m < 0 || term != 0 {
		return errEnvelope
	} else if rest := fr.data[n+m:]; len(rest) != 0 {
		if _, k := bytesField(rest, 3); k != len(rest) {
			return errEnvelope
		}
	}
	s.mark = walMark{index: index, at: s.at, ok: true}
	return nil
}

func (s *scanner) takeGroup(fr frame) (g Group, err error) {
	index, data, err := entryOf(fr.data)
	if err != nil {
		return g, err
	}
	g, n, err := readRecord(data)
	switch {
	case err != nil:
		return g, err
	case n != len(data):
		return g, errLength
	case g.Number != s.last.Number+1 || index != g.Number:
		return g, fmt.Errorf("group %d stands here", g.Number)
	case g.Stamp < s.last.Stamp:
		return g, errors.New("stamp falls")
	case s.known && !g.follows(&s.last.Chain):
		return g, errChain
	}
	for _, p := range s.pins {
		if p.Number == g.Number && p.Chain != g.Chain {
			return g, fmt.Errorf("not the group that was durable: %w", errChain)
		}
	}
	s.last, s.known, s.tail = g.After(), true, fr
	s.tail.data = nil
	return g, nil
}
