package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

const (
	walDir   = "log"
	lockName = "LOCK"
)

// Options of Open. The zero value opens a log that was never trimmed.
type Options struct {
	Now   func() int64 // ns since the Unix epoch; time.Now if nil
	Start Position     // of a verified snapshot: the log must reach and continue it
}

// File is the embedded log: a directory of segments on one machine.
type File struct {
	dir  string
	now  func() int64
	lock *fileutil.LockedFile
	cut  *Torn

	mu     sync.Mutex // one writer; held over the sync
	wal    appender
	segs   []segment
	last   Position
	broken error // why it takes nothing more
	record []byte

	out queue
}

// appender is what File asks of the wal; tests fail it.
type appender interface {
	Save(*raftpb.HardState, []*raftpb.Entry) error
	SaveSnapshot(*walpb.Snapshot) error
	ReleaseLockTo(uint64) error
	SetUnsafeNoFsync()
	Close() error
}

var _ Log = (*File)(nil)

// Open opens the log in dir, and creates it if dir holds none. It reads and proves
// every segment, cuts a torn tail, makes what is left durable, and only then hands
// the files to the wal for appending. It returns ErrLocked, or a *Damage and leaves
// the files as they are.
func Open(dir string, o Options) (*File, error) {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	f := &File{dir: dir, now: o.Now, lock: lock}
	f.out.init()
	if err := f.open(o.Start); err != nil {
		lock.Close()
		return nil, err
	}
	return f, nil
}

func lockDir(dir string) (*fileutil.LockedFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, fmt.Errorf("journal: %s: %w", dir, ErrLocked)
	}
	return lock, err
}

func (f *File) open(start Position) error {
	if err := f.create(start); err != nil {
		return err
	}
	s, err := f.prove(start)
	if err != nil {
		return err
	}
	defer s.close()
	if err := f.settle(s); err != nil {
		return err
	}
	f.segs, f.last = s.segs, s.last
	if err := f.attach(s); err != nil {
		return err
	}
	f.out.start(f.last.Number)
	if err := f.mark(); err != nil {
		f.abandon()
		return err
	}
	return nil
}

// abandon closes the wal without another sync.
func (f *File) abandon() error {
	f.wal.SetUnsafeNoFsync()
	return f.wal.Close()
}

// create makes an empty log where there is none. The wal builds its directory
// beside and renames it, and the mark comes after: whatever a crash leaves is
// either no log or an empty one without a mark.
func (f *File) create(start Position) error {
	segs, err := listSegments(filepath.Join(f.dir, walDir))
	if err != nil || len(segs) > 0 {
		return err
	}
	_, marked, err := readMark(f.dir)
	if err != nil {
		return err
	}
	if marked || start.Number > 0 {
		return &Damage{File: filepath.Join(f.dir, walDir), Group: start.Number + 1, Err: errors.New("the segments are missing")}
	}
	w, err := wal.Create(zap.NewNop(), filepath.Join(f.dir, walDir), []byte(walMeta))
	if err != nil {
		return err
	}
	return w.Close()
}

// prove reads the whole log and stops at its end, clean or torn.
func (f *File) prove(start Position) (*scanner, error) {
	s, err := newScanner(f.dir)
	if err != nil {
		return nil, err
	}
	marked := len(s.pins) > 0
	if err := s.begin(start); err != nil {
		return nil, err
	}
	for err == nil {
		_, err = s.next()
	}
	err = s.finish(err)
	if errors.As(err, &f.cut) || err == io.EOF {
		err = nil
	}
	switch {
	case err != nil:
	case !marked && s.last.Number > 0:
		err = &Damage{File: filepath.Join(f.dir, markName), Err: errors.New("the mark is missing")}
	case !s.mark.ok:
		err = s.damage(s.r.off, errors.New("no record for the wal to start from"))
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// begin ties the log to the snapshot it is opened with. A log that begins at the
// snapshot continues its chain; one that begins before must pass through it.
func (s *scanner) begin(start Position) error {
	first := s.segs[0].before()
	switch {
	case first > start.Number:
		return &Damage{File: s.segs[0].path, Group: start.Number + 1, Err: fmt.Errorf("groups %d to %d are missing", start.Number+1, first)}
	case first == start.Number:
		s.from(start)
	}
	s.pins = append(s.pins, start)
	return nil
}

// settle makes the last segment what was proved: nothing behind the last group,
// and the last group durable. A group can be whole in the page cache and yet not
// on disk, if the process died between write and sync or the sync failed. So it is
// written once more, in place, and synced before anybody sees it.
func (f *File) settle(s *scanner) error {
	path := s.r.seg.path
	end := (s.r.off + 7) / 8 * 8 // frames are aligned; the last one's padding may be cut off
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := rewrite(w, s.tail); err != nil {
		return err
	}
	if f.cut != nil || s.r.size%8 != 0 {
		if err := zeroFrom(w, end); err != nil {
			return err
		}
	}
	if err := w.Sync(); err != nil {
		return err
	}
	return f.sweep()
}

// rewrite writes the last group's frame over itself. Where the last segment holds
// none, the group before it was synced before that segment was begun.
func rewrite(w *os.File, tail frame) error {
	if tail.end == 0 {
		return nil
	}
	b := make([]byte, tail.end-tail.off)
	n, err := w.ReadAt(b, tail.off)
	if err != nil && err != io.EOF {
		return err
	}
	_, err = w.WriteAt(b[:n], tail.off)
	return err
}

// zeroFrom cuts the file at end and gives it its length back as zeros, in whole
// words: the wal does not read a part of one.
func zeroFrom(w *os.File, end int64) error {
	st, err := w.Stat()
	if err != nil {
		return err
	}
	if err := w.Truncate(end); err != nil {
		return err
	}
	return w.Truncate(max(end, (st.Size()+7)/8*8))
}

// sweep removes the segments the wal had prepared: it takes a leftover for new
// without clearing it.
func (f *File) sweep() error {
	entries, err := os.ReadDir(filepath.Join(f.dir, walDir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			if err := os.Remove(filepath.Join(f.dir, walDir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// attach opens the wal for appending. It must read to its end first and keeps what
// it reads, so it starts at its last snapshot record: that is one segment at most,
// two after a crash in between, and let go at once.
func (f *File) attach(s *scanner) error {
	at := s.mark.index
	w, err := wal.Open(zap.NewNop(), filepath.Join(f.dir, walDir), &walpb.Snapshot{Index: &at, Term: new(uint64)})
	if err != nil {
		return err
	}
	meta, _, entries, err := w.ReadAll()
	if n := len(entries); err == nil && (string(meta) != walMeta || n > 0 && entries[n-1].GetIndex() != f.last.Number) {
		err = errors.New("journal: the wal reads another log than was proved")
	}
	f.wal = w
	if err == nil && s.mark.at < len(s.segs)-1 {
		err = f.markWAL()
	}
	if err != nil {
		f.abandon()
	}
	return err
}

// markWAL writes a snapshot record into the last segment, so that the next Open
// reads only from there. Its index is the segment's first group even if that is
// still to come: the wal looks for the record in the segment the index names.
func (f *File) markWAL() error {
	index := max(f.segs[len(f.segs)-1].first, f.last.Number)
	return f.wal.SaveSnapshot(&walpb.Snapshot{Index: &index, Term: new(uint64), ConfState: &raftpb.ConfState{}})
}

// mark writes the mark for what is durable now.
func (f *File) mark() error {
	tail := f.segs[len(f.segs)-1]
	return writeMark(f.dir, mark{Position: f.last, place: tail.place, first: tail.first})
}

// Cut tells which torn tail Open cut, nil if none.
func (f *File) Cut() *Torn { return f.cut }

// Last is the position behind the newest durable group.
func (f *File) Last() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Propose stamps the group, writes and syncs it, and hands it to Deliver. It returns
// ErrTooBig, ErrClosed, or the error of the write or sync that ended the log: a
// sync is never tried again, for the second could succeed without the bytes.
func (f *File) Propose(g Group) error {
	if len(g.Body) > BodyMax {
		return ErrTooBig
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	g.Number = f.last.Number + 1
	g.Stamp = max(f.now(), f.last.Stamp)
	f.record = appendRecord(f.record[:0], &f.last.Chain, &g)
	if err := f.save(&g); err != nil {
		f.broken = fmt.Errorf("journal: stopped at group %d: %w", g.Number, err)
		f.out.fail(f.broken)
		return f.broken
	}
	f.out.push(g)
	return nil
}

func (f *File) save(g *Group) error {
	if err := f.wal.Save(&raftpb.HardState{}, []*raftpb.Entry{{Index: &g.Number, Data: f.record}}); err != nil {
		return err
	}
	f.last = g.After()
	return f.turn()
}

// turn notices that the wal began a segment behind the last group, and notes it
// down before that group is delivered.
func (f *File) turn() error {
	tail := f.segs[len(f.segs)-1]
	next := segment{place: tail.place + 1, first: f.last.Number + 1}
	next.path = filepath.Join(f.dir, walDir, segmentName(next.place, next.first))
	if _, err := os.Lstat(next.path); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	f.segs = append(f.segs, next)
	if err := f.markWAL(); err != nil {
		return err
	}
	return f.mark()
}

// Trim removes the segments that hold only groups below below. The last one stays.
func (f *File) Trim(below uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	n := 0
	for n+1 < len(f.segs) && f.segs[n+1].first <= below {
		n++
	}
	if n == 0 {
		return nil
	}
	if err := f.wal.ReleaseLockTo(below); err != nil {
		return err
	}
	for ; n > 0; n-- { // the oldest first: what a crash leaves has no gap
		if err := os.Remove(f.segs[0].path); err != nil {
			return err
		}
		f.segs = f.segs[1:]
	}
	return syncDir(filepath.Join(f.dir, walDir))
}

// Close writes the mark and lets the files go. A log that failed is closed without
// another sync. A second Close does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	var err error
	if f.broken != nil {
		err = f.abandon()
	} else {
		f.broken = ErrClosed
		err = errors.Join(f.mark(), f.wal.Close())
	}
	f.out.fail(f.broken)
	err = errors.Join(err, f.lock.Close())
	f.lock = nil
	return err
}
