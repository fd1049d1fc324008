package venue

import "duplex/core"

// clientWithdrawal is the account's own id of a withdrawal, by which a repeat is recognized.
type clientWithdrawal struct {
	user core.UserID
	id   string
}

// deposit adds to the account's cash. A repeat of a deposit id with equal fields is a no-op, with
// other fields it is rejected (docs/rules/money.md#deposits).
func (v *Venue) deposit(c *core.Deposit) core.Reject {
	d := core.Deposited{User: c.User, DepositID: c.DepositID, Amount: c.Amount}
	if done, r := v.checkDeposit(d); done || r != core.OK {
		return r
	}
	if r := v.doAlone(c.Alone, c.Audit.Who, core.AloneSum{User: c.User, Sum: c.Amount}); r != core.OK {
		return r
	}
	v.deposits.Set(c.DepositID, d)
	v.ledger.Deposit(c.User, c.Amount)
	v.ev.Add(&d)
	return core.OK
}

// checkDeposit returns whether a deposit is already booked, or why it cannot be.
func (v *Venue) checkDeposit(d core.Deposited) (done bool, r core.Reject) {
	switch was, again := v.deposits.Get(d.DepositID); {
	case !v.userExists(d.User):
		return false, core.UnknownUser
	case again && was == d:
		return true, core.OK
	case again:
		return false, core.DuplicateDepositID
	case d.Amount <= 0 || d.Amount > v.largestDeposit():
		return false, core.BadAmount
	}
	return false, core.OK
}

// largestDeposit is the largest amount of a new deposit, after which the sum is not above core.PipsMax.
func (v *Venue) largestDeposit() core.Pips {
	sum := core.PipsMax - v.ledger.Deposits
	if v.rules.Revision < core.RevisionDeposits {
		return sum
	}
	return min(core.DepositMax, sum)
}

// requestWithdrawal takes the amount out of free cash until an operator decides. A repeat of the
// client id with equal fields emits the first request's state again, with other fields it is
// rejected (docs/rules/money.md#withdrawals).
func (v *Venue) requestWithdrawal(c *core.RequestWithdrawal) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	key := clientWithdrawal{c.User, c.ClientID}
	if id, again := v.clientWds[key]; again {
		w, _ := v.withdrawals.Get(id)
		if w.Amount != c.Amount || w.Destination != c.Destination {
			return core.DuplicateWithdrawalID
		}
		v.ev.Add(&core.WithdrawalChanged{Withdrawal: *w})
		return core.OK
	}
	switch {
	case v.accounts[c.User].Agent != nil:
		return core.MissingScope // an agent's money goes to its owner
	case v.accounts[c.User].Suspended:
		return core.UserSuspended
	case c.Amount <= 0:
		return core.BadAmount
	case c.Amount > v.ledger.Cash(c.User):
		return core.InsufficientBalance
	}
	w := &core.Withdrawal{ID: v.now.Seq, User: c.User, ClientID: c.ClientID, Amount: c.Amount, Destination: c.Destination, Seq: v.now.Seq, Ts: v.now.Ts}
	v.withdrawals.Set(w.ID, w)
	v.clientWds[key] = w.ID
	v.noteOpen(w)
	v.ledger.Withdraw(c.User, c.Amount)
	v.ev.Add(&core.WithdrawalChanged{Withdrawal: *w})
	return core.OK
}

// decideWithdrawal takes a withdrawal one step on by one operator. A repeat of the step emits the withdrawal
// again. It is not rejected while a second operator may still approve another step.
func (v *Venue) decideWithdrawal(c *core.DecideWithdrawal) core.Reject {
	was, _ := v.withdrawals.Get(c.Withdrawal)
	to := c.Step()
	done, r := v.checkStep(was, to, c.Reference)
	if done {
		v.ev.Add(&core.WithdrawalChanged{Withdrawal: *was})
	}
	if done || r != core.OK {
		return r
	}
	if to == core.WithdrawalRejected && v.rules.Revision >= core.RevisionSteps && v.awaitsStep(was.ID) {
		return core.InvalidTransition
	}
	pays := was.State == core.WithdrawalPending && to != core.WithdrawalRejected
	returns := was.State != core.WithdrawalPending && to != core.WithdrawalSent && to != core.WithdrawalCompleted
	if pays || returns {
		r := v.doAlone(c.Alone, c.Audit.Who, core.AloneSum{User: was.User, Returned: returns, Sum: was.Amount})
		if r != core.OK && to == core.WithdrawalCompleted {
			return core.InvalidTransition // it is approved first, by two
		}
		if r != core.OK {
			return r
		}
	}
	v.step(was, to, c.Reference)
	return core.OK
}

// step takes a withdrawal to another state.
func (v *Venue) step(was *core.Withdrawal, to core.WithdrawalState, reference string) {
	w := *was
	w.State, w.Seq, w.Ts = to, v.now.Seq, v.now.Ts
	if to == core.WithdrawalSent {
		w.Reference = reference
	}
	if !to.Open() && to != core.WithdrawalCompleted {
		v.ledger.ReturnWithdrawal(w.User, w.Amount)
	}
	v.withdrawals.Set(w.ID, &w)
	v.noteOpen(&w)
	v.ev.Add(&core.WithdrawalChanged{Withdrawal: w})
}

// checkStep returns whether a withdrawal, nil if there is none, has made a step already, or why it cannot
// make it.
func (v *Venue) checkStep(w *core.Withdrawal, to core.WithdrawalState, reference string) (done bool, r core.Reject) {
	switch {
	case w == nil:
		return false, core.UnknownWithdrawal
	case w.State == to && (to != core.WithdrawalSent || w.Reference == reference):
		return true, core.OK
	case !w.State.Precedes(to), to > core.WithdrawalRejected && v.rules.Revision < core.RevisionSteps:
		return false, core.InvalidTransition
	}
	return false, core.OK
}

// awaitsStep reports whether a second operator may still approve a step of a withdrawal.
func (v *Venue) awaitsStep(id uint64) (found bool) {
	v.approvals.Scan(func(_ uint64, a *core.Approval) bool {
		found = a.Action.Withdrawal == id && a.Status == core.ApprovalPending && v.now.Ts < a.Expires()
		return !found
	})
	return found
}

// noteOpen keeps the index of the withdrawals that are not over.
func (v *Venue) noteOpen(w *core.Withdrawal) {
	if w.State.Open() {
		v.open.Set(w.ID, struct{}{})
	} else {
		v.open.Delete(w.ID)
	}
}
