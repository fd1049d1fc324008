package engine

import (
	"errors"
	"fmt"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// Proof is what Verify found whole.
type Proof struct {
	Groups, Commands uint64
	Seq              uint64   // of the last command
	Hash             [32]byte // of the state there
	From             uint64   // seq of the snapshot the replay began at; 0: from nothing
	Snapshots        int      // compared on the way
	Actions          uint64   // of operators and accounts, since the first command
	Torn             *journal.Torn
}

// Failure names the first seq that does not hold.
type Failure struct {
	Seq uint64
	Err error
}

func (f *Failure) Error() string { return fmt.Sprintf("seq %d: %v", f.Seq, f.Err) }
func (f *Failure) Unwrap() error { return f.Err }

// Verify replays the journal in dir without changing it: chain and checksums,
// every checkpoint, the state hash of every snapshot it passes, THE INVARIANT after
// every command and a full audit at each snapshot and at the end. It gives a
// *Failure with the first bad seq, or a *journal.Damage with file and offset.
func Verify(dir string, each func(done uint64)) (p Proof, err error) {
	marks, err := landmarks(dir)
	if err != nil {
		return p, err
	}
	e := &Engine{venue: venue.New(), view: view.New(view.DefaultCaps()), done: progress{Proposals: map[uint32]uint64{}}}
	e.feed.init()
	from, err := e.beginAt(dir, marks, &p)
	if err != nil {
		return p, err
	}
	for at, err := range journal.Scan(dir, from+1) {
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
		if err := e.replay(&at.Group, &p); err != nil {
			return p, e.failure(fmt.Errorf("%s, offset %d: %w", at.File, at.Offset, err))
		}
		if err := e.compare(marks, &p); err != nil {
			return p, e.failure(err)
		}
		if each != nil {
			each(p.Groups)
		}
	}
	if err := e.audit(); err != nil {
		return p, e.failure(err)
	}
	p.Seq, p.Actions = e.venue.Now().Seq, e.view.Recorded()
	p.Hash, err = e.venue.Hash()
	return p, err
}

func (e *Engine) failure(err error) error { return &Failure{Seq: e.venue.Now().Seq + 1, Err: err} }

// landmarks are the snapshots of a directory by the group they stand behind.
func landmarks(dir string) (map[uint64]journal.Snapshot, error) {
	paths, err := journal.Snapshots(snapshots(dir))
	if err != nil {
		return nil, err
	}
	marks := map[uint64]journal.Snapshot{}
	for _, path := range paths {
		s, err := journal.ReadSnapshot(path)
		if err != nil {
			return nil, err
		}
		marks[s.Number] = s
	}
	return marks, nil
}

// beginAt starts from nothing where the log reaches back to its first group, else
// at the oldest snapshot whose groups are all there.
func (e *Engine) beginAt(dir string, marks map[uint64]journal.Snapshot, p *Proof) (uint64, error) {
	first := uint64(0)
	for at, err := range journal.Scan(dir, 0) {
		if err != nil {
			break // the replay meets it again, and names it
		}
		first = at.Number
		break
	}
	if first <= 1 && (first == 1 || len(marks) == 0) {
		return 0, nil
	}
	var oldest *journal.Snapshot
	for _, s := range marks {
		if (first == 0 || s.Number+1 >= first) && (oldest == nil || s.Number < oldest.Number) {
			oldest = &s
		}
	}
	if oldest == nil {
		return 0, fmt.Errorf("the log begins at group %d and no snapshot reaches it", first)
	}
	v, w, done, err := unpack(*oldest, view.DefaultCaps())
	if err != nil {
		return 0, err
	}
	e.venue, e.view, e.done, e.at, p.From = v, w, done, oldest.Position, oldest.Seq
	return oldest.Number, nil
}

func (e *Engine) replay(g *journal.Group, p *Proof) error {
	cmds, err := e.resolve(g)
	if err != nil {
		return err
	}
	p.Groups++
	p.Commands += uint64(len(cmds))
	return e.change(g, cmds, &Batch{Number: g.Number})
}

// compare holds the state against a snapshot that stands behind this group.
func (e *Engine) compare(marks map[uint64]journal.Snapshot, p *Proof) error {
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
		if b, ok := recover().(core.Broken); ok {
			err = b
		}
	}()
	e.venue.Audit()
	return nil
}
