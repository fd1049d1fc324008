package engine

import (
	"errors"
	"fmt"
	"path/filepath"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/replica"
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

// Proof is what Verify has verified.
type Proof struct {
	Groups, Commands uint64        // replayed
	Seq              uint64        // of the last command
	Hash             [32]byte      // of the state at Seq
	From             uint64        // seq of the snapshot that the replay began with; 0: the empty state
	Snapshots        int           // compared with the replay
	Actions          uint64        // of operators and accounts, since the first command
	Torn             *journal.Torn // the torn end of the log, which a start cuts; nil: none
	Damaged          []error       // damage of older snapshots, which no start reads
}

// Failure is the first seq at which the journal and its replay disagree.
type Failure struct {
	Seq uint64
	Err error
}

func (f *Failure) Error() string { return fmt.Sprintf("seq %d: %v", f.Seq, f.Err) }
func (f *Failure) Unwrap() error { return f.Err }

// Verify replays the journal in dir without changing it (docs/rules/operation.md#verify). It
// refuses what Open refuses, by the same functions: it restores the newest snapshot and
// verifies the log against the snapshot and the mark. It also compares every checkpoint and
// the state hash of every snapshot, checks the money after every command, and audits it at
// each snapshot and at the end. The error is a *Failure with the first bad seq, or a
// *journal.Damage with file and offset. Verify calls each, unless it is nil, with the number
// of groups replayed so far.
func Verify(dir string, each func(done uint64)) (p Proof, err error) {
	newest, err := replica.Restore(dir, view.DefaultRetentionCaps(), nil)
	if err != nil {
		return p, err
	}
	start := newest.Snapshot.Position
	newest = nil // frees its memory for the replay
	snapshots, err := snapshotsByGroup(dir, &p)
	if err != nil {
		return p, err
	}
	e := &Engine{}
	e.feed.init()
	oldest, err := restoreOldest(dir, snapshots, start)
	if err != nil {
		return p, err
	}
	e.adopt(oldest)
	p.From = oldest.Snapshot.Seq
	for at, err := range journal.Check(dir, start, oldest.Snapshot.Number+1) {
		if torn := (*journal.Torn)(nil); errors.As(err, &torn) {
			p.Torn = torn
			break
		}
		if err != nil {
			return p, e.failure(err)
		}
		if at.Number != e.replica.At.Number+1 {
			return p, e.failure(fmt.Errorf("%s: group %d found, want group %d", at.File, at.Number, e.replica.At.Number+1))
		}
		if err := e.replayGroup(&at.Group, &p); err != nil {
			return p, e.failure(fmt.Errorf("%s, offset %d: %w", at.File, at.Offset, err))
		}
		if err := e.compareSnapshot(snapshots, &p); err != nil {
			return p, e.failure(err)
		}
		if each != nil {
			each(p.Groups)
		}
	}
	if err := e.audit(); err != nil {
		return p, e.failure(err)
	}
	p.Seq, p.Actions = e.replica.Venue.Now().Seq, e.replica.View.ActionCount()
	p.Hash, err = e.replica.Venue.Hash()
	return p, err
}

// NewMark writes a new mark for the journal in dir, whose mark is lost or damaged, and returns
// the number of the last group. It refuses a journal with any other damage. Without the old
// mark nobody can know whether there were more groups.
func NewMark(dir string) (last uint64, err error) {
	newest, err := replica.Restore(dir, view.DefaultRetentionCaps(), nil)
	if err != nil {
		return 0, err
	}
	at, err := journal.NewMark(dir, newest.Snapshot.Position)
	return at.Number, err
}

func (e *Engine) failure(err error) error {
	return &Failure{Seq: e.replica.Venue.Now().Seq + 1, Err: err}
}

// snapshotFile is a snapshot to compare the replay with.
type snapshotFile struct {
	journal.Snapshot
	path string
}

// snapshotsByGroup verifies the snapshots in dir and returns them by the number of the last
// group that each covers. It records a damaged one in p and leaves it out: it is not the
// newest, because restore would have refused that, and a start reads no other.
func snapshotsByGroup(dir string, p *Proof) (map[uint64]snapshotFile, error) {
	paths, err := journal.Snapshots(replica.SnapshotDir(dir))
	if err != nil {
		return nil, err
	}
	snapshots := map[uint64]snapshotFile{}
	for _, path := range paths {
		s, err := journal.ProveSnapshot(path)
		if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
			p.Damaged = append(p.Damaged, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		snapshots[s.Number] = snapshotFile{s, path}
	}
	return snapshots, nil
}

// restoreOldest returns the state that a replay begins with: the empty one if the log still
// has its first group, else the oldest snapshot that the log continues.
func restoreOldest(dir string, snapshots map[uint64]snapshotFile, start journal.Position) (*replica.Replica, error) {
	first := uint64(0)
	for at, err := range journal.Scan(dir, 0) {
		if err != nil {
			break // the replay finds the same error and returns it
		}
		first = at.Number
		break
	}
	if first <= 1 && (first == 1 || len(snapshots) == 0) {
		return replica.New(view.DefaultRetentionCaps()), nil
	}
	var oldest *snapshotFile
	for _, s := range snapshots {
		if (first == 0 || s.Number+1 >= first) && (oldest == nil || s.Number < oldest.Number) {
			oldest = &s
		}
	}
	if oldest == nil {
		for _, err := range journal.Check(dir, start, 0) {
			if err != nil {
				return nil, err // the error of a start
			}
			break
		}
		return nil, fmt.Errorf("the log begins at group %d, and no snapshot covers the groups before it", first)
	}
	return replica.Load(oldest.path, view.DefaultRetentionCaps(), nil)
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

// compareSnapshot compares the state with the snapshot of the current group, if there is one.
func (e *Engine) compareSnapshot(snapshots map[uint64]snapshotFile, p *Proof) error {
	s, ok := snapshots[e.replica.At.Number]
	if !ok {
		return nil
	}
	hash, err := e.replica.Venue.Hash()
	if err != nil {
		return err
	}
	if hash != s.StateHash || s.Chain != e.replica.At.Chain || s.Seq != e.replica.Venue.Now().Seq {
		return fmt.Errorf("the snapshot of group %d has the state %x, the replay %x", s.Number, s.StateHash, hash)
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
	e.replica.Venue.Audit()
	return nil
}
