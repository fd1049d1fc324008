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
	Steps int       // of the simulation; default Steps
	Dir   string    // for data directories, best in memory
	Trace io.Writer // gets what happens, a line each; nil: nobody
	// Lanes makes the way of callers to the venue; nil: they call the engine.
	Lanes func(World) Lanes
}

// points are where a crash may come: behind what the log has done to its files, or
// while a snapshot is written.
var points = [...]string{
	string(journal.Created), string(journal.Repaired), string(journal.Attached), string(journal.Written), string(journal.SegmentStarted), string(journal.MarkWritten), string(journal.Trimmed), atSnapshot,
}

const atSnapshot = "snapshot"

// Steps is the default length of a run: some minutes of virtual time.
const Steps = 300

// Result is what a run went through.
type Result struct {
	Trace    [32]byte // the hash of all that happened
	Commands int
	Crashes  int
	Unknown  int              // calls whose outcome the caller never learned
	Torn     int              // tails cut on a start
	Extra    int              // groups found after a crash that nobody had an answer for
	At       [len(points)]int // crashes at each of the points
}

// sim is one run.
type sim struct {
	o     Options
	r     *rand.Rand
	t     *trace
	res   Result
	began time.Time
	skew  atomic.Int64 // of the venue's clock

	life  int
	gate  *gate
	disk  *disk
	slow  time.Duration // how long the disk takes
	full  atomic.Bool   // there is hardly any space left
	e     *engine.Engine
	f     *engine.Follower
	at    core.Stamp // of the last command seen applied
	group uint64     // of the last group seen applied
	sent  []byte     // the body of the group the log was given last

	work  *workload
	model *model.Venue
	calls []*call // not ended yet
	made  int     // calls
	kept  ledger

	rests atomic.Int64 // see sleep

	lanes   Lanes     // nil: callers call the engine
	late    []Request // held back by the network
	moments int64     // of the last request, in its millisecond
}

// failure is what a check panics with.
type failure struct{ error }

func (s *sim) fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func (s *sim) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Run simulates a venue from a seed: the real engine on the real log, in the virtual
// time of the synctest bubble it must be called in. The error is the first thing
// that does not hold.
func Run(o Options) (res Result, err error) {
	if o.Steps == 0 {
		o.Steps = Steps
	}
	s := &sim{o: o, r: rand.New(rand.NewPCG(o.Seed, 0x5eed)), t: newTrace(o.Trace), began: time.Now(), gate: &gate{}, model: model.New()}
	s.kept.init()
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
	s.furnish()
	for i := range o.Steps {
		s.step(i)
	}
	s.finish()
	return
}

// origin is the first moment of a run: the start of a quarter of an hour.
const origin = 1_800_000_000 / 900 * 900 * core.NsPerSec

// now is the venue's clock.
func (s *sim) now() int64 { return origin + int64(time.Since(s.began)) + s.skew.Load() }

// log is the log between the engine and the journal.
type log struct {
	*journal.File
	s *sim
}

// Propose waits at the gate and takes as long as the disk does.
func (l *log) Propose(g journal.Group) error {
	l.s.gate.pass()
	if d := l.s.slow; d > 0 {
		l.s.slow = 0
		time.Sleep(d)
		l.s.woken()
	}
	l.s.sent = bytes.Clone(g.Body)
	return l.File.Propose(g)
}

func (s *sim) open() (*engine.Engine, error) {
	gate, disk := s.gate, s.disk
	return engine.Open(engine.Options{
		Dir: disk.dir, CheckpointEvery: 7 * time.Second, SnapshotEvery: engine.Backlog{Groups: 1 << 40, Commands: 1 << 40, Applying: 1 << 62},
		Now: func() int64 { gate.pass(); return s.now() },
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

// settle lets the sequencer go on until there is nothing left for it to do now.
func (s *sim) settle() {
	for synctest.Wait(); s.gate.let(); synctest.Wait() {
	}
	s.observe()
}

// stop ends the engine as it stands. What it still does goes to a directory nobody
// will read.
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
	s.gate.open()
	s.rests.Add(1)
	s.e.Close(context.Background()) // its error is that of the fault
	synctest.Wait()
	s.shut()
	if err := s.disk.remove(); err != nil && s.disk.err == nil {
		s.disk.err = err
	}
}

// shut ends the lanes of an engine that has ended.
func (s *sim) shut() {
	if s.lanes != nil {
		s.lanes.Close()
		synctest.Wait()
	}
	s.e = nil
}

// restart starts the venue from what is found on disk, again and again if the fault
// strikes in the start itself.
func (s *sim) restart(found image) {
	s.collect()
	s.stop()
	for _, c := range s.calls {
		s.ended(c)
	}
	s.calls = nil
	for {
		s.life++
		s.gate = &gate{}
		var err error
		s.disk, err = newDisk(s.o.Dir, s.life, found, s.soon(), s.r, s.t)
		s.must(err)
		s.e, err = s.open()
		if err == nil {
			break
		}
		s.must(s.disk.err)
		if s.disk.hit == nil || !errors.Is(err, s.disk.hit.err) {
			s.fail("the venue does not start: %w", err)
		}
		s.count()
		found = s.disk.find
		s.must(s.disk.remove())
	}
	s.f = s.e.Follow()
	if s.lanes != nil {
		s.lanes.Open(s.e)
	}
	s.recovered()
}

// soon draws in how many steps of the log the next fault comes; at times while the
// log is opened.
func (s *sim) soon() int {
	if s.r.IntN(5) == 0 {
		return 1 + s.r.IntN(4)
	}
	return 1 + s.r.IntN(60)
}

// step is one turn of the world: some callers, then some time.
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
	if s.r.IntN(10) > 0 { // else they wait for the next turn
		s.settle()
	}
	s.repair()
	if s.r.IntN(20) == 0 {
		s.snapshot()
	}
	if s.r.IntN(25) == 0 {
		step := []time.Duration{-3 * time.Second, -700 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 9 * time.Second}[s.r.IntN(5)]
		s.t.line("clock is off by %v", time.Duration(s.skew.Add(int64(step))))
	}
	if s.r.IntN(4) == 0 {
		s.settle()
		s.repair()
		s.audit()
	}
	s.pass([]time.Duration{0, time.Millisecond, 40 * time.Millisecond, 300 * time.Millisecond, time.Second, 2 * time.Second}[s.r.IntN(6)])
}

// sleep lets others act, at times of their own. All that the simulation did before is
// there for them, once they say that they are woken: time in a bubble passes only while
// everybody waits, which the race detector does not know.
func (s *sim) sleep(d time.Duration) {
	s.rests.Add(1)
	time.Sleep(d)
	synctest.Wait()
}

func (s *sim) woken() { s.rests.Load() }

// pass lets time pass; index ticks come with every second.
func (s *sim) pass(d time.Duration) {
	for d > 0 {
		hop := min(d, time.Second-time.Since(s.began)%time.Second)
		s.sleep(hop)
		d -= hop
		if time.Since(s.began)%time.Second == 0 {
			s.tick()
		}
		s.settle()
		s.repair()
	}
}

// repair starts the venue again if the fault has struck.
func (s *sim) repair() {
	s.must(s.disk.err)
	if s.disk.hit != nil {
		s.settle()
		if err := s.e.Err(); err == nil || !errors.Is(err, s.disk.hit.err) {
			s.fail("the disk failed with %v, the engine says %v", s.disk.hit.err, err)
		}
		s.crashed()
		return
	}
	if err := s.e.Err(); err != nil {
		s.fail("the engine stopped: %w", err)
	}
}

// crashed starts the venue on what the fault has left.
func (s *sim) crashed() {
	s.count()
	s.restart(s.disk.find)
}

func (s *sim) count() {
	s.res.Crashes++
	s.res.At[slices.Index(points[:], s.disk.at)]++
}

// snapshot has one written, and at times the power cut meanwhile.
func (s *sim) snapshot() {
	s.settle()
	s.repair()
	strikes := s.r.IntN(3) == 0
	var before image
	if strikes {
		var err error
		before, err = takeImage(s.disk.dir)
		s.must(err)
	}
	if s.r.IntN(4) == 0 {
		s.must(s.disk.arm(1)) // when the log is trimmed, if it is
	}
	seq, err := s.e.Snapshot()
	if s.disk.hit != nil { // met while trimming
		s.t.line("snapshot broke off")
		s.crashed()
		return
	}
	if errors.Is(err, engine.ErrNoRoom) && s.full.Load() {
		s.t.line("no room for a snapshot")
		return
	}
	s.must(err)
	s.t.line("snapshot at seq %d", seq)
	if strikes {
		after, err := takeImage(s.disk.dir)
		s.must(err)
		s.disk.injectFault(&faults[0], before, after, atSnapshot)
		s.crashed()
	}
}

// recovered checks a venue that has just started: all that was answered is there,
// and of the rest each group wholly or not at all.
func (s *sim) recovered() {
	extra := 0
	for p, err := range journal.Scan(s.disk.dir, s.group+1) {
		s.must(err)
		if extra++; extra > 1 || !bytes.Equal(p.Body, s.sent) {
			s.fail("group %d is none that was proposed last", p.Number)
		}
		s.replay(&p.Group)
	}
	s.res.Extra += extra
	seq, hash, err := s.e.Hash()
	s.must(err)
	if seq != s.at.Seq {
		s.fail("started at seq %d, the last answered is %d", seq, s.at.Seq)
	}
	proof, err := engine.Verify(s.disk.dir, nil)
	s.must(err)
	if proof.Seq != seq || proof.Hash != hash {
		s.fail("the venue is at seq %d with hash %x, a replay at %d with %x", seq, hash, proof.Seq, proof.Hash)
	}
	s.t.line("life %d starts at seq %d, hash %x, %d groups nobody was told of", s.life, seq, hash[:6], extra)
	s.audit()
}

// replay sees a group that was found on disk.
func (s *sim) replay(g *journal.Group) {
	for cmd, err := range journal.Commands(g.Body) {
		s.must(err)
		s.at = core.Stamp{Seq: s.at.Seq + 1, Ts: max(g.Stamp, s.at.Ts+1)}
		s.observeBatch(s.at, cmd) // what came of it shows in the state
	}
	s.group = g.Number
}

// audit adds up all money and contracts again, and holds all there is to see against
// the model.
func (s *sim) audit() {
	s.e.Read(func(v *venue.Venue, _ *view.View) {
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
		s.must(s.lanes.Look(s.at, s.model))
	}
}

// finish ends a run in good order, and proves what is left on disk.
func (s *sim) finish() {
	s.settle()
	s.repair()
	s.disk.left = -1
	s.pass(3 * time.Second)
	s.audit()
	seq, hash, err := s.e.Hash()
	s.must(err)
	if s.lanes != nil {
		s.must(s.lanes.Finish(s.at, s.model))
		s.lanes.Cut()
		synctest.Wait()
	}
	s.gate.open()
	s.rests.Add(1)
	s.must(s.e.Close(context.Background()))
	s.shut()
	proof, err := engine.Verify(s.disk.dir, nil)
	s.must(err)
	if proof.Seq < seq {
		s.fail("closed at seq %d, on disk %d", seq, proof.Seq)
	}
	s.t.line("ends at seq %d, hash %x", seq, hash[:6])
	s.kept.settle(s)
	s.must(os.RemoveAll(s.disk.dir))
}
