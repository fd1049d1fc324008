package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/internal/memdir"
)

// TestMain sets the segment size, a package variable of the WAL, before any log is open.
func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 8 << 10
	os.Exit(m.Run())
}

var tempDir = memdir.New

// ticking returns a clock whose times are 1, 2, 3 and so on.
func ticking() func() int64 {
	var t int64
	return func() int64 { t++; return t }
}

func mustOpen(t testing.TB, dir string) *File {
	t.Helper()
	f, err := Open(dir, Options{Now: ticking()})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustClose(t testing.TB, l Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// body returns the body of the i-th group. Some bodies have whole sectors of zeros.
func body(i int) []byte {
	if i%5 == 3 {
		return make([]byte, 1400)
	}
	return fmt.Appendf(nil, "group %d %s", i, bytes.Repeat([]byte{byte(i)}, i*7%90))
}

func propose(t testing.TB, f *File, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		if err := f.Propose(context.Background(), Group{Node: 7, Proposal: uint64(i), Body: body(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// drain returns the groups that are durable now, from a number on.
func drain(f *File, from uint64) (got []Group, err error) {
	last := f.Last().Number
	if last < from {
		return nil, nil
	}
	for g, err := range f.Deliver(context.Background(), from) {
		if err != nil {
			return got, err
		}
		if got = append(got, g); g.Number == last {
			break
		}
	}
	return got, nil
}

func mustDrain(t testing.TB, f *File, from uint64) []Group {
	t.Helper()
	got, err := drain(f, from)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func same(a, b []Group) bool {
	return slices.EqualFunc(a, b, func(x, y Group) bool {
		return x.Number == y.Number && x.Node == y.Node && x.Proposal == y.Proposal && x.Stamp == y.Stamp && x.Chain == y.Chain && bytes.Equal(x.Body, y.Body)
	})
}

// closedLog creates a log of n groups, closes it, and returns its directory and groups.
func closedLog(t testing.TB, n int) (dir string, groups []Group) {
	t.Helper()
	dir = tempDir(t)
	f := mustOpen(t, dir)
	propose(t, f, 1, n)
	groups = mustDrain(t, f, 1)
	mustClose(t, f)
	return dir, groups
}

// killedLog is closedLog without the close. The mark is that of the newest segment, or of the empty log.
func killedLog(t testing.TB, n int) (dir string, groups []Group) {
	t.Helper()
	live := tempDir(t)
	f := mustOpen(t, live)
	propose(t, f, 1, n)
	groups = mustDrain(t, f, 1)
	dir = tempDir(t)
	copyLog(t, dir, live)
	mustClose(t, f)
	return dir, groups
}

// copyLog copies the files of a log, as a crash would leave them.
func copyLog(t testing.TB, to, from string) {
	t.Helper()
	os.RemoveAll(to)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func segmentsOf(t testing.TB, dir string) []segment {
	t.Helper()
	segs, err := listSegments(filepath.Join(dir, walDir))
	if err != nil {
		t.Fatal(err)
	}
	return segs
}

func places(t testing.TB, dir string) (ps []LocatedGroup) {
	t.Helper()
	for p, err := range Scan(dir, 1) {
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustWrite(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantDamage fails unless err is a *Damage with a file and an offset in it.
func wantDamage(t testing.TB, err error) *Damage {
	t.Helper()
	var d *Damage
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a Damage", err)
	}
	if d.File == "" || d.Err == nil {
		t.Fatalf("%+v does not say where", d)
	}
	return d
}
