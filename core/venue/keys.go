package venue

import (
	"github.com/tidwall/btree"

	"duplex/core"
)

// keys are the API keys, by a number that counts creations. A key that changes is replaced, never
// modified, because an Image shares it.
//
// Before core.RevisionAgents the numbers are not part of the state, and a restored venue counts
// anew. The activation of that revision numbers the keys that exist; from there on a key keeps its
// number, and commands name it.
type keys struct {
	numbers map[string]uint64            // by id
	all     btree.Map[uint64, *core.Key] // by number; copied on write
	last    uint64                       // the newest key's number
	valid   []uint64                     // a bit for each number: whether the key exists and is not revoked
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

// numberKeys numbers the keys from 1 in the order of their creation, and stores the numbers in them.
func (v *Venue) numberKeys() {
	var all []*core.Key
	v.keys.all.Scan(func(_ uint64, k *core.Key) bool {
		all = append(all, k)
		return true
	})
	for _, k := range all {
		v.removeKey(v.keys.numbers[k.ID], k)
	}
	v.keys.last = 0
	for _, k := range all {
		next := *k
		next.Number = core.KeyNumber(v.keys.last + 1)
		v.addKey(&next)
		v.ev.Add(&core.KeyChanged{Key: next, Resealed: true})
	}
}

// find returns the key with this id and its number, or a nil key.
func (k *keys) find(id string) (number uint64, key *core.Key) {
	number, ok := k.numbers[id]
	if !ok {
		return 0, nil
	}
	key, _ = k.all.Get(number)
	return number, key
}

// addKey adds a key under the next number.
func (v *Venue) addKey(k *core.Key) {
	v.keys.last++
	v.keys.numbers[k.ID] = v.keys.last
	v.storeKey(v.keys.last, k)
}

// storeKey stores a key under its number, in its account's list too unless it is revoked.
func (v *Venue) storeKey(number uint64, k *core.Key) {
	v.keys.all.Set(number, k)
	v.keys.setValid(number, !k.Revoked)
	a := &v.accounts[k.User]
	if a.keys == nil {
		a.keys = new(btree.Map[uint64, *core.Key])
	}
	if k.Revoked {
		a.keys.Delete(number)
	} else {
		a.keys.Set(number, k)
	}
}

// removeKey removes a key from the state.
func (v *Venue) removeKey(number uint64, k *core.Key) {
	delete(v.keys.numbers, k.ID)
	v.keys.all.Delete(number)
	v.keys.setValid(number, false)
	v.accounts[k.User].keys.Delete(number)
}

// removeRevokedKeys removes the revoked keys that the first revision of the rules left in the state.
func (v *Venue) removeRevokedKeys() {
	var revoked []uint64
	v.keys.all.Scan(func(number uint64, k *core.Key) bool {
		if k.Revoked {
			revoked = append(revoked, number)
		}
		return true
	})
	for _, number := range revoked {
		k, _ := v.keys.all.Get(number)
		v.removeKey(number, k)
	}
}

// createKey adds a key. It rejects the id of an existing key with UnknownKey. The id of a key that was
// revoked and removed is not remembered; the caller draws ids of 96 random bits, so no id is used twice.
func (v *Venue) createKey(c *core.CreateKey) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	if _, k := v.keys.find(c.Key); k != nil {
		return core.UnknownKey
	}
	if x := v.accounts[c.User].Agent; x != nil && x.Closed {
		return core.InvalidTransition
	} else if x != nil && c.Scopes.Has(core.ScopeWithdraw) {
		return core.MissingScope
	}
	k := &core.Key{ID: c.Key, User: c.User, Scopes: c.Scopes, Label: c.Label, Sealed: c.Sealed, Created: v.now.Ts}
	if v.hasAgents() {
		k.Number = core.KeyNumber(v.keys.last + 1)
	}
	v.addKey(k)
	v.ev.Add(&core.KeyChanged{Key: *k})
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
		if number, k := v.keys.find(c.Key); k != nil && k.User == c.User && !k.Revoked {
			v.revoke(number, k)
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
		number, k, ok := v.accounts[u].keys.Min()
		if !ok {
			return
		}
		v.revoke(number, k)
	}
}

// revoke emits the revocation of a key and removes the key. Under the first revision of the rules the
// key stays in the state, marked as revoked.
func (v *Venue) revoke(number uint64, k *core.Key) {
	revoked := *k
	revoked.Revoked = true
	if v.rules.Revision >= core.RevisionStrict {
		v.removeKey(number, k)
	} else {
		v.storeKey(number, &revoked)
	}
	v.ev.Add(&core.KeyChanged{Key: revoked})
}

// resealKey replaces a key's sealed secret, for a rotation of the master key
// (docs/rules/operation.md#master-key).
func (v *Venue) resealKey(c *core.ResealKey) core.Reject {
	number, k := v.keys.find(c.Key)
	if k == nil {
		return core.UnknownKey
	}
	resealed := *k
	resealed.Sealed = c.Sealed
	v.storeKey(number, &resealed)
	v.ev.Add(&core.KeyChanged{Key: resealed, Resealed: true})
	return core.OK
}
