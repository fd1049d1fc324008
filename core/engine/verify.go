package engine

import (
	"errors"
	"fmt"
	"path/filepath"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// HasJournal reports whether a folder holds a journal, or a part of one.
func HasJournal(dir string) bool {
	for _, part := range []string{"log/*.wal", "snapshots/*.snapshot", "MARK"} {
		if found, _ := filepath.Glob(filepath.Join(dir, part)); len(found) > 0 {
			return true
		}
	}
	return false
}

// Proof is what Verify found whole.
type Proof struct {
	Groups, Commands uint64
	Seq              uint64   // of the last command
	Hash             [32]byte // of the state there
	From             uint64   // seq of the snapshot the replay began at; 0: from nothing
	Snapshots        int      // compared on the way
	Actions          uint64   // of operators and accounts, since the first command
	Torn             *journal.Torn
	Damaged          []error // of an older snapshot, which no start reads
}

// Failure names the first seq that does not hold.
type Failure struct {
	Seq uint64
	Err error
}

func (f *Failure) Error() string { return fmt.Sprintf("seq %d: %v", f.Seq, f.Err) }
func (f *Failure) Unwrap() error { return f.Err }

// Verify replays the journal in dir without changing it. It refuses what Open refuses,
// by the same functions: the newest snapshot is restored and the log proved against it
// and its mark. Beyond that it compares every checkpoint and the state hash of every
// snapshot, and the money after every command, with a full audit at each snapshot and at
// the end. It gives a *Failure with the first bad seq, or a *journal.Damage with file and
// offset. each is told how many groups were replayed.
func Verify(dir string, each func(done uint64)) (p Proof, err error) {
	newest, err := restore(dir, view.DefaultRetentionCaps(), nil)
	if err != nil {
		return p, err
	}
	start := newest.snapshot.Position
	newest = restored{} // its memory is wanted for the replay
	marks, err := snapshotsByGroup(dir, &p)
	if err != nil {
		return p, err
	}
	e := &Engine{}
	e.feed.init()
	oldest, err := restoreOldest(dir, marks, start)
	if err != nil {
		return p, err
	}
	e.adopt(&oldest)
	p.From = oldest.snapshot.Seq
	for at, err := range journal.Check(dir, start, oldest.snapshot.Number+1) {
		if torn := (*journal.Torn)(nil); errors.As(err, &torn) {
			p.Torn = torn
			break
		}
		if err != nil {
			return p, e.failure(err)
		}
		if at.Number != e.at.Number+1 {
			return p, e.failure(fmt.Errorf("%s: group %d where %d should be", at.File, at.Number, e.at.Number+1))
		}
		if err := e.replayGroup(&at.Group, &p); err != nil {
			return p, e.failure(fmt.Errorf("%s, offset %d: %w", at.File, at.Offset, err))
		}
		if err := e.compareSnapshot(marks, &p); err != nil {
			return p, e.failure(err)
		}
		if each != nil {
			each(p.Groups)
		}
	}
	if err := e.audit(); err != nil {
		return p, e.failure(err)
	}
	p.Seq, p.Actions = e.venue.Now().Seq, e.view.ActionCount()
	p.Hash, err = e.venue.Hash()
	return p, err
}

// NewMark writes the mark of the journal in dir anew, where it is lost or damaged and all
// else is whole. It gives the number of the last group that is there: whether there were
// more, nobody can tell any more.
func NewMark(dir string) (last uint64, err error) {
	newest, err := restore(dir, view.DefaultRetentionCaps(), nil)
	if err != nil {
		return 0, err
	}
	at, err := journal.NewMark(dir, newest.snapshot.Position)
	return at.Number, err
}

func (e *Engine) failure(err error) error { return &Failure{Seq: e.venue.Now().Seq + 1, Err: err} }

// landmark is a snapshot to compare with.
type landmark struct {
	journal.Snapshot
	path string
}

// snapshotsByGroup are the snapshots of a directory, each proved, by the group they stand
// behind. A damaged one is left out and noted: if it were the newest, restore would have
// refused it, and a start reads no other.
func snapshotsByGroup(dir string, p *Proof) (map[uint64]landmark, error) {
	paths, err := journal.Snapshots(snapshotDir(dir))
	if err != nil {
		return nil, err
	}
	marks := map[uint64]landmark{}
	for _, path := range paths {
		s, err := journal.ProveSnapshot(path)
		if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
			p.Damaged = append(p.Damaged, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		marks[s.Number] = landmark{s, path}
	}
	return marks, nil
}

// restoreOldest is what a replay begins with: nothing where the log reaches back to its first
// group, else the oldest snapshot whose groups are all there.
func restoreOldest(dir string, marks map[uint64]landmark, start journal.Position) (restored, error) {
	first := uint64(0)
	for at, err := range journal.Scan(dir, 0) {
		if err != nil {
			break // the replay meets it again, and names it
		}
		first = at.Number
		break
	}
	if first <= 1 && (first == 1 || len(marks) == 0) {
		return restored{venue: venue.New(), view: view.New(view.DefaultRetentionCaps()), done: replayState{Proposals: map[uint32]uint64{}}}, nil
	}
	var oldest *landmark
	for _, s := range marks {
		if (first == 0 || s.Number+1 >= first) && (oldest == nil || s.Number < oldest.Number) {
			oldest = &s
		}
	}
	if oldest == nil {
		for _, err := range journal.Check(dir, start, 0) {
			if err != nil {
				return restored{}, err // what a start says of it
			}
			break
		}
		return restored{}, fmt.Errorf("the log begins at group %d and no snapshot reaches it", first)
	}
	return load(oldest.path, view.DefaultRetentionCaps(), nil)
}

func (e *Engine) replayGroup(g *journal.Group, p *Proof) error {
	cmds, err := e.commandsOf(g)
	if err != nil {
		return err
	}
	p.Groups++
	p.Commands += uint64(len(cmds))
	return e.applyGroup(g, cmds, &Batch{Number: g.Number})
}

// compareSnapshot holds the state against a snapshot that stands behind this group.
func (e *Engine) compareSnapshot(marks map[uint64]landmark, p *Proof) error {
	s, ok := marks[e.at.Number]
	if !ok {
		return nil
	}
	hash, err := e.venue.Hash()
	if err != nil {
		return err
	}
	if hash != s.StateHash || s.Chain != e.at.Chain || s.Seq != e.venue.Now().Seq {
		return fmt.Errorf("the snapshot behind group %d has state %x, the replay %x", s.Number, s.StateHash, hash)
	}
	p.Snapshots++
	return e.audit()
}

func (e *Engine) audit() (err error) {
	defer func() {
		if b, ok := recover().(core.InvariantViolation); ok {
			err = b
		}
	}()
	e.venue.Audit()
	return nil
}
