package venue

import (
	"slices"
	"testing"

	"duplex/core"
)

// feeAction is an action that a new venue can execute, without accounts and markets.
func feeAction(taker core.Rate) core.ApprovalAction {
	return core.ApprovalAction{Kind: core.ApproveFees, Fees: core.Fees{Taker: taker}}
}

// TestPendingApprovals tests docs/rules/operation.md#two-person-approval: pending is what nobody has decided, for 24
// hours from its request, by rising id. An id is the seq of the request, 1 if it is a venue's first command.
func TestPendingApprovals(t *testing.T) {
	v, day := New(), 24*3600*core.NsPerSec
	do := func(ts int64, c core.Command) {
		t.Helper()
		if r := v.Apply(core.Stamp{Seq: v.Now().Seq + 1, Ts: ts}, c, &core.Events{}); r != core.OK {
			t.Fatalf("%T is rejected: %v", c, r)
		}
	}
	for i := range int64(4) {
		do(origin+i, &core.RequestApproval{Action: feeAction(core.Rate(500 + i)), Audit: core.Audit{Who: "zoe"}})
	}
	do(origin+9, &core.DecideApproval{Approval: 2, Action: feeAction(501), Audit: core.Audit{Who: "ann"}})
	do(origin+10, &core.DecideApproval{Approval: 3, Action: feeAction(502), Approve: true, Audit: core.Audit{Who: "ann"}})
	for _, c := range []struct {
		ts   int64
		want []uint64
	}{{origin + 10, []uint64{1, 4}}, {origin + day - 1, []uint64{1, 4}}, {origin + day, []uint64{4}}, {origin + day + 3, nil}} {
		var all, first []uint64
		for a := range v.PendingApprovals(c.ts) {
			all = append(all, a.ID)
		}
		for a := range v.PendingApprovals(c.ts) {
			first = append(first, a.ID)
			break
		}
		if !slices.Equal(all, c.want) || !slices.Equal(first, c.want[:min(1, len(c.want))]) {
			t.Errorf("%d ns after the request: %v, the first alone %v, want %v", c.ts-origin, all, first, c.want)
		}
	}
}

// TestCanExecute checks that an action can be executed if and only if a request for it leads to an approval.
func TestCanExecute(t *testing.T) {
	v, do := opened(t)
	do(&core.SetFees{Fees: core.Fees{Taker: 300}})
	deposit := core.ApprovalAction{Kind: core.ApproveDeposit, User: 1, DepositID: "new", Amount: 1_000_000}
	booked := deposit
	booked.DepositID = "1"
	for _, c := range []struct {
		name   string
		action core.ApprovalAction
		want   bool
	}{
		{"other fees", feeAction(301), true},
		{"the fees that are in force", feeAction(300), false},
		{"fees out of range", core.ApprovalAction{Kind: core.ApproveFees, Fees: core.Fees{RebatePct: 101}}, false},
		{"a deposit", deposit, true},
		{"a deposit that is booked", booked, false},
	} {
		if got := v.CanExecute(&c.action); got != c.want {
			t.Errorf("%s can be executed: %v", c.name, got)
		}
		r := do(&core.RequestApproval{Action: c.action, Audit: core.Audit{Who: "zoe"}})
		if _, asked := v.Approval(v.Now().Seq, v.Now().Ts); asked != c.want {
			t.Errorf("%s can be requested: %v, %v", c.name, asked, r)
		}
	}
}

// TestStepsOfEachRevision tests docs/rules/operation.md#alone, and that the requests of a revoked operator are dropped:
// both from core.RevisionSteps on. What would exceed a bound is what is rejected.
func TestStepsOfEachRevision(t *testing.T) {
	set, none := core.AloneBound{Set: true, Most: 100}, core.AloneBound{Most: 100}
	for _, c := range []struct {
		revision core.Revision
		bound    core.AloneBound
		amount   core.Pips
		exceeds  bool
		pending  int // after zoe is revoked
	}{
		{core.RevisionGrants, set, 101, false, 1},
		{core.RevisionSteps, set, 101, true, 0},
		{core.RevisionSteps, set, 100, false, 0},
		{core.RevisionSteps, none, 101, false, 0},
		{core.RevisionNewest, set, 101, true, 0},
	} {
		v := newReplaceVenue(t, c.revision)
		v.must(&core.AddOperator{Name: "zoe"})
		v.must(&core.RequestApproval{Action: feeAction(500), Audit: core.Audit{Who: "zoe"}})
		exceeds := v.ExceedsAlone(c.bound, "zoe", core.AloneSum{User: 1, Sum: c.amount}, v.Now().Ts)
		r := v.do(&core.Deposit{User: 1, DepositID: "alone", Amount: c.amount, Audit: core.Audit{Who: "zoe"}, Alone: c.bound})
		if exceeds != c.exceeds || (r == core.SelfApproval) != c.exceeds {
			t.Errorf("%+v: exceeds %v, the deposit is %v", c, exceeds, r)
		}
		v.must(&core.RevokeOperator{Name: "zoe"})
		if e, ok := v.ev.List[0].(*core.OperatorChanged); !ok || !e.Revoked || len(v.Operators()) > 0 {
			t.Errorf("%+v: %+v, operators %v", c, v.ev.List[0], v.Operators())
		}
		if pending := slices.Collect(v.PendingApprovals(v.Now().Ts)); len(pending) != c.pending {
			t.Errorf("%+v: pending %+v", c, pending)
		}
	}
}
