package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"duplex/core/journal"
)

// What a change of the members of a cluster may answer.
var (
	// ErrRefused means that it is not safe now.
	ErrRefused = errors.New("refused")

	// ErrPending means that it was asked for, and has not happened within its time. It may still happen; the
	// status of the cluster tells. It may be asked for again.
	ErrPending = errors.New("pending")

	// ErrAddress means that it names no member: not a name, or not an address.
	ErrAddress = errors.New("not the name and address of a member")
)

// The states of a member of a log of several machines (docs/rules/operation.md#member-states). A
// member derives its state from what its log, its clock, its disk and the attestations say. No other
// member has a part in it.

// State is the state of a member.
type State uint8

// The states. When several hold, the member has the last of them in this order. Only Serving
// takes commands.
const (
	Serving   State = iota
	DiskFull        // less than 128 MiB are free
	ClockOff        // the clock differs too much from those of the members, or is not compared
	Suspect         // members attest different states, and no majority attests either
	Behind          // by more than 1,000 groups or 1 s
	Isolated        // no leader for 1 s, or an own proposal undelivered for 2 s
	Joining         // without a vote
	Draining        // closing
	Damaged         // stopped: it could not verify what the log or a file holds
	Diverged        // stopped: a majority attests another state
	numStates = iota
)

var stateNames = [numStates]string{"serving", "disk_full", "clock_off", "suspect", "behind", "isolated", "joining", "draining", "damaged", "diverged"}

func (s State) String() string { return stateNames[s] }

// States yields every state, Serving first.
func States(yield func(State) bool) {
	for s := range State(numStates) {
		if !yield(s) {
			return
		}
	}
}

// The bounds of the states (docs/rules/operation.md#member-states).
const (
	behindGroups       = 1000
	behindFor          = time.Second
	noLeaderFor        = time.Second
	undeliveredFor     = 2 * time.Second
	clockUnmeasuredFor = 10 * time.Second
	memberDiskBytes    = 128 << 20
)

// memberTick is the time between two judgments of a member about itself.
const memberTick = 50 * time.Millisecond

// ErrDamaged means that a member stopped because it could not verify what its log or one of its
// files holds. It must not be restarted before somebody knows why.
var ErrDamaged = errors.New("damaged")

// ErrRemoved means that a member stopped because it was removed from its cluster. It must not be restarted.
var ErrRemoved = errors.New("removed")

// Members are the members of a log of several machines, as this member sees them now.
type Members struct {
	Voters  []uint32  // every member with a vote, in the order of their names
	Up      []uint32  // those of the voters that the log reaches now
	Leader  uint32    // 0: none is known
	Changes uint64    // how often the leader has changed
	Contact time.Time // of the last contact with a leader, by the monotonic clock; now for the leader itself
	Head    uint64    // number of the newest group that is known to be in the log, wherever it is
	Clock   ClockOffset
}

// ClockOffset is how far the clock of this member is ahead of the median of the members' clocks.
type ClockOffset struct {
	Offset   time.Duration
	Measured time.Time // by the monotonic clock; zero: never
}

// Status is the state of a member and what follows from it.
type Status struct {
	State  State
	Reads  bool // reads are served; else they are answered with node_behind
	Writes bool // commands are taken; else they are shed, or draining
}

// member derives the state of this member. Engine.member is nil on one machine.
type member struct {
	e         *Engine
	reads     atomic.Int64 // until when reads are served, ns since began; 0: they are not
	state     atomic.Uint32
	began     time.Time
	onState   func(Status)
	resigned  bool      // Options.Resign was called for the present disk_full
	reach     uint64    // a number of the log that was its head at reachFrom, and is not applied
	reachFrom time.Time // zero: nothing is awaited
	reported  Status    // what onState was called with
}

func newMember(e *Engine) *member {
	m := &member{e: e, began: time.Now(), onState: e.opt.OnState}
	m.state.Store(uint32(Joining))
	return m
}

// run keeps the state current until ctx ends.
func (m *member) run(ctx context.Context) {
	tick := time.Tick(memberTick)
	for {
		m.update(time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// update stores the state of the member at now.
func (m *member) update(now time.Time) {
	log := m.e.opt.Members()
	applied := m.e.applied.Load()
	behind := m.isBehind(log.Head, applied, now)
	state := Serving
	switch isVoter := slices.Contains(log.Voters, m.e.opt.Node); {
	case m.e.opt.Follower:
		state = m.follower(&log, behind, now)
	case !isVoter:
		state = Joining
	case log.Leader == 0 && now.Sub(log.Contact) > noLeaderFor, now.Sub(log.Contact) > noLeaderFor, m.e.undelivered(now) > undeliveredFor:
		state = Isolated
	case behind:
		state = Behind
	case m.e.suspect.Load():
		state = Suspect
	case m.clockIsOff(&log.Clock, now):
		state = ClockOff
	case m.e.FreeBytes() < memberDiskBytes:
		state = DiskFull
	}
	reads := int64(0)
	if state != Joining && !behind {
		reads = max(0, int64(log.Contact.Add(m.e.opt.StaleAfter).Sub(m.began)))
	}
	m.reads.Store(reads)
	if was := State(m.state.Swap(uint32(state))); was != state {
		m.e.opt.Logf("the state of this member has changed", "state", state.String(), "before", was.String())
	}
	if (state == DiskFull) != m.resigned {
		if m.resigned = !m.resigned; m.resigned && m.e.opt.Resign != nil {
			m.e.opt.Resign()
		}
	}
	if status := m.status(now); status != m.reported {
		m.reported = status
		if m.onState != nil {
			m.onState(status)
		}
	}
}

// follower is the state of a follower. It needs no vote, and no clock, because it stamps nothing.
func (m *member) follower(log *Members, behind bool, now time.Time) State {
	switch {
	case now.Sub(log.Contact) > m.e.opt.StaleAfter:
		return Isolated
	case behind:
		return Behind
	case m.e.suspect.Load():
		return Suspect
	case m.e.FreeBytes() < memberDiskBytes:
		return DiskFull
	}
	return Serving
}

// isBehind reports whether more than behindGroups are missing, or whether what was the head
// behindFor ago is not applied yet.
func (m *member) isBehind(head, applied uint64, now time.Time) bool {
	switch {
	case applied >= head:
		m.reachFrom = time.Time{}
		return false
	case m.reachFrom.IsZero() || applied >= m.reach:
		m.reach, m.reachFrom = head, now
	}
	return head-applied > behindGroups || now.Sub(m.reachFrom) > behindFor
}

// clockIsOff reports whether the stamps of this member cannot be trusted: the clock differs from
// the members' median or from the wall clock, or nobody has compared it lately.
func (m *member) clockIsOff(c *ClockOffset, now time.Time) bool {
	most := m.e.opt.MaxClockOffset
	return c.Offset.Abs() > most || now.Sub(c.Measured) > clockUnmeasuredFor || m.e.clock.ahead().Abs() > most
}

// status is the status at now.
func (m *member) status(now time.Time) Status {
	s := Status{State: State(m.state.Load())}
	switch err := m.e.Err(); {
	case errors.Is(err, ErrDiverged):
		s.State = Diverged
		return s
	case err != nil:
		s.State = Damaged
		return s
	}
	s.Reads = int64(now.Sub(m.began)) < m.reads.Load()
	if m.e.Draining() {
		s.State = Draining
	}
	s.Writes = s.State == Serving && !m.e.opt.Follower
	return s
}

// MemberStatus returns the status of this member; ok is false on one machine. It takes no lock
// of the venue.
func (e *Engine) MemberStatus() (s Status, ok bool) {
	if e.member == nil {
		return Status{Reads: true, Writes: true}, false
	}
	return e.member.status(time.Now()), true
}

// Members returns the members as this one sees them, and the number of the group that it applied
// last; ok is false on one machine.
func (e *Engine) Members() (m Members, number uint64, ok bool) {
	if e.member == nil {
		return Members{}, 0, false
	}
	return e.opt.Members(), e.applied.Load(), true
}

// IsLeader reports whether this member has the lead.
func (e *Engine) IsLeader() bool {
	m, _, ok := e.Members()
	return ok && m.Leader == e.opt.Node
}

// ServesReads reports whether reads may be answered: always on one machine, and on a member while
// it knows what the venue is (docs/rules/operation.md#member-states).
func (e *Engine) ServesReads() bool {
	return e.member == nil || e.member.status(time.Now()).Reads
}

// Follows reports whether this is the engine of a follower, which takes no commands.
func (e *Engine) Follows() bool { return e != nil && e.opt.Follower }

// takesCommands reports whether the state of this member allows commands. A state that says so is
// at most memberTick old.
func (e *Engine) takesCommands() bool {
	return e.member == nil || !e.suspect.Load() && State(e.member.state.Load()) == Serving
}

// SendsMarks reports whether the commands of this engine carry the marks of their requests: those
// of a member do (docs/rules/accounts.md#marks).
func (e *Engine) SendsMarks() bool { return e != nil && e.several() }

// undelivered is for how long the oldest proposal of this run has not been delivered.
func (e *Engine) undelivered(now time.Time) (longest time.Duration) {
	e.pending.Range(func(_, g any) bool {
		longest = max(longest, now.Sub(g.(*group).proposedAt))
		return true
	})
	return longest
}

// final marks an error of applying as one after which a member must not be restarted.
func (e *Engine) final(err error) error {
	if !e.several() || errors.Is(err, ErrDiverged) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// finalIfDamage is final for an error of the log, which is final if it is a *journal.Damage.
func (e *Engine) finalIfDamage(err error) error {
	if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
		return e.final(err)
	}
	return err
}
