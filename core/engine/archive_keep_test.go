package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
)

// TestArchiveKeep checks that snapshots leave what a replay of 25 h needs, and not much more, and that
// the rehearsal of an upgrade replays the last day of it.
func TestArchiveKeep(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	o.Keep = 25 * time.Hour
	trimmed := uint64(0)
	o.Hold = func(below uint64) uint64 {
		trimmed = below
		return below
	}
	e := mustOpen(t, o)
	do(t, e, &core.CreateUser{Name: "user", TokenHash: [32]byte{1}})
	const hours = 80
	for h := range hours {
		c.step(time.Hour)
		do(t, e, &core.Deposit{User: 1, DepositID: fmt.Sprint(h), Amount: 1})
		if _, err := e.Snapshot(); err != nil {
			t.Fatal(err)
		}
		paths, err := journal.Snapshots(replica.SnapshotDir(o.Dir))
		if err != nil {
			t.Fatal(err)
		}
		oldest, err := journal.ProveSnapshot(paths[len(paths)-1])
		if err != nil {
			t.Fatal(err)
		}
		covered := time.Duration(c.now() - oldest.Stamp)
		if want := min(25, h); covered < time.Duration(want)*time.Hour || covered > 33*time.Hour || len(paths) > 8 {
			t.Fatalf("after %d h, %d snapshots cover %v", h, len(paths), covered)
		}
		if h > 0 && trimmed != oldest.Number+1 {
			t.Fatalf("after %d h the log is trimmed below group %d, and the oldest snapshot is at %d", h, trimmed, oldest.Number)
		}
	}
	mustClose(t, e)
	whole, err := Verify(o.Dir, nil)
	if err != nil || time.Duration(whole.Ended-whole.Began) < 24*time.Hour {
		t.Errorf("%+v, %v", whole, err)
	}
	day, err := VerifyRules(o.Dir, 24*time.Hour, nil)
	if period := time.Duration(day.Ended - day.Began); err != nil || period < 23*time.Hour || day.Groups >= whole.Groups || day.Checkpoints == 0 {
		t.Errorf("%v of %+v, %v", period, day, err)
	}
	hour, err := VerifyRules(o.Dir, time.Hour, nil)
	if err != nil || hour.Groups >= day.Groups {
		t.Errorf("%+v, %v", hour, err)
	}
}

// TestNothingCompared checks that a rehearsal of a journal without a hash fails.
func TestNothingCompared(t *testing.T) {
	c := newClock()
	o := c.options(t.TempDir())
	e := mustOpen(t, o)
	do(t, e, &core.CreateUser{Name: "user", TokenHash: [32]byte{1}})
	kill(t, e)
	if found, err := filepath.Glob(filepath.Join(o.Dir, "snapshots", "*")); err != nil || len(found) > 0 {
		t.Fatal(found, err)
	}
	if _, err := VerifyRules(o.Dir, 24*time.Hour, nil); !errors.Is(err, ErrNothingCompared) {
		t.Error(err)
	}
}
