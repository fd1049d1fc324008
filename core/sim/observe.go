package sim

import (
	"context"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/sim/model"
)

// observe compares what was applied since the last call with the model, then finishes the calls that have
// ended.
func (s *sim) observe() {
	for {
		select {
		case <-s.follower.Ready():
		default:
			s.collect()
			return
		}
		b, err := s.follower.Next(context.Background())
		s.must(err)
		if b.Number != s.group+1 {
			s.fail("group %d comes after %d", b.Number, s.group)
		}
		s.group = b.Number
		for i := range b.Applied {
			a := &b.Applied[i]
			if a.Stamp.Seq != s.at.Seq+1 || a.Stamp.Ts <= s.at.Ts {
				s.fail("stamp %v comes after %v", a.Stamp, s.at)
			}
			s.at = a.Stamp
			s.t.line("seq %d at %d: %s: %q, %d events", a.Stamp.Seq, a.Stamp.Ts-origin, describe(a.Command), a.Reject, len(a.Events))
			if err := sameOutcome(describeOutcome(a.Reject, a.Events), s.record(a.Stamp, a.Command)); err != nil {
				s.fail("seq %d: %s: %w", a.Stamp.Seq, describe(a.Command), err)
			}
		}
	}
}

// record records a command that is durable in the log, and returns the model's outcome of it.
func (s *sim) record(at core.Stamp, cmd core.Command) model.Outcome {
	s.res.Commands++
	wire, err := journal.AppendCommand(nil, cmd)
	s.must(err)
	s.counts.logged[string(wire)]++
	out := s.model.Apply(at, cmd)
	if s.lanes != nil {
		if class, _ := core.ClassOf(cmd); class != core.ClassSystem && s.counts.sent[string(wire)] == 0 {
			s.fail("seq %d: %s: a command that was never sent", at.Seq, describe(cmd))
		}
		s.lanes.Applied(at, cmd, out, s.model)
	}
	return out
}
