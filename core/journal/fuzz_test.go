package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRecord checks that a record reads back as it was written and continues the same chain, and
// that it is refused with any bit flipped or cut anywhere. Arbitrary bytes must not panic.
func FuzzRecord(f *testing.F) {
	f.Add(uint64(1), uint32(7), uint64(3), int64(5), []byte("body"), []byte("before"), uint(9))
	f.Add(uint64(0), uint32(0), uint64(0), int64(-1), make([]byte, 600), []byte{}, uint(640))
	f.Fuzz(func(t *testing.T, number uint64, node uint32, proposal uint64, stamp int64, text, prior []byte, at uint) {
		if _, n, err := readRecord(text); err == nil && n > len(text) {
			t.Fatalf("%d bytes of %d", n, len(text))
		}
		var before [32]byte
		copy(before[:], prior)
		g := Group{Number: number, Node: node, Proposal: proposal, Stamp: stamp, Body: text}
		whole := appendRecord(nil, &before, &g)
		back, n, err := readRecord(append(bytes.Clone(whole), prior...))
		if err != nil || n != len(whole) || !back.follows(&before) || !bytes.Equal(back.Body, text) || back.After() != g.After() || back.Node != node || back.Proposal != proposal {
			t.Fatalf("%+v came back as %+v, %v", g, back, err)
		}
		bad := bytes.Clone(whole)
		at %= uint(len(bad)) * 8
		bad[at/8] ^= 1 << (at % 8)
		if _, _, err := readRecord(bad); err == nil {
			t.Fatalf("a flip of bit %d of %x is not detected", at, whole)
		}
		if _, _, err := readRecord(whole[:at/8]); err == nil {
			t.Fatalf("%d bytes of %d are enough", at/8, len(whole))
		}
	})
}

// FuzzScan overwrites and cuts a segment. Scan must then yield the first groups of the log
// unchanged, up to a clean end, a *Torn or a *Damage.
func FuzzScan(f *testing.F) {
	from, want := killedLog(f, 4)
	path, off, end := lastFrame(f, from)
	whole := mustRead(f, path)
	f.Add(uint16(off), []byte{0}, uint16(end))
	f.Add(uint16(off+80), make([]byte, 512), uint16(end-1))
	f.Add(uint16(0), whole[:64], uint16(len(whole)-1))
	dir := tempDir(f)
	file := filepath.Join(dir, walDir, filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, at uint16, over []byte, size uint16) {
		b := bytes.Clone(whole)
		copy(b[min(int(at), len(b)):], over)
		mustWrite(t, file, b[:min(int(size), len(b))])
		n := 0
		for p, err := range Scan(dir, 1) {
			var torn *Torn
			var damage *Damage
			switch {
			case errors.As(err, &torn) && torn.Offset+torn.Bytes > int64(len(b)), errors.As(err, &damage) && damage.Offset > int64(len(b)):
				t.Fatalf("%v, of %d bytes", err, len(b))
			case err != nil && torn == nil && damage == nil:
				t.Fatal(err)
			case err == nil && (n >= len(want) || p.After() != want[n].After() || !bytes.Equal(p.Body, want[n].Body)):
				t.Fatalf("group %d is %+v", n+1, p)
			}
			n++
		}
	})
}
