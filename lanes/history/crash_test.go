package history

import (
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

var errCrash = errors.New("the machine is gone")

// fuse is a log that fails at a group, which by then is on disk or is not.
type fuse struct {
	engine.Log
	mu   sync.Mutex
	left int  // groups until then; below 0: never
	kept bool // whether that group is written
}

func (f *fuse) light(groups int, kept bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.kept = groups, kept
}

func (f *fuse) Propose(g journal.Group) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left != 0 {
		return f.Log.Propose(g)
	}
	if f.kept {
		if err := f.Log.Propose(g); err != nil {
			return err
		}
	}
	return errCrash
}

// crashes takes a history in which the sequencer goes down again and again with
// requests in flight, and starts on what it has left.
func crashes(t *testing.T, seed uint64, times int) (operations, silent int) {
	r := rand.New(rand.NewPCG(seed, 3))
	f := &fuse{left: -1}
	s := open(t, func(o *engine.Options) {
		o.OpenLog = func(j journal.Options) (engine.Log, error) {
			l, err := journal.Open(o.Dir, j)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.Log = l
			return f, err
		}
	})
	s.patient = true
	for life := range times + 1 {
		f.light(-1, false)
		if life < times {
			f.light(3+r.IntN(25), r.IntN(2) == 0)
		}
		var all sync.WaitGroup
		errs := make(chan error, 4)
		for client, c := range []struct {
			user int
			via  lane
		}{{0, viaREST}, {1, viaREST}, {0, viaTool}, {1, viaTool}} {
			all.Go(func() { errs <- s.call(client, c.user, c.via, 12, seed*100+uint64(life)) })
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.Engine.Err() != nil {
			<-s.Engine.Stopped()
			s.Reopen()
		}
	}
	return s.judge(t, seed)
}

// judge settles what was not answered, and looks for an order of the rest.
func (s *scene) judge(t *testing.T, seed uint64) (operations, silent int) {
	t.Helper()
	if err := s.settle(); err != nil {
		t.Fatal(err)
	}
	for _, op := range s.done {
		if op.Output.(told).silent {
			silent++
		}
	}
	switch porcupine.CheckOperationsTimeout(venue(int64(lanetest.Funds)), s.done, time.Minute) {
	case porcupine.Illegal:
		t.Fatalf("no order of these could have happened (seed %d):\n%s", seed, tell(s.done))
	case porcupine.Unknown:
		t.Fatalf("not decided within a minute (seed %d)", seed)
	}
	return len(s.done), silent
}

// Crashes included, what callers of both lanes were told has an order.
func TestHistoriesWithCrashes(t *testing.T) {
	operations, silent := 0, 0
	const times = 3
	for seed := range uint64(*histories) {
		n, m := crashes(t, seed, times)
		operations, silent = operations+n, silent+m
	}
	t.Logf("%d histories with up to %d crashes each, %d operations, of which %d happened whose answer was lost", *histories, times, operations, silent)
}
