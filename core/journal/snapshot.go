package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"duplex/internal/atomicfile"
)

// Snapshot describes a snapshot of the state after a group. The caller decodes its pieces, and
// must verify that the state has StateHash (docs/rules/operation.md#snapshots).
type Snapshot struct {
	Seq       uint64 // of the last command that it covers
	Position         // of the log, after the group of that command
	StateHash [32]byte
	Bytes     int64 // of the file
}

// The file of a snapshot, little-endian. Writer and reader are streams and hold one piece at a
// time in memory:
//
//	 0  magic     "DXSNAP", 0 and the version, 2
//	 8  seq       u64
//	16  number    u64
//	24  stamp     i64
//	32  chain     32 bytes
//	64  sum       SHA-256 of all before, 32 bytes
//	96  parts     each is pieces, then an empty piece; after the last part an empty one
//	 +  state     32 bytes
//	 +  sum       SHA-256 of all before, 32 bytes
//
// A piece is its length (u32), the CRC-32C of the length and the bytes (u32), and its bytes. So
// a piece is verified before it is decoded, and an error has the offset of the damage. The sum
// at the end verifies the whole file, before its content is used.
const (
	snapshotMagic   = "DXSNAP\x00"
	snapshotVersion = 2
	snapshotSum     = 64
	snapshotParts   = snapshotSum + sha256.Size
	snapshotTrailer = 2 * sha256.Size
	pieceHead       = 8
	snapshotSuffix  = ".snapshot"
	temporarySuffix = ".tmp"
	snapshotsKept   = 2
)

// PieceMax is the longest piece of a snapshot, in bytes.
const PieceMax = 1<<32 - 1

// syncEvery is the number of bytes between two syncs of a snapshot. One sync of gigabytes
// would hold up the syncs of the log, and could not be canceled.
const syncEvery = 8 << 20

// ErrNoSnapshot means that a directory has no snapshot.
var ErrNoSnapshot = errors.New("journal: no snapshot")

// SnapshotWriter writes a snapshot. Commit makes the file appear under its name, complete and
// durable; without Commit no file appears. It belongs to one goroutine.
type SnapshotWriter struct {
	// Keep is how much of the log before the new snapshot older ones must let a replay cover.
	Keep time.Duration

	s        Snapshot
	path     string
	file     *os.File // nil after Commit or Abort
	out      *bufio.Writer
	hash     hash.Hash
	unsynced int64
	part     int64 // bytes of the current part
	err      error
}

// SnapshotDir is the folder of the snapshots beside the log.
const SnapshotDir = "snapshots"

// CreateSnapshot begins a snapshot in dir, at the given seq and position. Only one may be
// written at a time.
func CreateSnapshot(dir string, seq uint64, at Position) (*SnapshotWriter, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	if err := removeTemporary(dir); err != nil {
		return nil, err
	}
	w := &SnapshotWriter{s: Snapshot{Seq: seq, Position: at}, hash: sha256.New(), path: filepath.Join(dir, snapshotName(at.Number))}
	var err error
	if w.file, err = os.OpenFile(w.path+temporarySuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, err
	}
	w.out = bufio.NewWriterSize((*snapshotFile)(w), 256<<10)
	head := appendSnapshotHead(nil, seq, at)
	sum := sha256.Sum256(head)
	w.write(head)
	w.write(sum[:])
	return w, nil
}

// removeTemporary removes the incomplete snapshots that a crash has left.
func removeTemporary(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+snapshotSuffix+temporarySuffix))
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func snapshotName(number uint64) string { return fmt.Sprintf("%020d%s", number, snapshotSuffix) }

func appendSnapshotHead(b []byte, seq uint64, at Position) []byte {
	b = append(b, snapshotMagic...)
	b = append(b, snapshotVersion)
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, at.Number)
	b = binary.LittleEndian.AppendUint64(b, uint64(at.Stamp))
	return append(b, at.Chain[:]...)
}

func (w *SnapshotWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
		w.s.Bytes += int64(len(b))
	}
}

// snapshotFile is the io.Writer under the buffer of a SnapshotWriter: it hashes, writes and
// syncs.
type snapshotFile SnapshotWriter

func (w *snapshotFile) Write(b []byte) (int, error) {
	n, err := w.file.Write(b)
	w.hash.Write(b[:n])
	if w.unsynced += int64(n); err == nil && w.unsynced >= syncEvery {
		w.unsynced = 0
		err = fileutil.Fdatasync(w.file)
	}
	return n, err
}

// Piece adds a piece of 1 to PieceMax bytes to the current part.
func (w *SnapshotWriter) Piece(b []byte) error {
	if w.err == nil && (len(b) == 0 || int64(len(b)) > PieceMax) {
		w.err = fmt.Errorf("journal: a piece of %d bytes", len(b))
	}
	w.part += int64(len(b))
	w.piece(b)
	return w.err
}

func (w *SnapshotWriter) piece(b []byte) {
	var head [pieceHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(b)))
	binary.LittleEndian.PutUint32(head[4:], pieceSum(head[:4], b))
	w.write(head[:])
	w.write(b)
}

func pieceSum(length, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, castagnoli), castagnoli, b)
}

// EndPart ends the current part, which must have at least one piece.
func (w *SnapshotWriter) EndPart() error {
	if w.err == nil && w.part == 0 {
		w.err = errors.New("journal: an empty part")
	}
	w.part = 0
	w.piece(nil)
	return w.err
}

// Bytes is the number of bytes written so far.
func (w *SnapshotWriter) Bytes() int64 { return w.s.Bytes }

// Commit ends the snapshot, makes it durable under its name, and removes all snapshots but the
// newest two and those of Keep.
func (w *SnapshotWriter) Commit(stateHash [32]byte) (Snapshot, error) {
	if w.err == nil && w.part > 0 {
		w.err = errors.New("journal: a part was not ended")
	}
	w.piece(nil)
	w.write(stateHash[:])
	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.err == nil {
		w.write(w.hash.Sum(nil))
		w.err = errors.Join(w.err, w.out.Flush(), w.file.Sync())
	}
	if w.err == nil {
		w.err = w.file.Close()
	}
	if w.err == nil {
		w.err = os.Rename(w.path+temporarySuffix, w.path)
	}
	if w.err != nil {
		w.Abort()
		return Snapshot{}, w.err
	}
	w.file = nil
	w.s.StateHash = stateHash
	return w.s, pruneSnapshots(filepath.Dir(w.path), w.Keep)
}

// Abort removes the file unless it is committed. After Commit it is a no-op.
func (w *SnapshotWriter) Abort() {
	if w.file != nil {
		_ = w.file.Close() // the file is removed next
		_ = os.Remove(w.path + temporarySuffix)
		w.file = nil
	}
}

// pruneSnapshots makes the name of the newest snapshot durable, and then removes all but the
// newest two and those that keep needs.
func pruneSnapshots(dir string, keep time.Duration) error {
	if err := atomicfile.SyncDir(dir); err != nil {
		return err
	}
	paths, err := Snapshots(dir)
	if err != nil || len(paths) <= snapshotsKept {
		return err
	}
	needed := make([]bool, len(paths))
	if keep > 0 {
		stamps, err := snapshotStamps(paths)
		if err != nil {
			return err
		}
		needed = snapshotsNeeded(stamps, keep)
	}
	for i, path := range slices.Backward(paths) {
		if i < snapshotsKept || needed[i] {
			continue
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(dir)
}

// unknownStamp is the stamp of a snapshot whose head is damaged.
const unknownStamp = math.MinInt64

// snapshotStamps returns the stamps of snapshots.
func snapshotStamps(paths []string) ([]int64, error) {
	stamps := make([]int64, len(paths))
	for i, path := range paths {
		r, err := OpenSnapshot(path)
		if damage := (*Damage)(nil); errors.As(err, &damage) {
			stamps[i] = unknownStamp
			continue
		}
		if err != nil {
			return nil, err
		}
		stamps[i] = r.s.Stamp
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	return stamps, nil
}

// snapshotsPerKeep is into how many parts the snapshots that are kept divide the time of Keep, so that
// the oldest can be given up for a younger one.
const snapshotsPerKeep = 4

// snapshotsNeeded returns which snapshots a replay of so long needs, by their stamps, the newest first:
// the newest of those that are at least so old, or else the oldest, and younger ones at distances.
func snapshotsNeeded(stamps []int64, keep time.Duration) []bool {
	needed, base := make([]bool, len(stamps)), -1
	for i, at := range stamps {
		if at == unknownStamp {
			continue
		}
		if base = i; stamps[0]-at >= int64(keep) {
			break
		}
	}
	if base < 0 {
		return needed
	}
	needed[base] = true
	for i := base - 1; i >= 0; i-- {
		if stamps[i] != unknownStamp && stamps[i]-stamps[base] >= int64(keep)/snapshotsPerKeep {
			needed[i], base = true, i
		}
	}
	return needed
}

// Snapshots returns the paths of the snapshots in dir, the newest first. Incomplete ones are
// not among them.
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

// SnapshotNumber returns the number of the group after which the snapshot at path was taken, by its
// name.
func SnapshotNumber(path string) (n uint64, ok bool) {
	name, ok := strings.CutSuffix(filepath.Base(path), snapshotSuffix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(name, 10, 64)
	return n, err == nil
}

// LatestSnapshot returns the path of the newest snapshot in dir, or ErrNoSnapshot. If that
// snapshot is damaged, the caller must not use an older one instead: the groups between the
// two may have been trimmed, and would be missing unnoticed.
func LatestSnapshot(dir string) (string, error) {
	paths, err := Snapshots(dir)
	if err == nil && len(paths) == 0 {
		err = ErrNoSnapshot
	}
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// SnapshotReader reads a snapshot as a stream. Its error is a *Damage if the file is not what
// was written. It belongs to one goroutine.
type SnapshotReader struct {
	s      Snapshot
	path   string
	file   *os.File
	in     *bufio.Reader
	hash   hash.Hash
	off    int64
	buf    []byte
	atPart bool // at the start of a part
	ended  bool
	err    error
}

// OpenSnapshot opens a snapshot and verifies its head.
func OpenSnapshot(path string) (*SnapshotReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	r := &SnapshotReader{path: path, file: f, in: bufio.NewReaderSize(f, 256<<10), hash: sha256.New(), atPart: true}
	r.s.Bytes = st.Size()
	if err := r.head(); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *SnapshotReader) head() error {
	b := make([]byte, snapshotParts)
	n, err := io.ReadFull(r.in, b)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return r.damage(int64(n), errShort)
	case err != nil:
		return err
	}
	if string(b[:len(snapshotMagic)]) != snapshotMagic {
		return r.damage(0, errors.New("not a snapshot"))
	}
	if v := b[len(snapshotMagic)]; v != snapshotVersion {
		return r.damage(0, fmt.Errorf("version %d, but this program reads %d: the file is damaged, or another version wrote it (dx 0.1.0 reads version 1)", v, snapshotVersion))
	}
	if sum := sha256.Sum256(b[:snapshotSum]); !bytes.Equal(sum[:], b[snapshotSum:]) {
		return r.damage(0, errChecksum)
	}
	r.s.readHead(b)
	r.hash.Write(b)
	r.off = snapshotParts
	if filepath.Base(r.path) != snapshotName(r.s.Number) {
		return r.damage(16, fmt.Errorf("its name does not match: it is the snapshot of group %d", r.s.Number))
	}
	return nil
}

// readHead reads the fields before the sum of the head.
func (s *Snapshot) readHead(b []byte) {
	s.Seq = binary.LittleEndian.Uint64(b[8:])
	s.Number = binary.LittleEndian.Uint64(b[16:])
	s.Stamp = int64(binary.LittleEndian.Uint64(b[24:]))
	s.Chain = [32]byte(b[32:])
}

func (r *SnapshotReader) damage(off int64, err error) error {
	r.err = &Damage{File: r.path, Offset: off, Err: err}
	return r.err
}

// Head returns seq and position. StateHash is not known before Finish.
func (r *SnapshotReader) Head() (seq uint64, at Position) { return r.s.Seq, r.s.Position }

// Progress returns the bytes read so far, and in total.
func (r *SnapshotReader) Progress() (done, total int64) { return r.off, r.s.Bytes }

// Part yields the pieces of the next part, none after the last part. A piece is valid until
// the next one is read. If reading fails, the last pair has the error.
func (r *SnapshotReader) Part() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			b, err := r.piece()
			if err != nil {
				yield(nil, err)
				return
			}
			if b == nil || !yield(b, nil) {
				return
			}
		}
	}
}

// piece returns the next piece, nil at the end of a part.
func (r *SnapshotReader) piece() ([]byte, error) {
	if r.err != nil || r.ended {
		return nil, r.err
	}
	begun := r.off
	var head [pieceHead]byte
	if err := r.read(head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > r.s.Bytes-r.off-snapshotTrailer {
		return nil, r.damage(begun, errPastEnd)
	}
	r.buf = slices.Grow(r.buf[:0], int(n))[:n]
	if err := r.read(r.buf); err != nil {
		return nil, err
	}
	if pieceSum(head[:4], r.buf) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, r.damage(begun, errChecksum)
	}
	if n == 0 {
		r.ended, r.atPart = r.atPart, true
		return nil, nil
	}
	r.atPart = false
	return r.buf, nil
}

func (r *SnapshotReader) read(b []byte) error {
	n, err := io.ReadFull(r.in, b)
	r.hash.Write(b[:n])
	r.off += int64(n)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return r.damage(r.off, errShort)
	case err != nil:
		r.err = err
	}
	return err
}

// Finish reads the rest and verifies the whole file. The caller must not use what it has read
// before Finish returns without an error.
func (r *SnapshotReader) Finish() (Snapshot, error) {
	for r.err == nil && !r.ended {
		if _, err := r.piece(); err != nil {
			return Snapshot{}, err
		}
	}
	if r.err != nil {
		return r.s, r.err
	}
	if left := r.s.Bytes - r.off; left != snapshotTrailer {
		return Snapshot{}, r.damage(r.off, fmt.Errorf("%d bytes follow the last piece, want %d", left, snapshotTrailer))
	}
	if err := r.read(r.s.StateHash[:]); err != nil {
		return Snapshot{}, err
	}
	var sum [sha256.Size]byte
	want := r.hash.Sum(nil)
	if err := r.read(sum[:]); err != nil {
		return Snapshot{}, err
	}
	if !bytes.Equal(sum[:], want) {
		return Snapshot{}, r.damage(snapshotParts, errChecksum)
	}
	return r.s, nil
}

// Close closes the file.
func (r *SnapshotReader) Close() error { return r.file.Close() }

// AdoptSnapshot copies a snapshot of another node from r into dir, after it has verified the whole
// file. name is the name of the file at that node. A file that is not a snapshot of that name is a
// *Damage, and leaves nothing in dir. Only one may be adopted at a time.
func AdoptSnapshot(dir, name string, r io.Reader) (s Snapshot, err error) {
	if _, ok := SnapshotNumber(name); !ok || name != filepath.Base(name) {
		return s, fmt.Errorf("%q is not the name of a snapshot", name)
	}
	if err := makeDir(dir); err != nil {
		return s, err
	}
	tmp := filepath.Join(dir, "adopted"+temporarySuffix)
	if err := os.RemoveAll(tmp); err != nil { // a crash has left it
		return s, err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return s, err
	}
	defer os.RemoveAll(tmp)
	path := filepath.Join(tmp, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return s, err
	}
	_, err = io.Copy(f, r)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return s, err
	}
	if s, err = ProveSnapshot(path); err != nil {
		return s, err
	}
	if err := os.Rename(path, filepath.Join(dir, name)); err != nil {
		return s, err
	}
	return s, atomicfile.SyncDir(dir)
}

// ProveSnapshot reads a whole snapshot and verifies the file. It does not decode the state.
func ProveSnapshot(path string) (Snapshot, error) {
	r, err := OpenSnapshot(path)
	if err != nil {
		return Snapshot{}, err
	}
	defer r.Close()
	return r.Finish()
}
