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

// LocatedGroup is a group and where it lies.
type LocatedGroup struct {
	Group
	File   string
	Offset int64 // of its frame, bytes
}

// Scan reads a log in place, proving everything Open would, and yields the groups
// from number from on. It locks and changes nothing. A log that does not end well
// yields its error last: a *Damage, or a *Torn that Open would cut.
//
// The first group of a trimmed log is taken at its own word, and a lost mark is not
// missed; Check proves these too.
func Scan(dir string, from uint64) iter.Seq2[LocatedGroup, error] {
	return walk(from, func() (*scanner, error) { return newScanner(dir) }, (*scanner).finish)
}

// Check is Scan with the judgement of Open: a log that Open would refuse, given the
// position of a snapshot, yields the same error.
func Check(dir string, start Position, from uint64) iter.Seq2[LocatedGroup, error] {
	return walk(from, func() (*scanner, error) { return newCheckedScanner(dir, start, false) }, (*scanner).verdict)
}

func walk(from uint64, open func() (*scanner, error), judge func(*scanner, error) error) iter.Seq2[LocatedGroup, error] {
	return func(yield func(LocatedGroup, error) bool) {
		s, err := open()
		if err != nil {
			yield(LocatedGroup{}, err)
			return
		}
		defer s.close()
		for {
			p, err := s.next()
			if err != nil {
				if err = judge(s, err); err != io.EOF {
					yield(LocatedGroup{}, err)
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
	dir               string
	segs              []segment
	requiredPositions []Position // what the log must contain, known from elsewhere
	marked            bool       // the log's mark is there
	at                int        // index of the current segment
	r                 *frames
	frameCount        int      // frames seen in the current segment
	prevSegmentCRC    uint32   // of the segment before
	last              Position // the group before the next
	known             bool     // whether last.Chain is known, not only last.Number
	mark              walMark  // the wal's last snapshot record
	tail              frame    // the last frame of the current segment that holds a group

	keepAfter *uint64 // keep groups above this number in recent; nil: keep none
	recent    []Group // the groups that wal.Open reads as well: those since the segment of mark

	progress      func(done, total int64) error // nil: nobody
	before, total int64                         // bytes of the segments before the current one, and of all
	reported      int64
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
	m, ok, err := readDurableMark(dir)
	if err != nil {
		return nil, err
	}
	s := &scanner{dir: dir, segs: segs, marked: ok}
	if ok {
		s.requiredPositions = append(s.requiredPositions, m.Position)
		if len(segs) == 0 || segs[len(segs)-1].seq < m.place {
			return nil, &Damage{File: filepath.Join(dir, walDir, segmentName(m.place, m.first)), Group: m.first, Err: errors.New("segment is missing")}
		}
	}
	return s, nil
}

// newCheckedScanner is a scanner that also holds the log against the snapshot it is to continue.
// With newMark the log's mark is lost, and not missed.
func newCheckedScanner(dir string, start Position, newMark bool) (*scanner, error) {
	s, err := newScanner(dir)
	if newMark {
		s = &scanner{dir: dir, marked: true}
		s.segs, err = listSegments(filepath.Join(dir, walDir))
	}
	switch {
	case err != nil:
		return nil, err
	case len(s.segs) > 0:
		return s, s.begin(start)
	case start.Number > 0:
		return nil, &Damage{File: filepath.Join(dir, walDir), Group: start.Number + 1, Err: errors.New("the segments are missing")}
	}
	return s, nil
}

// ErrNoMark: the log has groups and its mark is missing, so that nobody knows whether
// there were more.
var ErrNoMark = errors.New("the mark is missing")

// verdict judges how a proof ended: io.EOF for a whole log, a *Torn for one with a tail
// that Open would cut, else why Open refuses it.
func (s *scanner) verdict(end error) error {
	end = s.finish(end)
	torn := (*Torn)(nil)
	switch {
	case end != io.EOF && !errors.As(end, &torn) || len(s.segs) == 0:
		return end
	case !s.marked && s.last.Number > 0:
		return &Damage{File: filepath.Join(s.dir, markName), Err: ErrNoMark}
	case !s.mark.ok:
		return s.damage(s.r.off, errors.New("no record for the wal to start from"))
	}
	return end
}

// startAt sets where the first segment begins.
func (s *scanner) startAt(p Position) {
	s.last, s.known = p, true
}

func (s *scanner) close() {
	if s.r != nil {
		s.r.close()
		s.r = nil
	}
}

// next gives the next group. io.EOF is the clean end of the log.
func (s *scanner) next() (LocatedGroup, error) {
	for {
		if s.r == nil {
			if err := s.open(); err != nil {
				return LocatedGroup{}, err
			}
		}
		fr, err := s.r.next()
		switch {
		case err == io.EOF && s.at < len(s.segs)-1:
			if err := s.nextSegment(); err != nil {
				return LocatedGroup{}, err
			}
			continue
		case err != nil:
			return LocatedGroup{}, s.end(err)
		}
		p, ok, err := s.take(fr)
		if err == nil && ok {
			err = s.reportProgress()
		}
		if err != nil || ok {
			return p, err
		}
	}
}

// progressEvery is how many bytes are read between two calls of progress.
const progressEvery = 1 << 20

func (s *scanner) reportProgress() error {
	if s.progress == nil || s.before+s.r.off < s.reported+progressEvery {
		return nil
	}
	s.reported = s.before + s.r.off
	return s.progress(s.reported, s.total)
}

func (s *scanner) open() (err error) {
	if len(s.segs) == 0 {
		return io.EOF
	}
	s.r, err = openFrames(s.segs[s.at])
	s.frameCount = 0
	return err
}

// nextSegment leaves a segment that was read to its end for the one after it.
func (s *scanner) nextSegment() error {
	if s.frameCount < s.headers() {
		return s.damage(s.r.off, errPastEnd)
	}
	s.prevSegmentCRC, s.tail = s.r.crc, frame{}
	s.before += s.r.size
	s.close()
	s.at++
	return nil
}

// headers counts the frames before a segment's first group: they were synced
// before the file got its name, so they are never torn.
func (s *scanner) headers() int {
	if s.segs[s.at].seq == 0 {
		return 3
	}
	return 2
}

// end judges where reading stopped: a clean end, a torn tail, or damage.
func (s *scanner) end(cause error) error {
	off := s.r.off
	if s.at < len(s.segs)-1 || s.frameCount < s.headers() {
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
	for _, p := range s.requiredPositions {
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
func (s *scanner) take(fr frame) (p LocatedGroup, ok bool, err error) {
	switch {
	case s.frameCount == 0:
		err = s.takeCRC(fr)
	case s.frameCount == 1:
		if fr.kind != wal.MetadataType || string(fr.data) != walMeta {
			err = errors.New("not a journal, or of another version")
		}
	case fr.kind == wal.SnapshotType:
		err = s.takeMark(fr)
	case fr.kind == wal.EntryType && s.frameCount >= s.headers():
		p.Group, err = s.takeGroup(fr)
		p.File, p.Offset, ok = s.r.seg.path, fr.off, true
	default:
		err = fmt.Errorf("record of type %d where none belongs", fr.kind)
	}
	if err != nil {
		return p, false, s.damage(fr.off, err)
	}
	s.frameCount++
	return p, ok, nil
}

// takeCRC opens a segment: it must continue the one before.
func (s *scanner) takeCRC(fr frame) error {
	seg := s.segs[s.at]
	switch {
	case fr.kind != wal.CrcType:
		return errEnvelope
	case s.at > 0 && fr.crc != s.prevSegmentCRC, seg.seq == 0 && fr.crc != 0:
		return fmt.Errorf("does not continue the segment before: %w", errChecksum)
	case s.at == 0 && !s.known:
		s.last.Number, s.known = seg.before(), seg.seq == 0
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
	if s.at > s.mark.at {
		s.recent = nil
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
	for _, p := range s.requiredPositions {
		if p.Number == g.Number && p.Chain != g.Chain {
			return g, fmt.Errorf("not the group that was durable: %w", errChain)
		}
	}
	s.last, s.known, s.tail = g.After(), true, fr
	s.tail.data = nil
	if s.keepAfter != nil && g.Number > *s.keepAfter {
		s.recent = append(s.recent, g)
	}
	return g, nil
}
