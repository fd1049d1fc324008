package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/venue"
	"duplex/core/view"
)

// Errors of Submit. After ErrUnknown the log may hold the command; after any other the
// command was not executed and will not be (docs/rules/errors.md#sequencing_timeout).
var (
	ErrShed     = errors.New("shed")
	ErrDraining = errors.New("draining")
	ErrUnknown  = errors.New("sequencing_timeout")
	ErrRevoked  = errors.New("the key was revoked")
	ErrExpired  = errors.New("the command was delivered too long after it was signed")
	ErrRepeated = errors.New("the signed bytes were executed before")
	ErrStopped  = errors.New("the sequencer has stopped")
	ErrReadOnly = errors.New("this node takes no commands")
)

// Options of Open. Dir is required, every other field has a default.
type Options struct {
	Dir             string        // of the journal: log, mark and snapshots
	Node            uint32        // number of this node in a log of several, from 1 on; default 0
	Queue           int           // most commands that wait to be sequenced; default 4096
	CheckpointEvery time.Duration // least time between two checkpoints; default one minute
	SnapshotEvery   Backlog       // a snapshot is due at any of these; default: a replay of about 10 s
	Caps            view.RetentionCaps
	Now             func() int64                       // ns since the Unix epoch; default the wall clock
	Progress        func(Progress)                     // called often during a start; must not block
	Logf            func(msg string, args ...any)      // warnings for the operator; default none
	Info            func(msg string, args ...any)      // news for the operator, such as a snapshot; default none
	Free            func() (uint64, error)             // free bytes of the disk; default: of Dir's disk
	OpenLog         func(journal.Options) (Log, error) // default: the log of one machine in Dir
	// Members makes the engine a member of a log of several machines. It must not block. Nil: one
	// machine, on which the fields below have no effect.
	Members        func() Members
	MaxClockOffset time.Duration // from the members' median; default 250 ms
	StaleAfter     time.Duration // how long reads are served after the last contact with a leader; default 3 s
	Resign         func()        // gives the lead away, if this member has it; must not block; default none
	OnState        func(Status)  // called when the status has changed; must not block; default none
	// Follower makes the engine a follower of a log of several machines: it proposes nothing, refuses
	// every command with ErrReadOnly, and has no vote. It requires Members, whose Contact is how recent
	// the state of the node that it follows was, and whose Voters decide what is attested.
	Follower bool
	// Keep is how much of the log a replay can cover at least, once there is so much: a snapshot leaves
	// older ones and the groups after them. Default: the newest two snapshots.
	Keep time.Duration
	// Hold limits what a snapshot trims from the log: given the number below which it would, it
	// returns that number or a lower one. Default: no limit.
	Hold func(below uint64) uint64
	// Virtual is for a venue whose time does not pass by itself: whoever moves Now also submits each
	// Clock that is due. There are no checkpoints and no snapshots, which begin when the machine has
	// time for them, so that the log depends on nothing else and stays whole.
	Virtual bool
}

// Progress is how far a start has come.
type Progress struct {
	Phase       Phase
	Done, Total uint64 // bytes, or groups in the phase Replaying
}

// Phase is a step of a start.
type Phase string

const (
	Loading   Phase = "loading the snapshot"
	Proving   Phase = "proving the journal"
	Replaying Phase = "replaying the journal"
)

// Log is the log of an engine.
type Log = journal.Log

// Engine is a running venue. Its methods may be called by any number of goroutines.
type Engine struct {
	opt Options
	log Log

	mu      sync.RWMutex // guards the fields up to hashing
	replica *replica.Replica
	hashing *pendingHash // computes replica.State.Hash, which is not set before it is done

	queue          queue
	pending        sync.Map                   // proposal → *group, from persist to answer
	nextDue        atomic.Int64               // when the next Clock is due, ns
	clockPending   atomic.Bool                // a Clock is in the pipeline
	marks          atomic.Int64               // that the venue keeps
	activated      atomic.Bool                // a revision of the rules is in force
	nextCheckpoint atomic.Pointer[checkpoint] // for the next Checkpoint; nil while one is in the pipeline

	member       *member                     // nil on one machine
	clock        *anchoredClock              // nil on one machine
	applied      atomic.Uint64               // number of the last applied group; of a member
	attestations *attestations               // nil on one machine
	nextAttest   atomic.Pointer[core.Attest] // to be proposed; nil: none
	suspect      atomic.Bool

	next, lastOfLife uint64        // the next proposal and the last of this life; used by the sequencer alone, once it runs
	firstProposal    atomic.Uint64 // of this run; 0: during the replay
	recentCallers    recentCallers // used by the sequencer alone

	keys     sync.Map                        // key id → *core.Key; revoked keys are not in it
	tokens   sync.Map                        // SHA-256 of an account token → core.UserID
	owners   sync.Map                        // core.UserID of an agent → core.UserID of its owner
	onRevoke atomic.Pointer[func(id string)] // nil: nothing is called
	numbered sync.Map                        // core.KeyNumber → *core.Key, of a member of several machines

	lines lines

	onForeign atomic.Pointer[func([]core.Command)] // nil: nothing is called
	space     diskSpace
	feed      batchFeed
	waiters   seqWaiters
	stats     Stats

	ready     chan struct{} // closed when the replay has ended
	readyOnce sync.Once
	runCtx    context.Context // ends with stop
	stop      context.CancelFunc
	stopped   chan struct{} // closed when run has returned
	failed    atomic.Pointer[error]

	snapshotToken  chan struct{}  // holds a token while a snapshot is written
	newestSnapshot lastSnapshot   // guarded by snapshotToken
	backlog        Backlog        // since the last snapshot was begun; used by the applier alone
	snapshotJobs   sync.WaitGroup // snapshots in the background
	background     sync.WaitGroup // what ends with runCtx
}

// Open restores the newest snapshot, replays the log after it, and starts the pipeline. If
// the disk does not hold what was written, it starts nothing and returns a *journal.Damage or
// an error that names the seq (docs/rules/operation.md#journal).
func Open(o Options) (*Engine, error) { return OpenContext(context.Background(), o) }

// OpenContext is Open, and returns the error of ctx if ctx ends before the log is replayed.
// That loses nothing on disk.
func OpenContext(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	e := &Engine{opt: o, ready: make(chan struct{}), stopped: make(chan struct{}), snapshotToken: make(chan struct{}, 1)}
	e.lines.session = newSession()
	r, err := replica.Restore(o.Dir, o.Caps, o.progressOf(ctx, Loading))
	if err != nil {
		return nil, e.finalIfDamage(err)
	}
	e.adopt(r)
	start := r.Snapshot.Position
	if e.several() {
		e.clock = newAnchoredClock(o.Now)
		e.opt.Now = e.clock.Now
		e.attestations = &attestations{self: o.Node, members: o.Members, count: e.stats.countVerdict}
		e.member = newMember(e)
		e.applied.Store(start.Number)
	}
	e.log, err = o.OpenLog(journal.Options{Now: e.opt.Now, Start: start, Progress: o.progressOf(ctx, Proving)})
	if err != nil {
		return nil, e.finalIfDamage(err)
	}
	e.feed.init()
	e.queue.init(o.Queue)
	e.setDue()
	e.nextCheckpoint.Store(&checkpoint{seq: e.replica.State.Seq, hash: e.replica.State.Hash, at: e.replica.State.CheckedAt})
	e.runCtx, e.stop = context.WithCancel(context.Background())
	go e.run(e.runCtx, start.Number)
	select {
	case <-e.ready:
		err = e.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		e.stop()
		<-e.stopped
		return nil, errors.Join(err, e.log.Close())
	}
	if e.member != nil {
		e.member.update(time.Now())
		e.background.Go(func() { e.member.run(e.runCtx) })
	}
	return e, nil
}

// progressOf returns a function that reports the progress of a phase in bytes, and returns
// the error of ctx.
func (o *Options) progressOf(ctx context.Context, p Phase) replica.Progress {
	return func(done, total int64) error {
		o.Progress(Progress{p, uint64(done), uint64(total)})
		return ctx.Err()
	}
}

// adopt takes over a restored state.
func (e *Engine) adopt(r *replica.Replica) {
	e.replica, e.newestSnapshot = r, lastSnapshot{Snapshot: r.Snapshot}
	for k := range e.replica.Venue.Keys() {
		e.storeKey(&k)
	}
	for u := range e.replica.Venue.Users() {
		e.publishUser(&u)
	}
}

func (o Options) withDefaults() Options {
	o.Queue = cmp.Or(o.Queue, 4096)
	if o.Free == nil {
		o.Free = func() (uint64, error) { return freeOf(o.Dir) }
	}
	o.MaxClockOffset = cmp.Or(o.MaxClockOffset, 250*time.Millisecond)
	o.StaleAfter = cmp.Or(o.StaleAfter, 3*time.Second)
	o.CheckpointEvery = cmp.Or(o.CheckpointEvery, time.Minute)
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, defaultSnapshotEvery)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	o.Caps = cmp.Or(o.Caps, view.DefaultRetentionCaps())
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.Hold == nil {
		o.Hold = func(below uint64) uint64 { return below }
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.Info == nil {
		o.Info = func(string, ...any) {}
	}
	if o.OpenLog == nil {
		o.OpenLog = func(j journal.Options) (Log, error) {
			f, err := journal.Open(o.Dir, j)
			if err != nil {
				return nil, err // not f: a Log that holds a nil *File is not nil
			}
			if torn := f.Torn(); torn != nil {
				o.Logf("cut a torn group from the end of the log; it was never answered", "file", torn.File, "offset", torn.Offset, "bytes", torn.Bytes)
			}
			return f, nil
		}
	}
	return o
}

// fail stops the engine for good. The first reason stays.
func (e *Engine) fail(err error) {
	if e.failed.CompareAndSwap(nil, &err) {
		e.opt.Logf("the sequencer stops: no further command is executed", "err", err)
	}
	e.queue.close(ErrStopped)
	e.stop()
}

// Err is the reason why the engine stopped: nil while it runs, and after Close.
func (e *Engine) Err() error {
	if p := e.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// Stopped is closed when the engine has stopped, by Close or by a failure.
func (e *Engine) Stopped() <-chan struct{} { return e.stopped }

// Close drains the engine, waits for the commands that are under way, writes a snapshot if
// there is time for it before ctx ends, and closes the log
// (docs/rules/operation.md#stopping).
func (e *Engine) Close(ctx context.Context) error {
	e.Drain()
	var err error
	if e.Err() == nil {
		if err = e.queue.waitDrained(ctx); err == nil {
			err = e.finalSnapshot(ctx)
		}
	}
	e.stop()
	<-e.stopped
	e.background.Wait()
	e.snapshotJobs.Wait()
	return errors.Join(err, e.log.Close())
}

// Drain refuses new commands with ErrDraining. Commands under way finish.
func (e *Engine) Drain() { e.queue.close(ErrDraining) }

// Due returns the venue time, in ns, at which a Clock is due next. With Options.Virtual whoever moves
// the time submits that Clock.
func (e *Engine) Due() int64 { return e.nextDue.Load() }

// Draining reports whether new commands are refused.
func (e *Engine) Draining() bool { return e.queue.closedReason() != nil }

// Read calls f with venue and view at one seq. f must change neither, and keep no reference
// to either. Commands wait while f runs, reads do not.
func (e *Engine) Read(f func(v *venue.Venue, w *view.View)) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	f(e.replica.Venue, e.replica.View)
}

// Log returns the log, for reading it.
func (e *Engine) Log() Log { return e.log }

// Key returns the API key of an id, nil if there is none or if it is revoked. The key is
// shared and read-only. A revoked key is gone before its revocation is answered
// (docs/rules/accounts.md#revocation). Key takes no lock.
func (e *Engine) Key(id string) *core.Key {
	if k, ok := e.keys.Load(id); ok {
		return k.(*core.Key)
	}
	return nil
}

// KeyNumbered is Key for the number of a key, on a member of several machines; on one machine it
// returns nil.
func (e *Engine) KeyNumbered(n core.KeyNumber) *core.Key {
	if k, ok := e.numbered.Load(n); ok {
		return k.(*core.Key)
	}
	return nil
}

func (e *Engine) storeKey(k *core.Key) {
	e.keys.Store(k.ID, k)
	if e.several() {
		e.numbered.Store(k.Number, k)
	}
}

// OnForeign sets the function that is called with the commands of each group that another member has
// just proposed, once they are applied. It must keep no reference to them, and must not block. A
// second call replaces the function.
func (e *Engine) OnForeign(f func([]core.Command)) { e.onForeign.Store(&f) }

// foreignFor is how old a group of another member may be for OnForeign. An older one is read while
// this member catches up.
const foreignFor = time.Second

// callForeign calls the function of OnForeign with the commands of a delivered group.
func (e *Engine) callForeign(g *journal.Group, cmds []core.Command) {
	if f := e.onForeign.Load(); f != nil && g.Node != e.opt.Node && e.opt.Now()-g.Stamp < int64(foreignFor) {
		(*f)(cmds)
	}
}

// OnRevoke sets the function that is called with the id of each revoked key, before the
// revocation is answered. It holds up the pipeline and so must not block. A second call
// replaces the function.
func (e *Engine) OnRevoke(f func(id string)) { e.onRevoke.Store(&f) }

// AccountByToken returns the account whose token has the given SHA-256; false if there is
// none.
func (e *Engine) AccountByToken(hash [32]byte) (core.UserID, bool) {
	u, ok := e.tokens.Load(hash)
	if !ok {
		return 0, false
	}
	return u.(core.UserID), true
}

// Owner returns the account to whose family u belongs: the owner of an agent, else u itself
// (docs/rules/agent-accounts.md#family). Owner takes no lock.
func (e *Engine) Owner(u core.UserID) core.UserID {
	if owner, ok := e.owners.Load(u); ok {
		return owner.(core.UserID)
	}
	return u
}

// Seq is the seq of the last applied command.
func (e *Engine) Seq() uint64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.replica.Venue.Now().Seq
}

// Image returns an image of the venue, and calls f with the venue at the same seq. Commands
// and readers wait while it copies accounts and resting orders.
func (e *Engine) Image(f func(v *venue.Venue)) (*venue.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.replica.Venue)
	return e.replica.Venue.Image()
}

// Hash returns the hash of the current state and its seq.
func (e *Engine) Hash() (seq uint64, hash [32]byte, err error) {
	image, err := e.Image(func(v *venue.Venue) { seq = v.Now().Seq })
	if err == nil {
		hash, err = image.Hash()
	}
	return seq, hash, err
}
