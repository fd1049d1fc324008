package venue

import (
	"iter"
	"slices"
	"strings"

	"duplex/core"
)

// findOperator returns the index of an operator, or where the operator would be.
func (v *Venue) findOperator(name string) (i int, found bool) {
	return slices.BinarySearchFunc(v.operators, name, func(o core.Operator, name string) int { return strings.Compare(o.Name, name) })
}

// addOperator adds a named operator (docs/rules/operation.md#operators). The slice of operators is
// replaced, never modified, because readers share it.
func (v *Venue) addOperator(c *core.AddOperator) core.Reject {
	i, taken := v.findOperator(c.Name)
	if taken {
		return core.DuplicateOperatorName
	}
	o := core.Operator{Name: c.Name, Role: c.Role, TokenHash: c.TokenHash, Created: v.now.Ts}
	v.operators = slices.Insert(slices.Clone(v.operators), i, o)
	v.ev.Add(&core.OperatorChanged{Operator: o})
	return core.OK
}

// revokeOperator removes a named operator, and with them what they requested and nobody has decided. A name
// that no operator has is a no-op.
func (v *Venue) revokeOperator(c *core.RevokeOperator) core.Reject {
	i, found := v.findOperator(c.Name)
	if !found {
		return core.OK
	}
	o := v.operators[i]
	v.operators = slices.Delete(slices.Clone(v.operators), i, i+1)
	v.ev.Add(&core.OperatorChanged{Operator: o, Revoked: true})
	if v.rules.Revision >= core.RevisionSteps {
		v.dropRequests(c.Name)
	}
	return core.OK
}

// dropRequests removes the pending approvals that an operator requested.
func (v *Venue) dropRequests(name string) {
	var dropped []*core.Approval
	v.approvals.Scan(func(_ uint64, a *core.Approval) bool {
		if a.By == name && a.Status == core.ApprovalPending && v.now.Ts < a.Expires() {
			dropped = append(dropped, a)
		}
		return true
	})
	for _, a := range dropped {
		v.drop(a)
	}
}

// dropApproval removes a pending approval.
func (v *Venue) dropApproval(c *core.DropApproval) core.Reject {
	a, _ := v.approvals.Get(c.Approval)
	switch {
	case a == nil || v.now.Ts >= a.Expires():
		return core.UnknownApproval
	case a.Status != core.ApprovalPending, v.rules.Revision < core.RevisionSteps:
		return core.InvalidTransition
	}
	v.drop(a)
	return core.OK
}

func (v *Venue) drop(a *core.Approval) {
	v.approvals.Delete(a.ID)
	v.ev.Add(&core.ApprovalChanged{Approval: *a, Dropped: true})
}

// Operators returns the named operators by name. The slice is shared and read-only.
func (v *Venue) Operators() []core.Operator { return v.operators }

// resetToken replaces an owner's account token; the one before is no longer valid
// (docs/rules/accounts.md#account-token). An agent has no token.
func (v *Venue) resetToken(c *core.ResetToken) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.accounts[c.User].Agent != nil:
		return core.InvalidTransition
	}
	a := &v.accounts[c.User]
	was := a.TokenHash
	a.TokenHash = c.TokenHash
	v.ev.Add(&core.UserChanged{User: a.User, TokenWas: was})
	return core.OK
}

// cancelUserOrders cancels every resting order of an account by order of an operator.
func (v *Venue) cancelUserOrders(c *core.CancelUserOrders) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	v.cancelAccountOrders(c.User, core.ByOperator, allOrders)
	return core.OK
}

// requestApproval records an action that a second operator decides
// (docs/rules/operation.md#two-person-approval). It judges the action, and rejects one that could
// not be executed now. A repeat of a pending request emits that request again. An action that is
// already done emits nothing.
func (v *Venue) requestApproval(c *core.RequestApproval) core.Reject {
	round, done, r := v.checkAction(&c.Action)
	if done || r != core.OK {
		return r
	}
	var again *core.Approval
	v.approvals.Scan(func(_ uint64, a *core.Approval) bool {
		switch {
		case a.Status != core.ApprovalPending || v.now.Ts >= a.Expires():
		case a.Action == c.Action && a.Round == round:
			again = a
		case a.Action.Kind == core.ApproveDeposit && c.Action.Kind == core.ApproveDeposit && a.Action.DepositID == c.Action.DepositID:
			r = core.DuplicateDepositID
		}
		return again == nil && r == core.OK
	})
	if r != core.OK {
		return r
	}
	if again == nil {
		v.forgetApprovals()
		again = &core.Approval{ID: v.now.Seq, Action: c.Action, Round: round, By: c.Audit.Who, Why: c.Audit.Why, Created: v.now.Ts}
		v.approvals.Set(again.ID, again)
	}
	v.ev.Add(&core.ApprovalChanged{Approval: *again})
	return core.OK
}

// checkAction returns the round that an action is about, 0 if it is about none, whether the action
// is already done, or why it cannot be executed.
func (v *Venue) checkAction(x *core.ApprovalAction) (round uint64, done bool, r core.Reject) {
	switch x.Kind {
	case core.ApproveDeposit:
		done, r = v.checkDeposit(core.Deposited{User: x.User, DepositID: x.DepositID, Amount: x.Amount})
	case core.ApproveWithdrawal, core.ApprovePayment, core.ApproveFailure, core.ApproveReturn:
		w, _ := v.withdrawals.Get(x.Withdrawal)
		to, _ := x.WithdrawalStep()
		done, r = v.checkStep(w, to, "")
	case core.ApproveVoid, core.ApprovePrice:
		m := v.market(x.Market)
		if r = checkVoid(m); x.Kind == core.ApprovePrice {
			r = checkPropose(m)
		}
		if r == core.OK {
			round = m.Number
		}
	case core.ApproveFees:
		if !x.Fees.Valid() {
			r = core.BadFees
		}
		done = x.Fees == v.fees
	}
	return round, done, r
}

// CanExecute reports whether an action could be executed now, and is not done already.
func (v *Venue) CanExecute(x *core.ApprovalAction) bool {
	_, done, r := v.checkAction(x)
	return r == core.OK && !done
}

// decideApproval executes an approved action, which is judged again, or rejects it. If the action is
// refused, the approval stays pending. Deciding alike once more is a no-op.
func (v *Venue) decideApproval(c *core.DecideApproval) core.Reject {
	was, _ := v.approvals.Get(c.Approval)
	to := core.ApprovalRejected
	if c.Approve {
		to = core.ApprovalApproved
	}
	switch {
	case was == nil || v.now.Ts >= was.Expires() || was.Action != c.Action:
		return core.UnknownApproval
	case was.By == c.Audit.Who:
		return core.SelfApproval
	case was.Status == to:
		return core.OK
	case was.Status != core.ApprovalPending:
		return core.InvalidTransition
	}
	if c.Approve {
		if r := v.execute(was); r != core.OK {
			return r
		}
	}
	a := *was
	a.Status, a.DecidedBy, a.DecidedTs = to, c.Audit.Who, v.now.Ts
	v.approvals.Set(a.ID, &a)
	v.ev.Add(&core.ApprovalChanged{Approval: a})
	return core.OK
}

// execute executes an approved action, under the rules of the command that the action would have been
// without an approval. A void or a price is for the round of the request.
func (v *Venue) execute(a *core.Approval) core.Reject {
	x := &a.Action
	if a.Round != 0 && v.markets[x.Market].Number != a.Round {
		return core.InvalidTransition
	}
	switch x.Kind {
	case core.ApproveDeposit:
		return v.deposit(&core.Deposit{User: x.User, DepositID: x.DepositID, Amount: x.Amount})
	case core.ApproveWithdrawal, core.ApprovePayment, core.ApproveFailure, core.ApproveReturn:
		w, _ := v.withdrawals.Get(x.Withdrawal)
		to, _ := x.WithdrawalStep()
		done, r := v.checkStep(w, to, "")
		if r == core.OK && !done {
			v.step(w, to, "")
		}
		return r
	case core.ApproveVoid:
		return v.voidMarket(&core.VoidMarket{Market: x.Market})
	case core.ApprovePrice:
		return v.proposePrice(&core.ProposePrice{Market: x.Market, Price: x.Price})
	case core.ApproveFees:
		return v.setFees(&core.SetFees{Fees: x.Fees})
	default: // a tick, which the operator's listener posts by a command of its own
		return core.OK
	}
}

// forgetApprovals removes the approvals that have expired.
func (v *Venue) forgetApprovals() {
	for {
		id, a, ok := v.approvals.Min()
		if !ok || v.now.Ts < a.Expires() {
			return
		}
		v.approvals.Delete(id)
	}
}

// Approvals returns the approvals that have not expired at ts (ns), with an id above from, by rising
// id.
func (v *Venue) Approvals(from uint64, ts int64) iter.Seq[core.Approval] {
	return func(yield func(core.Approval) bool) {
		v.approvals.Ascend(from+1, func(_ uint64, a *core.Approval) bool { return ts >= a.Expires() || yield(*a) })
	}
}

// PendingApprovals returns the approvals that nobody has decided and that have not expired at ts (ns), by rising id.
func (v *Venue) PendingApprovals(ts int64) iter.Seq[core.Approval] {
	return func(yield func(core.Approval) bool) {
		for a := range v.Approvals(0, ts) {
			if a.Status == core.ApprovalPending && !yield(a) {
				return
			}
		}
	}
}

// Approval returns an approval by its id, or false if there is none or if it has expired at ts (ns).
func (v *Venue) Approval(id uint64, ts int64) (core.Approval, bool) {
	if a, ok := v.approvals.Get(id); ok && ts < a.Expires() {
		return *a, true
	}
	return core.Approval{}, false
}

// OpenWithdrawals returns the withdrawals that are not over, with an id above from, oldest first.
func (v *Venue) OpenWithdrawals(from uint64) iter.Seq[core.Withdrawal] {
	return func(yield func(core.Withdrawal) bool) {
		v.open.Ascend(from+1, func(id uint64, _ struct{}) bool {
			w, _ := v.withdrawals.Get(id)
			return yield(*w)
		})
	}
}

// Withdrawals returns all withdrawals with an id below from, newest first; 0 means from the newest.
func (v *Venue) Withdrawals(from uint64) iter.Seq[core.Withdrawal] {
	return func(yield func(core.Withdrawal) bool) {
		v.withdrawals.Descend(from-1, func(_ uint64, w *core.Withdrawal) bool { return yield(*w) })
	}
}
