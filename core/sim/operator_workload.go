package sim

import (
	"fmt"

	"duplex/core"
	"duplex/core/venue"
)

// operatorCommand returns a command about operators: who they are, what they ask of each other, and
// what only they may do to an account. Names and ids are few, so that they repeat.
func (w *workload) operatorCommand() core.Command {
	by := core.Audit{Who: fmt.Sprint("op", w.r.IntN(3)), Why: fmt.Sprint("why ", w.r.IntN(3))}
	name, hash := fmt.Sprint("op", w.r.IntN(6)), [32]byte{byte(w.r.IntN(200)), 1}
	switch n := w.r.IntN(40); {
	case n < 3:
		return &core.AddOperator{Name: name, Role: core.Role(w.r.IntN(4)), TokenHash: hash, Audit: by}
	case n < 5:
		return &core.RevokeOperator{Name: name, Audit: by}
	case n < 7:
		return &core.ResetToken{User: w.user(), TokenHash: hash, Audit: by}
	case n == 7 && w.r.IntN(4) == 0:
		return &core.CancelUserOrders{User: w.user(), Audit: by}
	case n < 22:
		return &core.RequestApproval{Action: w.approvalAction(), Audit: by}
	}
	c := &core.DecideApproval{Approval: uint64(w.r.IntN(int(w.seq()) + 2)), Approve: w.r.IntN(4) > 0, Action: w.approvalAction(), Audit: by}
	var all []core.Approval
	w.look(func(v *venue.Venue) {
		for a := range v.Approvals(0, w.now()) {
			all = append(all, a)
		}
	})
	if n := len(all); n > 0 && w.r.IntN(20) > 0 {
		a := all[n-1-w.r.IntN(min(n, 8))]
		if c.Approval = a.ID; w.r.IntN(20) > 0 {
			c.Action = a.Action
		}
	}
	return c
}

// approvalAction returns an action that may need a second operator.
func (w *workload) approvalAction() core.ApprovalAction {
	switch w.r.IntN(12) {
	case 0, 1, 2, 3:
		if w.rules >= core.RevisionDeposits && w.r.IntN(4) == 0 {
			d := w.largeDeposit()
			return core.ApprovalAction{Kind: core.ApproveDeposit, User: d.User, DepositID: d.DepositID, Amount: d.Amount}
		}
		return core.ApprovalAction{Kind: core.ApproveDeposit, User: w.user(), DepositID: fmt.Sprint("more ", w.r.IntN(30)), Amount: core.Pips(w.r.IntN(5) * 10_000)}
	case 4, 5, 6:
		var id uint64
		if n := len(w.withdrawals); n > 0 {
			id = w.withdrawals[w.r.IntN(n)]
		}
		return core.ApprovalAction{Kind: core.ApproveWithdrawal, Withdrawal: id}
	case 7:
		return core.ApprovalAction{Kind: core.ApproveVoid, Market: core.MarketID(w.r.IntN(3 * venue.Slots))}
	case 8, 9, 10:
		m := w.market()
		w.look(func(v *venue.Venue) {
			if list := marketsOf(v, core.Frozen, core.Proposed); len(list) > 0 && w.r.IntN(4) > 0 {
				m = list[w.r.IntN(len(list))]
			}
		})
		return core.ApprovalAction{Kind: core.ApprovePrice, Market: m, Price: w.price[0] + core.Price(w.r.IntN(3)) - 1}
	}
	return core.ApprovalAction{Kind: core.ApproveTick, Feed: core.Feed(w.r.IntN(core.Feeds)), Source: "desk", Price: w.price[0]}
}
