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

// Lanes connects callers with the venue in a run that includes the lanes: the commands of accounts become
// requests, and the responses are compared with the model. All methods but Request.Send are called while all
// other goroutines wait.
type Lanes interface {
	// SetUp returns the commands that the venue needs before the first caller.
	SetUp() []core.Command
	// Operate returns an operator's action about the lanes, such as a new key, or nil.
	Operate() core.Command

	// Open serves an engine that has just started, Cut breaks all connections, and Close ends the rest after
	// the engine has ended.
	Open(e *engine.Engine)
	Cut()
	Close()

	// Write returns one request for commands of one account or of an operator, or nil if no lane has such a
	// request.
	Write(cmds []core.Command) Request
	// Applied is called with each command in the log, in order, and the model's outcome of it.
	Applied(at core.Stamp, cmd core.Command, out model.Outcome, m *model.Venue)
	// Check reads everything that callers can read, and compares it with the model.
	Check(at core.Stamp, m *model.Venue) error
	// Finish is called last, when no request is under way. It fails if a response or an event is missing.
	Finish(at core.Stamp, m *model.Venue) error
}

// Request is a request of a caller. It is sent once.
type Request interface {
	String() string
	// Commands returns the commands that the request can cause in the log.
	Commands() []core.Command
	// Send returns when the caller has the response or gives up.
	Send(ctx context.Context)
	// Ended returns what the caller knows of each command. lost is true if the venue stopped before it
	// responded. The error is that of an impossible response.
	Ended(lost bool) ([]End, error)
	// Copy returns a request of the same bytes, to send again.
	Copy() Request
}

// End is what a caller knows of a command in the end.
type End struct {
	How    How
	Seq    uint64 // if answered
	Reject core.Reject
}

// How a command ended for its caller.
type How uint8

const (
	Unknown  How = iota
	NotDone      // certainly not executed
	Answered     // it is in the log
)

func (h How) String() string { return [...]string{"unknown", "not done", "answered"}[h] }

// World is what Lanes can use of a run.
type World struct {
	Rand *rand.Rand // used by the lanes only
	Now  func() int64
	At   func() core.Stamp // of the last command seen applied
}

// send sends one request of a caller. Through the lanes the network can delay it, or deliver it twice.
func (s *sim) send(cmds []core.Command, timeout time.Duration) {
	if s.lanes == nil {
		for _, cmd := range cmds {
			s.submit(cmd, timeout)
		}
		return
	}
	r := s.lanes.Write(cmds)
	if r == nil {
		s.submit(cmds[0], timeout)
		return
	}
	if s.r.IntN(12) == 0 {
		s.late = append(s.late, r)
		return
	}
	s.deliver(r, timeout)
	if s.r.IntN(10) == 0 {
		s.late = append(s.late, r.Copy())
	}
}

// deliverLate delivers a request that was delayed. It returns false if there is none.
func (s *sim) deliverLate(timeout time.Duration) bool {
	if len(s.late) == 0 {
		return false
	}
	i := max(0, len(s.late)-1-s.r.IntN(4))
	r := s.late[i]
	s.late = append(s.late[:i], s.late[i+1:]...)
	s.deliver(r, timeout)
	return true
}

// deliver sends a request to the venue and returns when it waits or has ended.
func (s *sim) deliver(r Request, timeout time.Duration) {
	s.waitForRequestSlot()
	c := s.newCall(r.Commands()...)
	c.request = r
	s.t.line("call %d %s", c.n, r)
	go func() {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if timeout > 0 {
			ctx, cancel = context.WithTimeout(ctx, timeout+giveUp)
		}
		defer cancel()
		r.Send(ctx)
		s.woken()
		c.done = true
	}()
	synctest.Wait()
	s.sleep(time.Nanosecond)
}

// giveUp is the offset within a millisecond at which callers give up.
const giveUp = 250 * time.Microsecond

// waitForRequestSlot sleeps until a time at which nothing else happens. Each request has its own even
// nanosecond within a millisecond, so that no two timeouts end at the same time; the simulation acts at odd
// nanoseconds and at full seconds.
func (s *sim) waitForRequestSlot() {
	s.requestOffset = (s.requestOffset + 2) % int64(giveUp)
	d := s.requestOffset - int64(time.Since(s.began)%time.Millisecond)
	if d <= 0 {
		d += int64(time.Millisecond)
	}
	s.sleep(time.Duration(d))
}
