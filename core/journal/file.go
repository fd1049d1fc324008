package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"

	"duplex/internal/atomicfile"
)

const (
	walDir   = "log"
	lockName = "LOCK"
)

// Options of Open. The zero value opens a log that was never trimmed.
type Options struct {
	Now      func() int64                  // ns since the Unix epoch; default time.Now
	Start    Position                      // of the newest snapshot, which the log must contain or continue
	Progress func(done, total int64) error // progress of the verification, in bytes; its error ends Open
	Watch    func(Step) error              // called after each Step; default none
	Unsynced bool                          // Close syncs all groups, Propose none: for a log that can be made again
	Archive  bool                          // for Append and Sync: the groups are durable elsewhere
	Base     Position                      // where a new archive begins; default the start of a log
	newMark  bool                          // the mark is lost, see NewMark
}

// Step is a change that the log has made to its files. The error of Options.Watch stops the
// log as an error of the disk would. A simulation uses it to crash the log between two
// changes, and to make a disk fail. Watch must not call the log.
type Step string

const (
	Created        Step = "created"         // an empty log, before its mark
	Repaired       Step = "repaired"        // a torn tail is cut, the last group is written once more
	Attached       Step = "attached"        // the WAL is open for appending
	Written        Step = "written"         // a group and, if its segment is full, the next segment
	SegmentStarted Step = "segment started" // the first record of a new segment
	MarkWritten    Step = "mark written"    // MARK
	Trimmed        Step = "trimmed"         // one segment is removed
)

// File is the log of one machine: a directory of segments. It implements Log.
type File struct {
	dir      string
	now      func() int64
	watch    func(Step) error
	unsynced bool      // Options.Unsynced or Archive
	archive  bool      // Options.Archive
	lock     *FileLock // nil after Close
	torn     *Torn

	mu           sync.Mutex // guards the fields up to preallocator; held during a sync
	wal          appender
	segs         []segment
	last         Position
	failed       error // why the log accepts nothing more; nil: it does
	record       []byte
	segmentEnd   int64 // upper bound of the bytes written to the last segment
	preallocator *preallocator

	syncing      sync.Mutex // held by Sync; guards synced
	synced       Position
	syncedNumber atomic.Uint64
	written      atomic.Int64 // bytes of the groups that this process has written

	queue queue
}

// appender is the part of the WAL that File uses. Tests replace it with one that fails.
type appender interface {
	Save(*raftpb.HardState, []*raftpb.Entry) error
	SaveSnapshot(*walpb.Snapshot) error
	ReleaseLockTo(uint64) error
	SetUnsafeNoFsync()
	Close() error
}

var _ Log = (*File)(nil)

// Open opens the log in dir, and creates one if there is none. It verifies every segment, cuts
// a torn tail, makes the rest durable, and then opens the WAL for appending. Errors: ErrLocked,
// a *Damage, which leaves the files unchanged, the error of Progress or Watch, or one of the
// disk.
func Open(dir string, o Options) (*File, error) {
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.Watch == nil {
		o.Watch = func(Step) error { return nil }
	}
	lock, err := Lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	f := &File{dir: dir, now: o.Now, watch: o.Watch, unsynced: o.Unsynced || o.Archive, archive: o.Archive, lock: lock, preallocator: newPreallocator()}
	f.queue.init()
	if err := f.open(&o); err != nil {
		lock.Close()
		return nil, err
	}
	go f.runPreallocator()
	signal(f.preallocator.wake)
	return f, nil
}

// writeSegmentStart writes a snapshot record of the WAL into the last segment, so that the WAL
// reads only that segment at the next Open. Its index is the number of the segment's first
// group, even if that is not written yet: the WAL finds the segment by this index.
func (f *File) writeSegmentStart() error {
	index := max(f.segs[len(f.segs)-1].first, f.last.Number)
	if err := f.wal.SaveSnapshot(&walpb.Snapshot{Index: &index, Term: new(uint64), ConfState: &raftpb.ConfState{}}); err != nil {
		return err
	}
	return f.watch(SegmentStarted)
}

// writeDurableMark writes the mark for the current end of the log.
func (f *File) writeDurableMark() error {
	tail := f.segs[len(f.segs)-1]
	if err := writeDurableMark(f.dir, durableMark{Position: f.last, place: tail.seq, first: tail.first}); err != nil {
		return err
	}
	return f.watch(MarkWritten)
}

// Torn is the torn tail that Open has cut, nil if there was none.
func (f *File) Torn() *Torn { return f.torn }

// Last is the position after the newest durable group.
func (f *File) Last() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Head implements Log: it is the number of the newest durable group.
func (f *File) Head() uint64 { return f.Last().Number }

// NewLife implements Log: it returns 0. A file has one writer at a time, and Open reads every
// group of the earlier ones or cuts it as a torn tail. So no proposal of an earlier run can be
// delivered after Head.
func (f *File) NewLife(context.Context) (uint32, error) { return 0, nil }

// Propose stamps a group, writes and syncs it, and hands it to Deliver. Errors: ErrTooBig,
// ErrClosed, or the error of the write or sync that stopped the log; never ErrUnconfirmed. A
// sync is not retried: a second sync may succeed without the bytes of the first
// (docs/rules/operation.md#durability). The context does not interrupt the write.
func (f *File) Propose(_ context.Context, g Group) error {
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
	return f.write(&g)
}

// write writes f.record, which is that of the group g, and hands the group to Deliver. The caller
// holds f.mu.
func (f *File) write(g *Group) error {
	if err := f.save(g); err != nil {
		f.failed = fmt.Errorf("journal: stopped at group %d: %w", g.Number, err)
		f.queue.fail(f.failed)
		return f.failed
	}
	f.queue.push(*g)
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

// rotate detects that the WAL has begun a new segment after the last group, and records the
// segment before the group is delivered.
func (f *File) rotate() error {
	if f.segmentEnd < wal.SegmentSizeBytes {
		return nil // the segment is not full: segmentEnd is an upper bound
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
	signal(f.preallocator.wake)
	if err := f.writeSegmentStart(); err != nil || f.archive {
		return err // Sync writes the mark of an archive
	}
	return f.writeDurableMark()
}

// Trim removes the segments whose groups all have numbers less than below. The last segment
// stays, and those that a call of Tail has still to read.
func (f *File) Trim(below uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return f.failed
	}
	below = f.queue.limitTrim(below)
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
	for ; n > 0; n-- { // the oldest first, so that a crash leaves no gap
		if err := os.Remove(f.segs[0].path); err != nil {
			return err
		}
		f.segs = f.segs[1:]
		if err := f.watch(Trimmed); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(filepath.Join(f.dir, walDir))
}

// Close writes the mark and closes the files. After a failed write or sync it writes and syncs
// nothing. A second Close is a no-op.
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
		err = errors.Join(f.syncSegments(), f.writeDurableMark(), f.wal.Close())
	}
	f.queue.fail(f.failed)
	err = errors.Join(err, f.lock.Close())
	f.lock = nil
	return err, true
}

// syncSegments syncs what Propose did not.
func (f *File) syncSegments() error {
	if !f.unsynced {
		return nil
	}
	for _, seg := range f.segs {
		if err := syncFile(seg.path); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(filepath.Join(f.dir, walDir))
}

// closeWithoutSync closes the WAL, which would otherwise sync once more.
func (f *File) closeWithoutSync() error {
	f.wal.SetUnsafeNoFsync()
	return f.wal.Close()
}
