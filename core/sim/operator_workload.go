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
	if w.rules >= core.RevisionSteps {
		switch w.r.IntN(8) {
		case 0:
			d := &core.DecideWithdrawal{Withdrawal: w.withdrawal()}
			w.drawStep(d)
			return d
		case 1:
			d := &core.Deposit{User: w.user(), DepositID: fmt.Sprint("alone ", w.r.IntN(200)), Amount: core.Pips(w.r.IntN(5) * 10_000)}
			d.Alone, d.Audit = w.alone()
			return d
		case 2:
			if w.r.IntN(4) == 0 {
				settings := []string{"", "0", "1"}
				return &core.ChangeSetting{Name: fmt.Sprint("setting", w.r.IntN(3)), Before: settings[w.r.IntN(3)], Value: settings[1+w.r.IntN(2)], Audit: by}
			}
		}
	}
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
		if w.rules >= core.RevisionSteps && w.r.IntN(16) == 0 {
			return &core.DropApproval{Approval: c.Approval, Audit: by}
		}
	}
	return c
}

// withdrawal returns the id of a withdrawal, mostly of a new one; 0 before there are any.
func (w *workload) withdrawal() (id uint64) {
	if n := len(w.withdrawals); n > 0 {
		id = w.withdrawals[n-1-w.r.IntN(min(n, 1+w.r.IntN(n)))]
	}
	return id
}

// drawStep makes a decision a step to any state, mostly one that follows.
func (w *workload) drawStep(d *core.DecideWithdrawal) {
	d.To = core.WithdrawalState(w.r.IntN(len(core.WithdrawalStates())))
	w.look(func(v *venue.Venue) {
		x, known := v.Withdrawal(d.Withdrawal)
		for to := range core.WithdrawalState(len(core.WithdrawalStates())) {
			if known && x.State.Precedes(to) && w.r.IntN(2) == 0 {
				d.To = to
			}
		}
	})
	if d.To == core.WithdrawalSent || w.r.IntN(8) == 0 {
		d.Reference = fmt.Sprint("payment ", w.r.IntN(2))
	}
	d.Alone, d.Audit = w.alone()
}

// alone returns the bound of what an operator does alone, mostly one, and who it is.
func (w *workload) alone() (core.AloneBound, core.Audit) {
	by := core.Audit{Who: fmt.Sprint("op", w.r.IntN(3))}
	if most := core.Pips(w.r.IntN(6) * 20_000); w.r.IntN(3) > 0 {
		return core.AloneBound{Set: true, Most: most}, by
	}
	return core.AloneBound{}, by
}

// approvalAction returns an action that may need a second operator.
func (w *workload) approvalAction() core.ApprovalAction {
	if w.rules >= core.RevisionSteps {
		switch w.r.IntN(4) {
		case 0:
			kinds := []core.ApprovalKind{core.ApprovePayment, core.ApproveFailure, core.ApproveReturn}
			return core.ApprovalAction{Kind: kinds[w.r.IntN(3)], Withdrawal: w.withdrawal()}
		case 1:
			if w.r.IntN(3) == 0 {
				return core.ApprovalAction{Kind: core.ApproveFees, Fees: core.Fees{Maker: core.Rate(w.r.IntN(3)), Taker: core.Rate(w.r.IntN(300)), RebatePct: uint8(w.r.IntN(70)), ReferPct: uint8(w.r.IntN(50))}}
			}
		}
	}
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
