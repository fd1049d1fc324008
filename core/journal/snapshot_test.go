package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

func snapshotAt(number uint64) Snapshot {
	return Snapshot{Seq: number * 10, Position: Position{Number: number, Chain: [32]byte{1, byte(number)}, Stamp: -5}, StateHash: [32]byte{2, byte(number)}}
}

// partsOf returns the parts of a test's snapshot.
func partsOf(number uint64) [][]string {
	return [][]string{{fmt.Sprint("the state at ", number), "more of it"}, {"the view"}}
}

func writeSnapshot(dir string, s Snapshot, parts [][]string) (Snapshot, error) {
	w, err := CreateSnapshot(dir, s.Seq, s.Position)
	if err != nil {
		return Snapshot{}, err
	}
	defer w.Abort()
	for _, part := range parts {
		for _, piece := range part {
			if err := w.Piece([]byte(piece)); err != nil {
				return Snapshot{}, err
			}
		}
		if err := w.EndPart(); err != nil {
			return Snapshot{}, err
		}
	}
	return w.Commit(s.StateHash)
}

func readSnapshot(path string) (s Snapshot, parts [][]string, err error) {
	r, err := OpenSnapshot(path)
	if err != nil {
		return s, nil, err
	}
	defer r.Close()
	for {
		var part []string
		for b, err := range r.Part() {
			if err != nil {
				return s, nil, err
			}
			part = append(part, string(b))
		}
		if part == nil {
			s, err = r.Finish()
			return s, parts, err
		}
		parts = append(parts, part)
	}
}

func newest(t testing.TB, dir string) string {
	t.Helper()
	path, err := LatestSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSnapshots(t *testing.T) {
	dir := filepath.Join(tempDir(t), "made on demand")
	if _, err := LatestSnapshot(dir); !errors.Is(err, ErrNoSnapshot) {
		t.Fatalf("got %v, want %v", err, ErrNoSnapshot)
	}
	for _, n := range []uint64{1, 9, 10, 200} {
		wrote, err := writeSnapshot(dir, snapshotAt(n), partsOf(n))
		if err != nil {
			t.Fatal(err)
		}
		got, parts, err := readSnapshot(newest(t, dir))
		if err != nil || got != wrote || !reflect.DeepEqual(parts, partsOf(n)) {
			t.Fatalf("the snapshot reads back as %+v %v, %v, want %+v with the same parts", got, parts, err, wrote)
		}
		if st, _ := os.Stat(newest(t, dir)); st.Size() != got.Bytes {
			t.Errorf("%d bytes, not %d", st.Size(), got.Bytes)
		}
		if got.Bytes = 0; got != snapshotAt(n) {
			t.Errorf("the snapshot is %+v, want %+v", got, snapshotAt(n))
		}
	}
	paths, err := Snapshots(dir)
	if err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v: want the newest two", paths, err)
	}
	if older, err := ProveSnapshot(paths[1]); err != nil || older.Number != 10 {
		t.Fatalf("the older snapshot is %+v, %v, want number 10", older, err)
	}
}

// TestUnfinishedSnapshot checks that an aborted snapshot leaves no file, and that the incomplete
// file of a crash does not count as a snapshot and is removed by the next one.
func TestUnfinishedSnapshot(t *testing.T) {
	dir := tempDir(t)
	if _, err := writeSnapshot(dir, snapshotAt(1), partsOf(1)); err != nil {
		t.Fatal(err)
	}
	w, err := CreateSnapshot(dir, 20, Position{Number: 2})
	if err != nil || w.Piece([]byte("half")) != nil {
		t.Fatal(err)
	}
	if newest(t, dir) != filepath.Join(dir, snapshotName(1)) {
		t.Error("an incomplete snapshot is listed")
	}
	w.Abort()
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%v are left", files)
	}
	mustWrite(t, filepath.Join(dir, snapshotName(300)+temporarySuffix), []byte("half"))
	if newest(t, dir) != filepath.Join(dir, snapshotName(1)) {
		t.Error("the incomplete snapshot of a crash is listed")
	}
	if _, err := writeSnapshot(dir, snapshotAt(4), partsOf(4)); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%v are left", files)
	}
}

func TestSnapshotWriterWantsParts(t *testing.T) {
	for name, parts := range map[string][][]string{"an empty piece": {{"a", ""}}, "an empty part": {{"a"}, nil}} {
		dir := tempDir(t)
		if _, err := writeSnapshot(dir, snapshotAt(1), parts); err == nil {
			t.Error(name)
		}
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: %v are left", name, files)
		}
	}
}

// TestSnapshotDamage checks that a file with any bit flipped, or of another length, is refused
// with the offset.
func TestSnapshotDamage(t *testing.T) {
	dir := tempDir(t)
	if _, err := writeSnapshot(dir, snapshotAt(2), partsOf(2)); err != nil {
		t.Fatal(err)
	}
	path := newest(t, dir)
	whole := mustRead(t, path)
	refused := func(b []byte) {
		t.Helper()
		mustWrite(t, path, b)
		_, err := ProveSnapshot(path)
		if d := wantDamage(t, err); d.File != path || d.Offset > int64(len(b)) {
			t.Fatalf("%v, want %s", d, path)
		}
	}
	for i := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			refused(b)
		}
		refused(whole[:i])
	}
	refused(append(bytes.Clone(whole), 0))
	other := filepath.Join(dir, snapshotName(1))
	mustWrite(t, other, whole)
	_, err := ProveSnapshot(other)
	wantDamage(t, err)
}

func FuzzSnapshot(f *testing.F) {
	dir := f.TempDir()
	if _, err := writeSnapshot(dir, snapshotAt(3), partsOf(3)); err != nil {
		f.Fatal(err)
	}
	path := newest(f, dir)
	whole := mustRead(f, path)
	f.Add(whole)
	f.Add(whole[:snapshotParts])
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		refusedOrEqual(t, path, b)
		if len(b) >= snapshotParts+snapshotTrailer { // the same bytes with correct sums
			b = bytes.Clone(b)
			head := sha256.Sum256(b[:snapshotSum])
			copy(b[snapshotSum:], head[:])
			for off := snapshotParts; off+pieceHead <= len(b)-snapshotTrailer; {
				end := off + pieceHead + int(binary.LittleEndian.Uint32(b[off:]))
				if end > len(b)-snapshotTrailer {
					break
				}
				sum := crc32.Update(crc32.Checksum(b[off:off+4], castagnoli), castagnoli, b[off+pieceHead:end])
				binary.LittleEndian.PutUint32(b[off+4:], sum)
				off = end
			}
			sum := sha256.Sum256(b[:len(b)-sha256.Size])
			copy(b[len(b)-sha256.Size:], sum[:])
			refusedOrEqual(t, path, b)
		}
	})
}

// refusedOrEqual fails unless b is refused, or is what writing its content again produces.
func refusedOrEqual(t *testing.T, path string, b []byte) {
	t.Helper()
	if len(b) >= 24 && bytes.HasPrefix(b, []byte(snapshotMagic)) { // the file is named after the number in its head
		path = filepath.Join(filepath.Dir(path), snapshotName(binary.LittleEndian.Uint64(b[16:])))
	}
	mustWrite(t, path, b)
	defer os.Remove(path)
	s, parts, err := readSnapshot(path)
	if err != nil {
		if d := (*Damage)(nil); !errors.As(err, &d) || d.Offset < 0 || d.Offset > int64(len(b)) {
			t.Fatalf("%v, of %d bytes", err, len(b))
		}
		return
	}
	dir := t.TempDir()
	if _, err := writeSnapshot(dir, s, parts); err != nil {
		t.Fatal(err)
	}
	if again := mustRead(t, newest(t, dir)); !slices.Equal(again, b) {
		t.Fatalf("%x became %x", b, again)
	}
}

// TestAdoptSnapshot checks that a snapshot of another node is taken with its name, and that a damaged,
// cut or misnamed one leaves nothing.
func TestAdoptSnapshot(t *testing.T) {
	from := t.TempDir()
	written, err := writeSnapshot(from, snapshotAt(7), partsOf(7))
	if err != nil {
		t.Fatal(err)
	}
	path := newest(t, from)
	whole := mustRead(t, path)
	name := filepath.Base(path)
	dir := t.TempDir()
	for what, test := range map[string]struct {
		name  string
		bytes []byte
	}{
		"another number": {snapshotName(8), whole}, "a path": {"../" + name, whole}, "no name": {"", whole}, "cut": {name, whole[:len(whole)-1]}, "flipped": {name, flipped(whole, int64(len(whole)-50))}, "empty": {name, nil},
	} {
		if _, err := AdoptSnapshot(dir, test.name, bytes.NewReader(test.bytes)); err == nil {
			t.Errorf("%s: no error", what)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("%s leaves %v %v", what, left, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "adopted"+temporarySuffix, "left by a crash"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := AdoptSnapshot(dir, name, bytes.NewReader(whole))
	if err != nil || s != written {
		t.Errorf("%+v %v, want %+v", s, err, written)
	}
	if got, err := LatestSnapshot(dir); err != nil || filepath.Base(got) != name {
		t.Errorf("the latest snapshot is %s %v, want %s", got, err, name)
	}
}

// TestSnapshotsNeeded checks which snapshots a replay of four hours needs.
func TestSnapshotsNeeded(t *testing.T) {
	const keep = 4 * time.Hour
	for _, test := range []struct {
		ages []int64 // in quarters of an hour, the newest first; negative: damaged
		want []int64
	}{
		{[]int64{0}, []int64{0}},
		{[]int64{0, 1, 2, 3}, []int64{3}},                            // all are young: the oldest
		{[]int64{0, 1, 4, 5, 15}, []int64{15, 5, 1}},                 // and one each hour
		{[]int64{0, 4, 8, 12, 16, 20, 24}, []int64{16, 12, 8, 4, 0}}, // the newest of those that are old enough
		{[]int64{0, 4, -1, 20, 30}, []int64{20, 4, 0}},               // what is damaged is not needed
		{[]int64{0, -1, -1}, []int64{0}},
	} {
		var stamps, got []int64
		for _, age := range test.ages {
			stamps = append(stamps, -age*int64(15*time.Minute))
			if age < 0 {
				stamps[len(stamps)-1] = unknownStamp
			}
		}
		for i, needed := range slices.Backward(snapshotsNeeded(stamps, keep)) {
			if needed {
				got = append(got, test.ages[i])
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.ages, got, test.want)
		}
	}
}
