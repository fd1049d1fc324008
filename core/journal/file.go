package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
)

const (
	walDir   = "log"
	lockName = "LOCK"
)

// Options of Open. The zero value opens a log that was never trimmed.
type Options struct {
	Now      func() int64                  // ns since the Unix epoch; time.Now if nil
	Start    Position                      // of a verified snapshot: the log must reach and continue it
	Progress func(done, total int64) error // of the proof, in bytes; its error ends Open. None if nil
	Watch    func(Step) error              // see Step; none if nil
	newMark  bool                          // the mark is lost: see NewMark
}

// Step is something the log has done to its files. Options.Watch, where given, is
// told of each, and its error ends the log there as the disk's own would: so a
// simulation sees what a crash may leave, and makes disks fail. It must not call
// the log.
type Step string

const (
	Created        Step = "created"  // an empty log, before its mark
	Repaired       Step = "settled"  // the torn tail cut, the last group written once more
	Attached       Step = "attached" // the wal opened for appending
	Written        Step = "saved"    // a group, and where it was full the next segment
	SegmentStarted Step = "begun"    // the first record of that segment
	MarkWritten    Step = "marked"   // the mark
	Trimmed        Step = "trimmed"  // one segment removed
)

// File is the embedded log: a directory of segments on one machine.
type File struct {
	dir   string
	now   func() int64
	watch func(Step) error
	lock  *fileutil.LockedFile
	torn  *Torn

	mu           sync.Mutex // one writer; held over the sync
	wal          appender
	segs         []segment
	last         Position
	failed       error // why it takes nothing more
	record       []byte
	segmentEnd   int64 // of what may be written of the last segment, bytes
	preallocator *preallocator

	queue queue
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
	if o.Watch == nil {
		o.Watch = func(Step) error { return nil }
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	f := &File{dir: dir, now: o.Now, watch: o.Watch, lock: lock, preallocator: newPreallocator()}
	f.queue.init()
	if err := f.open(&o); err != nil {
		lock.Close()
		return nil, err
	}
	go f.runPreallocator()
	f.wakePreallocator()
	return f, nil
}

// writeSegmentStart writes a snapshot record into the last segment, so that the next Open
// reads only from there. Its index is the segment's first group even if that is
// still to come: the wal looks for the record in the segment the index names.
func (f *File) writeSegmentStart() error {
	index := max(f.segs[len(f.segs)-1].first, f.last.Number)
	if err := f.wal.SaveSnapshot(&walpb.Snapshot{Index: &index, Term: new(uint64), ConfState: &raftpb.ConfState{}}); err != nil {
		return err
	}
	return f.watch(SegmentStarted)
}

// writeDurableMark writes the mark for what is durable now.
func (f *File) writeDurableMark() error {
	tail := f.segs[len(f.segs)-1]
	if err := writeDurableMark(f.dir, durableMark{Position: f.last, place: tail.seq, first: tail.first}); err != nil {
		return err
	}
	return f.watch(MarkWritten)
}

// Torn tells which torn tail Open cut, nil if none.
func (f *File) Torn() *Torn { return f.torn }

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
	if f.failed != nil {
		return f.failed
	}
	g.Number = f.last.Number + 1
	g.Stamp = max(f.now(), f.last.Stamp)
	f.record = appendRecord(f.record[:0], &f.last.Chain, &g)
	if err := f.save(&g); err != nil {
		f.failed = fmt.Errorf("journal: stopped at group %d: %w", g.Number, err)
		f.queue.fail(f.failed)
		return f.failed
	}
	f.queue.push(g)
	return nil
}

func (f *File) save(g *Group) error {
	if err := f.wal.Save(&raftpb.HardState{}, []*raftpb.Entry{{Index: &g.Number, Data: f.record}}); err != nil {
		return err
	}
	f.wrote(len(f.record))
	if err := f.watch(Written); err != nil {
		return err
	}
	f.last = g.After()
	return f.rotate()
}

// rotate notices that the wal began a segment behind the last group, and notes it
// down before that group is delivered.
func (f *File) rotate() error {
	if f.segmentEnd < wal.SegmentSizeBytes { // at least what is written: the wal had no reason to
		return nil
	}
	tail := f.segs[len(f.segs)-1]
	next := segment{seq: tail.seq + 1, first: f.last.Number + 1}
	next.path = filepath.Join(f.dir, walDir, segmentName(next.seq, next.first))
	if _, err := os.Lstat(next.path); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	f.segs, f.segmentEnd = append(f.segs, next), headRoom
	f.wakePreallocator()
	if err := f.writeSegmentStart(); err != nil {
		return err
	}
	return f.writeDurableMark()
}

// Trim removes the segments that hold only groups below below. The last one stays.
func (f *File) Trim(below uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return f.failed
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
		if err := f.watch(Trimmed); err != nil {
			return err
		}
	}
	return syncDir(filepath.Join(f.dir, walDir))
}

// Close writes the mark and lets the files go. A log that failed is closed without
// another sync. A second Close does nothing.
func (f *File) Close() error {
	err, closed := f.close()
	if closed {
		close(f.preallocator.wake)
		<-f.preallocator.done
	}
	return err
}

func (f *File) close() (err error, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil, false
	}
	if f.failed != nil {
		err = f.closeWithoutSync()
	} else {
		f.failed = ErrClosed
		err = errors.Join(f.writeDurableMark(), f.wal.Close())
	}
	f.queue.fail(f.failed)
	err = errors.Join(err, f.lock.Close())
	f.lock = nil
	return err, true
}

// closeWithoutSync closes the wal without another sync.
func (f *File) closeWithoutSync() error {
	f.wal.SetUnsafeNoFsync()
	return f.wal.Close()
}
