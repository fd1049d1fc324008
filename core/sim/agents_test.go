package sim

import (
	"fmt"
	"testing"

	"duplex/core"
	"duplex/core/sim/model"
	"duplex/core/venue"
	"duplex/core/view"
)

func newVenueAndModel(t *testing.T) *venueAndModel {
	p := &venueAndModel{t: t, v: venue.New(), w: view.New(view.DefaultRetentionCaps()), m: model.New(), at: core.Stamp{Ts: origin}}
	p.do(&core.SetRules{Rules: core.DefaultRules()})
	p.do(&core.ActivateRules{Revision: core.RevisionNewest})
	p.do(&core.CreateUser{})
	return p
}

// An owner has at most 32 agents that are not closed, and 1,000 in all. The name of a closed
// agent stays used.
func TestAgentLimits(t *testing.T) {
	p := newVenueAndModel(t)
	create := func(i int) core.Reject { return p.try(&core.CreateAgent{Owner: 1, Name: fmt.Sprint("a", i)}) }
	for i := range core.AgentsMax {
		if i >= core.AgentsOpenMax {
			if got := create(i); got != core.AgentLimit {
				t.Fatalf("agent %d: %q", i+1, got)
			}
			p.do(&core.CloseAgent{Owner: 1, Agent: core.UserID(2 + i - core.AgentsOpenMax)})
		}
		if got := create(i); got != core.OK {
			t.Fatalf("agent %d: %q", i+1, got)
		}
	}
	p.do(&core.CloseAgent{Owner: 1, Agent: core.AgentsMax + 1})
	if got := create(core.AgentsMax); got != core.AgentLimit {
		t.Errorf("one more than %d agents: %q", core.AgentsMax, got)
	}
	if got := create(0); got != core.DuplicateAgentName {
		t.Errorf("the name of a closed agent: %q", got)
	}
	if err := sameState(p.v, p.m); err != nil {
		t.Error(err)
	}
}
