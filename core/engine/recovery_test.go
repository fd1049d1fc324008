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

// shortSegments makes the log's files so short that a test has several.
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

// aged is a stopped venue with a log of several segments and two snapshots, the older in
// an earlier segment than the newer.
func aged(t *testing.T) (o Options, state string) {
	t.Helper()
	shortSegments(t)
	c := newClock()
	o = c.options(t.TempDir())
	e := mustOpen(t, o)
	furnish(t, e, c)
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
	e.stop() // killed
	<-e.stopped
	if err := e.log.Close(); err != nil {
		t.Fatal(err)
	}
	return o, state
}

// judged wants Open and Verify to refuse a directory with the same error.
func judged(t *testing.T, o Options) {
	t.Helper()
	e, opened := Open(o)
	if opened == nil {
		mustClose(t, e)
		t.Fatal("it starts")
	}
	_, verified := Verify(o.Dir, nil)
	var a, b *journal.Damage
	if !errors.As(opened, &a) || !errors.As(verified, &b) || *a != *b && a.Error() != b.Error() {
		t.Errorf("a start says %v, verify %v", opened, verified)
	}
}

// whole wants a directory to verify, to start, and to come to a state.
func whole(t *testing.T, o Options, state string) Proof {
	t.Helper()
	p, err := Verify(o.Dir, nil)
	if err != nil {
		t.Fatalf("not whole: %v", err)
	}
	e := mustOpen(t, o)
	if bytesOf(t, e) != state {
		t.Error("it came to another state")
	}
	mustClose(t, e)
	return p
}

// What the runbook says of a damaged snapshot: without the newest a start replays from
// the older one, to the same state, and the older one is not needed.
func TestDamagedSnapshots(t *testing.T) {
	o, state := aged(t)
	paths, err := journal.Snapshots(filepath.Join(o.Dir, "snapshots"))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	newest, older := paths[0], paths[1]

	flip(t, newest, 700)
	judged(t, o)
	if err := os.Remove(newest); err != nil {
		t.Fatal(err)
	}
	whole(t, o, state) // its stop writes a new newest

	flip(t, older, 700)
	if p := whole(t, o, state); len(p.Damaged) != 1 {
		t.Errorf("noted: %v", p.Damaged)
	}
}

// What the runbook says of a damaged log: what lies before the newest snapshot can be
// taken away, whole segments at a time, and nothing behind it.
func TestDamagedSegments(t *testing.T) {
	o, state := aged(t)
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
	judged(t, o)
	for _, path := range segs[:spare] {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	further := o
	further.Dir = killed(t, o.Dir)
	whole(t, o, state)
	if err := os.Remove(segments(t, further.Dir)[0]); err != nil { // one more
		t.Fatal(err)
	}
	judged(t, further)
}

// A lost or damaged MARK is refused by start and verify alike, and can be written anew.
func TestLostMark(t *testing.T) {
	for name, harm := range map[string]func(string){
		"lost":    func(path string) { os.Remove(path) },
		"damaged": func(path string) { os.WriteFile(path, []byte("junk"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			o, state := aged(t)
			harm(filepath.Join(o.Dir, "MARK"))
			judged(t, o)
			if last, err := NewMark(o.Dir); err != nil || last == 0 {
				t.Fatal(last, err)
			}
			whole(t, o, state)
			if _, err := NewMark(o.Dir); !errors.Is(err, journal.ErrMarked) {
				t.Errorf("of a mark that is there: %v", err)
			}
		})
	}
}
