package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/sim/model"
	"duplex/core/venue"
	"duplex/core/view"
)

// Options configure Run.
type Options struct {
	Seed  uint64
	Steps int       // number of steps; 0 means the constant Steps
	Dir   string    // parent of the data directories, preferably in memory
	Trace io.Writer // receives the lines of the trace; may be nil
	// Lanes builds the lanes that callers use; nil: callers submit to the engine.
	Lanes func(World) Lanes
	// Journal is called with the folder of the journal when the run has ended, before the folder is
	// removed; its error is that of the run. Then no group of the log is ever trimmed. nil: not called.
	Journal func(dir string) error
}

// points are where a fault can strike: after each kind of step of the log, or while a
// snapshot is written.
var points = [...]string{
	string(journal.Created), string(journal.Repaired), string(journal.Attached), string(journal.Written), string(journal.SegmentStarted), string(journal.MarkWritten), string(journal.Trimmed), atSnapshot,
}

const atSnapshot = "snapshot"

// Steps is the default number of steps of a run, some minutes of virtual time.
const Steps = 300

// Result counts what happened in a run.
type Result struct {
	Trace       [32]byte // the hash of the trace
	Commands    int
	Crashes     int
	Unknown     int              // commands of which the caller did not learn the outcome
	Torn        int              // incomplete tails that a start cut off the log
	Unconfirmed int              // groups in the log after a crash to which nobody got a response
	At          [len(points)]int // crashes by point
}

// sim is the state of one run.
type sim struct {
	o     Options
	r     *rand.Rand
	t     *trace
	res   Result
	start time.Time
	skew  atomic.Int64 // of the venue's clock, ns

	life         int // number of starts
	stepper      *stepper
	disk         *disk
	diskDelay    time.Duration // how long the next write takes
	diskFull     atomic.Bool   // the disk has no space left
	e            *engine.Engine
	f            *engine.Follower
	at           core.Stamp // of the last command observed
	group        uint64     // number of the last group observed
	lastProposed []byte     // the body of the group proposed last

	work      *workload
	model     *model.Venue
	calls     []*call // not ended yet
	callCount int     // number of calls
	counts    counts

	fence atomic.Int64 // see sleep

	lanes         Lanes     // nil: callers submit to the engine
	delayed       []Request // delayed by the network
	requestOffset int64     // see requestTime
}

// failure is the panic value of a failed check; Run returns its error.
type failure struct{ error }

func (s *sim) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (s *sim) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Run simulates a venue from a seed. It must be called in a synctest bubble. It returns the
// first failed check as an error, and a Result in any case.
func Run(o Options) (res Result, err error) {
	o.Steps = cmp.Or(o.Steps, Steps)
	s := &sim{o: o, r: rand.New(rand.NewPCG(o.Seed, 0x5eed)), t: newTrace(o.Trace), start: time.Now(), stepper: &stepper{}, model: model.New()}
	s.counts.init()
	s.skew.Store(start(o.Seed) - origin)
	if o.Lanes != nil {
		s.lanes = o.Lanes(World{Rand: rand.New(rand.NewPCG(o.Seed, 0x1a7e5)), Now: s.now, At: func() core.Stamp { return s.at }})
	}
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(failure)
			if !ok {
				panic(p)
			}
			err = f.error
			s.t.line("FAILED %v", err)
		}
		s.stop()
		res = s.res
		res.Trace = s.t.hash()
	}()
	s.restart(image{})
	s.setup()
	for i := range o.Steps {
		s.step(i)
	}
	s.finish()
	return
}

// origin is the venue's time at the start of a run, in ns: the start of a quarter of an hour.
const origin = 1_800_000_000 / 900 * 900 * core.NsPerSec

// start is the time at which the run of a seed starts, in ns: every other run starts shortly
// before a midnight.
func start(seed uint64) int64 {
	if seed%2 == 0 {
		return int64(core.DayOf(origin)+1)*core.NsPerDay - 40*core.NsPerSec
	}
	return origin
}

// now returns the time of the venue's clock, in ns.
func (s *sim) now() int64 { return origin + int64(time.Since(s.start)) + s.skew.Load() }

// log passes the groups of the engine to the journal.
type log struct {
	*journal.File
	s *sim
}

// Propose waits for the stepper and then for the slow disk.
func (l *log) Propose(ctx context.Context, g journal.Group) error {
	l.s.stepper.wait()
	if d := l.s.diskDelay; d > 0 {
		l.s.diskDelay = 0
		time.Sleep(d)
		l.s.woken()
	}
	l.s.lastProposed = bytes.Clone(g.Body)
	return l.File.Propose(ctx, g)
}

func (s *sim) open() (*engine.Engine, error) {
	stepper, disk := s.stepper, s.disk
	return engine.Open(engine.Options{
		Dir: disk.dir, CheckpointEvery: 7 * time.Second, SnapshotEvery: engine.Backlog{Groups: 1 << 40, Commands: 1 << 40, Applying: 1 << 62},
		Now: func() int64 { stepper.wait(); return s.now() },
		Free: func() (uint64, error) {
			if s.diskFull.Load() {
				return 0, nil
			}
			return 1 << 40, nil
		},
		Hold: func(below uint64) uint64 {
			if s.o.Journal != nil {
				return 0
			}
			return below
		},
		OpenLog: func(o journal.Options) (engine.Log, error) {
			o.Now, o.Watch = s.now, disk.watch
			f, err := journal.Open(disk.dir, o)
			if err != nil {
				return nil, err
			}
			if torn := f.Torn(); torn != nil {
				s.res.Torn++
				s.t.line("cut %d bytes at %d", torn.Bytes, torn.Offset)
			}
			return &log{f, s}, nil
		},
	})
}

// runUntilIdle lets the sequencer run until it has nothing left to do at the current time.
func (s *sim) runUntilIdle() {
	for synctest.Wait(); s.stepper.step(); synctest.Wait() {
	}
	s.observe()
}

// stop ends the engine in its current state. What it still writes goes to a directory that
// is removed.
func (s *sim) stop() {
	if s.e == nil {
		return
	}
	for _, c := range s.calls {
		c.lost = true
	}
	if s.lanes != nil {
		s.lanes.Cut()
		synctest.Wait()
	}
	s.stepper.release()
	s.fence.Add(1)
	s.e.Close(context.Background()) // its error is that of the fault
	synctest.Wait()
	s.closeLanes()
	if err := s.disk.remove(); err != nil && s.disk.err == nil {
		s.disk.err = err
	}
}

// closeLanes closes the lanes of an engine that has ended.
func (s *sim) closeLanes() {
	if s.lanes != nil {
		s.lanes.Close()
		synctest.Wait()
	}
	s.e = nil
}

// restart starts the venue on the files in found. If a fault strikes meanwhile, it starts
// again on what that fault leaves.
func (s *sim) restart(found image) {
	s.collect()
	s.stop()
	for _, c := range s.calls {
		s.ended(c)
	}
	s.calls = nil
	for {
		s.life++
		s.stepper = &stepper{}
		var err error
		s.disk, err = newDisk(s.o.Dir, s.life, found, s.stepsToFault(), s.r, s.t)
		s.must(err)
		s.e, err = s.open()
		if err == nil {
			break
		}
		s.must(s.disk.err)
		if s.disk.hit == nil || !errors.Is(err, s.disk.hit.err) {
			s.fail("the venue failed to start: %w", err)
		}
		s.countCrash()
		found = s.disk.find
		s.must(s.disk.remove())
	}
	s.f = s.e.Follow()
	if s.lanes != nil {
		s.lanes.Open(s.e)
	}
	s.checkRecovery()
}

// stepsToFault draws the number of steps of the log before the next fault. A small number
// makes it strike while the log is opened.
func (s *sim) stepsToFault() int {
	if s.r.IntN(5) == 0 {
		return 1 + s.r.IntN(4)
	}
	return 1 + s.r.IntN(60)
}

// step runs one step: some requests, then some time.
func (s *sim) step(i int) {
	for range s.r.IntN(6) {
		s.sendRequest()
	}
	if s.r.IntN(8) == 0 {
		s.operate()
	}
	if s.lanes != nil && s.r.IntN(2) == 0 {
		if cmd := s.lanes.OperatorCommand(); cmd != nil {
			s.submit(cmd, 0)
		}
	}
	if s.r.IntN(12) == 0 {
		s.diskDelay = time.Duration(s.r.IntN(3000))*time.Millisecond + 500*time.Microsecond
	}
	if s.r.IntN(10) == 0 {
		s.diskFull.Store(s.r.IntN(3) == 0)
		s.t.line("disk full: %t", s.diskFull.Load())
	}
	if s.r.IntN(10) > 0 { // otherwise the calls stay queued
		s.runUntilIdle()
	}
	s.restartAfterFault()
	if s.r.IntN(20) == 0 {
		s.snapshot()
	}
	if s.r.IntN(25) == 0 {
		step := []time.Duration{-3 * time.Second, -700 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 9 * time.Second}[s.r.IntN(5)]
		s.t.line("clock skew %v", time.Duration(s.skew.Add(int64(step))))
	}
	if s.r.IntN(4) == 0 {
		s.runUntilIdle()
		s.restartAfterFault()
		s.audit()
	}
	s.advance([]time.Duration{0, time.Millisecond, 40 * time.Millisecond, 300 * time.Millisecond, time.Second, 2 * time.Second}[s.r.IntN(6)])
}

// sleep advances the virtual time by d and lets other goroutines run. In a bubble time passes
// only while all goroutines wait, but the race detector does not see that as synchronization.
// So fence is written here and read by each goroutine that a timer wakes (see woken): it then
// sees everything the simulation did before.
func (s *sim) sleep(d time.Duration) {
	s.fence.Add(1)
	time.Sleep(d)
	synctest.Wait()
}

// woken is called by a goroutine after a timer has woken it.
func (s *sim) woken() { s.fence.Load() }

// advance lets the time d pass and posts index ticks at each full second.
func (s *sim) advance(d time.Duration) {
	for d > 0 {
		hop := min(d, time.Second-time.Since(s.start)%time.Second)
		s.sleep(hop)
		d -= hop
		if time.Since(s.start)%time.Second == 0 {
			s.postTicks()
		}
		s.runUntilIdle()
		s.restartAfterFault()
	}
}

// restartAfterFault restarts the venue if the fault has struck.
func (s *sim) restartAfterFault() {
	s.must(s.disk.err)
	if s.disk.hit != nil {
		s.runUntilIdle()
		if err := s.e.Err(); err == nil || !errors.Is(err, s.disk.hit.err) {
			s.fail("the disk failed with %v, but the error of the engine is %v", s.disk.hit.err, err)
		}
		s.crashed()
		return
	}
	if err := s.e.Err(); err != nil {
		s.fail("the engine stopped: %w", err)
	}
}

// crashed restarts the venue on the files that the fault left.
func (s *sim) crashed() {
	s.countCrash()
	s.restart(s.disk.find)
}

func (s *sim) countCrash() {
	s.res.Crashes++
	s.res.At[slices.Index(points[:], s.disk.at)]++
}

// snapshot has the engine write a snapshot, sometimes with a power cut during the write.
func (s *sim) snapshot() {
	s.runUntilIdle()
	s.restartAfterFault()
	powerCut := s.r.IntN(3) == 0
	var before image
	if powerCut {
		var err error
		before, err = takeImage(s.disk.dir)
		s.must(err)
	}
	if s.r.IntN(4) == 0 {
		s.must(s.disk.arm(1)) // the fault comes if the log is trimmed
	}
	seq, err := s.e.Snapshot()
	if s.disk.hit != nil { // while the log was trimmed
		s.t.line("snapshot interrupted")
		s.crashed()
		return
	}
	if errors.Is(err, engine.ErrNoRoom) && s.diskFull.Load() {
		s.t.line("no room for a snapshot")
		return
	}
	s.must(err)
	s.t.line("snapshot at seq %d", seq)
	if powerCut {
		after, err := takeImage(s.disk.dir)
		s.must(err)
		s.disk.injectFault(&faults[0], before, after, atSnapshot)
		s.crashed()
	}
}

// checkRecovery checks the journal of a venue that has just started: it has each command with a response,
// and at most one more group, which must be the one proposed last.
func (s *sim) checkRecovery() {
	extra := 0
	for p, err := range journal.Scan(s.disk.dir, s.group+1) {
		s.must(err)
		if extra++; extra > 1 || !bytes.Equal(p.Body, s.lastProposed) {
			s.fail("group %d in the log is not the one proposed last", p.Number)
		}
		s.replay(&p.Group)
	}
	s.res.Unconfirmed += extra
	seq, hash, err := s.e.Hash()
	s.must(err)
	if seq != s.at.Seq {
		s.fail("the venue started at seq %d, want %d", seq, s.at.Seq)
	}
	proof, err := engine.Verify(s.disk.dir, nil)
	s.must(err)
	if proof.Seq != seq || proof.Hash != hash {
		s.fail("the venue is at seq %d with hash %x, a replay at %d with %x", seq, hash, proof.Seq, proof.Hash)
	}
	s.t.line("start %d at seq %d, hash %x, %d groups without a response", s.life, seq, hash[:6], extra)
	s.audit()
}

// replay applies a group that was found in the log to the model.
func (s *sim) replay(g *journal.Group) {
	for cmd, err := range journal.Commands(g.Body) {
		s.must(err)
		if !s.model.Authorized(cmd) { // its key was revoked before it, so it has no seq
			continue
		}
		s.at = core.Stamp{Seq: s.at.Seq + 1, Ts: max(g.Stamp, s.at.Ts+1)}
		s.applyToModel(s.at, cmd) // audit compares the outcome, as part of the state
	}
	s.group = g.Number
}

// audit recomputes all money and contracts and compares the whole state with the model.
func (s *sim) audit() {
	s.e.Read(func(v *venue.Venue, w *view.View) {
		err := sameState(v, s.model)
		if err == nil {
			err = sameLedgers(w, s.model)
		}
		if err != nil {
			s.fail("at seq %d: %w", v.Now().Seq, err)
		}
		defer func() {
			if b, ok := recover().(core.InvariantViolation); ok {
				s.fail("%w", b)
			}
		}()
		v.Audit()
	})
	if s.lanes != nil {
		s.must(s.lanes.CheckReads(s.at, s.model))
	}
}

// finish ends a run without a fault and verifies the log.
func (s *sim) finish() {
	s.runUntilIdle()
	s.restartAfterFault()
	s.disk.left = -1
	s.advance(3 * time.Second)
	s.audit()
	seq, hash, err := s.e.Hash()
	s.must(err)
	if s.lanes != nil {
		s.must(s.lanes.CheckEnd(s.at, s.model))
		s.lanes.Cut()
		synctest.Wait()
	}
	s.stepper.release()
	s.fence.Add(1)
	s.must(s.e.Close(context.Background()))
	s.closeLanes()
	proof, err := engine.Verify(s.disk.dir, nil)
	s.must(err)
	if proof.Seq < seq {
		s.fail("closed at seq %d, but the log ends at %d", seq, proof.Seq)
	}
	s.t.line("ends at seq %d, hash %x", seq, hash[:6])
	s.counts.check(s)
	if s.o.Journal != nil {
		s.must(s.o.Journal(s.disk.dir))
	}
	s.must(os.RemoveAll(s.disk.dir))
}
