package venue

import "duplex/core"

func (v *Venue) createUser(c *core.CreateUser) core.Reject {
	if c.Referrer != 0 && !v.known(c.Referrer) {
		return core.UnknownUser
	}
	u := core.User{ID: v.ledger.Open(), Name: c.Name, Referrer: c.Referrer, TokenHash: c.TokenHash, Created: v.now.Ts}
	v.accounts = append(v.accounts, account{User: u})
	v.ev.Add(&core.UserChanged{User: u})
	return core.OK
}

func (v *Venue) createKey(c *core.CreateKey) core.Reject {
	if !v.known(c.User) {
		return core.UnknownUser
	}
	if v.keys[c.Key] != nil {
		return core.UnknownKey // an id is given once; the lane draws another
	}
	k := &core.Key{ID: c.Key, User: c.User, Scopes: c.Scopes, Label: c.Label, Sealed: c.Sealed, Created: v.now.Ts}
	v.keys[c.Key] = k
	v.keyOrder = append(v.keyOrder, c.Key)
	v.ev.Add(&core.KeyChanged{Key: *k})
	return core.OK
}

// revokeKey is idempotent; a key that is not the user's looks like one that never
// was, and nothing happens.
func (v *Venue) revokeKey(c *core.RevokeKey) core.Reject {
	if !v.known(c.User) {
		return core.UnknownUser
	}
	for _, id := range v.keyOrder {
		k := v.keys[id]
		if k.User == c.User && !k.Revoked && (c.Key == "" || c.Key == id) {
			k.Revoked = true
			v.ev.Add(&core.KeyChanged{Key: *k})
		}
	}
	return core.OK
}

func (v *Venue) resealKey(c *core.ResealKey) core.Reject {
	k := v.keys[c.Key]
	if k == nil {
		return core.UnknownKey
	}
	k.Sealed = c.Sealed
	v.ev.Add(&core.KeyChanged{Key: *k, Resealed: true})
	return core.OK
}

// suspend cancels the account's orders; cancels and reads still work for it
// (contract core, Orders).
func (v *Venue) suspend(c *core.SuspendUser) core.Reject {
	if !v.known(c.User) {
		return core.UnknownUser
	}
	a := &v.accounts[c.User]
	if a.Suspended == !c.Lift {
		return core.OK
	}
	a.Suspended = !c.Lift
	if a.Suspended {
		v.sweep(c.User, core.Suspended, anyOrder)
	}
	v.ev.Add(&core.UserChanged{User: a.User})
	return core.OK
}
