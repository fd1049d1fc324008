package view

import (
	"slices"
	"testing"

	"duplex/core"
)

// TestActivityNamesTheRule checks that a rejected placement and a rejected replace name the rule of the
// mandate that rejects them, and any other rejection none.
func TestActivityNamesTheRule(t *testing.T) {
	w := New(DefaultRetentionCaps())
	w.Fold(core.Stamp{Seq: 1}, []core.Event{&core.UserChanged{User: core.User{ID: 1}}})
	w.Fold(core.Stamp{Seq: 2}, []core.Event{&core.UserChanged{User: core.User{ID: 2, Agent: &core.Agent{Owner: 1}}}})
	placement := core.PlaceOrder{User: 2, ClientID: 5, Market: 1, Qty: 5, Tick: 5000}
	for i, c := range []struct {
		cmd    core.Command
		reject core.Reject
		broken *core.Violation
		want   Activity
	}{
		{&placement, core.MandateViolation, &core.Violation{Rule: core.RuleOpenCost}, Activity{Operation: opPlaceOrder, ClientID: 5, Rule: core.RuleOpenCost}},
		{&core.ReplaceOrder{Old: 1, PlaceOrder: placement}, core.MandateViolation, &core.Violation{Rule: core.RuleOpenCost}, Activity{Operation: opReplaceOrder, ClientID: 5, Order: 1, Rule: core.RuleOpenCost}},
		{&placement, core.InsufficientBalance, nil, Activity{Operation: opPlaceOrder, ClientID: 5}},
		{&placement, core.OK, nil, Activity{Operation: opPlaceOrder, ClientID: 5, Order: 6}},
	} {
		seq := uint64(i + 3)
		c.want.Seq, c.want.Reject = seq, c.reject
		w.Record(core.Stamp{Seq: seq}, c.cmd, c.reject, []core.Event{&core.OrderPlaced{Place: &placement, Reject: c.reject, Violation: c.broken}}, nil)
		for _, got := range w.Activity(2, 0) {
			if *got != c.want {
				t.Errorf("%+v, want %+v", *got, c.want)
			}
			break
		}
	}
}

// TestActivityOfKeys checks that an owner's keys and the halt by closing the account are in the activity,
// and an operator's keys are not.
func TestActivityOfKeys(t *testing.T) {
	w := New(DefaultRetentionCaps())
	agent := &core.UserChanged{User: core.User{ID: 2, Agent: &core.Agent{Owner: 1}}}
	w.Fold(core.Stamp{Seq: 1}, []core.Event{&core.UserChanged{User: core.User{ID: 1}}, agent})
	for i, who := range []string{core.WhoAccount, "zoe"} {
		by := core.Audit{Who: who}
		for j, c := range []core.Command{&core.CreateKey{User: 2, Audit: by}, &core.RevokeKey{User: 2, Key: "k", Audit: by}, &core.RevokeKey{User: 1, Audit: by}} {
			w.Record(core.Stamp{Seq: uint64(2 + 3*i + j)}, c, core.OK, []core.Event{agent}, nil)
		}
	}
	var got []string
	for _, a := range w.Activity(2, 0) {
		got = append(got, a.Operation.String())
	}
	if want := []string{"halt_agent", "revoke_key", "create_key"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
