package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"duplex/core/journal"
	"duplex/core/replica"
)

// ErrNoRoom means that a snapshot would take the disk space that the log needs.
var ErrNoRoom = fmt.Errorf("%w: too little space on the disk for a snapshot", ErrShed)

// logRoom is the disk space, in bytes, that a snapshot must leave free: two segments of the
// log.
const logRoom = 128 << 20

// Backlog is the work that a replay of the log would take: everything since the newest
// snapshot was begun.
type Backlog struct {
	Groups, Commands uint64
	Applying         time.Duration // time that applying and hashing took
}

// defaultSnapshotEvery keeps a replay within about 10 s
// (docs/rules/operation.md#snapshots). A replay applies as fast as the pipeline did, and
// reads about 100,000 groups and 500,000 commands a second.
var defaultSnapshotEvery = Backlog{Groups: 200_000, Commands: 2_000_000, Applying: 4 * time.Second}

func (b *Backlog) add(groups, commands uint64, applying time.Duration) {
	b.Groups += groups
	b.Commands += commands
	b.Applying += applying
}

func (b *Backlog) reaches(max *Backlog) bool {
	return b.Groups >= max.Groups || b.Commands >= max.Commands || b.Applying >= max.Applying
}

// lastSnapshot is the newest snapshot on disk.
type lastSnapshot struct {
	journal.Snapshot
	took time.Duration // time to write it; 0 if another process did
}

// Snapshot writes the state to disk and returns its seq. Then it trims from the log what the
// snapshot before it covers and neither Options.Keep nor Options.Hold keeps, so that a replay from that one can verify the new one. Reads and
// commands go on while it is written. The pipeline waits while the venue is copied, and then
// for the copies of single accounts of the view. Errors: ErrNoRoom, or one of the disk.
func (e *Engine) Snapshot() (seq uint64, err error) {
	seq, _, err = e.SnapshotHash()
	return seq, err
}

// SnapshotHash is Snapshot, and also returns the hash of the state.
func (e *Engine) SnapshotHash() (seq uint64, hash [32]byte, err error) {
	s, err := e.snapshot(context.Background())
	return s.Seq, s.StateHash, err
}

// snapshot writes a snapshot, one at a time. If ctx ends first, it leaves nothing on disk.
func (e *Engine) snapshot(ctx context.Context) (s journal.Snapshot, err error) {
	select {
	case e.snapshotToken <- struct{}{}:
		defer func() { <-e.snapshotToken }()
	case <-ctx.Done():
		return s, ctx.Err()
	}
	begun := time.Now()
	im, err := e.capture()
	if err != nil {
		return s, err
	}
	if im.View == nil { // nothing was applied since the newest snapshot
		if s = e.newestSnapshot.Snapshot; s.Number == 0 {
			s.Seq = im.Seq
			s.StateHash, err = im.Venue.Hash()
		}
		return s, err
	}
	if s, err = e.write(ctx, im); err != nil {
		return journal.Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	e.stats.Snapshots.Add(1)
	before := e.newestSnapshot
	e.newestSnapshot = lastSnapshot{s, time.Since(begun)}
	e.opt.Info("snapshot written", "seq", s.Seq, "bytes", s.Bytes, "took_ms", e.newestSnapshot.took.Milliseconds())
	below, err := e.keptFrom(before.Number + 1)
	if err != nil {
		return s, err
	}
	return s, e.log.Trim(e.opt.Hold(below))
}

// keptFrom is the number of the first group that Options.Keep needs, at most below: the one after the
// oldest snapshot.
func (e *Engine) keptFrom(below uint64) (uint64, error) {
	if e.opt.Keep == 0 {
		return below, nil
	}
	paths, err := journal.Snapshots(replica.SnapshotDir(e.opt.Dir))
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		if n, ok := journal.SnapshotNumber(path); ok {
			below = min(below, n+1)
		}
	}
	return below, nil
}

func (e *Engine) write(ctx context.Context, im *image) (s journal.Snapshot, err error) {
	check := e.spaceCheck(ctx)
	defer im.View.End(e.mu.RLocker())
	if err := check(0); err != nil {
		return s, err
	}
	w, err := journal.CreateSnapshot(replica.SnapshotDir(e.opt.Dir), im.Seq, im.At)
	if err != nil {
		return s, err
	}
	defer w.Abort()
	w.Keep = e.opt.Keep
	hash, err := im.Stream(w, e.mu.RLocker(), func() error { return check(w.Bytes()) }, im.awaitHash)
	if l, ok := e.log.(interface{ Sync() error }); ok && err == nil && e.several() {
		err = l.Sync() // such a log is delivered before it is durable here, and must not end before the snapshot
	}
	if err != nil {
		return s, err
	}
	return w.Commit(hash)
}

// spaceCheck returns a function that takes the number of bytes written so far, and returns an
// error if the snapshot must stop: the disk lacks space, or ctx has ended.
func (e *Engine) spaceCheck(ctx context.Context) func(written int64) error {
	const every = 8 << 20
	next := int64(0)
	return func(written int64) error {
		if written >= next {
			next = written + every
			if free, err := e.opt.Free(); err == nil && free < logRoom {
				return ErrNoRoom
			}
		}
		return ctx.Err()
	}
}

// image is a copy of the state at one seq. If nothing was applied since the newest snapshot, its
// View is nil.
type image struct {
	*replica.Image
	hashing *pendingHash // of the last checkpoint; nil: the state has its hash
}

// awaitHash waits until the hash of the last checkpoint is computed, and adds it to the state.
func (im *image) awaitHash() error {
	if im.hashing != nil {
		im.State.Hash = im.hashing.wait()
	}
	return nil
}

// capture copies the state. It takes the write lock, because only one image of the venue may be
// taken at a time.
func (e *Engine) capture() (*image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.replica.At.Number == e.newestSnapshot.Number {
		im := &image{Image: &replica.Image{Seq: e.replica.Venue.Now().Seq}}
		var err error
		im.Venue, err = e.replica.Venue.Image()
		return im, err
	}
	return e.captureLocked()
}

// captureLocked copies the state, whatever is on disk. The caller holds the write lock.
func (e *Engine) captureLocked() (*image, error) {
	im, err := e.replica.Image()
	return &image{Image: im, hashing: e.hashing}, err
}

// maybeSnapshot adds to the backlog what was applied, and starts a snapshot in the background
// when the backlog reaches SnapshotEvery. A replay adds to the backlog too; its snapshot
// starts after the replay.
func (e *Engine) maybeSnapshot(commands int, applying time.Duration) {
	e.backlog.add(1, uint64(commands), applying)
	if e.opt.Virtual || !isClosed(e.ready) || !e.backlog.reaches(&e.opt.SnapshotEvery) {
		return
	}
	e.backlog = Backlog{}
	e.snapshotJobs.Go(func() {
		if _, err := e.snapshot(e.runCtx); err != nil && e.runCtx.Err() == nil {
			e.opt.Logf("the snapshot failed; nothing is lost, the next start replays more of the log", "err", err)
		}
	})
}

// closeMargin is the part of a stop's time that is kept for closing the log.
const closeMargin = time.Second

// finalSnapshot writes the snapshot of a stop if there is time for it. Without it nothing is
// lost: the next start replays more of the log.
func (e *Engine) finalSnapshot(ctx context.Context) error {
	if e.opt.Virtual {
		return nil
	}
	skipped := func(why string) {
		e.opt.Logf("stopped without a snapshot; the next start replays more of the log", "why", why)
	}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-closeMargin))
		defer cancel()
		if left, took := time.Until(end)-closeMargin, e.lastTook(); took > left && took > 0 {
			skipped(fmt.Sprintf("the last one took %v, and %v are left", took.Round(time.Millisecond), left.Round(time.Millisecond)))
			return nil
		}
	}
	_, err := e.snapshot(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		skipped("there was no time for it")
		return nil
	case errors.Is(err, ErrNoRoom) || errors.Is(err, syscall.ENOSPC):
		skipped("the disk has no space for it")
		return nil
	}
	return err
}

// lastTook is the time that the newest snapshot took to write, 0 if it is not known.
func (e *Engine) lastTook() time.Duration {
	select {
	case e.snapshotToken <- struct{}{}:
		defer func() { <-e.snapshotToken }()
		return e.newestSnapshot.took
	default: // one is being written
		return 0
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
