package sim

import (
	"bytes"
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

// Options of Run.
type Options struct {
	Seed  uint64
	Steps int       // of the simulation; 0: Steps
	Dir   string    // where data directories are made; best in memory
	Trace io.Writer // receives a line for everything that happens; can be nil
	// Lanes returns the lanes through which callers reach the venue. If it is nil they call the engine.
	Lanes func(World) Lanes
}

// points are where a crash can happen: after a step of the log on its files, or while a snapshot is
// written.
var points = [...]string{
	string(journal.Created), string(journal.Repaired), string(journal.Attached), string(journal.Written), string(journal.SegmentStarted), string(journal.MarkWritten), string(journal.Trimmed), atSnapshot,
}

const atSnapshot = "snapshot"

// Steps is the default length of a run: some minutes of virtual time.
const Steps = 300

// Result describes a run.
type Result struct {
	Trace    [32]byte // the hash of the trace
	Commands int
	Crashes  int
	Unknown  int              // commands whose outcome the caller never learned
	Torn     int              // torn tails that a start cut off
	Extra    int              // groups found after a crash that no caller had an answer for
	At       [len(points)]int // crashes at each point
}

// sim is one run.
type sim struct {
	o     Options
	r     *rand.Rand
	t     *trace
	res   Result
	began time.Time
	skew  atomic.Int64 // offset of the venue's clock, ns

	starts   int // of the venue
	barrier  *barrier
	disk     *disk
	slow     time.Duration // how long the next write takes
	full     atomic.Bool   // the engine is told that no space is left
	engine   *engine.Engine
	follower *engine.Follower
	at       core.Stamp // of the last command seen applied
	group    uint64     // of the last group seen applied
	sent     []byte     // the body of the last group proposed

	work   *workload
	model  *model.Venue
	calls  []*call // under way
	made   int     // number of calls so far
	counts commandCounts

	syncPoint atomic.Int64 // see sleep

	lanes         Lanes     // nil if callers call the engine
	late          []Request // delayed by the network
	requestOffset int64     // of the last request in its millisecond, ns
}

// failure is the panic value of a failed check.
type failure struct{ error }

func (s *sim) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (s *sim) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Run simulates a venue from a seed: the real engine on the real log, in virtual time. It must be called in
// a synctest bubble. The error is that of the first check that fails.
func Run(o Options) (res Result, err error) {
	if o.Steps == 0 {
		o.Steps = Steps
	}
	s := &sim{o: o, r: rand.New(rand.NewPCG(o.Seed, 0x5eed)), t: newTrace(o.Trace), began: time.Now(), barrier: &barrier{}, model: model.New()}
	s.counts.init()
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
	s.setUp()
	for i := range o.Steps {
		s.step(i)
	}
	s.finish()
	return
}

// origin is the time at which a run starts, in ns: the start of a quarter of an hour.
const origin = 1_800_000_000 / 900 * 900 * core.NsPerSec

// now returns the time of the venue's clock, in ns.
func (s *sim) now() int64 { return origin + int64(time.Since(s.began)) + s.skew.Load() }

// log is the log between the engine and the journal.
type log struct {
	*journal.File
	s *sim
}

// Propose waits at the barrier, then takes as long as the simulated disk.
func (l *log) Propose(g journal.Group) error {
	l.s.barrier.pass()
	if d := l.s.slow; d > 0 {
		l.s.slow = 0
		time.Sleep(d)
		l.s.woken()
	}
	l.s.sent = bytes.Clone(g.Body)
	return l.File.Propose(g)
}

func (s *sim) open() (*engine.Engine, error) {
	barrier, disk := s.barrier, s.disk
	return engine.Open(engine.Options{
		Dir: disk.dir, CheckpointEvery: 7 * time.Second, SnapshotEvery: engine.Backlog{Groups: 1 << 40, Commands: 1 << 40, Applying: 1 << 62},
		Now: func() int64 { barrier.pass(); return s.now() },
		Free: func() (uint64, error) {
			if s.full.Load() {
				return 0, nil
			}
			return 1 << 40, nil
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

// drain releases the sequencer until it has nothing left to do now.
func (s *sim) drain() {
	for synctest.Wait(); s.barrier.release(); synctest.Wait() {
	}
	s.observe()
}

// stop ends the engine in whatever state it is. What it still writes goes to a directory that is not read
// again.
func (s *sim) stop() {
	if s.engine == nil {
		return
	}
	for _, c := range s.calls {
		c.lost = true
	}
	if s.lanes != nil {
		s.lanes.Cut()
		synctest.Wait()
	}
	s.barrier.releaseAll()
	s.syncPoint.Add(1)
	s.engine.Close(context.Background()) // fails with the error of the fault
	synctest.Wait()
	s.shut()
	if err := s.disk.remove(); err != nil && s.disk.err == nil {
		s.disk.err = err
	}
}

// shut closes the lanes after the engine has ended.
func (s *sim) shut() {
	if s.lanes != nil {
		s.lanes.Close()
		synctest.Wait()
	}
	s.engine = nil
}

// restart starts the venue on the files of an image. If a fault hits the start itself it tries again.
func (s *sim) restart(found image) {
	s.collect()
	s.stop()
	for _, c := range s.calls {
		s.finishCall(c)
	}
	s.calls = nil
	for {
		s.starts++
		s.barrier = &barrier{}
		var err error
		s.disk, err = newDisk(s.o.Dir, s.starts, found, s.stepsToFault(), s.r, s.t)
		s.must(err)
		s.engine, err = s.open()
		if err == nil {
			break
		}
		s.must(s.disk.err)
		if s.disk.fault == nil || !errors.Is(err, s.disk.fault.err) {
			s.fail("the venue does not start: %w", err)
		}
		s.countCrash()
		found = s.disk.after
		s.must(s.disk.remove())
	}
	s.follower = s.engine.Follow()
	if s.lanes != nil {
		s.lanes.Open(s.engine)
	}
	s.checkRecovery()
}

// stepsToFault draws the number of steps of the log until the next fault. Sometimes it is so small that the
// fault hits the opening of the log.
func (s *sim) stepsToFault() int {
	if s.r.IntN(5) == 0 {
		return 1 + s.r.IntN(4)
	}
	return 1 + s.r.IntN(60)
}

// step is one step of the simulation: requests of some callers, perhaps other actions, then some time.
func (s *sim) step(i int) {
	for range s.r.IntN(6) {
		s.act()
	}
	if s.r.IntN(8) == 0 {
		s.operate()
	}
	if s.lanes != nil && s.r.IntN(2) == 0 {
		if cmd := s.lanes.Operate(); cmd != nil {
			s.submit(cmd, 0)
		}
	}
	if s.r.IntN(12) == 0 {
		s.slow = time.Duration(s.r.IntN(3000))*time.Millisecond + 500*time.Microsecond
	}
	if s.r.IntN(10) == 0 {
		s.full.Store(s.r.IntN(3) == 0)
		s.t.line("the disk is nearly full: %t", s.full.Load())
	}
	if s.r.IntN(10) > 0 { // else they wait for the next step
		s.drain()
	}
	s.restartAfterFault()
	if s.r.IntN(20) == 0 {
		s.snapshot()
	}
	if s.r.IntN(25) == 0 {
		step := []time.Duration{-3 * time.Second, -700 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 9 * time.Second}[s.r.IntN(5)]
		s.t.line("clock is off by %v", time.Duration(s.skew.Add(int64(step))))
	}
	if s.r.IntN(4) == 0 {
		s.drain()
		s.restartAfterFault()
		s.audit()
	}
	s.advance([]time.Duration{0, time.Millisecond, 40 * time.Millisecond, 300 * time.Millisecond, time.Second, 2 * time.Second}[s.r.IntN(6)])
}

// sleep lets virtual time pass and other goroutines run. Time in a bubble passes only while all goroutines
// wait, but the race detector does not know that this orders their memory accesses. So the simulation writes
// syncPoint before it sleeps, and a goroutine that wakes up reads it in woken.
func (s *sim) sleep(d time.Duration) {
	s.syncPoint.Add(1)
	time.Sleep(d)
	synctest.Wait()
}

// woken is called by a goroutine after it has slept, see sleep.
func (s *sim) woken() { s.syncPoint.Load() }

// advance lets time pass, with index ticks at every full second.
func (s *sim) advance(d time.Duration) {
	for d > 0 {
		hop := min(d, time.Second-time.Since(s.began)%time.Second)
		s.sleep(hop)
		d -= hop
		if time.Since(s.began)%time.Second == 0 {
			s.tick()
		}
		s.drain()
		s.restartAfterFault()
	}
}

// restartAfterFault starts the venue again if a fault has been injected. It fails if the engine has not
// stopped with that fault's error, or has stopped without a fault.
func (s *sim) restartAfterFault() {
	s.must(s.disk.err)
	if s.disk.fault != nil {
		s.drain()
		if err := s.engine.Err(); err == nil || !errors.Is(err, s.disk.fault.err) {
			s.fail("the disk failed with %v, the engine stopped with %v", s.disk.fault.err, err)
		}
		s.restartAfterCrash()
		return
	}
	if err := s.engine.Err(); err != nil {
		s.fail("the engine stopped: %w", err)
	}
}

// restartAfterCrash starts the venue on the files that the fault has left.
func (s *sim) restartAfterCrash() {
	s.countCrash()
	s.restart(s.disk.after)
}

func (s *sim) countCrash() {
	s.res.Crashes++
	s.res.At[slices.Index(points[:], s.disk.at)]++
}

// snapshot has the engine write a snapshot. Sometimes the power is cut meanwhile.
func (s *sim) snapshot() {
	s.drain()
	s.restartAfterFault()
	powerCut := s.r.IntN(3) == 0
	var before image
	if powerCut {
		var err error
		before, err = takeImage(s.disk.dir)
		s.must(err)
	}
	if s.r.IntN(4) == 0 {
		s.must(s.disk.arm(1)) // hits the trimming of the log, if there is any
	}
	seq, err := s.engine.Snapshot()
	if s.disk.fault != nil { // the fault hit the trimming
		s.t.line("snapshot failed")
		s.restartAfterCrash()
		return
	}
	if errors.Is(err, engine.ErrNoRoom) && s.full.Load() {
		s.t.line("no room for a snapshot")
		return
	}
	s.must(err)
	s.t.line("snapshot at seq %d", seq)
	if powerCut {
		after, err := takeImage(s.disk.dir)
		s.must(err)
		s.disk.injectFault(&faults[0], before, after, atSnapshot)
		s.restartAfterCrash()
	}
}

// checkRecovery checks a venue that has just started: its log has every group that was answered, and at most
// one more, complete, which is the last one proposed. A replay must give the same state.
func (s *sim) checkRecovery() {
	extra := 0
	for p, err := range journal.Scan(s.disk.dir, s.group+1) {
		s.must(err)
		if extra++; extra > 1 || !bytes.Equal(p.Body, s.sent) {
			s.fail("group %d is not the last group proposed", p.Number)
		}
		s.replay(&p.Group)
	}
	s.res.Extra += extra
	seq, hash, err := s.engine.Hash()
	s.must(err)
	if seq != s.at.Seq {
		s.fail("started at seq %d, the last one in its log is %d", seq, s.at.Seq)
	}
	proof, err := engine.Verify(s.disk.dir, nil)
	s.must(err)
	if proof.Seq != seq || proof.Hash != hash {
		s.fail("the venue is at seq %d with hash %x, a replay at %d with %x", seq, hash, proof.Seq, proof.Hash)
	}
	s.t.line("start %d at seq %d, hash %x, %d unanswered groups", s.starts, seq, hash[:6], extra)
	s.audit()
}

// replay records the commands of a group that was found on disk.
func (s *sim) replay(g *journal.Group) {
	for cmd, err := range journal.Commands(g.Body) {
		s.must(err)
		s.at = core.Stamp{Seq: s.at.Seq + 1, Ts: max(g.Stamp, s.at.Ts+1)}
		s.record(s.at, cmd) // its outcome is compared by audit, as state
	}
	s.group = g.Number
}

// audit recomputes all money and contracts, and compares everything that readers can see with the model.
func (s *sim) audit() {
	s.engine.Read(func(v *venue.Venue, _ *view.View) {
		if err := sameState(v, s.model); err != nil {
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
		s.must(s.lanes.Check(s.at, s.model))
	}
}

// finish stops the venue in order and verifies what is on disk.
func (s *sim) finish() {
	s.drain()
	s.restartAfterFault()
	s.disk.left = -1
	s.advance(3 * time.Second)
	s.audit()
	seq, hash, err := s.engine.Hash()
	s.must(err)
	if s.lanes != nil {
		s.must(s.lanes.Finish(s.at, s.model))
		s.lanes.Cut()
		synctest.Wait()
	}
	s.barrier.releaseAll()
	s.syncPoint.Add(1)
	s.must(s.engine.Close(context.Background()))
	s.shut()
	proof, err := engine.Verify(s.disk.dir, nil)
	s.must(err)
	if proof.Seq < seq {
		s.fail("closed at seq %d, on disk %d", seq, proof.Seq)
	}
	s.t.line("ends at seq %d, hash %x", seq, hash[:6])
	s.counts.check(s)
	s.must(os.RemoveAll(s.disk.dir))
}
