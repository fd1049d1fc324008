package mirror

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"duplex/core/journal"
)

var errFault = errors.New("an injected fault")

// TestKilledBetweenStatements ends the projector before each statement of a transaction in turn, and
// behind the last. The next one continues, and no row is missing or twice.
func TestKilledBetweenStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 3)
		v.run(60)
		o := v.options(dsn)
		points := 0
		for k := 0; ; k++ {
			v.run(2)
			var n atomic.Int64
			killed := make(chan struct{})
			o.fault = func(string) error {
				if i := n.Add(1) - 1; i == int64(k) {
					close(killed)
				} else if i < int64(k) {
					return nil
				}
				return errFault // nothing after the fault has an effect
			}
			m := v.start(o)
			select {
			case <-killed:
				points++
			case <-caughtUp(v, m):
			}
			m.Close(ctx)
			if int64(k) >= n.Load() || k > 60 {
				break
			}
		}
		if points < 12 {
			t.Errorf("only %d faults", points)
		}
		o.fault = nil
		m := v.start(o)
		v.waitFor(m)
		v.check(m)
	})
}

// caughtUp is closed when the mirror is at the end of the journal.
func caughtUp(v *venueLog, m *Mirror) <-chan struct{} {
	done := make(chan struct{})
	want := v.file.Last().Number
	go func() {
		defer close(done)
		for {
			if _, at := m.Position(); at.Number == want {
				return
			}
			select {
			case <-m.done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return done
}

// TestPassingErrors checks that the projector repeats a batch after an error anywhere in its
// transaction, also if the batch was committed nevertheless.
func TestPassingErrors(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 4)
		o := v.options(dsn)
		r := rand.New(rand.NewPCG(4, 4))
		var faults atomic.Int64
		var over atomic.Bool
		inARow := 0 // attempts that failed; more would have the mirror wait for minutes
		o.fault = func(point string) error {
			if over.Load() || inARow == 4 && point != "after COMMIT" {
				return nil
			}
			if point == "after COMMIT" {
				inARow = 0
			}
			if r.IntN(60) == 0 || point == "after COMMIT" && r.IntN(4) == 0 {
				inARow++
				faults.Add(1)
				return errFault
			}
			return nil
		}
		m := v.start(o)
		v.run(100)
		v.waitFor(m)
		over.Store(true) // the sync after the last batch may have failed
		v.run(1)
		v.waitFor(m)
		v.check(m)
		if s := m.Stats(); faults.Load() == 0 || s.Errors != uint64(faults.Load()) || m.LastError() != nil {
			t.Errorf("%d faults, %d errors counted, last %v", faults.Load(), s.Errors, m.LastError())
		}
	})
}

// crashHelper is the process that TestKill9 kills: it projects the journal of MIRROR_CRASH_JOURNAL.
func crashHelper() bool {
	dir := os.Getenv("MIRROR_CRASH_JOURNAL")
	if dir == "" {
		return false
	}
	l, err := journal.NewReader(dir)
	if err != nil {
		panic(err)
	}
	m := New(Options{DSN: os.Getenv("MIRROR_CRASH_DSN"), Dir: os.Getenv("MIRROR_CRASH_DIR"), Journal: dir, SnapshotEvery: 50 * time.Millisecond})
	m.Start(l)
	<-m.done
	if err := m.Err(); err != nil {
		panic(err)
	}
	return true
}

var kills = flag.Int("kills", 5, "how often TestKill9 kills the projector")

// TestKill9 kills a process that projects, at random times, while there is more to project. No row is
// missing or twice.
func TestKill9(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	databases(t, func(t *testing.T, dsn string) {
		v := newVenueLog(t, 5)
		v.perGroup = 150
		v.run(60)
		o := v.options(dsn)
		for killed := 0; killed < *kills; {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "MIRROR_CRASH_JOURNAL="+v.dir, "MIRROR_CRASH_DSN="+dsn, "MIRROR_CRASH_DIR="+o.Dir)
			cmd.Stderr = os.Stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				v.run(30)
			case <-time.After(50*time.Millisecond + rand.N(250*time.Millisecond)):
				cmd.Process.Signal(syscall.SIGKILL)
				<-ended
				killed++
			}
		}
		m := v.start(o)
		v.waitFor(m)
		v.check(m)
		t.Logf("%d kills, %d commands", *kills, v.state.Venue.Now().Seq)
	})
}
