package venue

import "duplex/core"

// redeem turns free pairs into 10000 pips each while the round is not over.
func (v *Venue) redeem(c *core.Redeem) core.Reject {
	m := v.market(c.Market)
	switch {
	case !v.userExists(c.User):
		return core.UnknownUser
	case m == nil:
		return core.UnknownMarket
	case m.Status.Final():
		return core.MarketNotTrading
	case c.Qty < 1:
		return core.BadQty
	}
	h := v.ledger.HoldingRef(c.User, c.Market)
	if c.Qty > min(h.Free(core.Yes), h.Free(core.No)) {
		return core.InsufficientPosition
	}
	paid := v.ledger.Redeem(c.User, c.Market, c.Qty)
	v.ev.Add(&core.Redeemed{User: c.User, Market: c.Market, Generation: m.Generation, Qty: c.Qty, Credit: paid})
	return core.OK
}

// deposit is idempotent by its id: a repeat with the same fields changes nothing.
func (v *Venue) deposit(c *core.Deposit) core.Reject {
	d := core.Deposited{User: c.User, DepositID: c.DepositID, Amount: c.Amount}
	switch was, again := v.deposits.Get(c.DepositID); {
	case !v.userExists(c.User):
		return core.UnknownUser
	case again && was == d:
		return core.OK
	case again:
		return core.DuplicateDepositID
	case c.Amount <= 0 || c.Amount > core.PipsMax-v.ledger.Deposits:
		return core.BadAmount // sums stay within the domain of money
	}
	v.deposits.Set(c.DepositID, d)
	v.ledger.Deposit(c.User, c.Amount)
	v.ev.Add(&d)
	return core.OK
}

// requestWithdrawal takes the amount out of free cash until an operator decides. A repeat
// with the same fields gives the first again.
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
	v.ledger.Withdraw(c.User, c.Amount)
	v.ev.Add(&core.WithdrawalChanged{Withdrawal: *w})
	return core.OK
}

func (v *Venue) decideWithdrawal(c *core.DecideWithdrawal) core.Reject {
	was, _ := v.withdrawals.Get(c.Withdrawal)
	to := core.WithdrawalRejected
	if c.Complete {
		to = core.WithdrawalCompleted
	}
	switch {
	case was == nil:
		return core.UnknownWithdrawal
	case was.Status == to:
		return core.OK
	case was.Status != core.WithdrawalPending:
		return core.InvalidTransition
	}
	w := *was
	if to == core.WithdrawalRejected {
		v.ledger.ReturnWithdrawal(w.User, w.Amount)
	}
	w.Status, w.Seq, w.Ts = to, v.now.Seq, v.now.Ts
	v.withdrawals.Set(w.ID, &w)
	v.ev.Add(&core.WithdrawalChanged{Withdrawal: w})
	return core.OK
}
