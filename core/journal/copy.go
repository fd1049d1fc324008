package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"duplex/internal/atomicfile"
)

// CopyOptions are what Copy does beyond copying the log and its snapshots.
type CopyOptions struct {
	Other []string // names of small files beside the log that are copied if they exist
	Prove bool     // read every file that was copied back and verify it by itself
}

// A CopyResult is what Copy found and did.
type CopyResult struct {
	Files int    // files that were written; those that are there already are not
	Bytes int64  // of these files
	Below uint64 // the copy has every group of the journal with a number less than this
}

// Copy copies the journal in from to the folder to, also while a venue writes it and trims it.
// to may hold an earlier copy of the same journal: then only what is new is copied, and nothing
// is removed, so that it may reach further back than the journal itself. A file appears under
// its name when it is complete and durable.
//
// The copy of a log in use ends before a group that is only half written; the venue has not
// confirmed it. Whoever makes a backup verifies it as a whole afterwards.
// Errors: ErrNoLog, ErrOtherLog if to has another journal, a *Damage of a file that was read, the
// error of ctx, or one of the disks.
func Copy(ctx context.Context, from, to string, o CopyOptions) (CopyResult, error) {
	c := copier{ctx: ctx, from: from, to: to, o: o}
	for {
		err := c.copy()
		// The venue has trimmed a file since it was listed; what it needs is in newer ones.
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil && c.anotherTry() {
			if err := c.undo(); err != nil {
				return c.result, err
			}
			continue
		}
		return c.result, err
	}
}

// copyTries bounds how often Copy begins again. Each further try needs a snapshot of the venue
// in between, which takes far longer than listing the files.
const copyTries = 20

type copier struct {
	ctx      context.Context
	from, to string
	o        CopyOptions
	tries    int
	created  []string // files that were not there before
	result   CopyResult
}

func (c *copier) anotherTry() bool {
	c.tries++
	return c.tries < copyTries
}

// undo removes the files that were not there before, so that a further try does not find a gap after
// them.
func (c *copier) undo() error {
	for _, path := range c.created {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	c.created, c.result = nil, CopyResult{}
	return nil
}

func (c *copier) copy() error {
	segs, err := listSegments(filepath.Join(c.from, walDir))
	if err == nil && len(segs) == 0 {
		err = fmt.Errorf("%s: %w", c.from, ErrNoLog)
	}
	if err != nil {
		return err
	}
	if err := c.checkSame(segs); err != nil {
		return err
	}
	// The mark is read before the log, so that the copy of the log reaches it.
	mark, marked, err := readDurableMark(c.from)
	if err != nil {
		return err
	}
	for _, dir := range []string{"", walDir, SnapshotDir} {
		if err := makeDir(filepath.Join(c.to, dir)); err != nil {
			return err
		}
	}
	// A snapshot is written after its groups: the log that is copied after the snapshots are listed
	// reaches them. They are copied after the log, so that the copy is
	// whole at every moment after its first mark.
	snapshots, err := Snapshots(filepath.Join(c.from, SnapshotDir))
	if err != nil {
		return err
	}
	if segs, err = listSegments(filepath.Join(c.from, walDir)); err != nil {
		return err
	}
	last := len(segs) - 1
	for _, s := range segs[:last] {
		copied, err := c.file(s.path, filepath.Join(walDir, filepath.Base(s.path)), -1)
		if err == nil {
			err = c.prove(s, copied)
		}
		if err != nil {
			return err
		}
	}
	if err := c.newestSegment(segs[last:]); err != nil {
		return err
	}
	for _, path := range snapshots {
		copied, err := c.file(path, filepath.Join(SnapshotDir, filepath.Base(path)), -1)
		if err == nil && copied != "" && c.o.Prove {
			_, err = ProveSnapshot(copied)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range c.o.Other {
		if err := c.small(name); err != nil {
			return err
		}
	}
	if marked {
		return writeDurableMark(c.to, mark)
	}
	return nil
}

// prove verifies the copy of a segment, if that was asked for; copied is "" if there was nothing to
// copy.
func (c *copier) prove(s segment, copied string) error {
	if copied == "" || !c.o.Prove {
		return nil
	}
	s.path = copied
	return readAll(&scanner{segs: []segment{s}}, func(Group) bool { return true })
}

// newestSegment copies the last segment up to the last group that is complete.
func (c *copier) newestSegment(segs []segment) error {
	s := &scanner{segs: segs}
	defer s.close()
	c.result.Below = max(segs[0].first, 1)
	for {
		p, err := s.next()
		if err == nil {
			c.result.Below = p.Number + 1
			continue
		}
		if torn := (*Torn)(nil); err != io.EOF && !errors.As(err, &torn) {
			return err
		}
		copied, err := c.file(segs[0].path, filepath.Join(walDir, filepath.Base(segs[0].path)), s.r.off)
		if err != nil {
			return err
		}
		return c.prove(segs[0], copied)
	}
}

// checkSame returns ErrOtherLog unless the destination is empty or has the same log: a segment
// of the same name begins with the same group.
func (c *copier) checkSame(segs []segment) error {
	there, err := listSegments(filepath.Join(c.to, walDir))
	if err != nil || len(there) == 0 {
		return err
	}
	for _, s := range segs {
		for _, d := range there {
			if s.seq != d.seq {
				continue
			}
			same, err := sameStart(s.path, d.path)
			if err == nil && !same {
				err = fmt.Errorf("%s has the journal of another venue: %w", c.to, ErrOtherLog)
			}
			return err
		}
	}
	end := there[len(there)-1]
	next := max(end.first, 1)
	if err := readAll(&scanner{segs: []segment{end}}, func(g Group) bool { next = g.Number + 1; return true }); err != nil {
		return err
	}
	if segs[0].seq != end.seq+1 || segs[0].first != next {
		return fmt.Errorf("%s: the journal no longer has group %d, which comes next: begin a new copy in another folder", c.to, next)
	}
	return nil
}

// sameStart compares the first bytes of two segments: the running CRC of the log before them,
// and their first group.
func sameStart(a, b string) (bool, error) {
	const length = 512
	var start [2][length]byte
	var n [2]int
	for i, path := range []string{a, b} {
		f, err := os.Open(path)
		if err != nil {
			return false, err
		}
		n[i], err = io.ReadFull(f, start[i][:])
		f.Close()
		if err != nil && err != io.ErrUnexpectedEOF {
			return false, err
		}
	}
	both := min(n[0], n[1])
	return both > 0 && bytes.Equal(start[0][:both], start[1][:both]), nil
}

// small copies a small file beside the log if it exists.
func (c *copier) small(name string) error {
	b, err := os.ReadFile(filepath.Join(c.from, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return writeAtomically(filepath.Join(c.to, name), b)
}

// file copies the first bytes of a file, all of them if length is -1, and returns the path of
// the copy. The files of a journal only grow: if the copy is there already with that length, nothing
// is copied and the path is "".
func (c *copier) file(path, name string, length int64) (copied string, err error) {
	to := filepath.Join(c.to, name)
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if length < 0 {
		st, err := in.Stat()
		if err != nil {
			return "", err
		}
		length = st.Size()
	}
	there, err := os.Stat(to)
	if err == nil && there.Size() == length {
		return "", nil
	}
	if err == nil {
		if err := c.checkBegin(in, to, length); err != nil {
			return "", err
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		c.created = append(c.created, to)
		defer func() {
			if err != nil {
				c.created = c.created[:len(c.created)-1]
			}
		}()
	}
	tmp := to + ".tmp"
	out, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, &cancelReader{c.ctx, io.LimitReader(in, length)})
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		os.Remove(tmp)
		return "", err
	}
	c.result.Files++
	c.result.Bytes += length
	return to, atomicfile.SyncDir(filepath.Dir(to))
}

// checkBegin returns ErrOtherLog unless the file to is the beginning of the first bytes of in: otherwise
// the copy has groups that the journal lacks, and replacing it would lose them.
func (c *copier) checkBegin(in *os.File, to string, length int64) error {
	there, err := os.Open(to)
	if err != nil {
		return err
	}
	defer there.Close()
	a := bufio.NewReaderSize(&cancelReader{c.ctx, there}, 1<<16)
	b := bufio.NewReaderSize(io.NewSectionReader(in, 0, length), 1<<16)
	for {
		x, err := a.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		y, err := b.ReadByte()
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF || x != y {
			return fmt.Errorf("%s has groups that the journal lacks: %w", c.to, ErrOtherLog)
		}
	}
}

// cancelReader ends with the error of a context.
type cancelReader struct {
	ctx context.Context
	io.Reader
}

func (r *cancelReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}
