package replica

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"duplex/core/journal"
	"duplex/core/statecode"
	"duplex/core/venue"
	"duplex/core/view"
)

// A snapshot has three parts: the pieces of the venue, those of the view, and State as one
// piece of CBOR.

// SnapshotDir returns the folder of the snapshots in a journal's folder.
func SnapshotDir(dir string) string { return filepath.Join(dir, journal.SnapshotDir) }

var encoding, _ = cbor.CoreDetEncOptions().EncMode()

// Progress is called with the bytes done and in total. Its error ends the work.
type Progress func(done, total int64) error

// Restore loads the newest snapshot of the journal in dir; without one the state is empty.
// progress may be nil. A damaged snapshot is a *journal.Damage.
func Restore(dir string, caps view.RetentionCaps, progress Progress) (*Replica, error) {
	path, err := journal.LatestSnapshot(SnapshotDir(dir))
	if errors.Is(err, journal.ErrNoSnapshot) {
		return New(caps), nil
	}
	if err != nil {
		return nil, err
	}
	return Load(path, caps, progress)
}

// Oldest returns the oldest state that the log continues, whose first group has a number: the empty
// one for group 1, else that of a snapshot. Damaged snapshots are left out. first is 0 if the log has
// no group.
func Oldest(dir string, first uint64, caps view.RetentionCaps) (*Replica, error) {
	paths, err := journal.Snapshots(SnapshotDir(dir))
	if err != nil {
		return nil, err
	}
	if first == 1 || len(paths) == 0 {
		return New(caps), nil
	}
	for _, path := range slices.Backward(paths) {
		if n, ok := journal.SnapshotNumber(path); ok && n+1 < first {
			continue // the groups after it are trimmed
		}
		r, err := Load(path, caps, nil)
		if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
			continue
		}
		return r, err
	}
	return nil, fmt.Errorf("the log begins at group %d, and no snapshot covers the groups before it", first)
}

// Load restores a snapshot. It refuses a state that does not have the snapshot's hash. progress
// may be nil.
func Load(path string, caps view.RetentionCaps, progress Progress) (*Replica, error) {
	in, err := journal.OpenSnapshot(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r := &Replica{}
	hash, err := r.read(in, caps, progress)
	if err == nil {
		r.Snapshot, err = in.Finish()
	}
	if err == nil && hash != r.Snapshot.StateHash {
		err = errors.New("the state does not have the hash that the snapshot names")
	}
	if err != nil {
		if damage := (*journal.Damage)(nil); !errors.As(err, &damage) {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return nil, err
	}
	if r.State.Proposals == nil {
		r.State.Proposals = map[uint32]uint64{}
	}
	r.At = r.Snapshot.Position
	return r, nil
}

func (r *Replica) read(in *journal.SnapshotReader, caps view.RetentionCaps, progress Progress) (hash [32]byte, err error) {
	part := func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			for b, err := range in.Part() {
				if err == nil && progress != nil {
					err = progress(in.Progress())
				}
				if !yield(b, err) {
					return
				}
			}
		}
	}
	if r.Venue, hash, err = venue.RestorePieces(part()); err != nil {
		return hash, err
	}
	if r.View, err = view.Restore(part(), caps); err != nil {
		return hash, err
	}
	for b, err := range part() {
		if err == nil {
			err = statecode.Unmarshal(b, &r.State)
		}
		if err != nil {
			return hash, err
		}
	}
	return hash, nil
}

// Image is a copy of a replica at one seq.
type Image struct {
	Seq   uint64
	At    journal.Position
	Venue *venue.Image
	View  *view.Image
	State State // Stream writes it last, so that its Hash may be set until then
}

// Image copies the state. Only one image of the view may exist at a time; View.End ends it. The
// caller holds the lock that keeps groups out.
func (r *Replica) Image() (im *Image, err error) {
	im = &Image{Seq: r.Venue.Now().Seq, At: r.At, State: r.State}
	im.State.Proposals = maps.Clone(r.State.Proposals)
	if im.Venue, err = r.Venue.Image(); err == nil {
		im.View = r.View.Image()
	}
	return im, err
}

// Sink takes the parts of a snapshot; *journal.SnapshotWriter is one.
type Sink interface {
	Piece([]byte) error
	EndPart() error
}

// Stream writes the image and returns the hash of the venue's state. It holds lock while it copies
// an account of the view. It calls check before each piece, and beforeState before the last part;
// their error ends the stream. beforeState may be nil.
func (im *Image) Stream(to Sink, lock view.Lock, check, beforeState func() error) (hash [32]byte, err error) {
	h := sha256.New()
	err = writePart(to, check, func(yield func([]byte, error) bool) {
		for b, err := range im.Venue.Pieces() {
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
	if err := writePart(to, check, im.View.Pieces(lock)); err != nil {
		return hash, err
	}
	if beforeState != nil {
		if err := beforeState(); err != nil {
			return hash, err
		}
	}
	b, err := encoding.Marshal(im.State)
	if err != nil {
		return hash, err
	}
	return hash, writePart(to, check, func(yield func([]byte, error) bool) { yield(b, nil) })
}

// writePart writes one part.
func writePart(to Sink, check func() error, pieces iter.Seq2[[]byte, error]) error {
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
