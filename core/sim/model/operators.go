package model

import "duplex/core"

// approvalTime is how long an approval may be decided and is remembered, in ns.
const approvalTime = 24 * 60 * minute

// Approval is a request of one operator that another one decides.
type Approval struct {
	Action                core.ApprovalAction
	Round                 uint64
	By, Why, DecidedBy    string
	RequestedTs, DecideTs int64 // ns
	Status                core.ApprovalStatus
}

func (v *Venue) addOperator(c *core.AddOperator) core.Reject {
	if _, taken := v.operators[c.Name]; taken {
		return core.DuplicateOperatorName
	}
	v.operators[c.Name] = core.Operator{Name: c.Name, Role: c.Role, TokenHash: c.TokenHash, Created: v.now.Ts}
	return core.OK
}

func (v *Venue) resetToken(c *core.ResetToken) core.Reject {
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case v.users[c.User].agent != nil:
		return core.InvalidTransition
	}
	v.users[c.User].token = c.TokenHash
	return core.OK
}

func (v *Venue) cancelUserOrders(c *core.CancelUserOrders) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	v.sweep(core.ByOperator, func(o order) bool { return o.User == c.User })
	return core.OK
}

// requestApproval enters a request, unless it could not be executed, is done already, or was made
// before.
func (v *Venue) requestApproval(c *core.RequestApproval) core.Reject {
	x := c.Action
	var round uint64
	switch x.Kind {
	case core.ApproveDeposit:
		d, booked := v.depositsByID[x.DepositID]
		switch {
		case !v.userExists(x.User):
			return core.UnknownUser
		case booked && (d.User != x.User || d.Amount != x.Amount):
			return core.DuplicateDepositID
		case booked:
			return core.OK
		case !v.canDeposit(x.Amount):
			return core.BadAmount
		}
	case core.ApproveWithdrawal, core.ApprovePayment, core.ApproveFailure, core.ApproveReturn:
		if done, r := v.mayStep(x.Withdrawal, stepOf[x.Kind], ""); done || r != core.OK {
			return r
		}
	case core.ApproveFees:
		switch {
		case !validFees(x.Fees):
			return core.BadFees
		case x.Fees == v.fees:
			return core.OK
		}
	case core.ApproveVoid, core.ApprovePrice:
		m, opened := v.markets[x.Market]
		over := m.Status == core.Settled || m.Status == core.Void
		switch {
		case !opened:
			return core.UnknownMarket
		case over, x.Kind == core.ApprovePrice && m.Status == core.Trading:
			return core.InvalidTransition
		}
		round = m.Number
	}
	for _, a := range v.approvals {
		open := a.open(v.now.Ts)
		if open && a.Action == x && a.Round == round {
			return core.OK
		}
		if open && x.Kind == core.ApproveDeposit && a.Action.Kind == x.Kind && a.Action.DepositID == x.DepositID {
			return core.DuplicateDepositID
		}
	}
	v.forgetApprovals()
	v.approvals[v.now.Seq] = Approval{Action: x, Round: round, By: c.Audit.Who, Why: c.Audit.Why, RequestedTs: v.now.Ts}
	return core.OK
}

// decideApproval executes or rejects what another operator has requested.
func (v *Venue) decideApproval(c *core.DecideApproval) core.Reject {
	a, ok := v.approvals[c.Approval]
	status := map[bool]core.ApprovalStatus{true: core.ApprovalApproved, false: core.ApprovalRejected}[c.Approve]
	switch {
	case !ok, v.now.Ts-a.RequestedTs >= approvalTime, a.Action != c.Action:
		return core.UnknownApproval
	case a.By == c.Audit.Who:
		return core.SelfApproval
	case a.Status == status:
		return core.OK
	case a.Status != core.ApprovalPending:
		return core.InvalidTransition
	}
	if c.Approve {
		if r := v.doApproved(a); r != core.OK {
			return r
		}
	}
	a.Status, a.DecidedBy, a.DecideTs = status, c.Audit.Who, v.now.Ts
	v.approvals[c.Approval] = a
	return core.OK
}

// doApproved applies the command that an approved action stands for.
func (v *Venue) doApproved(a Approval) core.Reject {
	x := a.Action
	switch x.Kind {
	case core.ApproveDeposit:
		return v.deposit(core.Deposit{User: x.User, DepositID: x.DepositID, Amount: x.Amount})
	case core.ApproveWithdrawal, core.ApprovePayment, core.ApproveFailure, core.ApproveReturn:
		done, r := v.mayStep(x.Withdrawal, stepOf[x.Kind], "")
		if r == core.OK && !done {
			v.stepTo(x.Withdrawal, stepOf[x.Kind], "")
		}
		return r
	case core.ApproveFees:
		return v.setFees(x.Fees)
	case core.ApproveVoid, core.ApprovePrice:
		if v.markets[x.Market].Number != a.Round {
			return core.InvalidTransition
		}
		if x.Kind == core.ApproveVoid {
			return v.voidMarket(&core.VoidMarket{Market: x.Market})
		}
		return v.proposePrice(&core.ProposePrice{Market: x.Market, Price: x.Price})
	}
	return core.OK
}

// stepOf has the states to which approvals take a withdrawal.
var stepOf = map[core.ApprovalKind]core.WithdrawalState{
	core.ApproveWithdrawal: core.WithdrawalCompleted, core.ApprovePayment: core.WithdrawalApproved,
	core.ApproveFailure: core.WithdrawalFailed, core.ApproveReturn: core.WithdrawalRejected,
}

// open reports whether the approval may be decided at ts (ns).
func (a Approval) open(ts int64) bool {
	return a.Status == core.ApprovalPending && ts-a.RequestedTs < approvalTime
}

func (v *Venue) revokeOperator(name string) {
	if _, ok := v.operators[name]; !ok {
		return
	}
	delete(v.operators, name)
	for id, a := range v.approvals {
		if v.rules.Revision >= core.RevisionSteps && a.By == name && a.open(v.now.Ts) {
			delete(v.approvals, id)
		}
	}
}

func (v *Venue) dropApproval(id uint64) core.Reject {
	a, ok := v.approvals[id]
	switch {
	case !ok, v.now.Ts-a.RequestedTs >= approvalTime:
		return core.UnknownApproval
	case v.rules.Revision < core.RevisionSteps, a.Status != core.ApprovalPending:
		return core.InvalidTransition
	}
	delete(v.approvals, id)
	return core.OK
}

// forgetApprovals forgets what has expired.
func (v *Venue) forgetApprovals() {
	for id, a := range v.approvals {
		if v.now.Ts-a.RequestedTs >= approvalTime {
			delete(v.approvals, id)
		}
	}
}

// Operators returns the named operators by name.
func (v *Venue) Operators() map[string]core.Operator { return v.operators }

// Approvals returns the approvals that have not expired, by id.
func (v *Venue) Approvals() map[uint64]Approval {
	all := map[uint64]Approval{}
	for id, a := range v.approvals {
		if v.now.Ts-a.RequestedTs < approvalTime {
			all[id] = a
		}
	}
	return all
}

// Token returns the hash of an account's token.
func (v *Venue) Token(u core.UserID) [32]byte { return v.users[u].token }

// AllWithdrawals returns the withdrawals by id, without seq and time of their last change.
func (v *Venue) AllWithdrawals() map[uint64]core.Withdrawal { return v.withdrawalsByID }

// OpenWithdrawals returns the ids of the withdrawals that are not over.
func (v *Venue) OpenWithdrawals() map[uint64]bool {
	all := map[uint64]bool{}
	for id, w := range v.withdrawalsByID {
		if w.State == core.WithdrawalPending || w.State == core.WithdrawalApproved || w.State == core.WithdrawalSent {
			all[id] = true
		}
	}
	return all
}
