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
	v.notePending(w)
	v.ledger.Withdraw(c.User, c.Amount)
	v.ev.Add(&core.WithdrawalChanged{Withdrawal: *w})
	return core.OK
}

// decideWithdrawal completes a pending withdrawal, or rejects it and returns the amount. Repeating
// the same decision is a no-op.
func (v *Venue) decideWithdrawal(c *core.DecideWithdrawal) core.Reject {
	was, _ := v.withdrawals.Get(c.Withdrawal)
	to := core.WithdrawalRejected
	if c.Complete {
		to = core.WithdrawalCompleted
	}
	if done, r := checkDecision(was, to); done || r != core.OK {
		return r
	}
	w := *was
	if to == core.WithdrawalRejected {
		v.ledger.ReturnWithdrawal(w.User, w.Amount)
	}
	w.Status, w.Seq, w.Ts = to, v.now.Seq, v.now.Ts
	v.withdrawals.Set(w.ID, &w)
	v.notePending(&w)
	v.ev.Add(&core.WithdrawalChanged{Withdrawal: w})
	return core.OK
}

// checkDecision returns whether a withdrawal, nil if there is none, already has the status, or why
// it cannot get it.
func checkDecision(w *core.Withdrawal, to core.WithdrawalStatus) (done bool, r core.Reject) {
	switch {
	case w == nil:
		return false, core.UnknownWithdrawal
	case w.Status == to:
		return true, core.OK
	case w.Status != core.WithdrawalPending:
		return false, core.InvalidTransition
	}
	return false, core.OK
}

// notePending keeps the index of pending withdrawals.
func (v *Venue) notePending(w *core.Withdrawal) {
	if w.Status == core.WithdrawalPending {
		v.pending.Set(w.ID, struct{}{})
	} else {
		v.pending.Delete(w.ID)
	}
}
