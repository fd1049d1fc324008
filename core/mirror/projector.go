package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
	"duplex/core/view"
	"duplex/internal/backoff"
)

// The bounds of a batch: whichever comes first ends it.
const (
	batchRows = 1000
	batchTime = 50 * time.Millisecond
)

// syncEvery is the time between two syncs of the database while it is written. What a loss of power
// takes away is read from the journal again, which keeps it.
var syncEvery = time.Second // a variable for tests

// closeTimeout bounds the last commit and the last snapshot.
var closeTimeout = 3 * time.Second // a variable for tests

// caps are those of the projector's view, which only counts: its rows are in the database. Rounds
// has the usual cap, because a round that the view has dropped would lose its evidence if it
// changed again.
func caps() view.RetentionCaps {
	return view.RetentionCaps{
		Tape: 1, Terminal: 1, Rejects: 1, Fills: 1, Settlements: 1, Events: 1, Rounds: view.DefaultRetentionCaps().Rounds,
		Actions: 1, Routine: 1, Ledger: 1, AccountRounds: 1, Deposits: 1, Forecasts: 1,
	}
}

// project opens the database, brings the replica to its cursor, and projects until ctx ends or an
// error occurs.
func (m *Mirror) project(ctx context.Context, l Log) error {
	s, err := m.openForWriting(ctx)
	if err != nil {
		return err
	}
	m.writer.Store(true)
	defer func() {
		m.writer.Store(false)
		m.store.Store(nil)
		if err := s.close(); err != nil {
			m.o.Logf("cannot close the mirror's database", "err", err)
		}
	}()
	s.inject(m.o.fault)
	c, err := s.cursor(ctx)
	if err != nil {
		return err
	}
	m.opened(&c)
	r, err := m.replicaAt(ctx, l, &c)
	if err != nil {
		return err
	}
	if !c.found {
		if err := m.removeSnapshots(); err != nil {
			return err
		}
		if err := s.start(ctx, c); err != nil {
			return err
		}
		c.found = true
		m.opened(&c)
	}
	if err := s.sync(ctx); err != nil { // the process before may have ended without one
		return err
	}
	copied, err := readBackfill(ctx, s)
	if err != nil {
		return err
	}
	m.hasCopied(copied)
	m.store.Store(&s) // before the position, so that what it says can be read
	m.committed(c)
	m.synced(c.Number)
	m.hasSnapshot(m.newestSnapshot(c.Number))
	p := &projector{m: m, store: s, replica: r, at: c, written: r.At.Number, synced: c.Number, syncedAt: time.Now()}
	if m.Complete() {
		return p.run(ctx, l)
	}
	older := make(chan *olderBatch)
	p.older = older
	ctx, cancel := context.WithCancel(ctx)
	var copying sync.WaitGroup
	copying.Go(func() { newBackfiller(m, copied, c.since, older).run(ctx) })
	defer func() {
		cancel()
		copying.Wait()
	}()
	return p.run(ctx, l)
}

// opened records the build of the database. The position is that of the one before, unless it is the same.
func (m *Mirror) opened(c *cursor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !c.found || c.build != m.build {
		m.at = cursor{}
	}
	m.build = c.build
}

// snapshotDir is the folder of the projector's snapshots.
func (m *Mirror) snapshotDir() string { return filepath.Join(m.o.Dir, "snapshots") }

// removeSnapshots removes the snapshots of the database before: they may be of a history that the
// journal no longer has.
func (m *Mirror) removeSnapshots() error {
	paths, err := journal.Snapshots(m.snapshotDir())
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// newestSnapshot returns the number of the group at the newest of the projector's snapshots that is
// not after a group, 0 if there is none.
func (m *Mirror) newestSnapshot(number uint64) uint64 {
	paths, err := journal.Snapshots(m.snapshotDir())
	if err != nil {
		return 0 // the journal keeps more, then
	}
	for _, path := range paths {
		if n, ok := journal.SnapshotNumber(path); ok && n <= number {
			return n
		}
	}
	return 0
}

// replicaAt returns the state at the cursor. Without a cursor it sets one: at the first group of the
// log, or at the oldest snapshot of the journal that the log continues.
func (m *Mirror) replicaAt(ctx context.Context, l Log, c *cursor) (*replica.Replica, error) {
	if !c.found {
		r, err := oldestReplica(l, m.o.Journal)
		if err == nil {
			c.build, c.since = newBuild(), r.Venue.Now().Seq
			c.position = position{r.At, c.since}
		}
		return r, err
	}
	if last := l.Last(); c.Number > last.Number {
		err := fmt.Errorf("its cursor is at group %d, and the journal ends at %d", c.Number, last.Number)
		if m.o.Copied || m.isShared() { // another node, which has written them, has more of the log
			return nil, err // run tries again
		}
		return nil, fmt.Errorf("%w: %w. The journal was restored from a backup, or the database is of another venue. Run dx mirror rebuild", ErrOtherVenue, err)
	}
	r, err := m.nearestReplica(l, c.Number)
	if err != nil {
		return nil, err
	}
	if r.At.Number == c.Number && r.At.Chain != c.Chain {
		return nil, otherVenue(c)
	}
	if r.At.Number < c.Number {
		if err := replay(ctx, l, r, c.Number); err != nil {
			return nil, err
		}
	}
	if r.At.Chain != c.Chain || r.Venue.Now().Seq != c.Seq {
		return nil, otherVenue(c)
	}
	return r, nil
}

func otherVenue(c *cursor) error {
	return fmt.Errorf("%w: group %d of the journal has another running hash than the cursor. The database is of another venue, or of a journal that was restored from a backup and went on. Run dx mirror rebuild", ErrOtherVenue, c.Number)
}

// oldestReplica returns the oldest state from which the log can be read to its end.
func oldestReplica(l Log, dir string) (*replica.Replica, error) {
	if l.First() <= 1 {
		return replica.New(caps()), nil
	}
	return replica.Oldest(dir, l.First(), caps())
}

// nearestReplica returns the state of the newest snapshot that is not after a group: one of the
// projector, or of the journal. A snapshot of the projector that is damaged is left out; it only
// saves time.
func (m *Mirror) nearestReplica(l Log, number uint64) (best *replica.Replica, err error) {
	for _, dir := range []string{m.snapshotDir(), replica.SnapshotDir(m.o.Journal)} {
		paths, err := journal.Snapshots(dir)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if n, ok := journal.SnapshotNumber(path); !ok || n > number || best != nil && n <= best.At.Number {
				continue
			}
			r, err := replica.Load(path, caps(), nil)
			if err != nil {
				m.o.Logf("a snapshot is not used for the mirror", "file", path, "err", err)
				continue
			}
			best = r
			break
		}
	}
	first := l.First()
	switch {
	case best != nil && best.At.Number+1 >= first:
		return best, nil
	case first <= 1:
		return replica.New(caps()), nil
	}
	return nil, fmt.Errorf("%w: they begin at group %d, and the database is at %d. Run dx mirror rebuild", ErrTrimmed, first, number)
}

// replay applies the groups of the log up to a number.
func replay(ctx context.Context, l Log, r *replica.Replica, upto uint64) error {
	for g, err := range l.Tail(ctx, r.At) {
		if err != nil {
			return logError(err)
		}
		cmds, err := replica.Commands(&g)
		if err == nil {
			_, err = r.Apply(&g, cmds, nil)
		}
		if err != nil {
			return err
		}
		if g.Number >= upto {
			return nil
		}
	}
	return ctx.Err()
}

// logError gives an error of the log the mirror's meaning.
func logError(err error) error {
	switch {
	case errors.Is(err, journal.ErrOtherLog):
		return fmt.Errorf("%w: %w. Run dx mirror rebuild", ErrOtherVenue, err)
	case errors.Is(err, journal.ErrTrimmed):
		return fmt.Errorf("%w: %w. Run dx mirror rebuild", ErrTrimmed, err)
	}
	return err
}

// projector applies the log to its replica and hands the rows to the database. While one batch is
// written, the next one is filled.
type projector struct {
	m       *Mirror
	store   store
	replica *replica.Replica
	at      cursor // at the end of the batch handed over last

	older   <-chan *olderBatch // rows to write with the next batch; nil: none will come
	filling *batch
	spare   *batch
	writing chan error // the outcome of the batch being written; nil: none is
	written uint64     // number of the group at the newest snapshot

	synced   uint64 // number of the last group whose rows survive a loss of power
	syncedAt time.Time

	busy     bool          // commands waited for the venue while the batch was filled
	applying time.Duration // time spent on the batch

	temporary bool              // the database is not in use yet, so no snapshot may be written
	progress  func(done uint64) // called with the number of each group; may be nil
}

// decoded is a group with its commands.
type decoded struct {
	journal.Group
	commands []core.Command
	err      error
}

// run projects until ctx ends, and then commits what was applied and writes a snapshot.
func (p *projector) run(ctx context.Context, l Log) (err error) {
	readCtx, stopReading := context.WithCancel(ctx)
	from := p.at.position.Position // project may hand over older rows, and so write it, before a group is read
	groups := make(chan decoded, 256)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		p.read(readCtx, l, from, groups)
	}()
	defer func() {
		stopReading()
		<-reading
	}()
	p.filling, p.spare = newBatch(p.at.position), newBatch(p.at.position)
	p.replica.View.SetSink(p.filling)
	defer func() {
		p.replica.View.SetSink(nil)
		if p.writing != nil { // so that the database is not closed under it
			err = errors.Join(err, p.wait())
		}
	}()
	err = p.project(ctx, groups)
	if err == nil || errors.Is(err, journal.ErrClosed) {
		return errors.Join(err, p.finish())
	}
	return err
}

// read decodes the groups of the log behind a position.
func (p *projector) read(ctx context.Context, l Log, from journal.Position, to chan<- decoded) {
	defer close(to)
	for g, err := range l.Tail(ctx, from) {
		d := decoded{Group: g, err: logError(err)}
		if err == nil {
			d.commands, d.err = replica.Commands(&d.Group)
		}
		select {
		case to <- d:
		case <-ctx.Done():
			return
		}
	}
}

// project applies groups and hands over batches. It returns nil when ctx ends.
func (p *projector) project(ctx context.Context, groups <-chan decoded) error {
	flush := time.NewTimer(time.Hour)
	flush.Stop()
	due := time.Now().Add(p.m.o.SnapshotEvery)
	var begun time.Time // of the batch; zero: it is empty
	for {
		select {
		case d, ok := <-groups:
			switch {
			case !ok:
				return nil
			case d.err != nil:
				return d.err
			}
			if begun.IsZero() {
				begun = time.Now()
				flush.Reset(batchTime)
			}
			if err := p.apply(&d); err != nil {
				return err
			}
			p.filling.to = position{p.replica.At, p.replica.Venue.Now().Seq}
			if p.progress != nil {
				p.progress(d.Number)
			}
			if p.filling.rows < batchRows && time.Since(begun) < batchTime {
				continue
			}
		case p.filling.older = <-p.older:
			begun = cmp.Or(begun, time.Now())
		case err := <-p.writing: // nil, and so never ready, while none is written
			p.writing = nil
			if err != nil {
				return err
			}
			continue
		case <-flush.C:
		case <-ctx.Done():
			return nil
		}
		flush.Stop()
		if begun.IsZero() {
			continue
		}
		if err := p.handOver(ctx); err != nil {
			return err
		}
		if err := p.yield(ctx); err != nil {
			return err
		}
		begun = time.Time{}
		if time.Now().After(due) {
			if err := p.snapshot(ctx); err != nil {
				return err
			}
			due = time.Now().Add(p.m.o.SnapshotEvery)
		}
	}
}

// apply applies a group. It looks whether commands wait for the venue once for each group, because a
// venue at full load has an empty queue most of the time.
func (p *projector) apply(d *decoded) error {
	p.busy = p.busy || p.m.o.Busy()
	begun := time.Now()
	_, err := p.replica.Apply(&d.Group, d.commands, nil)
	p.applying += time.Since(begun)
	return err
}

// yieldShare is the pause of the projector while commands wait for the venue, as a multiple of the
// time that it worked: with 3 it takes a quarter of one processor.
const yieldShare = 3

// longestYield bounds the pause: a process that was stopped, or a database that stood still, was no work.
const longestYield = time.Second

// yield leaves the processor to the venue if commands waited for it while the batch was filled. It
// waits for the batch to be written, which is work as well.
func (p *projector) yield(ctx context.Context) error {
	worked := p.applying
	p.applying = 0
	if !p.busy {
		runtime.Gosched()
		return nil
	}
	p.busy = false
	begun := time.Now()
	err := p.wait()
	worked += time.Since(begun)
	begun = time.Now()
	backoff.Sleep(ctx, min(yieldShare*worked, longestYield))
	p.m.stats.paused.Add(int64(time.Since(begun)))
	return err
}

// handOver gives the batch to the database, once that has written the one before.
func (p *projector) handOver(ctx context.Context) error {
	if err := p.wait(); err != nil {
		return err
	}
	b := p.filling
	p.at.position = b.to
	if b.older != nil && b.older.found {
		p.at.since = b.older.to.since
	}
	p.filling, p.spare = p.spare, b
	p.filling.reset(b.to)
	p.replica.View.SetSink(p.filling)
	p.writing = make(chan error, 1)
	at, done := p.at, p.writing
	go func() { done <- p.write(ctx, b, at) }()
	return nil
}

// wait waits until no batch is being written.
func (p *projector) wait() error {
	if p.writing == nil {
		return nil
	}
	err := <-p.writing
	p.writing = nil
	return err
}

// write writes a batch, again and again while the error may pass.
func (p *projector) write(ctx context.Context, b *batch, at cursor) error {
	for wait := firstRetry; ; wait = min(2*wait, longestRetry) {
		begun := time.Now()
		err := p.store.write(ctx, at.build, b)
		if err == nil {
			p.m.wrote(b, at, time.Since(begun))
			if time.Since(p.syncedAt) < syncEvery {
				return nil
			}
			return p.sync(ctx, at.Number)
		}
		if isFinal(err) || errors.Is(err, errRebuilt) || errors.Is(err, errLeased) || ctx.Err() != nil {
			return err
		}
		p.m.failed(err)
		b.tried = true
		if !backoff.Sleep(ctx, backoff.Jitter(wait)) {
			return err
		}
	}
}

// sync makes the rows up to a group, which are committed, survive a loss of power. The caller must have no write in progress.
func (p *projector) sync(ctx context.Context, number uint64) error {
	if p.synced == number {
		return nil
	}
	if err := p.store.sync(ctx); err != nil {
		return err
	}
	p.synced, p.syncedAt = number, time.Now()
	p.m.synced(number)
	return nil
}

// wrote counts a batch.
func (m *Mirror) wrote(b *batch, at cursor, took time.Duration) {
	m.committed(at)
	if o := b.older; o != nil {
		m.hasCopied(o.to)
		close(o.written)
	}
	m.stats.commits.Add(1)
	m.stats.commitNs.Add(int64(took))
	for i := range schema {
		m.stats.rows[i].Add(uint64(b.count(&schema[i])))
	}
}

// finish commits the batch and writes a snapshot.
func (p *projector) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if p.filling.to != p.filling.from {
		if err := p.handOver(ctx); err != nil {
			return err
		}
	}
	return p.snapshot(ctx)
}

// snapshot writes the replica's state once the database has all its rows for good, so that it is
// never ahead of the cursor, not even after a loss of power. A snapshot that fails costs only the time of the next start.
func (p *projector) snapshot(ctx context.Context) error {
	if err := p.wait(); err != nil {
		return err
	}
	if p.temporary || p.replica.At.Number != p.at.Number || p.replica.At.Number == p.written {
		return nil
	}
	if err := p.sync(ctx, p.at.Number); err != nil {
		return err
	}
	if err := p.writeSnapshot(ctx); err != nil {
		p.m.o.Logf("the mirror's snapshot failed; the next start reads more of the journal", "err", err)
		return nil
	}
	p.written = p.replica.At.Number
	p.m.hasSnapshot(p.written)
	return nil
}

func (p *projector) writeSnapshot(ctx context.Context) error {
	im, err := p.replica.Image()
	if err != nil {
		return err
	}
	defer im.View.End(noLock{})
	w, err := journal.CreateSnapshot(p.m.snapshotDir(), im.Seq, im.At)
	if err != nil {
		return err
	}
	defer w.Abort()
	hash, err := im.Stream(w, noLock{}, ctx.Err, nil)
	if err == nil {
		_, err = w.Commit(hash)
	}
	return err
}

// noLock is the lock of a replica that nobody else uses.
type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}
