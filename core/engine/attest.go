package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"duplex/core"
)

// In a log of several machines no machine's hash is authoritative. At each Checkpoint every
// member hashes its state and proposes an Attest, and each decides about itself only: it stops if
// a majority of the members attests otherwise, and takes no commands while members differ and no
// majority attests either (docs/rules/operation.md#attestation).

// ErrDiverged means that a majority of the members attests another state than this one has. The
// member must not be restarted before somebody knows why.
var ErrDiverged = errors.New("diverged")

// verdict is what a member concludes from the attestations of one checkpoint.
type verdict uint8

const (
	undecided verdict = iota // no majority attests the same, and further attestations may come
	confirmed                // a majority attests what this member has
	suspect                  // members differ, none of those that are up is missing, no majority
	diverged                 // a majority attests the same, and this member has something else
)

// decide returns the verdict of the member self, which has own: what it computed itself, whatever
// it attested in an earlier life. others are the attestations of the nodes; those of nodes without
// a vote do not count. awaited are the nodes whose attestation is still expected.
func decide(self uint32, own core.Attest, others map[uint32]core.Attest, voters, awaited []uint32) verdict {
	votes, missing, differ := map[core.Attest]int{}, false, false
	for _, n := range voters {
		a, ok := others[n]
		if n == self {
			a, ok = own, true
		}
		switch {
		case !ok:
			missing = missing || slices.Contains(awaited, n)
		default:
			votes[a]++
			differ = differ || a != own
		}
	}
	majority := len(voters)/2 + 1
	if votes[own] >= majority {
		return confirmed
	}
	for _, n := range votes { // not those of own
		if n >= majority {
			return diverged
		}
	}
	if differ && !missing {
		return suspect
	}
	return undecided
}

// checkpointsKept is the number of checkpoints whose attestations a member keeps. A member that
// needs more than that many checkpoints for a hash does not take part.
const checkpointsKept = 8

// attested is what is attested for one checkpoint.
type attested struct {
	own     core.Attest // without its Hash until known
	known   bool
	others  map[uint32]core.Attest
	verdict verdict
}

// attestations are those of the newest checkpoints. Verify has no members: the nodes that have
// attested a checkpoint are its voters, and its verdict is due when no further attestation can come.
type attestations struct {
	self    uint32
	members func() Members
	count   func(verdict) // of a checkpoint, when it changes; nil: nobody counts

	mu   sync.Mutex
	list []*attested // oldest first
}

// begin adds the checkpoint with own's Seq and Chain. Nothing further is awaited for the ones
// before it.
func (l *attestations) begin(own core.Attest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.decideAll(); err != nil {
		return err
	}
	if l.list = append(l.list, &attested{own: own, others: map[uint32]core.Attest{}}); len(l.list) > checkpointsKept {
		l.list = slices.Delete(l.list, 0, 1)
	}
	return nil
}

// end decides on every checkpoint, because nothing further is awaited.
func (l *attestations) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.decideAll()
}

func (l *attestations) decideAll() error {
	for _, c := range l.list {
		var voters []uint32
		if l.members != nil {
			voters = l.members().Voters
		} else {
			voters = slices.Collect(maps.Keys(c.others))
		}
		if err := l.decide(c, voters, nil); err != nil {
			return err
		}
	}
	return nil
}

// decideNow decides on a checkpoint for which the members that are up may still attest.
func (l *attestations) decideNow(c *attested) error {
	if l.members == nil {
		return nil
	}
	m := l.members()
	return l.decide(c, m.Voters, m.Up)
}

// computed sets the hash that this member computed.
func (l *attestations) computed(own core.Attest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.list {
		if c.own.Seq == own.Seq {
			c.own, c.known = own, true
			return l.decideNow(c)
		}
	}
	return nil
}

// add adds the attestation of a node. The newest one of a node counts. It belongs to the
// checkpoint with its Seq or its Chain. If it has neither, although it is not older than the
// checkpoints kept, then that node differs in both, and it counts against the newest checkpoint.
func (l *attestations) add(node uint32, a core.Attest) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return nil
	}
	i := slices.IndexFunc(l.list, func(c *attested) bool { return c.own.Seq == a.Seq || c.own.Chain == a.Chain })
	switch {
	case i < 0 && a.Seq < l.list[0].own.Seq:
		return nil
	case i < 0:
		i = len(l.list) - 1
	}
	l.list[i].others[node] = a
	return l.decideNow(l.list[i])
}

// decide decides on one checkpoint. It returns ErrDiverged if this member must stop.
func (l *attestations) decide(c *attested, voters, awaited []uint32) error {
	if !c.known {
		return nil
	}
	was := c.verdict
	c.verdict = decide(l.self, c.own, c.others, voters, awaited)
	if c.verdict != was && l.count != nil {
		l.count(c.verdict)
	}
	if c.verdict != diverged {
		return nil
	}
	return fmt.Errorf("%w: at seq %d this member has the state %x, and a majority of the %d members attests another", ErrDiverged, c.own.Seq, c.own.Hash, len(voters))
}

// standing calls take with whether the member is suspect, by the newest checkpoint with a verdict, and
// the seq of the newest confirmed one; 0 if there is none. It holds the lock meanwhile, so that what an
// older list says never replaces what a newer one said.
func (l *attestations) standing(take func(isSuspect bool, confirmedSeq uint64)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	decided, isSuspect := false, false
	for _, c := range slices.Backward(l.list) {
		if c.verdict != undecided && !decided {
			decided, isSuspect = true, c.verdict == suspect
		}
		if c.verdict == confirmed {
			take(isSuspect, c.own.Seq)
			return
		}
	}
	take(isSuspect, 0)
}

// countVerdict counts what this member concluded about a checkpoint.
func (s *Stats) countVerdict(v verdict) {
	switch v {
	case confirmed:
		s.AttestConfirmed.Add(1)
	case suspect:
		s.AttestSuspect.Add(1)
	case diverged:
		s.AttestDiverged.Add(1)
	}
}

// several reports whether the log is one of several machines.
func (e *Engine) several() bool { return e.opt.Members != nil }

// attest takes the hash that this member computed, and proposes it.
func (e *Engine) attest(own core.Attest) error {
	if err := e.attestations.computed(own); err != nil {
		return err
	}
	if e.several() {
		e.takeStanding()
		if !e.opt.Follower {
			e.nextAttest.Store(&own)
			e.queue.signal()
		}
	}
	return nil
}

// compareAttests takes the attestations of an applied group.
func (e *Engine) compareAttests(node uint32, list []Applied) error {
	for i := range list {
		if a, ok := list[i].Command.(*core.Attest); ok {
			if err := e.attestations.add(node, *a); err != nil {
				return err
			}
			if e.several() {
				e.takeStanding()
			}
		}
	}
	return nil
}

func (e *Engine) takeStanding() {
	e.attestations.standing(func(is bool, seq uint64) {
		e.stats.AttestedSeq.Store(seq)
		if e.suspect.Swap(is) != is {
			if is {
				e.opt.Logf("members attest different states, and no majority attests either: this member takes no commands until one does")
			} else {
				e.opt.Logf("a majority attests the state of this member again")
			}
		}
	})
}

// Attested returns seq and state hash of the newest checkpoint that a majority attests as this member
// has it; ok is false if there is none.
func (e *Engine) Attested() (seq uint64, hash [32]byte, ok bool) {
	if e.attestations == nil {
		return 0, hash, false
	}
	return e.attestations.newest()
}

// newest returns the newest confirmed checkpoint.
func (l *attestations) newest() (seq uint64, hash [32]byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range slices.Backward(l.list) {
		if c.verdict == confirmed {
			return c.own.Seq, c.own.Hash, true
		}
	}
	return 0, hash, false
}

// Suspect reports whether members attest different states and no majority attests either. The
// engine then refuses every command with ErrShed.
func (e *Engine) Suspect() bool { return e.suspect.Load() }
