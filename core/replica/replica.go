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
	Applied      []Applied
	Unauthorized []core.Command // in order: commands whose key was revoked
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
		return out, nil
	}
	r.State.Proposals[g.Node] = g.Proposal
	out.Applied = make([]Applied, 0, len(cmds))
	events := core.NewEvents(len(cmds))
	for list := range slices.Chunk(cmds, venue.PrefetchMax) {
		r.Venue.Prefetch(list)
		for _, cmd := range list {
			if !r.Venue.Authorized(cmd) {
				out.Unauthorized = append(out.Unauthorized, cmd)
				continue
			}
			out.Applied = append(out.Applied, r.apply(g.Stamp, cmd, events))
			if c, ok := cmd.(*core.Checkpoint); ok && checkpoint != nil {
				if err := checkpoint(c); err != nil {
					return out, fmt.Errorf("group %d: %w", g.Number, err)
				}
			}
		}
	}
	return out, nil
}

// apply applies one command at the next stamp.
func (r *Replica) apply(stamp int64, cmd core.Command, events *core.Events) Applied {
	now := r.Venue.Now()
	st := core.Stamp{Seq: now.Seq + 1, Ts: max(stamp, now.Ts+1)}
	from := len(events.List)
	r.View.EndSeconds(st.Ts, r.Venue)
	rej := r.Venue.Apply(st, cmd, events)
	own := slices.Clip(events.List[from:])
	r.View.Fold(st, own)
	r.View.Record(st, cmd, rej, own)
	return Applied{Stamp: st, Command: cmd, Reject: rej, Events: own}
}
