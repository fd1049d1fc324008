package venue

import (
	"testing"

	"duplex/core"
)

// TestMakersBeforeTheirRevision checks that quotes, switches of a group and connections are refused before
// core.RevisionMakers, and change nothing.
func TestMakersBeforeTheirRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionSteps)
	line := core.Line{Session: 1}
	for _, c := range []struct {
		cmd  core.Command
		want core.Reject
	}{
		{&core.QuoteSide{PlaceOrder: core.PlaceOrder{User: 1, ClientID: 901, Market: 1, Tick: 4000, Qty: 5, Group: 1}}, core.UnknownMarket},
		{&core.ArmDeadman{User: 1, Group: 1, TimeoutMs: 1000}, core.UnknownGroup},
		{&core.DisarmDeadman{User: 1, Group: 1}, core.UnknownGroup},
		{&core.ArmDeadman{User: 1, TimeoutMs: 1000}, core.OK},
		{&core.BindOrders{User: 1, Line: line}, core.UnknownGroup},
		{&core.BindOrders{User: 1, Release: true}, core.UnknownGroup},
	} {
		if r := v.do(c.cmd); r != c.want {
			t.Errorf("%T: %v, want %v", c.cmd, r, c.want)
		}
	}
	if v.UsedID(1, 901) || v.groups.Len() > 0 {
		t.Errorf("a used id: %v, %d groups", v.UsedID(1, 901), v.groups.Len())
	}
	v.must(&core.ActivateRules{Revision: core.RevisionMakers})
	v.must(&core.QuoteSide{PlaceOrder: core.PlaceOrder{User: 1, ClientID: 901, Market: 1, Tick: 4000, Qty: 5, Group: 1}})
}

// TestRowsOfAnAccount checks that a dead-man switch and a connection count among the groups of an account with a row,
// and that the account's own do not.
func TestRowsOfAnAccount(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionMakers)
	line := core.Line{Session: 1}
	for id := range uint32(core.GroupsMax) {
		v.must(&core.ArmDeadman{User: 1, Group: id + 2, TimeoutMs: 60_000})
	}
	for id, want := range []core.Reject{core.OK, core.GroupLimitReached, core.OK} {
		for _, cmd := range []core.Command{
			&core.BindOrders{User: 1, Group: uint32(id), Line: line}, &core.ArmDeadman{User: 1, Group: uint32(id), TimeoutMs: 1000},
			&core.DisarmDeadman{User: 1, Group: uint32(id)}, &core.BindOrders{User: 1, Group: uint32(id), Release: true},
		} {
			switch c := cmd.(type) {
			case *core.DisarmDeadman:
				if id == 1 {
					want = core.OK // there is none
				}
			case *core.ArmDeadman:
				if id == 2 {
					c.TimeoutMs = 2000 // once more
				}
			}
			if r := v.do(cmd); r != want {
				t.Errorf("%T of group %d: %v, want %v", cmd, id, r, want)
			}
		}
	}
	if ms, at := v.Deadman(1, 7777); ms != 0 || at != 0 {
		t.Errorf("a group without a row has a switch of %d ms at %d", ms, at)
	}
	n := 0
	for g := range v.Groups(1, v.st.Ts) {
		if n++; g.ID == 2 {
			t.Error("group 2 has a row, although nothing is set for it any more")
		}
	}
	if n != core.GroupsMax-1 {
		t.Errorf("%d rows", n)
	}
}

// TestBound checks what a process asks when it begins: whether orders are bound to an earlier one of its machine.
func TestBound(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionMakers)
	is := func(want ...uint32) {
		t.Helper()
		for node := range uint32(4) {
			bound := false
			for _, n := range want {
				bound = bound || n == node
			}
			if v.Bound(node) != bound {
				t.Errorf("something is bound to machine %d: %v", node, !bound)
			}
		}
	}
	is()
	v.must(&core.ArmDeadman{User: 1, Group: 1, TimeoutMs: 60_000})
	v.must(&core.BindOrders{User: 2, Line: core.Line{Node: 3, Session: 1}})
	first := v.st.Ts
	v.must(&core.BindOrders{User: 1, Group: 2, Line: core.Line{Node: 2, Session: 1}})
	if at := v.lapseDue(); at != first+core.BeatLapseMs*core.NsPerMs {
		t.Errorf("the first machine lapses %d ns after its beat", at-first)
	}
	v.must(&core.BindOrders{User: 3, Line: core.Line{Session: 1}})
	is(0, 2, 3)
	if at := v.Due(); at <= v.st.Ts {
		t.Errorf("a clock tick is due %d ns ago", v.st.Ts-at)
	}
	v.must(&core.Beat{Node: 2, Session: 2})
	v.must(&core.EndConnection{User: 3, Line: core.Line{Session: 1}})
	is(3)
}
