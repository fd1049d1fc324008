package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core"
	"duplex/core/journal"
)

// shortSegments makes segments so small that a test has several.
func shortSegments(t *testing.T) {
	was := wal.SegmentSizeBytes
	wal.SegmentSizeBytes = 8 << 10
	t.Cleanup(func() { wal.SegmentSizeBytes = was })
}

func segments(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "log", "*.wal"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func flip(t *testing.T, path string, at int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 0x10
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// agedJournal returns the directory of a stopped venue with several segments and two snapshots, which
// are of different segments.
func agedJournal(t *testing.T) (o Options, state string) {
	t.Helper()
	shortSegments(t)
	c := newClock()
	o = c.options(t.TempDir())
	e := mustOpen(t, o)
	setUp(t, e, c)
	id := uint64(0)
	grow := func() {
		for n := len(segments(t, o.Dir)) + 2; len(segments(t, o.Dir)) < n; {
			id++
			do(t, e, buy(1, id, core.Yes, 4000, 1))
			do(t, e, &core.CancelAll{User: 1})
		}
	}
	for range 2 {
		grow()
		if _, err := e.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	grow()
	state = bytesOf(t, e)
	kill(t, e)
	return o, state
}

// wantSameRefusal fails unless Open and Verify refuse a directory with the same error, which names a file.
func wantSameRefusal(t *testing.T, o Options) {
	t.Helper()
	e, opened := Open(o)
	if opened == nil {
		mustClose(t, e)
		t.Fatal("it starts")
	}
	_, verified := Verify(o.Dir, nil)
	var a, b *journal.Damage
	if !errors.As(opened, &a) || !errors.As(verified, &b) || a.File == "" || *a != *b && a.Error() != b.Error() {
		t.Errorf("Open returned %v, Verify %v", opened, verified)
	}
}

// wantIntact fails unless a directory passes Verify, and Open restores the given state.
func wantIntact(t *testing.T, o Options, state string) Proof {
	t.Helper()
	p, err := Verify(o.Dir, nil)
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	e := mustOpen(t, o)
	if bytesOf(t, e) != state {
		t.Error("the state differs")
	}
	mustClose(t, e)
	return p
}

// TestDamagedSnapshots checks the runbook for damaged snapshots: after the newest is removed, a
// start replays from the older one to the same state; a damaged older one is not needed.
func TestDamagedSnapshots(t *testing.T) {
	o, state := agedJournal(t)
	paths, err := journal.Snapshots(filepath.Join(o.Dir, "snapshots"))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	newest, older := paths[0], paths[1]

	flip(t, newest, 700)
	wantSameRefusal(t, o)
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	wantIntact(t, o, state) // its stop writes a new snapshot

	flip(t, older, 700)
	if p := wantIntact(t, o, state); len(p.Damaged) != 1 {
		t.Errorf("noted: %v", p.Damaged)
	}
}

// TestDamagedSegments checks the runbook for a damaged log: segments that lie wholly before the
// newest snapshot can be removed, and no later one.
func TestDamagedSegments(t *testing.T) {
	o, state := agedJournal(t)
	paths, err := journal.Snapshots(filepath.Join(o.Dir, "snapshots"))
	if err != nil {
		t.Fatal(err)
	}
	newest, err := journal.ProveSnapshot(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	segs := segments(t, o.Dir)
	spare := 0 // segments whose groups the newest snapshot covers
	for i := 1; i < len(segs); i++ {
		var place, first uint64
		if _, err := fmt.Sscanf(filepath.Base(segs[i]), "%016x-%016x.wal", &place, &first); err != nil {
			t.Fatal(err)
		}
		if first <= newest.Number+1 {
			spare = i
		}
	}
	if spare == 0 || spare == len(segs)-1 {
		t.Fatalf("%d of %d segments are before the snapshot", spare, len(segs))
	}
	flip(t, segs[spare-1], 4000)
	wantSameRefusal(t, o)
	for _, path := range segs[:spare] {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	further := o
	further.Dir = killed(t, o.Dir)
	wantIntact(t, o, state)
	if err := os.Remove(segments(t, further.Dir)[0]); err != nil { // one too many
		t.Fatal(err)
	}
	wantSameRefusal(t, further)
}

// TestLostMark checks that Open and Verify refuse a lost or damaged MARK alike, and that NewMark
// writes a new one.
func TestLostMark(t *testing.T) {
	for name, harm := range map[string]func(string){
		"lost":    func(path string) { os.Remove(path) },
		"damaged": func(path string) { os.WriteFile(path, []byte("junk"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			o, state := agedJournal(t)
			harm(filepath.Join(o.Dir, "MARK"))
			wantSameRefusal(t, o)
			if last, err := NewMark(o.Dir); err != nil || last == 0 {
				t.Fatal(last, err)
			}
			wantIntact(t, o, state)
			if _, err := NewMark(o.Dir); !errors.Is(err, journal.ErrMarked) {
				t.Errorf("NewMark over an intact mark: %v", err)
			}
		})
	}
}
