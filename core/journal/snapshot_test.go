package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func aSnapshot(number uint64) Snapshot {
	return Snapshot{
		Seq:       number * 10,
		Position:  Position{Number: number, Chain: [32]byte{1, byte(number)}, Stamp: -5},
		StateHash: [32]byte{2, byte(number)},
		Body:      fmt.Appendf(nil, "the state at %d", number),
	}
}

func TestSnapshots(t *testing.T) {
	dir := filepath.Join(tempDir(t), "made on demand")
	if _, err := LatestSnapshot(dir); !errors.Is(err, ErrNoSnapshot) {
		t.Fatalf("got %v, want %v", err, ErrNoSnapshot)
	}
	for _, n := range []uint64{1, 9, 10, 200} {
		if err := WriteSnapshot(dir, aSnapshot(n)); err != nil {
			t.Fatal(err)
		}
		got, err := LatestSnapshot(dir)
		if err != nil || !reflect.DeepEqual(got, aSnapshot(n)) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	paths, err := Snapshots(dir)
	if err != nil || len(paths) != 2 {
		t.Fatalf("%v, %v: want the newest two", paths, err)
	}
	if older, err := ReadSnapshot(paths[1]); err != nil || older.Number != 10 {
		t.Fatalf("%+v, %v", older, err)
	}
	mustWrite(t, filepath.Join(dir, fmt.Sprintf("%020d%s.tmp", 300, snapshotSuffix)), []byte("half"))
	if got, err := LatestSnapshot(dir); err != nil || got.Number != 200 {
		t.Fatalf("%+v, %v", got, err)
	}
}

// Any flip and any other length is refused with its place, and no older snapshot
// takes its stead.
func TestSnapshotDamage(t *testing.T) {
	dir := tempDir(t)
	for n := range uint64(2) {
		if err := WriteSnapshot(dir, aSnapshot(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	paths, _ := Snapshots(dir)
	whole := mustRead(t, paths[0])
	refused := func(b []byte) {
		t.Helper()
		mustWrite(t, paths[0], b)
		_, err := LatestSnapshot(dir)
		if d := wantDamage(t, err); d.File != paths[0] || d.Offset > int64(len(b)) {
			t.Fatalf("%v, want %s", d, paths[0])
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
	mustWrite(t, paths[0], whole)
	if err := os.Rename(paths[0], paths[1]); err != nil {
		t.Fatal(err)
	}
	_, err := LatestSnapshot(dir)
	wantDamage(t, err)
}

func FuzzSnapshot(f *testing.F) {
	s := aSnapshot(3)
	dir := f.TempDir()
	if err := WriteSnapshot(dir, s); err != nil {
		f.Fatal(err)
	}
	paths, err := Snapshots(dir)
	if err != nil {
		f.Fatal(err)
	}
	whole := mustRead(f, paths[0])
	f.Add(whole)
	f.Add(whole[:snapshotBody])
	f.Add([]byte(snapshotMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		refusedOrEqual(t, b)
		if len(b) >= snapshotBody+sha256.Size { // and with sums that are right
			b = bytes.Clone(b)
			head := sha256.Sum256(b[:snapshotHead])
			copy(b[snapshotHead:], head[:])
			sum := sha256.Sum256(b[:len(b)-sha256.Size])
			copy(b[len(b)-sha256.Size:], sum[:])
			refusedOrEqual(t, b)
		}
	})
}

// refusedOrEqual wants bytes to be no snapshot, or those that it is written as.
func refusedOrEqual(t *testing.T, b []byte) {
	t.Helper()
	s, off, err := decodeSnapshot(b)
	if off < 0 || off > int64(len(b)) {
		t.Fatalf("offset %d of %d bytes", off, len(b))
	}
	if err != nil {
		return
	}
	again := append(appendSnapshotHead(nil, &s), s.Body...)
	sum := sha256.Sum256(again)
	if again = append(again, sum[:]...); !bytes.Equal(again, b) {
		t.Fatalf("%x became %x", b, again)
	}
}
