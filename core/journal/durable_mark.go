package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"syscall"
)

// durableMark is what the log is known to have reached, kept beside it. It is written
// when a log is created, opened and closed, and whenever a segment is begun, always
// before a later group is delivered. It turns a lost last segment and a cut into
// durable groups, which the segments alone cannot show, into a Damage. An older mark of
// the same log proves less and nothing wrong.
type durableMark struct {
	Position
	place, first uint64 // of the last segment
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

// overwrite writes a mark over the one that is there, which takes no space: a venue on a
// full disk must be able to start, so that cancels and rounds go on. The mark lies
// within one sector, which a disk writes whole or not at all.
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

// readDurableMark gives the mark of the log in dir; false if there is none.
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

// NewMark writes the mark of the log in dir anew, where it was lost or damaged, for the
// log as it is: whether there were more groups nobody can tell any more. start is the
// position of the newest snapshot. A log that Open refuses for anything else is refused,
// and so is one that is open, or that has its mark.
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
	// ErrNoLog: the directory holds no log.
	ErrNoLog = errors.New("journal: no log")
	// ErrMarked: the mark is there, and what it says must not be given up.
	ErrMarked = errors.New("journal: the mark is not lost")
)

// writeAtomically replaces the file at path: after a crash it holds the old bytes
// or the new, and once it returns the new.
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
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return syncDir(filepath.Dir(path))
}

// makeDir makes dir if need be, and its name durable.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return syncDir(filepath.Dir(filepath.Clean(dir)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
