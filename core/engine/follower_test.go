package engine

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/journal/logtest"
)

// copiedLog is the log of another node, to which nothing may be proposed.
type copiedLog struct {
	Log
	t *testing.T
}

func (l copiedLog) Propose(context.Context, journal.Group) error {
	l.t.Error("a follower proposes")
	return errors.New("proposed")
}

func (l copiedLog) NewLife(context.Context) (uint32, error) {
	l.t.Error("a follower begins a life")
	return 0, errors.New("begun")
}

// TestFollowerEngine checks the engine of a follower: it applies and attests nothing of its own,
// refuses commands, has the states of a follower, and stops if a majority attests another state.
func TestFollowerEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		defer s.close()
		const node = 9
		var age, ahead atomic.Int64
		log := s.cluster.Open(node)
		f, err := Open(Options{
			Dir: t.TempDir(), Node: node, Follower: true, CheckpointEvery: time.Second, OpenLog: func(journal.Options) (Log, error) { return copiedLog{log, t}, nil },
			Members: func() Members {
				at, head := log.Contact()
				return Members{Voters: []uint32{1, 2, 3}, Up: []uint32{1, 2, 3}, Head: head + uint64(ahead.Load()), Contact: at.Add(-time.Duration(age.Load()))}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close(context.Background())
		do(t, s.members[0].engine(), &core.CreateUser{Name: "alice"})
		time.Sleep(time.Second)
		is := func(state State, reads bool) {
			t.Helper()
			if got, ok := f.MemberStatus(); !ok || got != (Status{State: state, Reads: reads}) {
				t.Errorf("%+v, want %v with reads %v", got, state, reads)
			}
			for range 3 {
				if _, err := f.Submit(t.Context(), &core.CreateUser{Name: "bob"}); !errors.Is(err, ErrReadOnly) {
					t.Errorf("a command: %v", err)
				}
			}
		}
		is(Serving, true)
		if _, err := f.SubmitSystem(t.Context(), &core.SetSession{}, nil); !errors.Is(err, ErrShed) || f.Stats().Shed.Load() != 0 {
			t.Errorf("a command of the venue itself: %v, %d shed commands", err, f.Stats().Shed.Load())
		}
		if !f.Follows() || s.members[0].engine().Follows() {
			t.Error("Follows is wrong")
		}
		if f.Seq() != s.members[0].engine().Seq() {
			t.Errorf("seq %d, a member has %d", f.Seq(), s.members[0].engine().Seq())
		}
		for _, test := range []struct {
			age   time.Duration
			ahead int64
			lasts time.Duration
			state State
			reads bool
		}{
			{2900 * time.Millisecond, 0, 0, Serving, true}, {3100 * time.Millisecond, 0, 0, Isolated, false}, {0, 1001, 0, Behind, false},
			{0, 10, 600 * time.Millisecond, Serving, true}, {0, 10, 1200 * time.Millisecond, Behind, false}, {0, 0, 0, Serving, true},
		} {
			age.Store(int64(test.age))
			ahead.Store(test.ahead)
			time.Sleep(2*memberTick + test.lasts)
			is(test.state, test.reads)
			age.Store(0)
			ahead.Store(0)
			time.Sleep(2 * memberTick)
		}
		time.Sleep(2 * time.Minute) // checkpoints and attestations come and go
		if seq, _, ok := f.Attested(); !ok || seq == 0 {
			t.Error("the follower compares no attestations")
		}
		f.mu.Lock()
		f.replica.Venue.Apply(core.Stamp{Seq: f.replica.Venue.Now().Seq, Ts: f.replica.Venue.Now().Ts + 1}, &core.CreateUser{Name: "other"}, core.NewEvents(1)) // corrupts the state
		f.mu.Unlock()
		time.Sleep(5 * time.Minute)
		if err := f.Err(); !errors.Is(err, ErrDiverged) {
			t.Errorf("a follower with another state: %v", err)
		}
	})
}

// TestSnapshotOfACopiedLog checks that the groups up to a snapshot are durable in the archive of the node before the
// snapshot is there: after a loss of power the archive would end before it.
func TestSnapshotOfACopiedLog(t *testing.T) {
	source := t.TempDir()
	e, err := Open(Options{Dir: source})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		do(t, e, &core.CreateUser{})
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	r, err := journal.NewReader(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var archive *journal.File
	f, err := Open(Options{
		Dir: dir, Node: 9, Follower: true, Members: func() Members { return Members{Voters: []uint32{1}, Up: []uint32{1}, Contact: time.Now()} },
		OpenLog: func(o journal.Options) (_ Log, err error) {
			o.Archive, o.Base = true, o.Start
			archive, err = journal.Open(dir, o)
			return archive, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close(context.Background())
	for g, err := range r.Tail(t.Context(), journal.Position{}) {
		if err == nil {
			err = archive.Append(g)
		}
		if err != nil {
			t.Fatal(err)
		}
		if g.Number == r.Last().Number {
			break
		}
	}
	if err := f.WaitApplied(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Snapshot(); err != nil {
		t.Fatal(err)
	}
	paths, err := journal.Snapshots(filepath.Join(dir, journal.SnapshotDir))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	if n, _ := journal.SnapshotNumber(paths[0]); n == 0 || archive.Synced() < n {
		t.Errorf("a snapshot of group %d, and the archive is durable up to %d", n, archive.Synced())
	}
}
