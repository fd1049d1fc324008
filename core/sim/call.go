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

// call is one command of a caller on its way.
type call struct {
	n       int
	cmd     core.Command
	wire    string
	receipt engine.Receipt
	err     error
	done    bool // set by the caller's goroutine
	lost    bool // the venue went away before it ended
}

// submit sends a command; d is the caller's patience, 0 is without end. It returns
// when the command waits in the queue.
func (s *sim) submit(cmd core.Command, d time.Duration) *call {
	wire, err := journal.AppendCommand(nil, cmd)
	s.must(err)
	s.made++
	c := &call{n: s.made, cmd: cmd, wire: string(wire)}
	s.kept.sent[c.wire]++
	s.calls = append(s.calls, c)
	s.t.line("call %d %s", c.n, describe(cmd))
	e := s.e
	go func() {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if d > 0 { // no two at one moment, and none when the simulation acts
			ctx, cancel = context.WithTimeout(ctx, d+time.Duration(c.n))
		}
		defer cancel()
		c.receipt, c.err = e.Submit(ctx, cmd)
		c.done = true
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

func (s *sim) ended(c *call) {
	switch {
	case c.err == nil:
		s.t.line("call %d is seq %d: %q", c.n, c.receipt.Stamp.Seq, c.receipt.Reject)
		if c.receipt.Stamp.Seq > s.at.Seq {
			s.fail("call %d was answered with seq %d, the last applied is %d", c.n, c.receipt.Stamp.Seq, s.at.Seq)
		}
	case errors.Is(c.err, engine.ErrShed), errors.Is(c.err, engine.ErrUnknown), errors.Is(c.err, engine.ErrStopped):
		s.t.line("call %d: %v", c.n, c.err)
	default:
		s.fail("call %d: %w", c.n, c.err)
	}
	if errors.Is(c.err, engine.ErrUnknown) {
		s.res.Unknown++
	}
	s.kept.ended(c)
	if c.err == nil && c.receipt.Reject == core.OK {
		s.work.answered(c.cmd, c.receipt.Stamp.Seq)
	}
}

// ledger counts commands by their bytes: sent, surely not done, answered, and
// found in the log.
type ledger struct {
	sent, refused, answered, logged map[string]int
}

func (l *ledger) init() {
	l.sent, l.refused, l.answered, l.logged = map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
}

func (l *ledger) ended(c *call) {
	switch {
	case !c.done || c.lost:
	case c.err == nil:
		l.answered[c.wire]++
	case errors.Is(c.err, engine.ErrShed), errors.Is(c.err, engine.ErrStopped):
		l.refused[c.wire]++
	}
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
