package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// Errors of Submit. After ErrShed, ErrDraining and ErrRevoked the command was not executed.
// After ErrUnknown it is in the log's hands and its outcome is not known
// (docs/rules/errors.md#sequencing_timeout).
var (
	ErrShed     = errors.New("shed")
	ErrDraining = errors.New("draining")
	ErrUnknown  = errors.New("sequencing_timeout")
	ErrRevoked  = errors.New("the key was revoked")
	ErrStopped  = errors.New("the sequencer has stopped")
)

// Options of Open. Dir is required, everything else has a default.
type Options struct {
	Dir             string
	Node            uint32
	Queue           int           // commands that may wait; default 4096
	CheckpointEvery time.Duration // default one minute, while commands come
	SnapshotEvery   Backlog       // when a snapshot is written; the default keeps a replay within about 10 s
	Caps            view.RetentionCaps
	Now             func() int64                       // ns; default the wall clock
	Progress        func(Progress)                     // of a start, often; it must return at once
	Logf            func(msg string, args ...any)      // what an operator should know; default none
	Free            func() (uint64, error)             // bytes left on the disk; default that of Dir
	OpenLog         func(journal.Options) (Log, error) // default: the embedded log in Dir
}

// Progress is how far a start is.
type Progress struct {
	Phase       Phase
	Done, Total uint64 // bytes, of Replaying groups
}

// Phase is what a start does.
type Phase string

const (
	Loading   Phase = "loading the snapshot"
	Proving   Phase = "proving the journal"
	Replaying Phase = "replaying the journal"
)

// Log is what the engine asks of its log: the two calls of a sequencer, and where
// it stood when it was opened.
type Log interface {
	journal.Log
	Last() journal.Position
}

// Engine is one venue with its log.
type Engine struct {
	opt Options
	log Log

	mu          sync.RWMutex // venue, view, and what stands with them
	venue       *venue.Venue
	view        *view.View
	replayState replayState
	at          journal.Position // of the last applied group
	// hashing makes done.Hash; until it is over, that is none.
	hashing *pendingHash

	queue          queue
	nextDue        atomic.Int64               // when the clock alone makes something happen
	clockPending   atomic.Bool                // a Clock is on its way
	nextCheckpoint atomic.Pointer[checkpoint] // what the next one carries; nil while one is on its way
	pending        sync.Map                   // proposal → *group
	next           uint64                     // the next proposal; of the sequence goroutine alone
	keys           sync.Map                   // key id → *core.Key, those that are not revoked
	// onRevoke is called with the id of each key that is revoked; nil: there is none.
	onRevoke      atomic.Pointer[func(id string)]
	recentCallers recentCallers // of the sequence goroutine alone
	// revoking are the revocations under way; of the sequence goroutine alone.
	revoking []revocation
	tokens   sync.Map // SHA-256 of an account token → core.UserID
	space    diskSpace
	feed     batchFeed
	waiters  seqWaiters
	stats    Stats

	ready          chan struct{}
	readyOnce      sync.Once       // for ready
	runCtx         context.Context // until stop
	stop           context.CancelFunc
	stopped        chan struct{}
	failed         atomic.Pointer[error]
	snapshotToken  chan struct{}  // holds a token while a snapshot is written
	newestSnapshot lastSnapshot   // on disk; behind snapshotToken
	backlog        Backlog        // since the last snapshot was begun; of the applying goroutine alone
	snapshotJobs   sync.WaitGroup // snapshots that were started when they were due
}

// replayState is what the engine itself must remember over restarts.
type replayState struct {
	Proposals map[uint32]uint64 // the highest applied proposal of each node
	Seq       uint64            // of the last checkpoint
	Hash      [32]byte          // of the state there
	CheckedAt int64             // ns
}

// Open restores the newest snapshot, replays the log behind it, and starts the
// loop. It gives a *journal.Damage, or an error that names the seq, and starts
// nothing when what is on disk is not whole.
func Open(o Options) (*Engine, error) { return OpenContext(context.Background(), o) }

// OpenContext is Open that gives up when ctx ends before the log is replayed. Nothing
// on disk is changed by that.
func OpenContext(ctx context.Context, o Options) (*Engine, error) {
	o = o.withDefaults()
	e := &Engine{opt: o, ready: make(chan struct{}), stopped: make(chan struct{}), snapshotToken: make(chan struct{}, 1)}
	r, err := restore(o.Dir, o.Caps, o.progressOf(ctx, Loading))
	if err != nil {
		return nil, err
	}
	e.adopt(&r)
	start := r.snapshot.Position
	e.log, err = o.OpenLog(journal.Options{Now: o.Now, Start: start, Progress: o.progressOf(ctx, Proving)})
	if err != nil {
		return nil, err
	}
	e.feed.init()
	e.queue.init(o.Queue)
	e.setDue()
	e.nextCheckpoint.Store(&checkpoint{seq: e.replayState.Seq, hash: e.replayState.Hash, at: e.replayState.CheckedAt})
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
	return e, nil
}

// progressOf tells of the progress of a phase that is counted in bytes, and ends it with ctx.
func (o *Options) progressOf(ctx context.Context, p Phase) progressFunc {
	return func(done, total int64) error {
		o.Progress(Progress{p, uint64(done), uint64(total)})
		return ctx.Err()
	}
}

// adopt takes a restored state.
func (e *Engine) adopt(r *restored) {
	e.venue, e.view, e.replayState, e.at = r.venue, r.view, r.done, r.snapshot.Position
	e.newestSnapshot = lastSnapshot{Snapshot: r.snapshot}
	for k := range e.venue.Keys() {
		if !k.Revoked { // the first revision of the rules keeps those
			e.keys.Store(k.ID, &k)
		}
	}
	for u := range e.venue.Users() {
		e.tokens.Store(u.TokenHash, u.ID)
	}
}

func (o Options) withDefaults() Options {
	if o.Queue == 0 {
		o.Queue = 4096
	}
	if o.Free == nil {
		o.Free = func() (uint64, error) { return freeOf(o.Dir) }
	}
	if o.CheckpointEvery == 0 {
		o.CheckpointEvery = time.Minute
	}
	if o.SnapshotEvery == (Backlog{}) {
		o.SnapshotEvery = defaultSnapshotEvery
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Caps == (view.RetentionCaps{}) {
		o.Caps = view.DefaultRetentionCaps()
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixNano() }
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.OpenLog == nil {
		o.OpenLog = func(j journal.Options) (Log, error) {
			f, err := journal.Open(o.Dir, j)
			if err != nil {
				return nil, err // not f: a nil *File in a Log is no nil Log
			}
			if torn := f.Torn(); torn != nil {
				o.Logf("cut a group that was never whole", "file", torn.File, "offset", torn.Offset, "bytes", torn.Bytes)
			}
			return f, nil
		}
	}
	return o
}

// fail stops the engine for good, for the first reason given.
func (e *Engine) fail(err error) {
	if e.failed.CompareAndSwap(nil, &err) {
		e.opt.Logf("the sequencer stops", "err", err)
	}
	e.queue.close(ErrStopped)
	e.stop()
}

// Err tells why the engine stopped; nil while it runs, or when it was closed.
func (e *Engine) Err() error {
	if p := e.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// Stopped is closed when the engine has ended, by Close or by a failure.
func (e *Engine) Stopped() <-chan struct{} { return e.stopped }

// Close refuses what is new, lets what was taken finish, writes a snapshot if it fits
// into the time that ctx leaves, and closes the log.
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
	e.snapshotJobs.Wait()
	return errors.Join(err, e.log.Close())
}

// Drain refuses new commands with ErrDraining; those taken go on.
func (e *Engine) Drain() { e.queue.close(ErrDraining) }

// Draining tells whether new commands are refused.
func (e *Engine) Draining() bool { return e.queue.closedReason() != nil }

// Read runs f with venue and view at one seq. f must not keep what it is given.
func (e *Engine) Read(f func(v *venue.Venue, w *view.View)) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	f(e.venue, e.view)
}

// Key finds an API key, without a lock; nil if there is none of that id, or if it was
// revoked. The key must not be changed. A revocation shows before it is answered.
func (e *Engine) Key(id string) *core.Key {
	if k, ok := e.keys.Load(id); ok {
		return k.(*core.Key)
	}
	return nil
}

// OnRevoke has f called with the id of each key that is revoked from now on, before the
// revocation is answered. There is one f; it must be quick.
func (e *Engine) OnRevoke(f func(id string)) { e.onRevoke.Store(&f) }

// AccountByToken finds the account of a token by its SHA-256.
func (e *Engine) AccountByToken(hash [32]byte) (core.UserID, bool) {
	u, ok := e.tokens.Load(hash)
	if !ok {
		return 0, false
	}
	return u.(core.UserID), true
}

// Seq is the last applied command's.
func (e *Engine) Seq() uint64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.venue.Now().Seq
}

// Image takes an image of the venue, and runs f with the venue at the same seq. It keeps
// commands and readers out, for as long as it takes to copy accounts and resting orders.
func (e *Engine) Image(f func(v *venue.Venue)) (*venue.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.venue)
	return e.venue.Image()
}

// Hash is the state hash with the seq it is of.
func (e *Engine) Hash() (seq uint64, hash [32]byte, err error) {
	image, err := e.Image(func(v *venue.Venue) { seq = v.Now().Seq })
	if err == nil {
		hash, err = image.Hash()
	}
	return seq, hash, err
}
