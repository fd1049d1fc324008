package venue

import (
	"duplex/core"
	"duplex/core/book"
)

// account is what the venue knows of a user besides money and positions, which are in the
// ledger (docs/rules/accounts.md#accounts).
type account struct {
	core.User
	ids     idSet      // client order ids used; none is ever removed
	orders  book.Queue // resting orders, oldest first
	resting uint32     // length of orders
	deadman deadman

	keys tree[uint64, *core.Key] // the keys that are not revoked, by number; nil if it never had one

	agents []core.UserID // of an owner, oldest first, closed ones included
}

// userExists reports whether u is an account.
func (v *Venue) userExists(u core.UserID) bool { return u > 0 && int(u) < len(v.accounts) }

func (v *Venue) createUser(c *core.CreateUser) core.Reject {
	if c.Referrer != 0 && (!v.userExists(c.Referrer) || v.accounts[c.Referrer].Agent != nil) {
		return core.UnknownUser
	}
	a := v.addAccount(core.User{Name: c.Name, Referrer: c.Referrer, TokenHash: c.TokenHash})
	v.ev.Add(&core.UserChanged{User: a.User})
	return core.OK
}

// suspend suspends an account and cancels its orders, or lifts the suspension. A suspended
// account can still cancel and read (docs/rules/accounts.md#suspension). The suspension of an
// owner holds for its agents too.
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
		v.cancelAccountOrders(c.User, core.Suspended, allOrders)
	}
	v.ev.Add(&core.UserChanged{User: a.User})
	if a.Agent != nil && !a.Agent.Closed && !v.accounts[a.Agent.Owner].Suspended {
		v.emitAgent(a)
	}
	for _, u := range a.agents {
		agent := &v.accounts[u]
		if a.Suspended {
			v.cancelAccountOrders(u, core.Suspended, allOrders)
		}
		if !agent.Agent.Closed && !agent.Suspended {
			v.emitAgent(agent)
		}
	}
	return core.OK
}
