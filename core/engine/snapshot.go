package engine

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// body is what a snapshot holds. Its fields do not change: a part that grows does so
// within itself.
type body struct {
	_     struct{} `cbor:",toarray"`
	Venue []byte
	View  []byte
	Done  progress
}

// snapshots is where they lie beside the log.
func snapshots(dir string) string { return filepath.Join(dir, "snapshots") }

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

// Snapshot writes the state to disk and lets the log trim what the snapshot before
// it covers, so that there is always one more to prove the newest by. It gives the
// seq it covers. Reads and commands go on while it is made; the sequencer waits only
// while the state is copied, of the view an account at a time.
func (e *Engine) Snapshot() (seq uint64, err error) {
	seq, _, err = e.SnapshotHash()
	return seq, err
}

// SnapshotHash is Snapshot, and tells the hash of the state it keeps.
func (e *Engine) SnapshotHash() (seq uint64, hash [32]byte, err error) {
	e.snap.Lock()
	defer e.snap.Unlock()
	s, err := e.capture()
	if err != nil || s.Number == e.kept.Number {
		return s.Seq, s.StateHash, err
	}
	if err := journal.WriteSnapshot(snapshots(e.opt.Dir), s); err != nil {
		return 0, hash, fmt.Errorf("snapshot: %w", err)
	}
	e.stats.Snapshots.Add(1)
	before := e.kept
	e.kept = s.Position
	return s.Seq, s.StateHash, e.log.Trim(before.Number + 1)
}

// capture makes a snapshot of the state as it is at one seq. Commands wait while it
// is copied, not while it is encoded.
func (e *Engine) capture() (s journal.Snapshot, err error) {
	var b body
	venue, view, h, err := e.images(&s, &b.Done)
	if err != nil {
		return s, err
	}
	if b.View, err = view.Finish(e.mu.RLocker()); err != nil {
		return s, err
	}
	if b.Venue, err = venue.MarshalBinary(); err != nil {
		return s, err
	}
	if h != nil {
		b.Done.Hash = h.wait()
	}
	s.StateHash = sha256.Sum256(b.Venue)
	s.Body, err = encoding.Marshal(b)
	return s, err
}

// images copies what belongs to one seq.
func (e *Engine) images(s *journal.Snapshot, done *progress) (*venue.Image, *view.Image, *hashing, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	v, err := e.venue.Image()
	if err != nil {
		return nil, nil, nil, err
	}
	s.Seq, s.Position = e.venue.Now().Seq, e.at
	*done = e.done
	done.Proposals = maps.Clone(e.done.Proposals)
	return v, e.view.Image(), e.hashing, nil
}

// snapshotNowAndThen starts a snapshot every SnapshotEvery groups.
func (e *Engine) snapshotNowAndThen() {
	if e.behind++; e.behind < e.opt.SnapshotEvery {
		return
	}
	e.behind = 0
	go func() {
		if _, err := e.Snapshot(); err != nil {
			e.opt.Logf("snapshot failed; the log keeps everything", "err", err)
		}
	}()
}

// restore loads the newest snapshot, if there is one.
func (e *Engine) restore() (journal.Position, error) {
	s, err := journal.LatestSnapshot(snapshots(e.opt.Dir))
	if errors.Is(err, journal.ErrNoSnapshot) {
		return journal.Position{}, nil
	}
	if err != nil {
		return journal.Position{}, err
	}
	if e.venue, e.view, e.done, err = unpack(s, e.opt.Caps); err != nil {
		return journal.Position{}, fmt.Errorf("snapshot behind group %d: %w", s.Number, err)
	}
	e.at, e.kept = s.Position, s.Position
	for k := range e.venue.Keys() {
		e.keys.Store(k.ID, &k)
	}
	for u := range e.venue.Users() {
		e.tokens.Store(u.TokenHash, u.ID)
	}
	return s.Position, nil
}

// unpack makes a venue of a snapshot, and proves that it is the one it says.
func unpack(s journal.Snapshot, caps view.Caps) (v *venue.Venue, w *view.View, done progress, err error) {
	var b body
	if err = cbor.Unmarshal(s.Body, &b); err != nil {
		return
	}
	if sha256.Sum256(b.Venue) != s.StateHash {
		err = errors.New("state does not have the hash the snapshot names")
		return
	}
	var both errgroup.Group
	both.Go(func() (err error) { v, err = venue.Restore(b.Venue); return })
	both.Go(func() (err error) { w, err = view.Restore(b.View, caps); return })
	if err = both.Wait(); err != nil {
		return
	}
	if b.Done.Proposals == nil {
		b.Done.Proposals = map[uint32]uint64{}
	}
	return v, w, b.Done, nil
}
