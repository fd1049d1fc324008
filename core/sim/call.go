package sim

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
)

// call is a request of a caller on its way: a command for the engine, or what goes
// through the lanes.
type call struct {
	n       int
	cmds    []core.Command
	wires   []string
	request Request // nil: handed to the engine
	receipt engine.Receipt
	err     error
	done    bool // set by the caller's goroutine
	lost    bool // the venue went away before it ended
}

// called enters a call.
func (s *sim) called(cmds ...core.Command) *call {
	s.made++
	c := &call{n: s.made, cmds: cmds}
	for _, cmd := range cmds {
		wire, err := journal.AppendCommand(nil, cmd)
		s.must(err)
		c.wires = append(c.wires, string(wire))
		s.kept.sent[string(wire)]++
	}
	s.calls = append(s.calls, c)
	return c
}

// submit hands a command to the engine; d is the caller's timeout, 0 means none.
// It returns when the command waits in the queue.
func (s *sim) submit(cmd core.Command, d time.Duration) *call {
	c := s.called(cmd)
	s.t.line("call %d %s", c.n, describe(cmd))
	e := s.e
	go func() {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if d > 0 { // no two at one moment, and none when the simulation acts
			ctx, cancel = context.WithTimeout(ctx, d+time.Duration(c.n))
		}
		defer cancel()
		receipt, err := e.Submit(ctx, cmd)
		s.woken()
		c.receipt, c.err, c.done = receipt, err, true
	}()
	synctest.Wait()
	return c
}

// collect takes the calls that have ended off the list.
func (s *sim) collect() {
	left := s.calls[:0]
	for _, c := range s.calls {
		if !c.done {
			left = append(left, c)
			continue
		}
		s.ended(c)
	}
	s.calls = left
}

// ended notes what the caller of each command knows.
func (s *sim) ended(c *call) {
	ends, err := s.ends(c)
	if err != nil {
		s.fail("call %d: %w", c.n, err)
	}
	for i, end := range ends {
		switch end.How {
		case Answered:
			if s.t.line("call %d is seq %d: %q", c.n, end.Seq, end.Reject); end.Seq > s.at.Seq {
				s.fail("call %d was answered with seq %d, the last applied is %d", c.n, end.Seq, s.at.Seq)
			}
			s.kept.answered[c.wires[i]]++
			if end.Reject == core.OK {
				s.work.answered(c.cmds[i], end.Seq)
			}
		case NotDone:
			s.kept.refused[c.wires[i]]++
		default:
			s.res.Unknown++
		}
	}
}

func (s *sim) ends(c *call) ([]End, error) {
	if c.request != nil {
		ends, err := c.request.Ended(c.lost)
		for _, end := range ends {
			if end.How != Answered {
				s.t.line("call %d: %s", c.n, end.How)
			}
		}
		return ends, err
	}
	end := End{Answered, c.receipt.Stamp.Seq, c.receipt.Reject}
	switch {
	case c.lost:
		return []End{{How: Unknown}}, nil
	case c.err == nil:
		return []End{end}, nil
	case errors.Is(c.err, engine.ErrShed), errors.Is(c.err, engine.ErrStopped):
		end = End{How: NotDone}
	case errors.Is(c.err, engine.ErrUnknown):
		end = End{How: Unknown}
	default:
		return nil, c.err
	}
	s.t.line("call %d: %v", c.n, c.err)
	return []End{end}, nil
}

// ledger counts commands by their bytes: sent, surely not done, answered, and
// found in the log.
type ledger struct {
	sent, refused, answered, logged map[string]int
}

func (l *ledger) init() {
	l.sent, l.refused, l.answered, l.logged = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
}

// settle asks that what was answered happened as often as it was answered, and what
// was refused did not.
func (l *ledger) settle(s *sim) {
	for wire, n := range l.logged {
		if sent, ok := l.sent[wire]; ok && (n < l.answered[wire] || n > sent-l.refused[wire]) {
			s.fail("a command is in the log %d times: sent %d, answered %d, refused %d", n, sent, l.answered[wire], l.refused[wire])
		}
	}
	for wire, n := range l.answered {
		if l.logged[wire] < n {
			s.fail("a command was answered %d times and is in the log %d times", n, l.logged[wire])
		}
	}
}
