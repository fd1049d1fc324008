package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

func (f *File) open(o *Options) error {
	if err := f.create(o.Start, o.Base); err != nil {
		return err
	}
	s, err := f.verify(o)
	if err != nil {
		return err
	}
	defer s.close()
	if err := f.repairTail(s); err != nil {
		return err
	}
	f.segs, f.last, f.segmentEnd = s.segs, s.last, (s.r.off+7)/8*8+frameExtra // perhaps with a snapshot record of the WAL
	if err := f.openWAL(s); err != nil {
		return err
	}
	if f.unsynced {
		f.wal.SetUnsafeNoFsync()
	}
	f.queue.start(f.last.Number, s.recent)
	if f.archive {
		err = f.syncOld()
	}
	if err == nil {
		err = f.writeDurableMark()
	}
	if err != nil {
		f.closeWithoutSync()
		return err
	}
	f.synced = f.last
	f.syncedNumber.Store(f.last.Number)
	return nil
}

// create creates an empty log if there is none. The WAL creates its directory under another
// name and renames it, and the mark is written after that. So a crash leaves no log, or an
// empty one without a mark.
func (f *File) create(start, base Position) error {
	segs, err := listSegments(filepath.Join(f.dir, walDir))
	if err != nil || len(segs) > 0 {
		return err
	}
	m, marked, err := readDurableMark(f.dir)
	if begun := base.Number > 0 && m.Position == base && m.place == 1; err != nil || marked && !begun || start.Number > base.Number {
		return err // verify names what is missing
	}
	if base.Number > 0 {
		return f.createAt(base)
	}
	w, err := wal.Create(zap.NewNop(), filepath.Join(f.dir, walDir), []byte(walMeta))
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.watch(Created)
}

// verify reads and verifies the whole log. It sets f.torn if the end is torn. It cuts an archive
// where it is damaged after its mark, and verifies it again.
func (f *File) verify(o *Options) (*scanner, error) {
	s, err := f.verifyOnce(o)
	damage := (*Damage)(nil)
	if !f.archive || !errors.As(err, &damage) || s == nil {
		return s, err
	}
	cut, cerr := f.cutUnsynced(s, damage)
	s.close()
	if !cut || cerr != nil {
		return nil, errors.Join(err, cerr)
	}
	if s, err = f.verifyOnce(o); err != nil && s != nil {
		s.close()
	}
	return s, err
}

// verifyOnce returns the scanner at the end of the log. With an error that may be nil, else the
// caller closes it.
func (f *File) verifyOnce(o *Options) (*scanner, error) {
	s, err := newCheckedScanner(f.dir, o.Start, o.newMark)
	if err != nil {
		return nil, err
	}
	s.keepAfter = &o.Start.Number
	if s.progress = o.Progress; s.progress != nil {
		for _, seg := range s.segs {
			st, err := os.Stat(seg.path)
			if err != nil {
				return nil, err
			}
			s.total += st.Size()
		}
		err = s.progress(0, s.total)
	}
	for err == nil {
		_, err = s.next()
	}
	if err = s.verdict(err); errors.As(err, &f.torn) || err == io.EOF {
		return s, nil
	}
	if !f.archive {
		s.close()
		return nil, err
	}
	return s, err
}

// begin requires that the log continues the snapshot at start. A log that begins there must
// continue the chain; a log that begins earlier must contain that position.
func (s *scanner) begin(start Position) error {
	first := s.segs[0].before()
	switch {
	case first > start.Number:
		return &Damage{File: s.segs[0].path, Group: start.Number + 1, Err: fmt.Errorf("groups %d to %d are missing", start.Number+1, first)}
	case first == start.Number:
		s.startAt(start)
	}
	s.requiredPositions = append(s.requiredPositions, start)
	return nil
}

// repairTail makes the last segment durable as it was verified: it cuts a torn tail, and writes
// the last group once more, in place. That group may be complete in the page cache and not on
// disk, if the process died between write and sync, or if the sync failed.
func (f *File) repairTail(s *scanner) error {
	path := s.r.seg.path
	end := (s.r.off + 7) / 8 * 8 // frames are aligned; the last one's padding may be cut off
	w, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	if _, err := w.WriteAt(s.tail.raw, s.tail.off); err != nil {
		return err
	}
	if f.torn != nil || s.r.size%8 != 0 {
		if err := zeroFrom(w, end); err != nil {
			return err
		}
	}
	if err := w.Sync(); err != nil {
		return err
	}
	if err := f.removePrepared(); err != nil {
		return err
	}
	return f.watch(Repaired)
}

// zeroFrom replaces the bytes of the file from end on with zeros. The new length is a multiple
// of 8, because the WAL reads whole words.
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

// removePrepared removes segments that the WAL has prepared and not used: the WAL would use a
// leftover one without clearing it.
func (f *File) removePrepared() error {
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

// walOpenAttempts bounds how often readWAL starts again on a full disk, or beside a process that starts.
const walOpenAttempts = 8

// readWAL opens the WAL and reads it from an index on. While it reads, the WAL truncates its last
// segment and takes the blocks back, and at the same time it reserves the blocks of a next segment.
// On a full disk the next segment can get the blocks that the last one gave up. Closing the WAL
// frees them, so readWAL starts again. It also does so after the end of a lock that a closed log left
// (see FileLock). It returns a nil WAL if that cannot be opened.
func readWAL(dir string, at uint64) (w *wal.WAL, meta []byte, entries []*raftpb.Entry, err error) {
	for attempt := 1; ; attempt++ {
		w, err = wal.Open(zap.NewNop(), dir, &walpb.Snapshot{Index: &at, Term: new(uint64)})
		if errors.Is(err, fileutil.ErrLocked) && attempt < walOpenAttempts {
			if err := waitUnlocked(dir); err != nil {
				return nil, nil, nil, err
			}
			continue
		}
		if err != nil {
			return nil, nil, nil, err
		}
		meta, _, entries, err = w.ReadAll()
		if !errors.Is(err, syscall.ENOSPC) || attempt == walOpenAttempts {
			return w, meta, entries, err
		}
		if cerr := w.Close(); cerr != nil {
			return nil, nil, nil, errors.Join(err, cerr)
		}
	}
}

// openWAL opens the WAL for appending. The WAL must read to its end first, and holds what it
// reads in memory. So it starts at its last snapshot record and reads one segment, or two if a
// crash came between a new segment and its record.
func (f *File) openWAL(s *scanner) error {
	w, meta, entries, err := readWAL(filepath.Join(f.dir, walDir), s.mark.index)
	if w == nil {
		return err
	}
	if n := len(entries); err == nil && (string(meta) != walMeta || n > 0 && entries[n-1].GetIndex() != f.last.Number) {
		err = errors.New("journal: the WAL reads another log than the one that was verified")
	}
	f.wal = w
	if err == nil {
		err = f.watch(Attached)
	}
	if err == nil && s.mark.at < len(s.segs)-1 {
		err = f.writeSegmentStart()
	}
	if err != nil {
		f.closeWithoutSync()
	}
	return err
}
