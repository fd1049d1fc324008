package cluster

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"duplex/core/journal"
)

// TestRepair damages the archive and the snapshots of a member in every way that its start finds, and
// checks that it gets back from another member what it had, with the same bytes, or as much of it as the
// others still have.
func TestRepair(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 3)
	logs := []*Log{r.open(0), r.open(1), r.open(2)}
	defer func() {
		for _, l := range logs {
			l.Close()
		}
	}()
	const groups = 120
	for i := range uint64(groups) {
		propose(t, logs[0], journal.Group{Node: 1, Proposal: 1<<32 + i, Body: bytes.Repeat([]byte{byte(i)}, 10_000)})
	}
	want := read(t, logs[2], 1, groups)
	c := r.clusters[2]
	snapshot := func(c *Cluster, number uint64) journal.Position {
		t.Helper()
		at := want[number-1].After()
		writeSnapshot(t, c.snapshotDir(), number*10, at)
		return at
	}
	snapshot(c, 40)
	start := snapshot(c, 80)
	snapshot(r.clusters[0], 60)
	segments := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(c.archive, "log", "*.wal"))
		if err != nil || len(found) < 4 {
			t.Fatal(found, err)
		}
		return found
	}
	flip := func(path string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[rand.IntN(len(bytes.TrimRight(b, "\x00")))] ^= 1 << rand.IntN(8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(path string) {
		t.Helper()
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	reopen := func(name string, first uint64) {
		t.Helper()
		for attempt := 0; ; attempt++ {
			l, err := c.OpenLog(t.Context(), journal.Options{Start: start})
			if err == nil {
				logs[2] = l
				break
			}
			damage := (*journal.Damage)(nil)
			if !errors.As(err, &damage) || attempt == 2 {
				t.Fatalf("%s: %v", name, err)
			}
			if ok, err := c.Repair(t.Context(), damage); err != nil || !ok {
				t.Fatalf("%s: %v, %v", name, ok, err)
			}
		}
		if f := logs[2].First(); f != first {
			t.Errorf("%s: the archive begins at group %d", name, f)
		}
		for i, g := range read(t, logs[2], first, groups) {
			if w := want[int(first)-1+i]; w.After() != g.After() || !bytes.Equal(w.Body, g.Body) {
				t.Fatalf("%s: group %d differs", name, g.Number)
			}
		}
	}
	for name, harm := range map[string]func(){
		"a flip in the first segment": func() { flip(segments()[0]) },
		"a flip in a later segment":   func() { flip(segments()[2]) },
		"a segment is missing":        func() { remove(segments()[1]) },
		"the log is missing":          func() { remove(filepath.Join(c.archive, "log")) },
		"a flip in the mark":          func() { flip(filepath.Join(c.archive, "MARK")) },
		"a crash between the renames": func() {
			flip(segments()[1])
			if err := os.Rename(filepath.Join(c.archive, "log"), filepath.Join(c.archive, "log.old")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if err := logs[2].Close(); err != nil {
			t.Fatal(err)
		}
		harm()
		reopen(name, 1)
	}
	if found, err := os.ReadDir(c.archive); err != nil || slices.ContainsFunc(found, func(e os.DirEntry) bool { return e.Name() == repairedName || e.Name() == "log.old" }) {
		t.Errorf("%v are left, %v", found, err)
	}

	newest := func() string {
		t.Helper()
		path, err := journal.LatestSnapshot(c.snapshotDir())
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	flip(newest())
	_, err := journal.ProveSnapshot(newest())
	damage := (*journal.Damage)(nil)
	if !errors.As(err, &damage) {
		t.Fatal(err)
	}
	if ok, err := c.Repair(t.Context(), damage); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if s, err := journal.ProveSnapshot(newest()); err != nil || s.Number != 60 {
		t.Errorf("snapshot %d, %v", s.Number, err)
	}

	// The others have trimmed their archives, so that the log begins after a snapshot.
	for _, l := range logs[:2] {
		if err := l.Trim(35); err != nil {
			t.Fatal(err)
		}
		if l.First() == 1 || l.First() > 41 {
			t.Fatalf("it begins at group %d", l.First())
		}
	}
	if err := logs[2].Close(); err != nil {
		t.Fatal(err)
	}
	flip(segments()[3])
	start = want[59].After()
	reopen("the others have trimmed", 41)

	if ok, err := c.Repair(t.Context(), &journal.Damage{File: filepath.Join(c.opt.Dir, "CLUSTER")}); ok || err != nil {
		t.Errorf("damage of another file: %v, %v", ok, err)
	}
}

// TestRepairWithoutHelp checks that damage which no other member can replace stays damage, at once, and
// that nothing is changed.
func TestRepairWithoutHelp(t *testing.T) {
	t.Parallel()
	r := newTrial(t, 1)
	l := r.open(0)
	fill(t, l, 1, 1<<32, 20)
	l.Close()
	c := r.clusters[0]
	path := filepath.Join(c.archive, "log")
	before, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	ok, err := c.Repair(t.Context(), &journal.Damage{File: filepath.Join(path, "x.wal"), Group: 3, Err: errors.New("a flip")})
	if damage := (*journal.Damage)(nil); ok || !errors.As(err, &damage) || damage.Group != 3 || !errors.Is(err, errNoHelp) {
		t.Errorf("%v, %v", ok, err)
	}
	if after, err := os.ReadDir(path); err != nil || len(after) != len(before) {
		t.Errorf("%v, %v", after, err)
	}
}
