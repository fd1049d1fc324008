package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
)

func lockDir(dir string) (*fileutil.LockedFile, error) {
	if err := makeDir(dir); err != nil {
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
	f.segs, f.last, f.end = s.segs, s.last, (s.r.off+7)/8*8+frameExtra // and a mark of the wal, perhaps
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
	if err := w.Close(); err != nil {
		return err
	}
	return f.did(Created)
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
	if err := f.sweep(); err != nil {
		return err
	}
	return f.did(Settled)
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
	if err == nil {
		err = f.did(Attached)
	}
	if err == nil && s.mark.at < len(s.segs)-1 {
		err = f.markWAL()
	}
	if err != nil {
		f.abandon()
	}
	return err
}
