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

// A snapshot has three parts: the venue's state, the view's, and the engine's progress
// as one piece of CBOR.

// snapshotDir is where they lie beside the log.
func snapshotDir(dir string) string { return filepath.Join(dir, "snapshots") }

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

// ErrNoRoom: a snapshot would take the space that the log needs.
var ErrNoRoom = fmt.Errorf("%w: too little space on the disk for a snapshot", ErrShed)

// logRoom is the disk space, in bytes, that a snapshot must leave free: the log's next
// two segments.
const logRoom = 128 << 20

// Backlog is what a start would replay: what came since the newest snapshot was begun.
type Backlog struct {
	Groups, Commands uint64
	Applying         time.Duration // time that applying and hashing took
}

// defaultSnapshotEvery keeps a replay within about 10 s: a replay takes about as long as
// applying did, and reads some 100,000 groups and 500,000 commands a second.
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
	took time.Duration // 0: it was not written by this process
}

// Snapshot writes the state to disk and lets the log trim what the snapshot before
// it covers, so that there is always one more to prove the newest by. It gives the
// seq it covers. Reads and commands go on while it is written; the sequencer waits only
// while the state is copied, of the view an account at a time.
func (e *Engine) Snapshot() (seq uint64, err error) {
	seq, _, err = e.SnapshotHash()
	return seq, err
}

// SnapshotHash is Snapshot, and tells the hash of the state it keeps.
func (e *Engine) SnapshotHash() (seq uint64, hash [32]byte, err error) {
	s, err := e.snapshot(context.Background())
	return s.Seq, s.StateHash, err
}

// snapshot writes one snapshot at a time. When ctx ends it gives up, and leaves nothing
// on disk.
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
	if im.view == nil { // nothing has happened since the last one
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

// spaceCheck gives a function that tells, with the bytes written so far, whether the
// snapshot may go on.
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

// images are copies of what belongs to one seq.
type images struct {
	seq     uint64
	at      journal.Position
	venue   *venue.Image
	view    *view.Image // nil: there is a snapshot of this position
	done    replayState
	hashing *pendingHash
}

// captureImages copies what belongs to one seq. It takes the write lock, since an image
// of the venue may not be taken beside another.
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

// captureImagesLocked is captureImages without a look at what is on disk. The lock is held.
func (e *Engine) captureImagesLocked() (im *images, err error) {
	im = &images{seq: e.venue.Now().Seq, at: e.at, done: e.replayState, hashing: e.hashing}
	im.done.Proposals = maps.Clone(e.replayState.Proposals)
	if im.venue, err = e.venue.Image(); err == nil {
		im.view = e.view.Image()
	}
	return im, err
}

// sink takes a snapshot's parts.
type sink interface {
	Piece([]byte) error
	EndPart() error
}

// stream writes images and gives the hash of the venue's state.
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
		im.done.Hash = im.hashing.wait()
	}
	b, err := encoding.Marshal(im.done)
	if err != nil {
		return hash, err
	}
	return hash, writePart(to, check, func(yield func([]byte, error) bool) { yield(b, nil) })
}

// writePart writes a part.
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

// maybeSnapshot counts what was applied, and starts a snapshot once a replay of it
// would take too long. What a start replays is counted too, and waits for its end.
func (e *Engine) maybeSnapshot(commands int, applying time.Duration) {
	e.backlog.add(1, uint64(commands), applying)
	if !isClosed(e.ready) || !e.backlog.reaches(&e.opt.SnapshotEvery) {
		return
	}
	e.backlog = Backlog{}
	e.snapshotJobs.Go(func() {
		if _, err := e.snapshot(e.runCtx); err != nil && e.runCtx.Err() == nil {
			e.opt.Logf("snapshot failed; the log keeps everything", "err", err)
		}
	})
}

// closeMargin is what is left of the time of a stop for closing the log.
const closeMargin = time.Second

// finalSnapshot writes the snapshot of a stop if there is time for it. The log has
// everything, so that without one the next start only takes longer.
func (e *Engine) finalSnapshot(ctx context.Context) error {
	skipped := func(why string) {
		e.opt.Logf("no snapshot at the stop; the next start replays the log", "why", why)
	}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-closeMargin))
		defer cancel()
		if left, took := time.Until(end)-closeMargin, e.lastTook(); took > left && took > 0 {
			skipped(fmt.Sprintf("the last took %v, %v are left", took.Round(time.Millisecond), left.Round(time.Millisecond)))
			return nil
		}
	}
	_, err := e.snapshot(ctx)
	switch {
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		skipped("it did not fit into the time of a stop")
		return nil
	case errors.Is(err, ErrNoRoom) || errors.Is(err, syscall.ENOSPC):
		skipped("there is no room for it on the disk")
		return nil
	}
	return err
}

// lastTook is how long the newest snapshot took; 0 if that is not known.
func (e *Engine) lastTook() time.Duration {
	select {
	case e.snapshotToken <- struct{}{}:
		defer func() { <-e.snapshotToken }()
		return e.newestSnapshot.took
	default: // one is being written
		return 0
	}
}

// progressFunc is told how far something is, in bytes. Its error ends it.
type progressFunc func(done, total int64) error

// restored is the state that a start begins with.
type restored struct {
	venue    *venue.Venue
	view     *view.View
	done     replayState
	snapshot journal.Snapshot // zero: there is none
}

// restore loads the newest snapshot in dir, or makes an empty venue where there is
// none. Open and Verify both begin with it.
func restore(dir string, caps view.RetentionCaps, report progressFunc) (r restored, err error) {
	path, err := journal.LatestSnapshot(snapshotDir(dir))
	if errors.Is(err, journal.ErrNoSnapshot) {
		return restored{venue: venue.New(), view: view.New(caps), done: replayState{Proposals: map[uint32]uint64{}}}, nil
	}
	if err != nil {
		return r, err
	}
	return load(path, caps, report)
}

// load makes a venue of a snapshot, and proves that it is the one it says.
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
	if r.done.Proposals == nil {
		r.done.Proposals = map[uint32]uint64{}
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
			err = cbor.Unmarshal(b, &r.done)
		}
		if err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// oldBody is what a snapshot of version 1 holds.
type oldBody struct {
	_     struct{} `cbor:",toarray"`
	Venue []byte
	View  []byte
	Done  replayState
}

func (r *restored) readOld(body []byte, caps view.RetentionCaps) (hash [32]byte, err error) {
	var b oldBody
	if err := cbor.Unmarshal(body, &b); err != nil {
		return hash, err
	}
	var both errgroup.Group
	both.Go(func() (err error) { r.venue, err = venue.Restore(b.Venue); return })
	both.Go(func() (err error) { r.view, err = view.RestoreOld(b.View, caps); return })
	r.done = b.Done
	return sha256.Sum256(b.Venue), both.Wait()
}
