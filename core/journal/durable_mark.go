package journal

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"syscall"

	"duplex/internal/atomicfile"
)

// durableMark is a position up to which the log is known to be durable, in the file MARK. It is
// written when a log is created, opened and closed, and for each new segment, before a later
// group is delivered. With it a lost last segment, or a log that was cut, is recognized as
// damage, which the segments alone do not show. An older mark of the same log is still
// correct, and detects less.
type durableMark struct {
	Position
	place, first uint64 // of the last segment, see segment
}

const (
	markName  = "MARK"
	markBytes = 8 + 8 + 32 + 8 + 8 + 8 + 4
	markMagic = "DXMARK\x00\x01"
)

func writeDurableMark(dir string, m durableMark) error {
	b := append(make([]byte, 0, markBytes), markMagic...)
	b = binary.LittleEndian.AppendUint64(b, m.Number)
	b = append(b, m.Chain[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Stamp))
	b = binary.LittleEndian.AppendUint64(b, m.place)
	b = binary.LittleEndian.AppendUint64(b, m.first)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	path := filepath.Join(dir, markName)
	err := writeAtomically(path, b)
	if full(err) && overwrite(path, b) == nil {
		return nil
	}
	return err
}

func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// overwrite writes a mark over the existing one, which takes no disk space: a venue must be
// able to start on a full disk, so that cancels and rounds go on. The mark lies within one
// sector, so it is written as a whole or not at all.
func overwrite(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() != int64(len(b)) {
		return errLength
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Sync()
}

// readDurableMark returns the mark of the log in dir; false if there is none. A damaged mark is
// a *Damage.
func readDurableMark(dir string) (m durableMark, ok bool, err error) {
	path := filepath.Join(dir, markName)
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	if len(b) != markBytes || string(b[:8]) != markMagic || crc32.Checksum(b[:markBytes-4], castagnoli) != binary.LittleEndian.Uint32(b[markBytes-4:]) {
		return m, false, &Damage{File: path, Err: errChecksum}
	}
	m.Number = binary.LittleEndian.Uint64(b[8:])
	m.Chain = [32]byte(b[16:])
	m.Stamp = int64(binary.LittleEndian.Uint64(b[48:]))
	m.place = binary.LittleEndian.Uint64(b[56:])
	m.first = binary.LittleEndian.Uint64(b[64:])
	return m, true, nil
}

// NewMark writes a new mark for the log in dir, whose mark is lost or damaged, and returns the
// position of the last group. Without the old mark nobody can know whether there were more
// groups. start is the position of the newest snapshot. Errors: ErrMarked if the mark is
// intact, ErrNoLog, ErrLocked, or the *Damage for which Open refuses the log.
func NewMark(dir string, start Position) (Position, error) {
	if _, ok, err := readDurableMark(dir); ok {
		return Position{}, ErrMarked
	} else if damage := (*Damage)(nil); err != nil && !errors.As(err, &damage) {
		return Position{}, err
	}
	segs, err := listSegments(filepath.Join(dir, walDir))
	if err == nil && len(segs) == 0 {
		err = ErrNoLog
	}
	if err != nil {
		return Position{}, err
	}
	f, err := Open(dir, Options{Start: start, newMark: true})
	if err != nil {
		return Position{}, err
	}
	return f.Last(), f.Close()
}

var (
	// ErrNoLog means that the directory has no log.
	ErrNoLog = errors.New("journal: no log")
	// ErrMarked means that the mark is intact, so that NewMark must not replace it.
	ErrMarked = errors.New("journal: the mark is not lost")
)

// writeAtomically replaces the content of the file at path. After a crash the file has the old
// or the new content; once the function returns, the new content is durable.
func writeAtomically(path string, parts ...[]byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	for _, b := range parts {
		if err == nil {
			_, err = f.Write(b)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// makeDir creates dir unless it exists, and makes its name durable.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(filepath.Clean(dir)))
}
