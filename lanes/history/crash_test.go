package history

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/lanes/lanetest"
)

var errCrash = errors.New("simulated crash")

// failingLog is a log that fails at a chosen group, before or after writing it.
type failingLog struct {
	engine.Log
	mu      sync.Mutex
	left    int  // fails at this many groups from now; negative means never
	written bool // whether the failing group is written
}

func (f *failingLog) failAfter(groups int, written bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.written = groups, written
}

func (f *failingLog) Propose(ctx context.Context, g journal.Group) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left != 0 {
		return f.Log.Propose(ctx, g)
	}
	if f.written {
		if err := f.Log.Propose(ctx, g); err != nil {
			return err
		}
	}
	return errCrash
}

// crashes records and checks a history in which the sequencer fails several times with
// requests in flight and restarts from its log.
func crashes(t *testing.T, seed uint64, times int) (operations, silent int) {
	r := rand.New(rand.NewPCG(seed, 3))
	f := &failingLog{left: -1}
	s := newTestVenue(t, func(o *engine.Options) {
		o.OpenLog = func(j journal.Options) (engine.Log, error) {
			l, err := journal.Open(o.Dir, j)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.Log = l
			return f, err
		}
	})
	s.noTimeouts = true
	for life := range times + 1 {
		f.failAfter(-1, false)
		if life < times {
			f.failAfter(3+r.IntN(25), r.IntN(2) == 0)
		}
		s.runClients(t, seed*100+uint64(life), 12, 6, 4)
		if s.Engine.Err() != nil {
			<-s.Engine.Stopped()
			s.Reopen()
		}
	}
	return s.checkLinearizable(t, seed)
}

// checkLinearizable resolves the unanswered operations and checks the history against the
// model. It returns the numbers of operations and of unanswered ones.
func (s *testVenue) checkLinearizable(t *testing.T, seed uint64) (operations, silent int) {
	t.Helper()
	if err := s.resolveUnanswered(); err != nil {
		t.Fatal(err)
	}
	for _, op := range s.done {
		if op.Output.(result).unanswered {
			silent++
		}
	}
	switch porcupine.CheckOperationsTimeout(venue(int64(lanetest.InitialCash), int64(lanetest.InitialCash/2)), s.done, 8*time.Minute) {
	case porcupine.Illegal:
		t.Fatalf("not linearizable (seed %d):\n%s", seed, formatHistory(s.done))
	case porcupine.Unknown:
		t.Fatalf("no result within eight minutes (seed %d)", seed)
	}
	return len(s.done), silent
}

// TestHistoriesWithCrashes checks that histories with crashes of the sequencer are
// linearizable.
func TestHistoriesWithCrashes(t *testing.T) {
	operations, silent := 0, 0
	const times = 3
	for seed := range uint64(*histories) {
		n, m := crashes(t, seed, times)
		operations, silent = operations+n, silent+m
	}
	t.Logf("%d histories with up to %d crashes each, %d operations, of which %d were executed without an answer", *histories, times, operations, silent)
}
