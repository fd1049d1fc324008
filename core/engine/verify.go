package engine

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

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
	Rules            core.Rules    // in force at Seq
	From             uint64        // seq of the snapshot that the replay began with; 0: the empty state
	Began, Ended     int64         // stamps of the first and the last group that were replayed, ns
	Checkpoints      int           // compared with the replay: checkpoints with a hash, and attestations
	Snapshots        int           // compared with the replay
	Actions          uint64        // of operators and accounts, since the first command
	Node             uint32        // the highest number of a node that has proposed a group; 0: one machine alone
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
// verifies the log against the snapshot and the mark. It also compares every checkpoint, what a
// majority of the members attested for it, and the state hash of every snapshot, checks the money after every command, and audits it at
// each snapshot and at the end. The error is a *Failure with the first bad seq, or a
// *journal.Damage with file and offset. Verify calls each, unless it is nil, with the number
// of groups replayed so far.
func Verify(dir string, each func(done uint64)) (p Proof, err error) {
	return verify(dir, math.MaxInt64, each)
}

// ErrNothingCompared means that a replay had no hash to compare with.
var ErrNothingCompared = errors.New("the replay covers no checkpoint and no snapshot, so it shows nothing about the rules")

// VerifyRules is Verify for the rehearsal of an upgrade: it replays what comes after the newest snapshot
// that is older than the newest one by a period, and also fails if that compares no hash.
func VerifyRules(dir string, period time.Duration, each func(done uint64)) (Proof, error) {
	p, err := verify(dir, int64(period), each)
	if err == nil && p.Checkpoints+p.Snapshots == 0 {
		err = ErrNothingCompared
	}
	return p, err
}

// verify replays a period, in ns, before the newest snapshot and everything after it.
func verify(dir string, period int64, each func(done uint64)) (p Proof, err error) {
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
	e := &Engine{attestations: &attestations{}}
	e.feed.init()
	oldest, err := restoreOldest(dir, snapshots, start, period)
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
	if err := errors.Join(e.attestations.end(), e.audit()); err != nil {
		return p, e.failure(err)
	}
	p.Seq, p.Actions, p.Rules = e.replica.Venue.Now().Seq, e.replica.View.ActionCount(), e.replica.Venue.Rules()
	for node := range e.replica.State.Proposals {
		p.Node = max(p.Node, node)
	}
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
func restoreOldest(dir string, snapshots map[uint64]snapshotFile, start journal.Position, period int64) (*replica.Replica, error) {
	first := uint64(0)
	for at, err := range journal.Scan(dir, 0) {
		if err != nil {
			break // the replay finds the same error and returns it
		}
		first = at.Number
		break
	}
	if recent := newestBefore(snapshots, start.Stamp, period, first); recent != nil {
		return replica.Load(recent.path, view.DefaultRetentionCaps(), nil)
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

// newestBefore returns the newest snapshot that is older than a stamp by a period and that the log
// continues, whose first group has a number; nil if there is none.
func newestBefore(snapshots map[uint64]snapshotFile, stamp, period int64, first uint64) (best *snapshotFile) {
	for _, s := range snapshots {
		if stamp-s.Stamp >= period && s.Number+1 >= first && (best == nil || s.Number > best.Number) {
			best = &s
		}
	}
	return best
}

func (e *Engine) replayGroup(g *journal.Group, p *Proof) error {
	cmds, err := replica.Commands(g)
	if err != nil {
		return err
	}
	p.Groups++
	p.Commands += uint64(len(cmds))
	b := &Batch{Number: g.Number}
	if err := e.applyGroup(g, cmds, b); err != nil {
		return err
	}
	if p.Ended = g.Stamp; p.Began == 0 {
		p.Began = g.Stamp
	}
	for _, c := range cmds {
		switch c := c.(type) {
		case *core.Checkpoint:
			if c.Hash != ([32]byte{}) {
				p.Checkpoints++
			}
		case *core.Attest:
			p.Checkpoints++
		}
	}
	return e.compareAttests(g.Node, b.Applied)
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
