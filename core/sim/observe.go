package sim

import (
	"context"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/sim/model"
)

// observe sees what was applied since, then which calls have ended.
func (s *sim) observe() {
	for {
		select {
		case <-s.f.Ready():
		default:
			s.collect()
			return
		}
		b, err := s.f.Next(context.Background())
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
			if err := sameOutcome(describeOutcome(a.Reject, a.Events), s.observeBatch(a.Stamp, a.Command)); err != nil {
				s.fail("seq %d: %s: %w", a.Stamp.Seq, describe(a.Command), err)
			}
		}
	}
}

// observeBatch notes a command that is in the log for good, and gives what the model says
// should come of it.
func (s *sim) observeBatch(at core.Stamp, cmd core.Command) model.Outcome {
	s.res.Commands++
	wire, err := journal.AppendCommand(nil, cmd)
	s.must(err)
	s.kept.logged[string(wire)]++
	out := s.model.Apply(at, cmd)
	if s.lanes != nil {
		if class, _ := core.ClassOf(cmd); class != core.ClassSystem && s.kept.sent[string(wire)] == 0 {
			s.fail("seq %d: %s: nobody sent that", at.Seq, describe(cmd))
		}
		s.lanes.Happened(at, cmd, out, s.model)
	}
	return out
}
