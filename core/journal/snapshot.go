package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Snapshot is the state of the venue behind a group. What the body means, and that
// it hashes to StateHash, is for its reader to prove.
type Snapshot struct {
	Seq       uint64 // of the last command it covers
	Position         // of the log behind that command's group
	StateHash [32]byte
	Body      []byte
}

// The file of a snapshot, little-endian:
//
//	  0  magic     "DXSNAP", 0 and the version
//	  8  seq       u64
//	 16  number    u64
//	 24  stamp     i64
//	 32  chain     32 bytes
//	 64  state     32 bytes
//	 96  length    u64, of the body
//	104  sum       SHA-256 of all before, 32 bytes
//	136  body
//	  +  sum       SHA-256 of all before, 32 bytes
const (
	snapshotMagic  = "DXSNAP\x00\x01"
	snapshotHead   = 104
	snapshotBody   = snapshotHead + sha256.Size
	snapshotSuffix = ".snapshot"
	snapshotsKept  = 2
)

// ErrNoSnapshot: the directory holds none.
var ErrNoSnapshot = errors.New("journal: no snapshot")

// WriteSnapshot puts s into dir under a name made of its number, durable and whole
// or not at all, and then removes all but the newest two.
func WriteSnapshot(dir string, s Snapshot) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	head := appendSnapshotHead(make([]byte, 0, snapshotBody), &s)
	h := sha256.New()
	h.Write(head)
	h.Write(s.Body)
	path := filepath.Join(dir, fmt.Sprintf("%020d%s", s.Number, snapshotSuffix))
	if err := writeAtomically(path, head, s.Body, h.Sum(nil)); err != nil {
		return err
	}
	return pruneSnapshots(dir)
}

func appendSnapshotHead(b []byte, s *Snapshot) []byte {
	b = append(b, snapshotMagic...)
	b = binary.LittleEndian.AppendUint64(b, s.Seq)
	b = binary.LittleEndian.AppendUint64(b, s.Number)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Stamp))
	b = append(b, s.Chain[:]...)
	b = append(b, s.StateHash[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.Body)))
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func pruneSnapshots(dir string) error {
	paths, err := Snapshots(dir)
	if err != nil {
		return err
	}
	for len(paths) > snapshotsKept {
		oldest := paths[len(paths)-1]
		if err := os.Remove(oldest); err != nil {
			return err
		}
		paths = paths[:len(paths)-1]
	}
	return syncDir(dir)
}

// Snapshots lists the snapshots in dir, the newest first. What a crash left half
// written is not among them.
func Snapshots(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), snapshotSuffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	slices.Reverse(paths)
	return paths, err
}

// LatestSnapshot reads the newest snapshot in dir. It returns ErrNoSnapshot, or the
// newest one's *Damage: an older one is never taken in its place, for the groups
// between the two may be trimmed, and nobody would know.
func LatestSnapshot(dir string) (Snapshot, error) {
	paths, err := Snapshots(dir)
	if err != nil {
		return Snapshot{}, err
	}
	if len(paths) == 0 {
		return Snapshot{}, ErrNoSnapshot
	}
	return ReadSnapshot(paths[0])
}

// ReadSnapshot reads one snapshot. It returns a *Damage that names the part that
// does not check: the head at 0, the length at 96, the body at 136.
func ReadSnapshot(path string) (Snapshot, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Snapshot{}, err
	}
	s, off, err := decodeSnapshot(b)
	if err == nil && filepath.Base(path) != fmt.Sprintf("%020d%s", s.Number, snapshotSuffix) {
		off, err = 16, fmt.Errorf("holds the snapshot of group %d", s.Number)
	}
	if err != nil {
		return Snapshot{}, &Damage{File: path, Offset: off, Err: err}
	}
	return s, nil
}

// decodeSnapshot gives, with an error, the offset of what is wrong. The body is not
// copied.
func decodeSnapshot(b []byte) (s Snapshot, off int64, err error) {
	switch {
	case len(b) < snapshotBody+sha256.Size:
		return s, int64(len(b)), errShort
	case !bytes.Equal(b[:8], []byte(snapshotMagic)):
		return s, 0, errors.New("not a snapshot, or of another version")
	case sha256.Sum256(b[:snapshotHead]) != [32]byte(b[snapshotHead:snapshotBody]):
		return s, 0, errChecksum
	}
	end := len(b) - sha256.Size
	if n := binary.LittleEndian.Uint64(b[96:]); n != uint64(end-snapshotBody) {
		return s, 96, fmt.Errorf("file holds %d bytes of body, not %d", end-snapshotBody, n)
	}
	if sha256.Sum256(b[:end]) != [32]byte(b[end:]) {
		return s, snapshotBody, errChecksum
	}
	s.Seq = binary.LittleEndian.Uint64(b[8:])
	s.Number = binary.LittleEndian.Uint64(b[16:])
	s.Stamp = int64(binary.LittleEndian.Uint64(b[24:]))
	s.Chain = [32]byte(b[32:])
	s.StateHash = [32]byte(b[64:])
	s.Body = b[snapshotBody:end:end]
	return s, 0, nil
}
