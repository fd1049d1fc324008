package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"go.etcd.io/raft/v3/raftpb"
)

func TestLockedAgainstASecondOpen(t *testing.T) {
	dir := tempDir(t)
	f := mustOpen(t, dir)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v, want %v", err, ErrLocked)
	}
	mustClose(t, f)
	mustClose(t, mustOpen(t, dir))
}

// TestCheckJudgesLikeOpen checks that Check and Open refuse the same logs with the same errors, and
// that an accepted log delivers its groups.
func TestCheckJudgesLikeOpen(t *testing.T) {
	whole, want := closedLog(t, 60) // of several segments
	flip := func(path string, at int) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b := mustRead(t, filepath.Join(dir, path))
			b[at] ^= 1
			mustWrite(t, filepath.Join(dir, path), b)
		}
	}
	remove := func(path string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	segs := segmentsOf(t, whole)
	if len(segs) < 3 {
		t.Fatalf("%d segments: the test wants one in the middle", len(segs))
	}
	inLog := func(seg segment) string { return filepath.Join(walDir, filepath.Base(seg.path)) }
	first, middle, last := inLog(segs[0]), inLog(segs[1]), inLog(segs[len(segs)-1])
	for name, x := range map[string]struct {
		harm  func(t *testing.T, dir string)
		start Position
		whole bool
	}{
		"nothing":                      {harm: func(*testing.T, string) {}, whole: true},
		"after a snapshot":             {harm: func(*testing.T, string) {}, start: want[9].After(), whole: true},
		"no mark":                      {harm: remove(markName)},
		"a damaged mark":               {harm: flip(markName, 20)},
		"no first segment":             {harm: remove(first)},
		"no first segment, a snapshot": {harm: remove(first), start: want[len(want)-1].After(), whole: true},
		"no middle segment":            {harm: remove(middle)},
		"no last segment":              {harm: remove(last)},
		"no segments":                  {harm: remove(walDir)},
		"a flipped bit":                {harm: flip(last, 300)},
		"a snapshot of another log":    {harm: func(*testing.T, string) {}, start: Position{Number: 5, Chain: [32]byte{1}}},
		"a snapshot beyond the end":    {harm: func(*testing.T, string) {}, start: Position{Number: 500}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			copyLog(t, dir, whole)
			x.harm(t, dir)
			var checked error
			for _, err := range Check(dir, x.start, 1) {
				checked = err
			}
			f, opened := Open(dir, Options{Start: x.start})
			if opened == nil {
				if got := mustDrain(t, f, x.start.Number+1); !same(got, want[x.start.Number:]) {
					t.Error("delivered groups differ")
				}
				mustClose(t, f)
			} else if wantDamage(t, opened); errors.Is(opened, ErrNoMark) != (name == "no mark") {
				t.Error(opened)
			}
			if x.whole != (opened == nil) || fmt.Sprint(checked) != fmt.Sprint(opened) {
				t.Errorf("checked: %v\nopened: %v", checked, opened)
			}
		})
	}
}

// TestNewMark checks that NewMark replaces a lost or damaged mark, and only that.
func TestNewMark(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"lost": os.Remove, "damaged": func(path string) error { return os.WriteFile(path, []byte("junk"), 0o600) },
	} {
		dir, want := closedLog(t, 5)
		if err := harm(filepath.Join(dir, markName)); err != nil {
			t.Fatal(err)
		}
		if at, err := NewMark(dir, want[2].After()); err != nil || at != want[4].After() {
			t.Fatalf("a mark that is %s: NewMark returns %+v, %v, want %+v", name, at, err, want[4].After())
		}
		f := mustOpen(t, dir)
		if _, err := NewMark(dir, Position{}); !errors.Is(err, ErrMarked) {
			t.Errorf("%s: a second time: %v", name, err)
		}
		if err := harm(filepath.Join(dir, markName)); err != nil {
			t.Fatal(err)
		}
		if _, err := NewMark(dir, Position{}); !errors.Is(err, ErrLocked) {
			t.Errorf("%s: beside an open log: %v", name, err)
		}
		if got := mustDrain(t, f, 1); !same(got, want) {
			t.Errorf("%s: %d groups", name, len(got))
		}
		mustClose(t, f)
	}
	dir, _ := closedLog(t, 5)
	for _, lost := range []string{walDir, markName} {
		if err := os.RemoveAll(filepath.Join(dir, lost)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewMark(dir, Position{}); !errors.Is(err, ErrNoLog) {
		t.Errorf("a lost log: %v", err)
	}
	dir, _ = closedLog(t, 5)
	if err := os.Remove(filepath.Join(dir, markName)); err != nil {
		t.Fatal(err)
	}
	if _, err := NewMark(dir, Position{Number: 9}); err == nil {
		t.Error("a log that ends before its snapshot got a mark")
	}
}

// TestMarkOnAFullDisk checks that a log can be opened and closed on a full disk, where no new
// file can be written, and that its mark is updated.
func TestMarkOnAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full, a file on which every write fails:", err)
	}
	dir, _ := closedLog(t, 5)
	tmp := filepath.Join(dir, markName+".tmp")
	fill := func() {
		t.Helper()
		if err := os.Symlink("/dev/full", tmp); err != nil { // every write to it fails with ENOSPC
			t.Fatal(err)
		}
	}
	reached := func(want uint64) {
		t.Helper()
		if m, ok, err := readDurableMark(dir); !ok || err != nil || m.Number != want {
			t.Errorf("the mark is at %d, not %d, %v", m.Number, want, err)
		}
	}
	fill()
	f := mustOpen(t, dir)
	propose(t, f, 6, 8)
	reached(5)
	fill()
	mustClose(t, f)
	reached(8)
	mustClose(t, mustOpen(t, dir))

	fresh := tempDir(t) // the first mark of a log needs disk space
	if err := os.Symlink("/dev/full", filepath.Join(fresh, markName+".tmp")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(fresh, Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a new log: %v", err)
	}
}

// TestHalfMade checks that Open accepts what a crash leaves while a log is created.
func TestHalfMade(t *testing.T) {
	t.Run("beside", func(t *testing.T) {
		dir := tempDir(t)
		half := filepath.Join(dir, walDir+".tmp")
		if err := os.MkdirAll(half, 0o700); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(half, segmentName(0, 0)), []byte("half"))
		mustClose(t, mustOpen(t, dir))
	})
	t.Run("before the mark", func(t *testing.T) {
		dir, _ := closedLog(t, 0)
		if err := os.Remove(filepath.Join(dir, markName)); err != nil {
			t.Fatal(err)
		}
		mustClose(t, mustOpen(t, dir))
	})
	t.Run("a segment prepared", func(t *testing.T) {
		dir, want := closedLog(t, 5)
		junk := make([]byte, 9000)
		for i := range junk {
			junk[i] = 0xEE
		}
		for _, name := range []string{"0.tmp", "1.tmp"} {
			mustWrite(t, filepath.Join(dir, walDir, name), junk)
		}
		f := mustOpen(t, dir)
		propose(t, f, 6, 60)
		mustClose(t, f)
		f = mustOpen(t, dir)
		defer mustClose(t, f)
		if got := mustDrain(t, f, 1); len(got) != 60 || !same(got[:5], want) {
			t.Fatalf("%d groups", len(got))
		}
	})
}

// TestKill checks that a copy of the directory, taken at any moment, has every group that was
// delivered before: a kill leaves the same files.
func TestKill(t *testing.T) {
	dir := tempDir(t)
	f := mustOpen(t, dir)
	for i := 1; i <= 40; i++ {
		propose(t, f, i, i)
		want := mustDrain(t, f, 1)
		dead := tempDir(t)
		copyLog(t, dead, dir)
		g := mustOpen(t, dead)
		if got := mustDrain(t, g, 1); !same(got, want) {
			t.Fatalf("after group %d the copy has %d", i, len(got))
		}
		propose(t, g, i+1, i+2)
		mustClose(t, g)
		if n := len(places(t, dead)); n != i+2 {
			t.Fatalf("after group %d and two more the copy has %d", i, n)
		}
	}
	mustClose(t, f)
}

// TestKillBehindANewSegment checks a crash after the WAL has begun a segment, and before its first
// record and the mark are written.
func TestKillBehindANewSegment(t *testing.T) {
	dir := tempDir(t)
	f := mustOpen(t, dir)
	old := mustRead(t, filepath.Join(dir, markName))
	for i := 1; len(segmentsOf(t, dir)) < 3; i++ {
		old = mustRead(t, filepath.Join(dir, markName))
		propose(t, f, i, i)
	}
	want := mustDrain(t, f, 1)
	dead := tempDir(t)
	copyLog(t, dead, dir)
	mustClose(t, f)
	mustWrite(t, filepath.Join(dead, markName), old)
	fresh := segmentsOf(t, dead)[2].path
	fs, err := openFrames(segment{path: fresh})
	if err != nil {
		t.Fatal(err)
	}
	defer fs.close()
	for range 2 {
		if _, err := fs.next(); err != nil {
			t.Fatal(err)
		}
	}
	b := mustRead(t, fresh)
	clear(b[fs.off:])
	mustWrite(t, fresh, b)
	for round := range 3 {
		f := mustOpen(t, dead)
		if got := mustDrain(t, f, 1); len(got) != len(want)+round || !same(got[:len(want)], want) {
			t.Fatalf("%d groups, want %d", len(got), len(want)+round)
		}
		propose(t, f, 1, 1)
		mustClose(t, f)
	}
}

func TestTrim(t *testing.T) {
	dir, want := closedLog(t, 60)
	f := mustOpen(t, dir)
	before := len(segmentsOf(t, dir))
	if err := f.Trim(40); err != nil {
		t.Fatal(err)
	}
	segs := segmentsOf(t, dir)
	if len(segs) >= before || segs[0].first > 40 {
		t.Fatalf("%d of %d segments left, from group %d", len(segs), before, segs[0].first)
	}
	if _, err := drain(f, 1); !errors.Is(err, ErrTrimmed) {
		t.Fatalf("got %v, want %v", err, ErrTrimmed)
	}
	mustClose(t, f)

	if _, err := Open(dir, Options{}); true {
		wantDamage(t, err)
	}
	at := want[44]
	f, err := Open(dir, Options{Start: at.After()})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustDrain(t, f, 46); !same(got, want[45:]) {
		t.Fatal("the groups after the snapshot differ")
	}
	if err := f.Trim(1000); err != nil {
		t.Fatal(err)
	}
	propose(t, f, 61, 99)
	if err := f.Trim(100); err != nil {
		t.Fatal(err)
	}
	last := f.Last()
	mustClose(t, f)
	f, err = Open(dir, Options{Start: last})
	if err != nil {
		t.Fatal(err)
	}
	propose(t, f, 100, 130)
	mustClose(t, f)

	other := at.After()
	other.Chain[0] ^= 1
	dir2, _ := closedLog(t, 60)
	_, err = Open(dir2, Options{Start: other})
	wantDamage(t, err)
	_, err = Open(dir2, Options{Start: Position{Number: 61}})
	wantDamage(t, err)
}

func TestProposeFromMany(t *testing.T) {
	const writers, each = 8, 50
	f := mustOpen(t, tempDir(t))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := f.Propose(context.Background(), Group{Node: uint32(w), Proposal: uint64(i), Body: body(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	next := map[uint32]uint64{}
	n := uint64(0)
	for g, err := range f.Deliver(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; g.Number != n || g.Proposal != next[g.Node] {
			t.Fatalf("group %d of node %d: proposal %d, want %d", g.Number, g.Node, g.Proposal, next[g.Node])
		}
		if next[g.Node]++; n == writers*each {
			break
		}
	}
	wg.Wait()
	mustClose(t, f)
}

// TestSlowConsumer checks that a consumer that falls far behind misses nothing: it reads from
// disk.
func TestSlowConsumer(t *testing.T) {
	f := mustOpen(t, tempDir(t))
	defer mustClose(t, f)
	propose(t, f, 1, 1)
	n := 0
	for g, err := range f.Deliver(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; g.Number != uint64(n) {
			t.Fatalf("group %d, want %d", g.Number, n)
		}
		if n == 1 {
			propose(t, f, 2, 2*queueGroups)
		}
		if n == queueGroups {
			propose(t, f, 1, 3)
		}
		if n == 2*queueGroups+3 {
			break
		}
	}
}

// TestBeyondTheNext checks the lowest number that Deliver does not wait for.
func TestBeyondTheNext(t *testing.T) {
	f := mustOpen(t, tempDir(t))
	defer mustClose(t, f)
	propose(t, f, 1, 2)
	for _, err := range f.Deliver(t.Context(), 4) {
		if !errors.Is(err, ErrTrimmed) {
			t.Fatalf("got %v, want %v", err, ErrTrimmed)
		}
	}
}

var errDisk = errors.New("no space, or worse")

// failingWAL is a WAL whose disk fails once. Every later call would succeed.
type failingWAL struct {
	appender
	once  bool
	after bool // the sync fails, after the bytes are written
	saves int
}

func (w *failingWAL) Save(st *raftpb.HardState, ents []*raftpb.Entry) error {
	w.saves++
	if !w.once {
		w.once = true
		if w.after {
			if err := w.appender.Save(st, ents); err != nil {
				return err
			}
		}
		return errDisk
	}
	return w.appender.Save(st, ents)
}

func TestFailedWrite(t *testing.T) {
	for _, after := range []bool{false, true} {
		dir := tempDir(t)
		f := mustOpen(t, dir)
		propose(t, f, 1, 3)
		bad := &failingWAL{appender: f.wal, after: after}
		f.wal = bad
		for range 3 {
			if err := f.Propose(context.Background(), Group{Body: []byte("x")}); !errors.Is(err, errDisk) {
				t.Fatalf("got %v, want %v", err, errDisk)
			}
		}
		if bad.saves != 1 {
			t.Fatalf("the WAL was called %d times after it failed", bad.saves-1)
		}
		n := 0
		var last error
		for _, err := range f.Deliver(context.Background(), 1) {
			if last = err; err == nil {
				n++
			}
		}
		if n != 3 || !errors.Is(last, errDisk) {
			t.Fatalf("%d groups and %v, want 3 and %v", n, last, errDisk)
		}
		if err := f.Trim(1); !errors.Is(err, errDisk) {
			t.Fatalf("got %v, want %v", err, errDisk)
		}
		mustClose(t, f)
		f = mustOpen(t, dir)
		if got := len(mustDrain(t, f, 1)); got != 3 && !(after && got == 4) {
			t.Fatalf("%d groups after the restart", got)
		}
		mustClose(t, f)
	}
}

// TestUnsynced checks that a log without syncs is whole after Close, over several segments.
func TestUnsynced(t *testing.T) {
	dir := tempDir(t)
	f, err := Open(dir, Options{Now: ticking(), Unsynced: true})
	if err != nil {
		t.Fatal(err)
	}
	const groups = 60
	for i := range groups {
		if err := f.Propose(context.Background(), Group{Proposal: uint64(i + 1), Body: body(i)}); err != nil {
			t.Fatal(err)
		}
	}
	last, segments := f.Last(), len(f.segs)
	mustClose(t, f)
	f = mustOpen(t, dir)
	defer mustClose(t, f)
	if f.Last() != last || f.Torn() != nil || last.Number != groups || segments < 2 {
		t.Errorf("reopened at %+v after %+v, %d segments", f.Last(), last, segments)
	}
}
