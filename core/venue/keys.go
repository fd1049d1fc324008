package venue

import (
	"duplex/core"
)

// keys are the API keys, by a number that counts creations. A key that changes is replaced, never
// modified, because an Image shares it.
type keys struct {
	numbers map[string]uint64       // by id
	all     tree[uint64, *core.Key] // by number; copied on write
	last    uint64                  // the newest key's number
	valid   []uint64                // a bit for each number: whether the key exists
}

// setValid records whether the key with a number is valid.
func (k *keys) setValid(number uint64, valid bool) {
	word, bit := number/64, uint64(1)<<(number%64)
	for uint64(len(k.valid)) <= word {
		k.valid = append(k.valid, 0)
	}
	if k.valid[word] &^= bit; valid {
		k.valid[word] |= bit
	}
}

// Authorized reports whether the key that signed a command is valid. A command without a key is
// always authorized. The engine applies no other command, so that no command of a key comes after
// the key's revocation in sequence (docs/rules/accounts.md#revocation).
func (v *Venue) Authorized(cmd core.Command) bool {
	number := uint64(core.KeyOf(cmd))
	if number == 0 {
		return true
	}
	word := number / 64
	return word < uint64(len(v.keys.valid)) && v.keys.valid[word]>>(number%64)&1 != 0
}

// find returns the key with this id, or nil.
func (k *keys) find(id string) *core.Key {
	number, ok := k.numbers[id]
	if !ok {
		return nil
	}
	key, _ := k.all.Get(number)
	return key
}

// storeKey stores a key under its number, in its account's list too.
func (v *Venue) storeKey(k *core.Key) {
	number := uint64(k.Number)
	v.keys.numbers[k.ID] = number
	v.keys.all.Set(number, k)
	v.keys.setValid(number, true)
	a := &v.accounts[k.User]
	if a.keys == nil {
		a.keys = newTree[uint64, *core.Key]()
	}
	a.keys.Set(number, k)
}

// createKey adds a key. It rejects the id of an existing key with UnknownKey. The id of a key that was
// revoked and removed is not remembered; the caller draws ids of 96 random bits, so no id is used twice.
func (v *Venue) createKey(c *core.CreateKey) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	if v.keys.find(c.Key) != nil {
		return core.UnknownKey
	}
	if x := v.accounts[c.User].Agent; x != nil && x.Closed {
		return core.InvalidTransition
	} else if x != nil && c.Scopes.Has(core.ScopeWithdraw) {
		return core.MissingScope
	}
	if r := v.validGrant(c); r != core.OK {
		return r
	}
	k := &core.Key{ID: c.Key, User: c.User, Scopes: c.Scopes, Label: c.Label, Sealed: c.Sealed, Created: v.now.Ts}
	if c.Grant != (core.Grant{}) {
		k.Grant = new(c.Grant)
	}
	v.keys.last++
	k.Number = core.KeyNumber(v.keys.last)
	v.storeKey(k)
	v.ev.Add(&core.KeyChanged{Key: *k})
	if k.Grant != nil {
		v.armGrant(k)
		v.changeAgent(&v.accounts[c.User], func(x *core.Agent) { x.Client = c.Grant.Client })
	}
	return core.OK
}

// revokeKey revokes one key of an account, or all of them if Key is empty
// (docs/rules/accounts.md#revocation). Revoking a key that the account does not have is a no-op.
// Revoking all keys of an owner also halts its agents and revokes their keys.
func (v *Venue) revokeKey(c *core.RevokeKey) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	if c.Key != "" {
		if k := v.keys.find(c.Key); k != nil && k.User == c.User {
			v.revoke(k)
		}
		return core.OK
	}
	v.revokeAll(c.User)
	for _, u := range v.accounts[c.User].agents {
		v.halt(&v.accounts[u])
		v.revokeAll(u)
	}
	return core.OK
}

// revokeAll revokes every key of an account.
func (v *Venue) revokeAll(u core.UserID) {
	for v.accounts[u].keys != nil {
		_, k, ok := v.accounts[u].keys.Min()
		if !ok {
			return
		}
		v.revoke(k)
	}
}

// revoke removes a key from the state and emits its revocation.
func (v *Venue) revoke(k *core.Key) {
	number := uint64(k.Number)
	delete(v.keys.numbers, k.ID)
	v.keys.all.Delete(number)
	v.keys.setValid(number, false)
	v.accounts[k.User].keys.Delete(number)
	revoked := *k
	revoked.Revoked = true
	v.ev.Add(&core.KeyChanged{Key: revoked})
	v.cancelAsks(k.User, core.KeyRevoked, func(p *core.PlaceOrder) bool { return p.Key == k.Number })
}

// resealKey replaces a key's sealed secret, for a rotation of the master key
// (docs/rules/operation.md#master-key).
func (v *Venue) resealKey(c *core.ResealKey) core.Reject {
	k := v.keys.find(c.Key)
	if k == nil {
		return core.UnknownKey
	}
	resealed := *k
	resealed.Sealed = c.Sealed
	v.storeKey(&resealed)
	v.ev.Add(&core.KeyChanged{Key: resealed})
	return core.OK
}
