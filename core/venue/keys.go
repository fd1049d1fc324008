package venue

import (
	"github.com/tidwall/btree"

	"duplex/core"
)

// keys are the API keys, by a number that counts creations. A key that changes is replaced, never
// modified, because an Image shares it.
type keys struct {
	numbers map[string]uint64            // by id
	all     btree.Map[uint64, *core.Key] // by number; copied on write
	last    uint64                       // the newest key's number
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
	k := &core.Key{ID: c.Key, User: c.User, Scopes: c.Scopes, Label: c.Label, Sealed: c.Sealed, Created: v.now.Ts}
	v.addKey(k)
	v.ev.Add(&core.KeyChanged{Key: *k})
	return core.OK
}

// revokeKey revokes one key of an account, or all of them if Key is empty
// (docs/rules/accounts.md#revocation). Revoking a key that the account does not have is a no-op.
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
	for v.accounts[c.User].keys != nil {
		number, k, ok := v.accounts[c.User].keys.Min()
		if !ok {
			break
		}
		v.revoke(number, k)
	}
	return core.OK
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
