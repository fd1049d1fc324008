package engine

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/journal/logtest"
	"duplex/core/venue"
	"duplex/core/view"
)

// TestJudge has the verdicts of member 1. In a table, a to c are attestations, . is none, and ? is
// one that is still expected; the first letter is that of member 1 itself.
func TestJudge(t *testing.T) {
	value := func(r byte) core.Attest { return core.Attest{Seq: 9, Hash: [32]byte{r}} }
	for _, test := range []struct {
		members string
		want    verdict
	}{
		{"a", confirmed},
		{"aa", confirmed},
		{"a?", undecided},
		{"a.", undecided},
		{"ab", suspect},
		{"a??", undecided},
		{"a..", undecided},
		{"aa?", confirmed},
		{"aa.", confirmed},
		{"aab", confirmed},
		{"aba", confirmed},
		{"aaa", confirmed},
		{"abb", diverged},
		{"ab?", undecided},
		{"ab.", suspect},
		{"a.b", suspect},
		{"abc", suspect},
		{"aaa..", confirmed},
		{"aa...", undecided},
		{"aa???", undecided},
		{"aab..", suspect},
		{"aab??", undecided},
		{"aabb.", suspect},
		{"aabb?", undecided},
		{"aabbc", suspect},
		{"abb..", suspect},
		{"abb?.", undecided},
		{"abbb.", diverged},
		{"abbb?", diverged},
		{"abbcc", suspect},
		{"aabbb", diverged},
		{"aaabb", confirmed},
	} {
		t.Run(test.members, func(t *testing.T) {
			others := map[uint32]core.Attest{99: value('z')} // not a member
			var voters, awaited []uint32
			for i, r := range []byte(test.members) {
				n := uint32(i + 1)
				voters = append(voters, n)
				switch {
				case r == '?':
					awaited = append(awaited, n)
				case r != '.' && n > 1:
					others[n] = value(r)
				}
			}
			if got := decide(1, value('a'), others, voters, awaited); got != test.want {
				t.Errorf("verdict %d, want %d", got, test.want)
			}
		})
	}
}

// TestJudgeWithoutAVote checks a node that applies the log and has no vote: it does not count for
// itself, and stops like a member.
func TestJudgeWithoutAVote(t *testing.T) {
	a, b := core.Attest{Seq: 1}, core.Attest{Seq: 2}
	for _, test := range []struct {
		others map[uint32]core.Attest
		want   verdict
	}{
		{map[uint32]core.Attest{1: a}, undecided},
		{map[uint32]core.Attest{1: a, 2: a}, confirmed},
		{map[uint32]core.Attest{1: a, 2: b}, suspect},
		{map[uint32]core.Attest{1: b, 2: b}, diverged},
	} {
		if got := decide(9, a, test.others, []uint32{1, 2, 3}, nil); got != test.want {
			t.Errorf("%v: verdict %d, want %d", test.others, got, test.want)
		}
	}
}

// TestAttestationOfAnotherPlace checks attestations that name another seq or chain than this
// member's checkpoints have.
func TestAttestationOfAnotherPlace(t *testing.T) {
	at := func(seq uint64, chain byte) core.Attest { return core.Attest{Seq: seq, Chain: [32]byte{chain}} }
	for name, test := range map[string]struct {
		other core.Attest
		want  error
	}{
		"the same":                      {at(20, 2), nil},
		"of an earlier checkpoint":      {at(10, 1), nil},
		"before the checkpoints kept":   {at(5, 9), nil},
		"another chain":                 {at(20, 9), ErrDiverged},
		"another seq":                   {at(21, 2), ErrDiverged},
		"another chain and a later seq": {at(25, 9), ErrDiverged},
		"between two checkpoints":       {at(15, 9), ErrDiverged},
	} {
		t.Run(name, func(t *testing.T) {
			l := &attestations{self: 1, members: func() Members { return Members{Voters: []uint32{1, 2, 3}} }}
			for _, own := range []core.Attest{at(10, 1), at(20, 2)} {
				if err := errors.Join(l.begin(own), l.computed(own)); err != nil {
					t.Fatal(err)
				}
			}
			err := errors.Join(l.add(1, at(20, 8)), l.add(2, test.other), l.add(3, test.other))
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// TestStandingIsTakenInOrder checks that no attestation is added while a standing is taken, whose taker
// could then replace a newer one.
func TestStandingIsTakenInOrder(t *testing.T) {
	own, other := core.Attest{Seq: 10}, core.Attest{Seq: 10, Hash: [32]byte{1}}
	l := &attestations{self: 1, members: func() Members { return Members{Voters: []uint32{1, 2}} }}
	var taken []string
	take := func(isSuspect bool, seq uint64) {
		if taken = append(taken, fmt.Sprint(isSuspect, seq)); l.mu.TryLock() {
			t.Fatal("the attestations may change while their standing is taken")
		}
	}
	l.standing(take)
	for _, f := range []func() error{func() error { return l.begin(own) }, func() error { return l.computed(own) }, func() error { return l.add(2, other) }, func() error { return l.add(2, own) }} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
		l.standing(take)
	}
	if want := []string{"false 0", "false 0", "false 0", "true 0", "false 10"}; !slices.Equal(taken, want) {
		t.Errorf("%q, want %q", taken, want)
	}
}

// TestMembersWaitForTheFirstRevision checks that a log of several machines has neither a Checkpoint nor an
// Attest before the first ActivateRules, with which the log of a new venue begins.
func TestMembersWaitForTheFirstRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		internal := func() (n int) {
			for _, a := range s.applied() {
				switch a.Command.(type) {
				case *core.Checkpoint, *core.Attest:
					n++
				}
			}
			return n
		}
		s.checkpoints(0, 3)
		if n := internal(); n != 0 {
			t.Errorf("%d Checkpoints and Attests before the first revision", n)
		}
		do(t, s.members[1].engine(), &core.ActivateRules{Revision: core.RevisionNewest})
		s.checkpoints(0, 3)
		if n := internal(); n == 0 {
			t.Error("no Checkpoint under a revision")
		}
		s.close()
	})
}

// spoil changes the state of an engine behind the back of the log.
func spoil(e *Engine) {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := e.replica.Venue.Now()
	e.replica.Venue.Apply(core.Stamp{Seq: st.Seq, Ts: st.Ts}, &core.CreateUser{Name: "spoiled"}, &core.Events{})
}

// checkpoints sends a command to member i every few seconds, until the last checkpoint is attested.
func (s *severalEngines) checkpoints(i, n int) {
	for k := range n {
		time.Sleep(3 * time.Second)
		if _, err := s.members[i].engine().Submit(s.t.Context(), &core.CreateUser{Name: fmt.Sprint("tick", k)}); err != nil && !errors.Is(err, ErrShed) {
			s.t.Error(err)
		}
		synctest.Wait()
	}
}

// TestMembersConfirmEachOther checks that members with equal states confirm every checkpoint, and
// that no Checkpoint of theirs names a hash.
func TestMembersConfirmEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Hostile()))
		s.checkpoints(0, 20)
		time.Sleep(time.Minute)
		for _, m := range s.members {
			if e := m.engine(); e.Suspect() || e.Err() != nil || e.Stats().AttestedSeq.Load() == 0 {
				t.Errorf("member %d: suspect %v, %v, attested up to %d", m.node, e.Suspect(), e.Err(), e.Stats().AttestedSeq.Load())
			}
		}
		s.close()
		checkpoints, attests := 0, 0
		for _, a := range s.applied() {
			switch c := a.Command.(type) {
			case *core.Checkpoint:
				if checkpoints++; c.Hash != [32]byte{} {
					t.Errorf("seq %d: a Checkpoint with a hash", a.Stamp.Seq)
				}
			case *core.Attest:
				attests++
			}
		}
		if checkpoints < 5 || attests < 15 {
			t.Errorf("%d checkpoints, %d attestations", checkpoints, attests)
		}
	})
}

// TestSecondCheckpointHasNoEffect checks the Checkpoint of a member that another one has overtaken.
func TestSecondCheckpointHasNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		s.checkpoints(0, 2)
		e := s.members[1].engine()
		seq := func() (seq uint64) {
			e.Read(func(*venue.Venue, *view.View) { seq = e.replica.State.Seq })
			return seq
		}
		at := seq()
		do(t, e, &core.Checkpoint{Seq: at - 1})
		if got := seq(); got != at {
			t.Errorf("a late Checkpoint moved the last one from seq %d to %d", at, got)
		}
		r := do(t, e, &core.Checkpoint{Seq: at})
		if got := seq(); got != r.Stamp.Seq {
			t.Errorf("the next Checkpoint has seq %d, the last one is at %d", r.Stamp.Seq, got)
		}
		s.close()
	})
}

// TestMinorityStops checks that one of three members with another state stops, and that the others
// go on.
func TestMinorityStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		s.checkpoints(0, 3)
		spoil(s.members[2].engine())
		s.checkpoints(0, 3)
		if err := s.members[2].engine().Err(); !errors.Is(err, ErrDiverged) {
			t.Errorf("the member that differs stopped with %v", err)
		}
		s.members[2].is(Diverged, false)
		for _, m := range s.members[:2] {
			if e := m.engine(); e.Err() != nil || e.Suspect() {
				t.Errorf("member %d: %v, suspect %v", m.node, e.Err(), e.Suspect())
			}
		}
		s.members[2].crash()
		s.members[2].open() // replays the log, to the state that the others have
		s.checkpoints(2, 3)
		s.close()
	})
}

// TestTwoThatDifferWaitForTheThird checks two members that are up and differ: both take no
// commands, until the third has attested; then the one that differs from it stops.
func TestTwoThatDifferWaitForTheThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSeveral(t, logtest.NewCluster(1, logtest.Faults{}))
		s.checkpoints(0, 3)
		s.members[2].crash()
		spoil(s.members[1].engine())
		s.checkpoints(0, 3)
		for _, m := range s.members[:2] {
			e := m.engine()
			if _, err := e.Submit(t.Context(), &core.CreateUser{Name: "x"}); !e.Suspect() || !errors.Is(err, ErrShed) {
				t.Errorf("member %d: suspect %v, %v", m.node, e.Suspect(), err)
			}
			m.is(Suspect, true)
		}
		s.members[2].open()
		time.Sleep(time.Second)
		synctest.Wait()
		if err := s.members[1].engine().Err(); !errors.Is(err, ErrDiverged) {
			t.Errorf("the member that differs: %v", err)
		}
		for _, m := range []*severalMember{s.members[0], s.members[2]} {
			if e := m.engine(); e.Err() != nil || e.Suspect() {
				t.Errorf("member %d: %v, suspect %v", m.node, e.Err(), e.Suspect())
			}
		}
		s.checkpoints(0, 2)
		s.members[1].crash()
		s.members[1].open()
		s.close()
	})
}

// TestVerifyComparesAttests checks that Verify refuses a journal whose members attested another
// state.
func TestVerifyComparesAttests(t *testing.T) {
	for name, test := range map[string]struct {
		own, other int // how many nodes attest the journal's state, and another one
		fails      bool
	}{
		"none": {}, "all": {own: 3}, "most": {own: 2, other: 1}, "half": {own: 1, other: 1},
		"few": {own: 1, other: 2, fails: true}, "only others": {other: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClock()
			o := c.options(t.TempDir())
			e := mustOpen(t, o)
			do(t, e, &core.CreateUser{Name: "a"}) // with the first checkpoint
			e.mu.Lock()
			own := core.Attest{Seq: e.replica.State.Seq, Hash: e.hashing.wait(), Chain: e.replica.At.Chain}
			e.mu.Unlock()
			kill(t, e)
			for n := range test.own + test.other {
				a := own
				if n >= test.own {
					a.Hash[0]++
				}
				o.Node = uint32(n + 1)
				e := mustOpen(t, o)
				do(t, e, &a)
				kill(t, e)
			}
			if _, err := Verify(o.Dir, nil); errors.Is(err, ErrDiverged) != test.fails || err != nil && !test.fails {
				t.Errorf("%v, want a failure: %v", err, test.fails)
			}
		})
	}
}

func (s *severalEngines) nodes() (list []uint32) {
	for _, m := range s.members {
		if m.up.Load() {
			list = append(list, m.node)
		}
	}
	return slices.Clip(list)
}
