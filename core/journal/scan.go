package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
)

// walMeta is the metadata of the WAL, at the start of each segment.
const walMeta = "duplex journal 1"

// LocatedGroup is a group and its place on disk.
type LocatedGroup struct {
	Group
	File   string
	Offset int64 // of its frame, in bytes
}

// Scan reads the log in dir, verifies it, and yields the groups with numbers of at least from.
// It locks and changes nothing. If the log does not end cleanly, the last pair has the error: a
// *Damage, or a *Torn that Open would cut. A venue may be writing the log: what it is writing is
// the end of the log or a *Torn, and groups that it adds meanwhile may be among those yielded.
//
// Scan accepts a log without a mark, and trusts the chain hash of a trimmed log's first group.
// Check verifies both.
func Scan(dir string, from uint64) iter.Seq2[LocatedGroup, error] {
	return walk(from, func() (*scanner, error) { return newScanner(dir) }, (*scanner).finish)
}

// Check is Scan with the verdict of Open: for a log that Open would refuse, given the position
// of the newest snapshot, it yields the same error.
func Check(dir string, start Position, from uint64) iter.Seq2[LocatedGroup, error] {
	return walk(from, func() (*scanner, error) { return newCheckedScanner(dir, start, false) }, (*scanner).verdict)
}

// walk yields the groups of a scanner; judge turns the error that ends it into the verdict.
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

// scanner reads the segments of a log in order and verifies each group: the CRC of the WAL, the
// CRC of the record, and that number, stamp and chain continue those of the group before.
type scanner struct {
	dir               string
	segs              []segment
	requiredPositions []Position // the log must contain these
	marked            bool       // the mark exists, or none is required
	at                int        // index of the current segment
	r                 *frames
	frameCount        int      // frames read of the current segment
	prevSegmentCRC    uint32   // running CRC at the end of the segment before
	last              Position // after the last group that was read
	known             bool     // last.Chain is known, not only last.Number
	mark              walMark  // the last snapshot record of the WAL
	tail              frame    // the last frame of the current segment that has a group; zero: none

	keepAfter *uint64 // keep groups with greater numbers in recent; nil: keep none
	recent    []Group // the groups since the segment of mark, which the WAL will read as well

	beforeTailRead func() // of tests: called before each read of the tail; nil: nothing

	progress      func(done, total int64) error // nil: no progress is reported
	before, total int64                         // bytes of the segments before the current one, and of all
	reported      int64                         // bytes at the last call of progress
}

// walMark is a snapshot record of the WAL: the WAL can start to read there.
type walMark struct {
	index uint64
	at    int // index of its segment
	ok    bool
}

// newScanner returns a scanner at the first segment of the log in dir. The log must contain
// the position of its mark.
func newScanner(dir string) (*scanner, error) {
	// The mark is read before the segments are listed. A running venue writes a mark after it has
	// begun a segment, so the list has the segment that the mark names.
	m, ok, err := readDurableMark(dir)
	if err != nil {
		return nil, err
	}
	segs, err := listSegments(filepath.Join(dir, walDir))
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

// newCheckedScanner is newScanner, and the log must also continue the snapshot at start. With
// newMark it ignores the mark.
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

// ErrNoMark means that the mark of a log with groups is missing, so that nobody knows whether
// there were more groups.
var ErrNoMark = errors.New("the mark is missing")

// verdict returns what a scan says about the log, given the error that ended it: io.EOF for an
// intact log, a *Torn for one whose tail Open would cut, else the reason why Open refuses it.
func (s *scanner) verdict(end error) error {
	end = s.finish(end)
	torn := (*Torn)(nil)
	switch {
	case end != io.EOF && !errors.As(end, &torn) || len(s.segs) == 0:
		return end
	case !s.marked && s.last.Number > 0:
		return &Damage{File: filepath.Join(s.dir, markName), Err: ErrNoMark}
	case !s.mark.ok:
		return s.damage(s.r.off, errors.New("no snapshot record, where the WAL would start to read"))
	}
	return end
}

// startAt sets the position at which the first segment begins.
func (s *scanner) startAt(p Position) {
	s.last, s.known = p, true
}

func (s *scanner) close() {
	if s.r != nil {
		s.r.close()
		s.r = nil
	}
}

// next returns the next group. io.EOF means that the log has ended cleanly.
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
			if fr, err = s.end(err); err != nil {
				return LocatedGroup{}, err
			}
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

// progressEvery is the number of bytes between two calls of progress.
const progressEvery = 1 << 20

func (s *scanner) reportProgress() error {
	if s.progress == nil || s.before+s.r.off < s.reported+progressEvery {
		return nil
	}
	s.reported = s.before + s.r.off
	return s.progress(s.reported, s.total)
}

// open opens the current segment.
func (s *scanner) open() (err error) {
	if len(s.segs) == 0 {
		return io.EOF
	}
	s.r, err = openFrames(s.segs[s.at])
	s.frameCount = 0
	return err
}

// nextSegment goes to the next segment after the current one was read to its end.
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

// headers is the number of frames before the first group of the current segment. They were
// synced before the file got its name, so they are never torn.
func (s *scanner) headers() int {
	if s.segs[s.at].seq == 0 {
		return 3
	}
	return 2
}

// tailReads bounds how often the tail of a log is read before bytes that change count as damage.
const tailReads = 16

// end judges the end of reading; cause is the error of the frame at s.r.off. It returns that frame
// if another read shows that it is complete, else io.EOF, a *Torn or a *Damage.
//
// A venue may be writing the log. Then the bytes that were read, and those that tornTail reads
// after them, are of different moments, and a read that overlaps a write shows part of it. So bytes
// are damage only if a second read shows the same ones. What a write leaves at one moment is a
// torn tail, because it fills a frame from its start to its end, and the frames one after another.
func (s *scanner) end(cause error) (frame, error) {
	off := s.r.off
	if s.at < len(s.segs)-1 || s.frameCount < s.headers() {
		if cause == io.EOF {
			cause = errPastEnd
		}
		return frame{}, s.damage(off, cause)
	}
	if cause == io.EOF {
		return frame{}, io.EOF
	}
	var judged []byte
	for n := 1; ; n++ {
		s.readTail()
		fr, err := s.r.again()
		if err == nil || err == io.EOF {
			return fr, err
		}
		s.readTail()
		cut, bad, err := tornTail(s.r.seg.path, off, s.last.Number+1)
		switch {
		case err != nil && (bad == nil || bytes.Equal(bad, judged) || n == tailReads):
			return frame{}, s.damage(off, fmt.Errorf("%w; %w", cause, err))
		case err != nil:
			judged = bad
		case cut > 0:
			return frame{}, &Torn{File: s.r.seg.path, Offset: off, Bytes: cut, Group: s.last.Number + 1}
		default:
			return frame{}, io.EOF
		}
	}
}

func (s *scanner) readTail() {
	if s.beforeTailRead != nil {
		s.beforeTailRead()
	}
}

// finish checks that a log that ended cleanly or torn reaches every required position.
func (s *scanner) finish(end error) error {
	if t := (*Torn)(nil); end != io.EOF && !errors.As(end, &t) || s.r == nil {
		return end
	}
	for _, p := range s.requiredPositions {
		if s.last.Number < p.Number {
			return s.damage(s.r.off, fmt.Errorf("the log ends before group %d, which is known to have been durable", p.Number))
		}
	}
	return end
}

func (s *scanner) damage(off int64, err error) error {
	return &Damage{File: s.r.seg.path, Offset: off, Group: s.last.Number + 1, Err: err}
}

// take verifies one frame; ok reports whether it has a group.
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
		err = fmt.Errorf("unexpected record of type %d", fr.kind)
	}
	if err != nil {
		return p, false, s.damage(fr.off, err)
	}
	s.frameCount++
	return p, ok, nil
}

// takeCRC takes the first frame of a segment, which must continue the segment before it.
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

// takeMark takes a snapshot record of the WAL. It has an index and no state of the venue.
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
		return g, fmt.Errorf("found group %d", g.Number)
	case g.Stamp < s.last.Stamp:
		return g, errors.New("the stamp is less than that of the group before")
	case s.known && !g.follows(&s.last.Chain):
		return g, errChain
	}
	for _, p := range s.requiredPositions {
		if p.Number == g.Number && p.Chain != g.Chain {
			return g, fmt.Errorf("another group than the one known to be durable: %w", errChain)
		}
	}
	s.last, s.known, s.tail = g.After(), true, fr
	s.tail.data = nil
	if s.keepAfter != nil && g.Number > *s.keepAfter {
		s.recent = append(s.recent, g)
	}
	return g, nil
}
