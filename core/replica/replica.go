package replica

import (
	"fmt"
	"slices"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
)

// Replica is the state after the group At. One goroutine changes it.
type Replica struct {
	Venue    *venue.Venue
	View     *view.View
	State    State
	At       journal.Position
	Snapshot journal.Snapshot // with which it began; zero if it began empty
}

// State is the part of the state that belongs to the log and not to the venue.
type State struct {
	Proposals map[uint32]uint64 // the highest applied proposal of each node
	Seq       uint64            // of the last checkpoint
	Hash      [32]byte          // of the venue at Seq
	CheckedAt int64             // stamp of Seq, ns
	Receipts  []firstReceipt    `cbor:",omitempty"` // by seq
}

// Compare returns an error if a checkpoint has another hash of the same state. A checkpoint of several
// machines has none: each of them attests its own.
func (s *State) Compare(c *core.Checkpoint) error {
	if c.Seq != 0 && c.Hash != ([32]byte{}) && c.Seq == s.Seq && c.Hash != s.Hash {
		return fmt.Errorf("the state at seq %d has hash %x, the journal has %x", c.Seq, s.Hash, c.Hash)
	}
	return nil
}

// New returns the state before the first group.
func New(caps view.RetentionCaps) *Replica {
	return &Replica{Venue: venue.New(), View: view.New(caps), State: State{Proposals: map[uint32]uint64{}}}
}

// Applied is one applied command and its outcome.
type Applied struct {
	Stamp   core.Stamp
	Command core.Command
	Reject  core.Reject
	Events  []core.Event
}

// Result is the outcome of one group.
type Result struct {
	Applied []Applied
	Marked  []*core.Marked // in order: the marks of the applied commands that have one
	Refused []Refusal      // in order: the commands that took no seq
	Repeat  bool           // the proposal was applied before, or overtaken: the group has no effect
}

// Refusal is a command that took no seq and has no effect.
type Refusal struct {
	Command  core.Command
	Judgment venue.Judgment
	First    *Applied // of a repeat: what the first one did; nil if its receipt is not kept
}

// Commands decodes the commands of a group.
func Commands(g *journal.Group) (cmds []core.Command, err error) {
	for cmd, err := range journal.Commands(g.Body) {
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", g.Number, err)
		}
		cmds = append(cmds, cmd)
	}
	return cmds, nil
}

// Apply applies a group. cmds are its commands: what Commands returns, or what was encoded. It
// calls checkpoint, unless that is nil, after each Checkpoint. It returns the error of checkpoint,
// or a core.InvariantViolation; the state is then unusable.
func (r *Replica) Apply(g *journal.Group, cmds []core.Command, checkpoint func(*core.Checkpoint) error) (out Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			broken, ok := p.(core.InvariantViolation)
			if !ok {
				panic(p)
			}
			err = fmt.Errorf("group %d, seq %d: %w", g.Number, r.Venue.Now().Seq, broken)
		}
	}()
	r.At = g.After()
	if g.Proposal <= r.State.Proposals[g.Node] {
		out.Repeat = true
		return out, nil
	}
	r.State.Proposals[g.Node] = g.Proposal
	out.Applied = make([]Applied, 0, len(cmds))
	events := core.NewEvents(len(cmds))
	for list := range slices.Chunk(cmds, venue.PrefetchMax) {
		r.Venue.Prefetch(list)
		for _, cmd := range list {
			at := r.next(g.Stamp)
			if j, first := r.Venue.Judge(cmd, at.Ts); j != venue.Effective {
				out.Refused = append(out.Refused, r.refusal(cmd, j, first))
				continue
			}
			out.Applied = append(out.Applied, r.apply(at, cmd, events))
			if m, ok := cmd.(*core.Marked); ok {
				out.Marked = append(out.Marked, m)
				r.keepReceipt(&out.Applied[len(out.Applied)-1])
			}
			if c, ok := cmd.(*core.Checkpoint); ok && checkpoint != nil {
				if err := checkpoint(c); err != nil {
					return out, fmt.Errorf("group %d: %w", g.Number, err)
				}
			}
		}
	}
	return out, nil
}

// next returns the stamp that the next command gets in a group with a stamp.
func (r *Replica) next(stamp int64) core.Stamp {
	now := r.Venue.Now()
	return core.Stamp{Seq: now.Seq + 1, Ts: max(stamp, now.Ts+1)}
}

func (r *Replica) refusal(cmd core.Command, j venue.Judgment, first uint64) Refusal {
	out := Refusal{Command: cmd, Judgment: j}
	if j == venue.Repeated {
		if a, ok := r.firstReceipt(first, core.Unmarked(cmd)); ok {
			out.First = &a
		}
	}
	return out
}

// apply applies one command. What it returns and what the view sees is the command without its mark.
func (r *Replica) apply(st core.Stamp, cmd core.Command, events *core.Events) Applied {
	from := len(events.List)
	r.View.EndSeconds(st.Ts, r.Venue)
	rej := r.Venue.Apply(st, cmd, events)
	own := slices.Clip(events.List[from:])
	r.View.Fold(st, own)
	cmd = core.Unmarked(cmd)
	r.View.Record(st, cmd, rej, own, r.Venue)
	return Applied{Stamp: st, Command: cmd, Reject: rej, Events: own}
}
