package sim

import (
	"context"
	"math/rand/v2"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/sim/model"
)

// Lanes connects callers to the venue through its lanes: it turns commands into requests and
// checks the responses against the model. All methods are called while no other goroutine
// runs; only Request.Send runs in a goroutine of its own.
type Lanes interface {
	// Setup returns the commands that must be applied before the first request.
	Setup() []core.Command
	// OperatorCommand returns a command of an operator that the lanes need, such as one for
	// a key, or nil.
	OperatorCommand() core.Command

	// Open starts the lanes of a venue that has just started, Cut breaks their connections,
	// and Close ends them after the engine has ended.
	Open(e *engine.Engine)
	Cut()
	Close()

	// NewRequest returns one request for commands of one account or of an operator, or nil
	// if no request does that.
	NewRequest(cmds []core.Command) Request
	// Observe is called for each command in the log, in order, with the outcome of the model.
	Observe(at core.Stamp, cmd core.Command, out model.Outcome, m *model.Venue)
	// CheckReads reads through the lanes and compares with the model.
	CheckReads(at core.Stamp, m *model.Venue) error
	// CheckEnd is called at the end of a run, with no request in flight. It returns an error
	// if a command is not accounted for.
	CheckEnd(at core.Stamp, m *model.Venue) error
}

// Request is one request through the lanes. It is sent once.
type Request interface {
	String() string
	// Commands returns the commands that it may add to the log.
	Commands() []core.Command
	// Send sends the request, and returns when it has a response or ctx ends.
	Send(ctx context.Context)
	// Results returns what the caller knows of each command. lost means that the venue
	// stopped before it responded. It returns an error if the response is invalid.
	Results(lost bool) ([]CommandResult, error)
	// Copy returns a request of the same bytes, to be sent again.
	Copy() Request
}

// CommandResult is what a caller knows of a command.
type CommandResult struct {
	Status CommandStatus
	Seq    uint64 // if Answered
	Reject core.Reject
}

// CommandStatus says whether the caller knows that its command was executed.
type CommandStatus uint8

const (
	Unknown  CommandStatus = iota
	NotDone                // certainly not executed
	Answered               // executed, with a response
)

func (s CommandStatus) String() string {
	return [...]string{"unknown", "not executed", "answered"}[s]
}

// World is what lanes need to know of a run.
type World struct {
	Rand *rand.Rand        // not shared with the rest of the simulation
	Now  func() int64      // the venue's clock, ns
	At   func() core.Stamp // of the last command observed
}

// send sends commands as one request of a caller. Through the lanes the network may delay
// the request or repeat it.
func (s *sim) send(cmds []core.Command, timeout time.Duration) {
	if s.lanes == nil {
		for _, cmd := range cmds {
			s.submit(cmd, timeout)
		}
		return
	}
	r := s.lanes.NewRequest(cmds)
	if r == nil {
		s.submit(cmds[0], timeout)
		return
	}
	if s.r.IntN(12) == 0 {
		s.delayed = append(s.delayed, r)
		return
	}
	s.deliver(r, timeout)
	if s.r.IntN(10) == 0 {
		s.delayed = append(s.delayed, r.Copy())
	}
}

// sendDelayed delivers a delayed request. It returns false if there is none.
func (s *sim) sendDelayed(timeout time.Duration) bool {
	if len(s.delayed) == 0 {
		return false
	}
	i := max(0, len(s.delayed)-1-s.r.IntN(4))
	r := s.delayed[i]
	s.delayed = append(s.delayed[:i], s.delayed[i+1:]...)
	s.deliver(r, timeout)
	return true
}

// deliver sends a request. It returns when the request waits in the venue or has ended.
func (s *sim) deliver(r Request, timeout time.Duration) {
	s.requestTime()
	c := s.newCall(r.Commands()...)
	c.request = r
	s.t.line("call %d %s", c.n, r)
	go func() {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, timeout+giveUpOffset)
		}
		defer cancel()
		r.Send(ctx)
		s.woken()
		c.done = true
	}()
	synctest.Wait()
	s.sleep(time.Nanosecond)
}

// giveUpOffset is added to the timeout of each request. Requests are sent in the first
// giveUpOffset of a millisecond, so they time out in a later part of one.
const giveUpOffset = 250 * time.Microsecond

// requestTime advances to a time at which nothing else happens: an even number of ns after a
// whole millisecond, different for successive requests, so that no two time out together. The
// simulation acts at odd numbers of ns and at whole seconds.
func (s *sim) requestTime() {
	s.requestOffset = (s.requestOffset + 2) % int64(giveUpOffset)
	d := s.requestOffset - int64(time.Since(s.start)%time.Millisecond)
	if d <= 0 {
		d += int64(time.Millisecond)
	}
	s.sleep(time.Duration(d))
}
