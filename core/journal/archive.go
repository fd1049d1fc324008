package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"duplex/internal/atomicfile"
)

// A node of a log of several machines keeps an archive of the groups that were delivered to it
// (docs/rules/operation.md#cluster): a File with Options.Archive. Its groups are durable elsewhere.
// So Append does not sync, Sync makes them durable here, and Open cuts what is damaged after the
// mark, because the node can get it again. The same group has the same bytes in every archive.

var errNotNext = errors.New("journal: not the group that comes next")

// Append writes a group of another log, whose number and chain must continue this one. It hands the
// group to Deliver and does not sync. Errors: ErrClosed, or the error that stopped the log.
func (f *File) Append(g Group) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return f.failed
	}
	if g.Number != f.last.Number+1 || g.Stamp < f.last.Stamp || !g.follows(&f.last.Chain) {
		return fmt.Errorf("%w: %d after %d", errNotNext, g.Number, f.last.Number)
	}
	f.record = AppendRecord(f.record[:0], &g)
	return f.write(&g)
}

// Sync makes the appended groups durable, and moves the mark to the last of them. It delays no
// Append. Errors: ErrClosed, or one of the disk, after which the log accepts nothing more.
func (f *File) Sync() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.mu.Lock()
	failed, last, segs := f.failed, f.last, slices.Clone(f.segs)
	f.mu.Unlock()
	switch {
	case failed != nil:
		return failed
	case last.Number == f.synced.Number:
		return nil
	}
	err := f.syncTo(last, segs)
	if err != nil {
		err = fmt.Errorf("journal: stopped at group %d: %w", last.Number, err)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.failed == nil {
			f.failed = err
			f.queue.fail(err)
		}
	}
	return err
}

// syncTo syncs the segments that have groups after f.synced, and writes the mark. The caller holds
// f.syncing, and the log was at last when it had the segments segs.
func (f *File) syncTo(last Position, segs []segment) error {
	for i, s := range segs {
		if i+1 < len(segs) && segs[i+1].before() <= f.synced.Number {
			continue
		}
		if err := syncFile(s.path); err != nil && !errors.Is(err, os.ErrNotExist) { // Trim may have removed it
			return err
		}
	}
	tail := segs[len(segs)-1]
	if err := writeDurableMark(f.dir, durableMark{Position: last, place: tail.seq, first: tail.first}); err != nil {
		return err
	}
	f.synced = last
	f.syncedNumber.Store(last.Number)
	return f.watch(MarkWritten)
}

// Fail ends the log with an error, which Deliver yields after the groups that were appended. Nothing
// more is appended.
func (f *File) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed == nil {
		f.failed = err
		f.queue.fail(err)
	}
}

// Failed returns why the log accepts nothing more; nil: it does.
func (f *File) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Synced returns the number of the last group that Sync has made durable.
func (f *File) Synced() uint64 { return f.syncedNumber.Load() }

// Written returns the bytes of the records of all groups that this process has written to the log.
func (f *File) Written() int64 { return f.written.Load() }

// Discard removes the log in dir, but keeps the snapshots: a new archive can then begin at a group that does
// not follow the old ones. Errors: ErrLocked if a process has dir open, or one of the disk.
func Discard(dir string) error {
	lock, err := Lock(filepath.Join(dir, lockName))
	if err != nil {
		return err
	}
	err = os.RemoveAll(filepath.Join(dir, walDir))
	if err == nil {
		err = os.Remove(filepath.Join(dir, markName))
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, atomicfile.SyncDir(dir), lock.Close())
}

// Replace replaces the log in dir and its mark by those of the log in from, which must be closed, and
// removes from. The snapshots in dir stay. A crash leaves the old log, the new one, or one that Open
// refuses as damaged. Errors: ErrLocked, or one of the disk.
func Replace(dir, from string) error {
	lock, err := Lock(filepath.Join(dir, lockName))
	if err != nil {
		return err
	}
	defer lock.Close()
	old := filepath.Join(dir, walDir+".old")
	if err := os.RemoveAll(old); err != nil { // a crash has left it
		return err
	}
	if err := os.Rename(filepath.Join(dir, walDir), old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, name := range []string{walDir, markName} {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := atomicfile.SyncDir(dir); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(from), os.RemoveAll(old))
}

// syncOld makes durable what an earlier run has appended and not synced. Open calls it before it
// writes the mark.
func (f *File) syncOld() error {
	m, _, err := readDurableMark(f.dir)
	if err != nil {
		return err
	}
	for _, s := range f.segs {
		if s.seq >= m.place {
			if err := syncFile(s.path); err != nil {
				return err
			}
		}
	}
	return nil
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// createAt creates a log whose first group comes after a position. Its only segment looks as if
// earlier ones had been trimmed. It gets its name when it is complete and has its mark.
func (f *File) createAt(base Position) error {
	dir := filepath.Join(f.dir, walDir)
	unfinished := dir + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	w, err := wal.Create(zap.NewNop(), unfinished, []byte(walMeta))
	if err != nil {
		return err
	}
	first := base.Number + 1
	err = w.SaveSnapshot(&walpb.Snapshot{Index: &first, Term: new(uint64), ConfState: &raftpb.ConfState{}})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(unfinished, segmentName(0, 0)), filepath.Join(unfinished, segmentName(1, first))); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(unfinished); err != nil {
		return err
	}
	if err := writeDurableMark(f.dir, durableMark{Position: base, place: 1, first: first}); err != nil {
		return err
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(f.dir); err != nil {
		return err
	}
	return f.watch(Created)
}

// From is Tail from a number on, for a reader that verifies by itself that the first group continues
// what it has.
func (f *File) From(ctx context.Context, number uint64) iter.Seq2[Group, error] {
	return func(yield func(Group, error) bool) {
		t := &tail{moved: make(chan struct{}, 1)}
		t.next.Store(number)
		f.queue.addTail(t)
		defer f.queue.removeTail(t)
		err := f.deliver(ctx, number, t.moved, func(g Group, err error) bool {
			t.next.Store(g.Number + 1)
			return yield(g, err)
		})
		if err != nil {
			yield(Group{}, err)
		}
	}
}

// cutUnsynced cuts an archive where it is damaged, if that is after the mark. It returns false if it
// must not.
func (f *File) cutUnsynced(s *scanner, damage *Damage) (bool, error) {
	m, marked, err := readDurableMark(f.dir)
	if err != nil || !marked || len(s.segs) == 0 || s.r == nil || s.last.Number < m.Number || damage.Group <= m.Number {
		return false, nil
	}
	segs := s.segs[s.at:]
	if s.frameCount < s.headers() { // the segment has no group yet
		if s.at == 0 {
			return false, nil
		}
	} else {
		segs = segs[1:]
		w, err := os.OpenFile(s.r.seg.path, os.O_RDWR, 0)
		if err != nil {
			return false, err
		}
		if err := errors.Join(zeroFrom(w, s.r.off), w.Sync(), w.Close()); err != nil {
			return false, err
		}
	}
	for _, seg := range slices.Backward(segs) {
		if err := os.Remove(seg.path); err != nil {
			return false, err
		}
	}
	return true, atomicfile.SyncDir(filepath.Join(f.dir, walDir))
}

// AppendRecord appends the record of a group, with the chain that it has: the form in which it is
// archived and sent to other nodes.
func AppendRecord(dst []byte, g *Group) []byte {
	at := len(dst)
	dst = appendRecordHead(dst, g)
	return sealRecord(append(dst, g.Chain[:]...), at, g)
}

// ReadRecord reads one record. It verifies the record on its own, and not that it continues
// another; Follows does.
func ReadRecord(r io.Reader) (Group, error) {
	head := make([]byte, recordHead, recordHead+512)
	if _, err := io.ReadFull(r, head); err != nil {
		return Group{}, err
	}
	n, err := recordLength(head)
	if err != nil {
		return Group{}, err
	}
	b := slices.Grow(head, n-recordHead)[:n]
	if _, err := io.ReadFull(r, b[recordHead:]); err != nil {
		return Group{}, errors.Join(io.ErrUnexpectedEOF, err)
	}
	g, _, err := readRecord(b)
	return g, err
}

// Follows reports whether g is the group after p.
func (g *Group) Follows(p Position) bool {
	return g.Number == p.Number+1 && g.Stamp >= p.Stamp && g.follows(&p.Chain)
}
