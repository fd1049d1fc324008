package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"duplex/core/journal"
	"duplex/internal/backoff"
	"duplex/internal/timeouts"
)

// Options of New. DSN, Dir and Journal are required, every other field has a default.
type Options struct {
	DSN     string // path of a SQLite database, or postgres://…
	Dir     string // folder of the projector's own snapshots
	Journal string // folder of the journal, for its snapshots

	// Copied says that the log is a follower's copy. After a loss of power it may end before the
	// database, until its newest groups have come again.
	Copied bool

	HoldBytes     int64                         // most bytes of the journal kept for the mirror alone; default 20 GiB
	SnapshotEvery time.Duration                 // least time between two snapshots; default 5 minutes
	Logf          func(msg string, args ...any) // messages for the operator; default none
	// Busy reports whether commands wait for the venue. The projector then pauses; default never.
	Busy func() bool

	// Others reads from the mirrors of the other nodes of a cluster, from which this one copies the rows
	// from before it began; nil: there are none, or those rows are lost. BackfillRate is the most bytes a
	// second that it copies; default 16 MiB.
	Others       Others
	BackfillRate int

	fault func(point string) error // see store.inject; nil: none
}

// DefaultHoldBytes is the default of Options.HoldBytes.
const DefaultHoldBytes = 20 << 30

// SQLitePath returns the path of the SQLite database in a data folder.
func SQLitePath(data string) string { return filepath.Join(data, "mirror", "history.db") }

// Log is the part of the journal that the mirror reads. *journal.File is one.
type Log interface {
	Tail(ctx context.Context, after journal.Position) iter.Seq2[journal.Group, error]
	Last() journal.Position
	First() uint64
	SegmentBytes(from, below uint64) (int64, error)
}

var _ Log = (*journal.File)(nil)

// Mirror is the database of a venue's history and the projector that writes it. Its methods may be
// called by any number of goroutines.
type Mirror struct {
	o      Options
	scan   scanLimits            // changed by tests alone
	limit  time.Duration         // of a read; changed by tests alone
	store  atomic.Pointer[store] // nil: no database is open
	stats  stats
	log    atomic.Pointer[Log]
	writer atomic.Bool  // it writes the database
	start  atomic.Int64 // stamp of the log's newest group when the projector started, or of one soon after if it was empty

	session atomic.Pointer[context.CancelFunc] // ends the projector's present use of the log

	mu       sync.Mutex // guards the fields below
	at       cursor     // committed
	durable  uint64     // number of the last group whose rows survive a loss of power
	snapshot uint64     // number of the group at the projector's newest snapshot; 0: there is none
	lastErr  error
	released bool  // HoldBytes was exceeded
	build    int64 // of the database opened last
	complete bool  // no other node has rows from before at.since

	cancel  context.CancelFunc
	done    chan struct{} // closed when the projector has ended; nil: it was not started
	stopped atomic.Pointer[error]
}

// New returns a mirror that does nothing yet. Hold may be called at once.
func New(o Options) *Mirror {
	o.HoldBytes = cmp.Or(o.HoldBytes, DefaultHoldBytes)
	o.SnapshotEvery = cmp.Or(o.SnapshotEvery, 5*time.Minute)
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.Busy == nil {
		o.Busy = func() bool { return false }
	}
	if o.fault == nil {
		o.fault = noFault
	}
	scan := defaultScan
	scan.first, scan.total = timeouts.Of(scan.first), timeouts.Of(scan.total)
	return &Mirror{o: o, scan: scan, limit: timeouts.Of(readTimeout)}
}

// Start starts the projector, which opens the database and follows the log until Close. It returns
// at once: a database that does not answer delays nobody.
func (m *Mirror) Start(l Log) {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.done = cancel, make(chan struct{})
	m.start.Store(l.Last().Stamp)
	m.log.Store(&l)
	go func() {
		defer close(m.done)
		m.run(ctx, l)
	}()
}

// Waits between two attempts after an error.
const (
	firstRetry   = 100 * time.Millisecond
	longestRetry = 10 * time.Second
)

// run opens the database and projects into it, again after each error that may pass.
func (m *Mirror) run(ctx context.Context, l Log) {
	wait := firstRetry
	for ctx.Err() == nil {
		begun := time.Now()
		err := m.runSession(ctx, l)
		switch {
		case ctx.Err() != nil:
			if err != nil && !errors.Is(err, context.Canceled) {
				m.o.Logf("the mirror has ended with an error; the next start continues where it was", "err", err)
			}
			return
		case err == nil || errors.Is(err, journal.ErrClosed): // the log has ended
			return
		case isFinal(err):
			m.stop(err)
			if !m.awaitRebuild(ctx) {
				return
			}
			m.resume()
			continue
		case errors.Is(err, errLeased): // the session has ended, and another node was quicker
			continue
		case errors.Is(err, errRebuilt):
			m.o.Logf("the mirror's database was replaced; it is opened again")
		}
		m.failed(err)
		if time.Since(begun) > time.Minute {
			wait = firstRetry
		}
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return
		}
		wait = min(2*wait, longestRetry)
	}
}

// runSession runs a session that Hold can end.
func (m *Mirror) runSession(ctx context.Context, l Log) error {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	m.session.Store(&cancel)
	err := m.project(own, l)
	if stopped := m.Err(); stopped != nil && ctx.Err() == nil {
		return stopped // by Hold
	}
	return err
}

// endSession releases the log.
func (m *Mirror) endSession() {
	if cancel := m.session.Load(); cancel != nil {
		(*cancel)()
	}
}

// isFinal reports whether an error stops the projector for good.
func isFinal(err error) bool {
	for _, final := range []error{ErrOtherProjector, ErrOtherVenue, ErrNewerSchema, ErrTrimmed, ErrUnsynced} {
		if errors.Is(err, final) {
			return true
		}
	}
	damage := (*journal.Damage)(nil)
	return errors.As(err, &damage)
}

// rebuildCheck is the time between two looks for a database that was built anew.
var rebuildCheck = 5 * time.Second // a variable for tests

// awaitRebuild waits until another database is in the place of the one with which the mirror has
// stopped. It returns false if ctx ends first, or if the stop has no such remedy.
func (m *Mirror) awaitRebuild(ctx context.Context) bool {
	m.mu.Lock()
	build := m.build
	m.mu.Unlock()
	for backoff.Sleep(ctx, rebuildCheck) {
		if _, err := os.Stat(m.o.DSN + unsyncedSuffix); err == nil {
			continue // it is refused still
		}
		s, c, err := openExisting(ctx, m.o, forReading)
		if err != nil {
			continue
		}
		if err := s.close(); err == nil && c.build != build {
			return true
		}
	}
	return false
}

// resume forgets why the mirror had stopped, and where the database was that has been replaced.
func (m *Mirror) resume() {
	m.mu.Lock()
	m.released, m.at = false, cursor{}
	m.mu.Unlock()
	m.stopped.Store(nil)
	m.o.Logf("the mirror continues with a database that was built anew")
}

func (m *Mirror) stop(err error) {
	if m.stopped.CompareAndSwap(nil, &err) {
		m.o.Logf("the mirror stops; the venue continues without it, and what memory no longer has is history_behind", "err", err)
	}
}

// failed records an error that may pass.
func (m *Mirror) failed(err error) {
	m.stats.errors.Add(1)
	m.mu.Lock()
	first := m.lastErr == nil || m.lastErr.Error() != err.Error()
	m.lastErr = err
	m.mu.Unlock()
	if first {
		m.o.Logf("the mirror cannot write; it tries again", "err", err)
	}
}

// committed records how far the database is.
func (m *Mirror) committed(c cursor) {
	m.mu.Lock()
	failed := m.lastErr != nil
	m.at, m.lastErr = c, nil
	m.mu.Unlock()
	if failed {
		m.o.Logf("the mirror's database works again")
	}
}

// hasCopied records how far rows from before have been copied.
func (m *Mirror) hasCopied(f backfill) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.complete = f.complete
}

// synced records how far the database survives a loss of power.
func (m *Mirror) synced(number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.durable = number
}

// hasSnapshot records the projector's newest snapshot.
func (m *Mirror) hasSnapshot(number uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.snapshot = number
}

// Err returns the reason why the projector has stopped for good, nil if it has not.
func (m *Mirror) Err() error {
	if p := m.stopped.Load(); p != nil {
		return *p
	}
	return nil
}

// LastError returns the last error since the last commit, or the one that stopped the projector.
func (m *Mirror) LastError() error {
	if err := m.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lastErr
}

// Position returns the seq of the last command whose rows are in the database, and the position of
// its group. Both are 0 before the database is open.
func (m *Mirror) Position() (seq uint64, at journal.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at.Seq, m.at.Position
}

// Written returns the seq of the last command whose rows are in the database, and the stamp of its group, in ns. Both
// are 0 before the database is open.
func (m *Mirror) Written() (seq uint64, stamp int64) {
	seq, at := m.Position()
	return seq, at.Stamp
}

// Since returns the seq up to which rows are missing: 0 if the mirror has them from the first
// command. ok is false if the database was never open.
func (m *Mirror) Since() (seq uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at.since, m.at.found
}

// Lag returns the time, by the stamps of the log, that the mirror is behind it. While the database has
// not been opened, where it stands is unknown, and Lag counts from the start of the projector.
func (m *Mirror) Lag() time.Duration {
	l := m.log.Load()
	if l == nil {
		return 0
	}
	_, at := m.Position()
	last := (*l).Last()
	if at.Stamp == 0 {
		m.start.CompareAndSwap(0, last.Stamp) // the log was empty
		at.Stamp = m.start.Load()
	}
	if last.Number <= at.Number {
		return 0
	}
	return time.Duration(max(last.Stamp-at.Stamp, 0))
}

// Behind returns the number of groups of the log that the mirror does not have yet.
func (m *Mirror) Behind() uint64 {
	l := m.log.Load()
	if l == nil {
		return 0
	}
	_, at := m.Position()
	return max((*l).Last().Number, at.Number) - at.Number
}

// Hold returns the number below which the log may be trimmed, given the one below which the venue
// would trim it, where it has a snapshot: the mirror keeps the groups that it needs to continue after
// a crash or a loss of power. If they exceed HoldBytes, the mirror releases them and stops.
func (m *Mirror) Hold(below uint64) uint64 {
	l := m.log.Load()
	if l == nil { // the database is not open yet
		return 0
	}
	if m.Err() != nil && !m.holdsAfter(m.Err()) {
		m.stats.held.Store(0)
		return below
	}
	keep := m.needsFrom(below)
	held, err := (*l).SegmentBytes(keep, below)
	if err != nil {
		m.o.Logf("cannot tell how much of the journal is kept for the mirror", "err", err)
	}
	m.stats.held.Store(held)
	if held <= m.o.HoldBytes {
		return keep
	}
	m.mu.Lock()
	m.released = true
	m.mu.Unlock()
	m.stop(fmt.Errorf("%w: %d bytes of the journal were kept for it, more than the limit of %d. Run dx mirror rebuild", ErrTrimmed, held, m.o.HoldBytes))
	m.endSession()
	m.stats.held.Store(0)
	return below
}

// needsFrom returns the number of the first group, at most below, that a projector needs which starts
// with the rows that survive: the one behind the venue's snapshot, or behind its own newest one if the
// rows end before the venue's.
func (m *Mirror) needsFrom(below uint64) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.durable+1 >= below {
		return below
	}
	return min(below, m.snapshot+1)
}

// holdsAfter reports whether a mirror that has stopped can continue after a restart, so that its
// groups must be kept.
func (m *Mirror) holdsAfter(err error) bool { return !errors.Is(err, ErrTrimmed) }

// Released reports whether HoldBytes was exceeded, so that only a rebuild helps.
func (m *Mirror) Released() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.released
}

// Wait returns how long the mirror is likely to need until it has the rows of every command up to
// seq: 0 if it has them.
func (m *Mirror) Wait(seq uint64) time.Duration {
	if at, _ := m.Position(); at >= seq {
		return 0
	}
	return max(batchTime, min(m.Lag(), longestRetry))
}

// closeWait is the longest time that Close waits for a projector that is about to reach the end of
// the log.
const closeWait = time.Second

// Close ends the projector. It waits for a projector that has nearly reached the end of the log,
// commits what was read, and writes a snapshot of the state, unless ctx ends first; the next start
// then reads more of the log.
func (m *Mirror) Close(ctx context.Context) error {
	if m.done == nil {
		return nil
	}
	for end := time.Now().Add(closeWait); m.Behind() > 0 && m.LastError() == nil && time.Now().Before(end); {
		select {
		case <-m.done: // closed before: nothing catches up
			return nil
		default:
		}
		if !backoff.Sleep(ctx, 5*time.Millisecond) {
			break
		}
	}
	m.cancel()
	select {
	case <-m.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
