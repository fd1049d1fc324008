package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
)

// TestSnapshotsUnderLoad checks that a snapshot that is written while commands are applied is
// the state at one seq: a start from the newest and a replay from the oldest restore the
// engine's state.
func TestSnapshotsUnderLoad(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	o.CheckpointEvery = 100
	e := mustOpen(t, o)
	setUp(t, e, c)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for u := core.UserID(1); u <= 2; u++ {
		all.Go(func() {
			for id := uint64(1); ctx.Err() == nil; id++ {
				r, err := e.Submit(context.Background(), buy(u, id, core.Outcome(u-1), core.Tick(4000+100*(id%20)), 1))
				if err != nil || r.Reject != core.OK && r.Reject != core.OpenOrderLimit {
					t.Error(r.Reject, err)
					return
				}
				if id%50 == 0 {
					if _, err := e.Submit(context.Background(), &core.CancelAll{User: u}); err != nil {
						t.Error(err)
						return
					}
				}
				c.step(1)
			}
		})
	}
	for range 12 {
		if _, err := e.Snapshot(); err != nil {
			t.Error(err)
		}
	}
	stop()
	all.Wait()
	for range 2 { // a checkpoint may precede the first; after that the clock does not move
		do(t, e, &core.CancelAll{User: 1})
	}
	want := bytesOf(t, e)
	kill(t, e)
	p, err := Verify(o.Dir, nil)
	if err != nil || p.Snapshots == 0 {
		t.Errorf("%d snapshots compared, %v", p.Snapshots, err)
	}
	again := mustOpen(t, o)
	if bytesOf(t, again) != want {
		t.Error("a start from the newest snapshot restores another state")
	}
	mustClose(t, again)
}

// logged collects the engine's messages for the operator.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logf(msg string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, msg+" "+fmt.Sprint(args...))
}

func (l *logged) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.lines, "\n"), part)
}

func snapshotFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestStopWithoutTimeForASnapshot checks that a stop writes its snapshot only if there is time
// for it, and otherwise logs that. Nothing is lost: the next start replays the log.
func TestStopWithoutTimeForASnapshot(t *testing.T) {
	for name, x := range map[string]struct {
		left, took time.Duration
		logs       string
		snapshots  int
	}{
		"no time at all":          {left: 0, logs: "no time for it"},
		"the last took too long":  {left: time.Minute, took: time.Hour, logs: "the last one took 1h0m0s"},
		"there is time":           {left: time.Minute, snapshots: 1},
		"the last took less time": {left: time.Minute, took: time.Second, snapshots: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, logs := newClock(), &logged{}
			o := c.options(t.TempDir())
			o.Logf = logs.logf
			e := mustOpen(t, o)
			setUp(t, e, c)
			do(t, e, buy(1, 1, core.Yes, 4000, 3))
			want := bytesOf(t, e)
			e.newestSnapshot.took = x.took
			ctx, cancel := context.WithTimeout(context.Background(), closeMargin+x.left)
			defer cancel()
			if err := e.Close(ctx); err != nil {
				t.Fatal(err)
			}
			if files := snapshotFiles(t, o.Dir); len(files) != x.snapshots {
				t.Errorf("snapshots: %v", files)
			}
			if x.logs != "" && !logs.has(x.logs) || x.logs == "" && logs.has("without a snapshot") {
				t.Errorf("the engine logged %q", logs.lines)
			}
			again := mustOpen(t, o)
			if bytesOf(t, again) != want {
				t.Error("the next start restores another state")
			}
			mustClose(t, again)
		})
	}
}

// TestStopDuringASnapshot checks that a stop cancels a snapshot that is being written when its
// time is over, and that no file of it is left.
func TestStopDuringASnapshot(t *testing.T) {
	c, logs := newClock(), &logged{}
	o := c.options(t.TempDir())
	o.Logf = logs.logf
	writing, hold := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	o.Free = func() (uint64, error) {
		if held.CompareAndSwap(true, false) { // the disk blocks
			close(writing)
			<-hold
		}
		return 1 << 40, nil
	}
	e := mustOpen(t, o)
	setUp(t, e, c)
	held.Store(true)
	e.snapshotJobs.Go(func() {
		if _, err := e.snapshot(e.runCtx); !errors.Is(err, context.Canceled) {
			t.Errorf("the snapshot under way: %v", err)
		}
	})
	<-writing
	ctx, cancel := context.WithTimeout(context.Background(), closeMargin+50*time.Millisecond)
	defer cancel()
	go func() {
		<-e.runCtx.Done()
		close(hold)
	}()
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if files := snapshotFiles(t, o.Dir); len(files) != 0 || !logs.has("no time for it") {
		t.Errorf("%v, logs %q", files, logs.lines)
	}
	mustClose(t, mustOpen(t, o))
}

// TestSnapshotsByBacklog checks that a snapshot is written when the backlog reaches its bound of
// commands, of groups or of time to apply, and that a replay adds to the backlog.
func TestSnapshotsByBacklog(t *testing.T) {
	for name, max := range map[string]func(*Backlog){
		"commands": func(b *Backlog) { b.Commands = 20 },
		"groups":   func(b *Backlog) { b.Groups = 5 },
		"time":     func(b *Backlog) { b.Applying = time.Nanosecond },
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			o := c.options(t.TempDir())
			e := mustOpen(t, o)
			setUp(t, e, c)
			for id := range uint64(20) {
				do(t, e, buy(1, id+1, core.Yes, 4000, 1))
			}
			kill(t, e)
			if files := snapshotFiles(t, o.Dir); len(files) != 0 {
				t.Fatalf("%v before anything was due", files)
			}
			max(&o.SnapshotEvery)
			e = mustOpen(t, o)
			do(t, e, buy(1, 100, core.Yes, 4000, 1)) // the first group after the replay
			for e.stats.Snapshots.Load() == 0 {
				time.Sleep(time.Millisecond) // nothing signals that a snapshot was written
			}
			if err := e.Err(); err != nil {
				t.Fatal(err)
			}
			mustClose(t, e)
			if _, err := Verify(o.Dir, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNoRoomForASnapshot checks that a snapshot leaves the log the disk space that it needs. A
// stop without a snapshot logs that, and is not an error.
func TestNoRoomForASnapshot(t *testing.T) {
	c, logs := newClock(), &logged{}
	o := c.options(t.TempDir())
	o.Logf = logs.logf
	o.Free = func() (uint64, error) { return logRoom - 1, nil }
	e := mustOpen(t, o)
	do(t, e, &core.CreateUser{Name: "a", TokenHash: [32]byte{1}})
	if _, err := e.Snapshot(); !errors.Is(err, ErrNoRoom) || !errors.Is(err, ErrShed) {
		t.Errorf("a snapshot: %v", err)
	}
	mustClose(t, e)
	if files := snapshotFiles(t, o.Dir); len(files) != 0 || !logs.has("no space for it") {
		t.Errorf("%v, logged %q", files, logs.lines)
	}
	o.Free = nil
	e = mustOpen(t, o)
	if seq, err := e.Snapshot(); err != nil || seq == 0 {
		t.Errorf("with space again: %d %v", seq, err)
	}
	mustClose(t, e)
}

// TestProgressOfAStart checks that a start reports the progress of each phase, up to its total.
func TestProgressOfAStart(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	e := mustOpen(t, o)
	setUp(t, e, c)
	if _, err := e.Snapshot(); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(10) {
		do(t, e, buy(1, id+1, core.Yes, 4000, 1))
	}
	kill(t, e)
	seen := map[Phase]Progress{}
	o.Progress = func(p Progress) {
		if was := seen[p.Phase]; p.Done < was.Done || p.Total == 0 || p.Done > p.Total || was.Total != 0 && was.Total != p.Total {
			t.Errorf("%+v after %+v", p, was)
		}
		seen[p.Phase] = p
	}
	mustClose(t, mustOpen(t, o))
	if p := seen[Replaying]; p.Done != p.Total || p.Total < 10 {
		t.Errorf("%+v", p)
	}
	if seen[Loading].Done == 0 || seen[Proving].Total == 0 {
		t.Errorf("%+v", seen)
	}
}

// TestOpenContextEndsTheReplay checks that a start that is canceled during the replay leaves a
// directory that the next start can open.
func TestOpenContextEndsTheReplay(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	e := mustOpen(t, o)
	setUp(t, e, c)
	kill(t, e)
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(p Progress) {
		if p.Phase == Replaying && p.Done == 1 {
			cancel()
		}
	}
	if e, err := OpenContext(ctx, o); err == nil {
		mustClose(t, e) // the replay ended before the cancel
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	o.Progress = nil
	mustClose(t, mustOpen(t, o))
}

// TestDamagedSnapshotIsNamed checks that a damaged snapshot is refused with file and offset,
// whichever piece is damaged.
func TestDamagedSnapshotIsNamed(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	e := mustOpen(t, o)
	setUp(t, e, c)
	mustClose(t, e)
	path := filepath.Join(o.Dir, "snapshots", snapshotFiles(t, o.Dir)[0])
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += len(whole) / 37 {
		b := append([]byte(nil), whole...)
		b[at] ^= 0x20
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var damage *journal.Damage
		if _, err := Open(o); !errors.As(err, &damage) || damage.File != path {
			t.Fatalf("byte %d: opened with %v", at, err)
		}
		if _, err := Verify(o.Dir, nil); !errors.As(err, &damage) || damage.File != path {
			t.Fatalf("byte %d: verified with %v", at, err)
		}
	}
}
