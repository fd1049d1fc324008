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

// Errors of Submit. Shed, Draining and Revoked mean surely not done; Unknown means
// handed to the log with the outcome not known (contract core, Order of checks).
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
	SnapshotEvery   uint64        // groups between snapshots; default 200,000; 0 keeps the default
	Caps            view.Caps
	Now             func() int64                       // ns; default the wall clock
	Replayed        func(done, total uint64)           // progress of the replay, by group
	Logf            func(msg string, args ...any)      // what an operator should know; default none
	Free            func() (uint64, error)             // bytes left on the disk; default that of Dir
	OpenLog         func(journal.Options) (Log, error) // default: the embedded log in Dir
}

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

	mu    sync.RWMutex // venue, view, and what stands with them
	venue *venue.Venue
	view  *view.View
	done  progress
	at    journal.Position // of the last applied group
	// hashing makes done.Hash; until it is over, that is none.
	hashing *hashing

	queue   queue
	due     atomic.Int64               // when the clock alone makes something happen
	clock   atomic.Bool                // a Clock is on its way
	check   atomic.Pointer[checkpoint] // what the next one carries; nil while one is on its way
	pending sync.Map                   // proposal → *group
	next    uint64                     // the next proposal; of the sequence goroutine alone
	keys    sync.Map                   // key id → *core.Key
	lately  lately                     // of the sequence goroutine alone
	// revoking are the revocations under way; of the sequence goroutine alone.
	revoking []revocation
	tokens   sync.Map // SHA-256 of an account token → core.UserID
	space    space
	feed     feed
	waits    waits
	stats    Stats

	ready   chan struct{}
	once    sync.Once // for ready
	stop    context.CancelFunc
	stopped chan struct{}
	failed  atomic.Pointer[error]
	snap    sync.Mutex       // one snapshot at a time
	kept    journal.Position // of the newest snapshot on disk
	behind  uint64           // groups applied since the last snapshot was begun
}

// checkpoint is a state hash with its place and time.
type checkpoint struct {
	seq  uint64
	hash [32]byte
	at   int64
}

// progress is what the engine itself must remember over restarts.
type progress struct {
	Proposals map[uint32]uint64 // the highest applied proposal of each node
	Seq       uint64            // of the last checkpoint
	Hash      [32]byte          // of the state there
	CheckedAt int64             // ns
}

// Open restores the newest snapshot, replays the log behind it, and starts the
// loop. It gives a *journal.Damage, or an error that names the seq, and starts
// nothing when what is on disk is not whole.
func Open(o Options) (*Engine, error) {
	o = o.withDefaults()
	e := &Engine{opt: o, ready: make(chan struct{}), stopped: make(chan struct{})}
	e.done.Proposals = map[uint32]uint64{}
	e.venue, e.view = venue.New(), view.New(o.Caps)
	start, err := e.restore()
	if err != nil {
		return nil, err
	}
	e.log, err = o.OpenLog(journal.Options{Now: o.Now, Start: start})
	if err != nil {
		return nil, err
	}
	e.feed.init()
	e.queue.init(o.Queue)
	e.setDue()
	e.check.Store(&checkpoint{seq: e.done.Seq, hash: e.done.Hash, at: e.done.CheckedAt})
	ctx, cancel := context.WithCancel(context.Background())
	e.stop = cancel
	go e.run(ctx, start.Number)
	<-e.ready
	if err := e.Err(); err != nil {
		e.log.Close()
		return nil, err
	}
	return e, nil
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
	if o.SnapshotEvery == 0 {
		o.SnapshotEvery = 200_000
	}
	if o.Caps == (view.Caps{}) {
		o.Caps = view.DefaultCaps()
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
			if torn := f.Cut(); torn != nil {
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

// Close refuses what is new, lets what was taken finish, writes a snapshot and
// closes the log.
func (e *Engine) Close(ctx context.Context) error {
	e.Drain()
	var err error
	if e.Err() == nil {
		if err = e.queue.idle(ctx); err == nil {
			_, err = e.Snapshot()
		}
	}
	e.stop()
	<-e.stopped
	return errors.Join(err, e.log.Close())
}

// Drain refuses new commands with ErrDraining; those taken go on.
func (e *Engine) Drain() { e.queue.close(ErrDraining) }

// Draining tells whether new commands are refused.
func (e *Engine) Draining() bool { return e.queue.refusal() != nil }

// Read runs f with venue and view at one seq. f must not keep what it is given.
func (e *Engine) Read(f func(v *venue.Venue, w *view.View)) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	f(e.venue, e.view)
}

// Key finds an API key, without a lock; nil if there is none of that id. The key
// must not be changed. A revocation shows before it is answered.
func (e *Engine) Key(id string) *core.Key {
	if k, ok := e.keys.Load(id); ok {
		return k.(*core.Key)
	}
	return nil
}

// Holder finds the account of a token by its SHA-256.
func (e *Engine) Holder(hash [32]byte) (core.UserID, bool) {
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

// Hash is the state hash with the seq it is of.
func (e *Engine) Hash() (seq uint64, hash [32]byte, err error) {
	e.mu.RLock()
	image, err := e.venue.Image()
	seq = e.venue.Now().Seq
	e.mu.RUnlock()
	if err == nil {
		hash, err = image.Hash()
	}
	return seq, hash, err
}
