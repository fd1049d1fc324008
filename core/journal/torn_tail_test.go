package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// lastFrame returns the file of the last group, and the offsets of its first byte and its end.
func lastFrame(t testing.TB, dir string) (path string, off, end int64) {
	t.Helper()
	ps := places(t, dir)
	p := ps[len(ps)-1]
	b := mustRead(t, p.File)
	n, pad, err := frameLength([8]byte(b[p.Offset:]))
	if err != nil {
		t.Fatal(err)
	}
	return p.File, p.Offset, p.Offset + 8 + n + pad
}

// TestTornTail checks that a last write that ends at any of its bytes loses its own group and no
// other, whether the file ends there or continues with zeros.
func TestTornTail(t *testing.T) {
	for n, step := range map[int]int64{1: 1, 4: 1, 8: 11} { // the body of group 8 has sectors of zeros
		dir, want := killedLog(t, n)
		path, off, end := lastFrame(t, dir)
		whole := mustRead(t, path)
		data, _, _ := frameLength([8]byte(whole[off:]))
		for at := off; at < end; at += step {
			keep := n - 1
			if at >= off+8+data {
				keep = n // only padding is lost
			}
			mustWrite(t, path, whole[:at])
			wantGroups(t, dir, want[:keep], fmt.Sprintf("%d groups, file ends at %d of %d–%d", n, at, off, end))
			zeroed := bytes.Clone(whole)
			clear(zeroed[at:])
			mustWrite(t, path, zeroed)
			wantGroups(t, dir, want[:keep], fmt.Sprintf("%d groups, zero from %d of %d–%d", n, at, off, end))
		}
	}
}

// TestTornSectors checks every set of missing sectors of the last write.
func TestTornSectors(t *testing.T) {
	dir, want := killedLog(t, 8)
	path, off, end := lastFrame(t, dir)
	whole := mustRead(t, path)
	first, last := off/sector, (end-1)/sector
	for set := 1; set < 1<<(last-first+1); set++ {
		torn := bytes.Clone(whole)
		for s := first; s <= last; s++ {
			if set>>(s-first)&1 == 1 {
				clear(torn[max(off, s*sector):min(end, (s+1)*sector)])
			}
		}
		mustWrite(t, path, torn)
		wantGroups(t, dir, want[:7], fmt.Sprintf("sectors %b", set))
	}
}

// TestTornFirstSector checks a last write that lost only its first sector, for every place of
// the frame in it. The sector has the frame's length, and perhaps the envelope; the record
// after it is complete.
func TestTornFirstSector(t *testing.T) {
	seen := map[int64]bool{}
	for pad := 0; len(seen) < sector/8 && pad < 16*sector; pad += 8 { // the envelope has a checksum of 1 to 5 bytes, so a place can be skipped
		dir := tempDir(t)
		f := mustOpen(t, dir)
		for i, b := range [][]byte{make([]byte, pad), make([]byte, 600)} {
			if err := f.Propose(context.Background(), Group{Node: 7, Proposal: uint64(i + 1), Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		want := mustDrain(t, f, 1)[:1]
		dead := tempDir(t)
		copyLog(t, dead, dir)
		mustClose(t, f)
		path, off, _ := lastFrame(t, dead)
		torn := mustRead(t, path)
		clear(torn[off : (off/sector+1)*sector])
		mustWrite(t, path, torn)
		wantGroups(t, dead, want, fmt.Sprintf("a frame %d bytes before the end of a sector", sector-off%sector))
		seen[off%sector] = true
	}
	if len(seen) != sector/8 {
		t.Fatalf("%d places of a frame in a sector were tried", len(seen))
	}
}

// wantGroups opens a copy of the log and fails unless it has exactly these groups and accepts
// another.
func wantGroups(t *testing.T, dir string, want []Group, what string) {
	t.Helper()
	broken := filepath.Join(filepath.Dir(dir), filepath.Base(dir)+"-copy")
	defer os.RemoveAll(broken)
	copyLog(t, broken, dir)
	f, err := Open(broken, Options{Now: func() int64 { return 1 << 40 }})
	if err != nil {
		t.Fatalf("%s: Open fails: %v", what, err)
	}
	if got := mustDrain(t, f, 1); !same(got, want) {
		t.Fatalf("%s: %d groups, want %d", what, len(got), len(want))
	}
	propose(t, f, 1, 2)
	mustClose(t, f)
	if got := len(places(t, broken)); got != len(want)+2 {
		t.Fatalf("%s: %d groups after two more, want %d", what, got, len(want)+2)
	}
}

// TestTornBeforeTheMark checks that a torn tail before the position of the mark is damage.
func TestTornBeforeTheMark(t *testing.T) {
	dir, _ := closedLog(t, 8)
	path, off, end := lastFrame(t, dir)
	b := mustRead(t, path)
	clear(b[(off+end)/2 : end])
	mustWrite(t, path, b)
	_, err := Open(dir, Options{})
	if d := wantDamage(t, err); d.File != path || d.Offset != off || d.Group != 8 {
		t.Fatalf("%v, want %s at %d, group 8", d, path, off)
	}
}

// TestHoleInTheMiddle checks that a zero sector in the middle is damage: complete groups follow
// it.
func TestHoleInTheMiddle(t *testing.T) {
	dir, _ := killedLog(t, 9)
	ps := places(t, dir)
	for _, p := range ps[:8] {
		b := mustRead(t, p.File)
		n, pad, _ := frameLength([8]byte(b[p.Offset:]))
		holed := bytes.Clone(b)
		clear(holed[p.Offset : p.Offset+8+n+pad])
		mustWrite(t, p.File, holed)
		_, err := Open(dir, Options{})
		if d := wantDamage(t, err); d.File != p.File || d.Offset != p.Offset || d.Group != p.Number {
			t.Fatalf("%v, want %s at %d, group %d", d, p.File, p.Offset, p.Number)
		}
		mustWrite(t, p.File, b)
	}
}

// TestEveryFlip flips every bit of every file of a log, and overwrites bytes. The log must be
// refused with the place, or yield exactly what was written.
func TestEveryFlip(t *testing.T) {
	for n, full := range map[int]bool{4: true, 9: false} {
		dir, want := killedLog(t, n)
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".tmp" || d.Name() == lockName {
				return err
			}
			flipAll(t, dir, path, want, full)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// flipAll flips bits in every byte of the file at path. With full it tries each bit, and all
// eight at once, in the bytes that the log uses. In the other bytes it tries one flip, a
// different one from byte to byte.
func flipAll(t *testing.T, dir, path string, want []Group, full bool) {
	t.Helper()
	b := mustRead(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used := len(bytes.TrimRight(b, "\x00")) + 40
	refused := 0
	for i := range b {
		flips := []byte{1, 2, 4, 8, 16, 32, 64, 128, 0xFF}
		if i > used || !full {
			flips = flips[i%8 : i%8+1]
		}
		for _, x := range flips {
			if _, err := f.WriteAt([]byte{b[i] ^ x}, int64(i)); err != nil {
				t.Fatal(err)
			}
			if bad := scanWhole(t, dir, want); bad != nil {
				refused++
			} else if i%64 == 0 {
				wantGroups(t, dir, want, fmt.Sprintf("%s byte %d ^ %02x", path, i, x))
			}
		}
		if _, err := f.WriteAt(b[i:i+1], int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Fatalf("%s: no flip was refused", path)
	}
}

// scanWhole reads the log as Open would and returns the damage. It fails if there is none and the
// groups are not those that were written.
func scanWhole(t *testing.T, dir string, want []Group) *Damage {
	t.Helper()
	var got []Group
	for p, err := range Scan(dir, 1) {
		if _, torn := err.(*Torn); torn {
			break
		}
		if err != nil {
			return wantDamage(t, err)
		}
		got = append(got, p.Group)
	}
	if !same(got, want) {
		t.Fatalf("silently wrong: %d groups, want %d", len(got), len(want))
	}
	return nil
}

// TestOpenLeavesDamageAlone checks that Open refuses what Scan refuses, and leaves the files
// unchanged.
func TestOpenLeavesDamageAlone(t *testing.T) {
	dir, _ := killedLog(t, 9)
	p := places(t, dir)[4]
	b := mustRead(t, p.File)
	b[p.Offset+60] ^= 4
	mustWrite(t, p.File, b)
	_, err := Open(dir, Options{})
	if d := wantDamage(t, err); d.File != p.File || d.Offset != p.Offset || d.Group != 5 {
		t.Fatalf("%v, want %s at %d, group 5", d, p.File, p.Offset)
	}
	if !bytes.Equal(mustRead(t, p.File), b) {
		t.Fatal("Open changed a damaged log")
	}
}
