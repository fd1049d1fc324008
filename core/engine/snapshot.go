package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// A snapshot has three parts: the pieces of the venue, those of the view, and replayState as
// one piece of CBOR.

// snapshotDir is the folder of the snapshots in the journal's folder.
func snapshotDir(dir string) string { return filepath.Join(dir, "snapshots") }

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

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
// snapshot before it covers, so that a replay from that one can verify the new one. Reads and
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
	im, err := e.captureImages()
	if err != nil {
		return s, err
	}
	if im.view == nil { // nothing was applied since the newest snapshot
		if s = e.newestSnapshot.Snapshot; s.Number == 0 {
			s.Seq = im.seq
			s.StateHash, err = im.venue.Hash()
		}
		return s, err
	}
	if s, err = e.write(ctx, im); err != nil {
		return journal.Snapshot{}, fmt.Errorf("snapshot: %w", err)
	}
	e.stats.Snapshots.Add(1)
	before := e.newestSnapshot
	e.newestSnapshot = lastSnapshot{s, time.Since(begun)}
	return s, e.log.Trim(before.Number + 1)
}

func (e *Engine) write(ctx context.Context, im *images) (s journal.Snapshot, err error) {
	check := e.spaceCheck(ctx)
	defer im.view.End(e.mu.RLocker())
	if err := check(0); err != nil {
		return s, err
	}
	w, err := journal.CreateSnapshot(snapshotDir(e.opt.Dir), im.seq, im.at)
	if err != nil {
		return s, err
	}
	defer w.Abort()
	hash, err := im.stream(w, e.mu.RLocker(), func() error { return check(w.Bytes()) })
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

// images are copies of the state at one seq.
type images struct {
	seq         uint64
	at          journal.Position
	venue       *venue.Image
	view        *view.Image // nil: the newest snapshot is of this position
	replayState replayState
	hashing     *pendingHash
}

// captureImages copies the state. It takes the write lock, because only one image of the
// venue may be taken at a time.
func (e *Engine) captureImages() (im *images, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.at.Number == e.newestSnapshot.Number {
		im = &images{seq: e.venue.Now().Seq}
		im.venue, err = e.venue.Image()
		return im, err
	}
	return e.captureImagesLocked()
}

// captureImagesLocked copies the state, whatever is on disk. The caller holds the write lock.
func (e *Engine) captureImagesLocked() (im *images, err error) {
	im = &images{seq: e.venue.Now().Seq, at: e.at, replayState: e.replayState, hashing: e.hashing}
	im.replayState.Proposals = maps.Clone(e.replayState.Proposals)
	if im.venue, err = e.venue.Image(); err == nil {
		im.view = e.view.Image()
	}
	return im, err
}

// sink is the part of journal.SnapshotWriter that stream needs.
type sink interface {
	Piece([]byte) error
	EndPart() error
}

// stream writes the images and returns the hash of the venue's state. check runs before each
// piece; its error ends the stream.
func (im *images) stream(to sink, l view.Lock, check func() error) (hash [32]byte, err error) {
	h := sha256.New()
	err = writePart(to, check, func(yield func([]byte, error) bool) {
		for b, err := range im.venue.Pieces() {
			h.Write(b)
			if !yield(b, err) {
				return
			}
		}
	})
	if err != nil {
		return hash, err
	}
	h.Sum(hash[:0])
	if err := writePart(to, check, im.view.Pieces(l)); err != nil {
		return hash, err
	}
	if im.hashing != nil {
		im.replayState.Hash = im.hashing.wait()
	}
	b, err := encoding.Marshal(im.replayState)
	if err != nil {
		return hash, err
	}
	return hash, writePart(to, check, func(yield func([]byte, error) bool) { yield(b, nil) })
}

// writePart writes one part.
func writePart(to sink, check func() error, pieces iter.Seq2[[]byte, error]) error {
	for b, err := range pieces {
		if err == nil {
			err = check()
		}
		if err == nil {
			err = to.Piece(b)
		}
		if err != nil {
			return err
		}
	}
	return to.EndPart()
}

// maybeSnapshot adds to the backlog what was applied, and starts a snapshot in the background
// when the backlog reaches SnapshotEvery. A replay adds to the backlog too; its snapshot
// starts after the replay.
func (e *Engine) maybeSnapshot(commands int, applying time.Duration) {
	e.backlog.add(1, uint64(commands), applying)
	if !isClosed(e.ready) || !e.backlog.reaches(&e.opt.SnapshotEvery) {
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

// progressFunc is called with the bytes done and in total. Its error ends the work.
type progressFunc func(done, total int64) error

// restored is the state that a start begins with.
type restored struct {
	venue       *venue.Venue
	view        *view.View
	replayState replayState
	snapshot    journal.Snapshot // where the state is from; zero if there is none
}

// emptyState is the state before the first command.
func emptyState(caps view.RetentionCaps) restored {
	return restored{venue: venue.New(), view: view.New(caps), replayState: replayState{Proposals: map[uint32]uint64{}}}
}

// restore loads the newest snapshot in dir; without one the state is empty. Open and Verify
// both begin with it.
func restore(dir string, caps view.RetentionCaps, report progressFunc) (r restored, err error) {
	path, err := journal.LatestSnapshot(snapshotDir(dir))
	if errors.Is(err, journal.ErrNoSnapshot) {
		return emptyState(caps), nil
	}
	if err != nil {
		return r, err
	}
	return load(path, caps, report)
}

// load restores a snapshot. It refuses a state that does not have the snapshot's hash.
func load(path string, caps view.RetentionCaps, report progressFunc) (r restored, err error) {
	in, err := journal.OpenSnapshot(path)
	if err != nil {
		return r, err
	}
	defer in.Close()
	var hash [32]byte
	if body, old := in.Old(); old {
		hash, err = r.readOld(body, caps)
	} else {
		hash, err = r.read(in, caps, report)
	}
	if err == nil {
		r.snapshot, err = in.Finish()
	}
	if err == nil && hash != r.snapshot.StateHash {
		err = errors.New("the state does not have the hash that the snapshot names")
	}
	if damage := (*journal.Damage)(nil); err != nil && !errors.As(err, &damage) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	if r.replayState.Proposals == nil {
		r.replayState.Proposals = map[uint32]uint64{}
	}
	return r, err
}

func (r *restored) read(in *journal.SnapshotReader, caps view.RetentionCaps, report progressFunc) (hash [32]byte, err error) {
	part := func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for b, err := range in.Part() {
				if err == nil && report != nil {
					err = report(in.Progress())
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}
	if r.venue, hash, err = venue.RestorePieces(part()); err != nil {
		return hash, err
	}
	if r.view, err = view.Restore(part(), caps); err != nil {
		return hash, err
	}
	for b, err := range part() {
		if err == nil {
			err = cbor.Unmarshal(b, &r.replayState)
		}
		if err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// oldBody is the body of a snapshot of version 1.
type oldBody struct {
	_           struct{} `cbor:",toarray"`
	Venue       []byte
	View        []byte
	ReplayState replayState
}

func (r *restored) readOld(body []byte, caps view.RetentionCaps) (hash [32]byte, err error) {
	var b oldBody
	if err := cbor.Unmarshal(body, &b); err != nil {
		return hash, err
	}
	var both errgroup.Group
	both.Go(func() (err error) { r.venue, err = venue.Restore(b.Venue); return })
	both.Go(func() (err error) { r.view, err = view.RestoreV1(b.View, caps); return })
	r.replayState = b.ReplayState
	return sha256.Sum256(b.Venue), both.Wait()
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
