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

// call is one request: a command submitted to the engine, or a Request through the lanes.
type call struct {
	n       int
	cmds    []core.Command
	wires   []string
	request Request // nil: submitted to the engine
	receipt engine.Receipt
	err     error
	done    bool // set by the caller's goroutine
	lost    bool // the venue stopped before the call ended
}

// newCall registers a call that is about to be sent.
func (s *sim) newCall(cmds ...core.Command) *call {
	s.callCount++
	c := &call{n: s.callCount, cmds: cmds}
	for _, cmd := range cmds {
		wire, err := journal.AppendCommand(nil, cmd)
		s.must(err)
		c.wires = append(c.wires, string(wire))
		s.counts.sent[string(wire)]++
	}
	s.calls = append(s.calls, c)
	return c
}

// submit submits a command to the engine in a goroutine, with the caller's timeout d (0:
// none). It returns when the command is queued or the call has ended.
func (s *sim) submit(cmd core.Command, d time.Duration) *call {
	c := s.newCall(cmd)
	s.t.line("call %d %s", c.n, describe(cmd))
	e := s.e
	go func() {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if d > 0 { // unique, so that no other timeout and no step has the same time
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

// collect removes the calls that have ended from the list and checks them.
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

// ended counts what the caller knows of each command, and checks it against the log.
func (s *sim) ended(c *call) {
	results, err := s.results(c)
	if err != nil {
		s.fail("call %d: %w", c.n, err)
	}
	for i, result := range results {
		switch result.Status {
		case Answered:
			if s.t.line("call %d: seq %d, %q", c.n, result.Seq, result.Reject); result.Seq > s.at.Seq {
				s.fail("call %d was answered with seq %d, but the last applied is %d", c.n, result.Seq, s.at.Seq)
			}
			s.counts.answered[c.wires[i]]++
			if result.Reject == core.OK {
				s.work.accepted(c.cmds[i], result.Seq)
			}
		case NotDone:
			s.counts.notDone[c.wires[i]]++
		default:
			s.res.Unknown++
		}
	}
}

// results returns what the caller knows of each command of a call that has ended.
func (s *sim) results(c *call) ([]CommandResult, error) {
	if c.request != nil {
		results, err := c.request.Results(c.lost)
		for _, result := range results {
			if result.Status != Answered {
				s.t.line("call %d: %s", c.n, result.Status)
			}
		}
		return results, err
	}
	result := CommandResult{Answered, c.receipt.Stamp.Seq, c.receipt.Reject}
	switch {
	case c.lost:
		return []CommandResult{{Status: Unknown}}, nil
	case c.err == nil:
		return []CommandResult{result}, nil
	case errors.Is(c.err, engine.ErrShed), errors.Is(c.err, engine.ErrRevoked), errors.Is(c.err, engine.ErrStopped):
		result = CommandResult{Status: NotDone}
	case errors.Is(c.err, engine.ErrUnknown):
		result = CommandResult{Status: Unknown}
	default:
		return nil, c.err
	}
	s.t.line("call %d: %v", c.n, c.err)
	return []CommandResult{result}, nil
}

// counts counts commands by their encoding: sent, certainly not executed, answered, and found
// in the log.
type counts struct {
	sent, notDone, answered, logged map[string]int
}

func (l *counts) init() {
	l.sent, l.notDone, l.answered, l.logged = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
}

// check fails unless each command is in the log at least as often as it was answered and at
// most as often as it was sent without a response that rules it out.
func (l *counts) check(s *sim) {
	for wire, n := range l.logged {
		if sent, ok := l.sent[wire]; ok && (n < l.answered[wire] || n > sent-l.notDone[wire]) {
			s.fail("a command is in the log %d times: sent %d, answered %d, not executed %d", n, sent, l.answered[wire], l.notDone[wire])
		}
	}
	for wire, n := range l.answered {
		if l.logged[wire] < n {
			s.fail("a command was answered %d times, but is in the log %d times", n, l.logged[wire])
		}
	}
}
