package venue

import "duplex/core"

func (v *Venue) createUser(c *core.CreateUser) core.Reject {
	if c.Referrer != 0 && !v.userExists(c.Referrer) {
		return core.UnknownUser
	}
	u := core.User{ID: v.ledger.Open(), Name: c.Name, Referrer: c.Referrer, TokenHash: c.TokenHash, Created: v.now.Ts}
	v.accounts = append(v.accounts, account{User: u})
	v.ev.Add(&core.UserChanged{User: u})
	return core.OK
}

// suspend cancels the account's orders; cancels and reads still work for it
// (docs/rules/accounts.md#suspension).
func (v *Venue) suspend(c *core.SuspendUser) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	a := &v.accounts[c.User]
	if a.Suspended == !c.Lift {
		return core.OK
	}
	a.Suspended = !c.Lift
	if a.Suspended {
		v.cancelAccountOrders(c.User, core.Suspended, anyOrder)
	}
	v.ev.Add(&core.UserChanged{User: a.User})
	return core.OK
}
