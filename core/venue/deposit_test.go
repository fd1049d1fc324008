package venue

import (
	"testing"

	"duplex/core"
)

// TestDepositMax tests docs/rules/money.md#deposits: the largest deposit, by itself and as an approved action.
func TestDepositMax(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	deposit := func(id string, amount core.Pips) *core.Deposit {
		return &core.Deposit{User: 1, DepositID: id, Amount: amount}
	}
	request := func(id string, amount core.Pips) *core.RequestApproval {
		return &core.RequestApproval{Action: core.ApprovalAction{Kind: core.ApproveDeposit, User: 1, DepositID: id, Amount: amount}, Audit: core.Audit{Who: "ann"}}
	}
	before := v.ledger.Cash(1)
	for _, x := range []struct {
		cmd  core.Command
		want core.Reject
	}{
		{deposit("over", core.DepositMax+1), core.BadAmount},
		{deposit("over", core.PipsMax), core.BadAmount},
		{deposit("over", core.DepositMax), core.OK}, // a rejection does not use the id up
		{deposit("over", core.DepositMax), core.OK}, // the same again
		{deposit("over", core.DepositMax+1), core.DuplicateDepositID},
		{request("approved", core.DepositMax+1), core.BadAmount},
		{request("approved", core.DepositMax), core.OK},
	} {
		if r := v.do(x.cmd); r != x.want {
			t.Errorf("%+v: %v, want %v", x.cmd, r, x.want)
		}
	}
	if got := v.ledger.Cash(1) - before; got != core.DepositMax {
		t.Errorf("the deposits are %d pips", got)
	}
}

// TestDepositOfAnEarlierRevision tests that a journal of before the bound keeps its outcomes, that a deposit
// which is booked stays the same deposit, and that an approval of before does not pass the bound.
func TestDepositOfAnEarlierRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionForecasts)
	large := &core.Deposit{User: 1, DepositID: "large", Amount: core.DepositMax + 1}
	v.must(large)
	action := core.ApprovalAction{Kind: core.ApproveDeposit, User: 1, DepositID: "approved", Amount: core.DepositMax + 1}
	v.must(&core.RequestApproval{Action: action, Audit: core.Audit{Who: "ann"}})
	approval := v.st.Seq
	v.must(&core.ActivateRules{Revision: core.RevisionDeposits})
	before := v.ledger.Cash(1)
	v.must(large)
	if r := v.do(&core.DecideApproval{Approval: approval, Approve: true, Action: action, Audit: core.Audit{Who: "bob"}}); r != core.BadAmount {
		t.Errorf("the approval: %v", r)
	}
	if got := v.ledger.Cash(1); got != before {
		t.Errorf("cash %d, before it was %d", got, before)
	}
}

// TestSumOfDeposits tests that all deposits together are at most core.PipsMax. Before core.RevisionDeposits two
// are enough to reach it.
func TestSumOfDeposits(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionForecasts)
	deposit := func(id string, amount core.Pips) core.Reject {
		return v.do(&core.Deposit{User: 1, DepositID: id, Amount: amount})
	}
	left := core.PipsMax - v.ledger.Deposits
	if r := deposit("all", left+1); r != core.BadAmount {
		t.Errorf("a pip too much: %v", r)
	}
	if r := deposit("all", left); r != core.OK {
		t.Errorf("as much as fits: %v", r)
	}
	if r := deposit("more", 1); r != core.BadAmount {
		t.Errorf("one more pip: %v", r)
	}
}
