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

// Lanes are the way of callers to the venue in a run that goes through its door: what
// accounts command becomes requests, and what these are told is held against the
// model. All but Request.Send is called with everything else at rest.
type Lanes interface {
	// Furnish gives the commands a venue needs before callers may come.
	Furnish() []core.Command
	// Operate gives an operator's action that is about the door; nil: not now.
	Operate() core.Command

	// Open opens the door of a venue that has just started, Cut takes its connections
	// away, and Close ends what is left when the engine has ended.
	Open(e *engine.Engine)
	Cut()
	Close()

	// Write makes one request of commands of one account, or of an operator's; nil
	// where there is none.
	Write(cmds []core.Command) Request
	// Happened tells of each command that is in the log, in order, and what the model
	// says came of it.
	Happened(at core.Stamp, cmd core.Command, out model.Outcome, m *model.Venue)
	// Look reads what callers may, and holds it against the model.
	Look(at core.Stamp, m *model.Venue) error
	// Finish is asked last, with nothing under way: is anything still not accounted for?
	Finish(at core.Stamp, m *model.Venue) error
}

// Request is one on its way. It is sent once.
type Request interface {
	String() string
	// Commands are what may come of it in the log.
	Commands() []core.Command
	// Send ends when the caller is answered or gives up.
	Send(ctx context.Context)
	// Ended tells what the caller knows of each command; lost is that the venue went
	// away before it was answered. The error is an answer that cannot be.
	Ended(lost bool) ([]End, error)
	// Copy is the same bytes, for another time.
	Copy() Request
}

// End is what a caller knows of a command.
type End struct {
	How    How
	Seq    uint64 // of an answered one
	Reject core.Reject
}

// How a command ended for its caller.
type How uint8

const (
	Unknown  How = iota
	NotDone      // surely
	Answered     // it is in the log
)

func (h How) String() string { return [...]string{"unknown", "not done", "answered"}[h] }

// World is what lanes are given of a run.
type World struct {
	Rand *rand.Rand // of the lanes alone
	Now  func() int64
	At   func() core.Stamp // of the last command seen applied
}

// send is one caller's request of commands. Through the lanes the network may hold it
// back, or bring it once more.
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

// overdue delivers a request that was held back; false if there is none.
func (s *sim) overdue(timeout time.Duration) bool {
	if len(s.late) == 0 {
		return false
	}
	i := max(0, len(s.late)-1-s.r.IntN(4))
	r := s.late[i]
	s.late = append(s.late[:i], s.late[i+1:]...)
	s.deliver(r, timeout)
	return true
}

// deliver brings a request to the venue. It returns when the request waits, or has
// ended.
func (s *sim) deliver(r Request, timeout time.Duration) {
	s.moment()
	c := s.called(r.Commands()...)
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

// giveUp is where between two whole milliseconds callers give up.
const giveUp = 250 * time.Microsecond

// moment moves on to one at which nothing else happens: requests come at even
// nanoseconds of a millisecond, each at its own, so that the time a request may take
// ends at that of no other; the simulation acts at odd ones and at whole seconds.
func (s *sim) moment() {
	s.moments = (s.moments + 2) % int64(giveUp)
	d := s.moments - int64(time.Since(s.began)%time.Millisecond)
	if d <= 0 {
		d += int64(time.Millisecond)
	}
	s.sleep(time.Duration(d))
}
