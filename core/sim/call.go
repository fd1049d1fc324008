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

// call is a request of a caller that is under way: a command for the engine, or a request through the lanes.
type call struct {
	n       int // its number
	cmds    []core.Command
	wires   []string // the encoded commands
	request Request  // nil if the command went to the engine directly
	receipt engine.Receipt
	err     error
	done    bool // set by the caller's goroutine
	lost    bool // the venue stopped before the call ended
}

// newCall registers a call of commands.
func (s *sim) newCall(cmds ...core.Command) *call {
	s.made++
	c := &call{n: s.made, cmds: cmds}
	for _, cmd := range cmds {
		wire, err := journal.AppendCommand(nil, cmd)
		s.must(err)
		c.wires = append(c.wires, string(wire))
		s.counts.sent[string(wire)]++
	}
	s.calls = append(s.calls, c)
	return c
}

// submit gives a command to the engine and returns when it waits in the queue. d is the caller's timeout, 0
// for none.
func (s *sim) submit(cmd core.Command, d time.Duration) *call {
	c := s.newCall(cmd)
	s.t.line("call %d %s", c.n, describe(cmd))
	e := s.engine
	go func() {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if d > 0 { // c.n makes each timeout end at its own nanosecond, at which nothing else happens
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

// collect finishes the calls that have ended.
func (s *sim) collect() {
	left := s.calls[:0]
	for _, c := range s.calls {
		if !c.done {
			left = append(left, c)
			continue
		}
		s.finishCall(c)
	}
	s.calls = left
}

// finishCall records what the caller knows of each command.
func (s *sim) finishCall(c *call) {
	ends, err := s.results(c)
	if err != nil {
		s.fail("call %d: %w", c.n, err)
	}
	for i, end := range ends {
		switch end.How {
		case Answered:
			if s.t.line("call %d is seq %d: %q", c.n, end.Seq, end.Reject); end.Seq > s.at.Seq {
				s.fail("call %d was answered with seq %d, the last applied is %d", c.n, end.Seq, s.at.Seq)
			}
			s.counts.answered[c.wires[i]]++
			if end.Reject == core.OK {
				s.work.accepted(c.cmds[i], end.Seq)
			}
		case NotDone:
			s.counts.refused[c.wires[i]]++
		default:
			s.res.Unknown++
		}
	}
}

// results returns what the caller of c knows of each command. The error is that of an impossible answer.
func (s *sim) results(c *call) ([]End, error) {
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

// commandCounts counts commands by their encoding: sent, certainly not executed, answered, and in the log.
type commandCounts struct {
	sent, refused, answered, logged map[string]int
}

func (l *commandCounts) init() {
	l.sent, l.refused, l.answered, l.logged = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
}

// check fails if a command is in the log less often than it was answered, or more often than it was sent
// and not refused.
func (l *commandCounts) check(s *sim) {
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
