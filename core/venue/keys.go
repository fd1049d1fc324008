package venue

import (
	"github.com/tidwall/btree"

	"duplex/core"
)

// keys are the API keys, each under a number that counts creations. A key is replaced when
// it changes, never written to: an image shares it.
type keys struct {
	numbers map[string]uint64            // by id
	all     btree.Map[uint64, *core.Key] // by number; copied on write
	last    uint64                       // number given last
}

func (k *keys) find(id string) (number uint64, key *core.Key) {
	number, ok := k.numbers[id]
	if !ok {
		return 0, nil
	}
	key, _ = k.all.Get(number)
	return number, key
}

// enter adds a key behind all others.
func (v *Venue) enter(k *core.Key) {
	v.keys.last++
	v.keys.numbers[k.ID] = v.keys.last
	v.keep(v.keys.last, k)
}

// keep stores a key under its number: for its account too, while it is not revoked.
func (v *Venue) keep(number uint64, k *core.Key) {
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

// forget removes a revoked key.
func (v *Venue) forget(number uint64, k *core.Key) {
	delete(v.keys.numbers, k.ID)
	v.keys.all.Delete(number)
	v.accounts[k.User].keys.Delete(number)
}

// forgetRevoked removes the keys that earlier revisions of the rules kept when they were
// revoked.
func (v *Venue) forgetRevoked() {
	var gone []uint64
	v.keys.all.Scan(func(number uint64, k *core.Key) bool {
		if k.Revoked {
			gone = append(gone, number)
		}
		return true
	})
	for _, number := range gone {
		k, _ := v.keys.all.Get(number)
		v.forget(number, k)
	}
}

// createKey refuses the id of a key that is there. That no id comes back once its key is
// revoked and forgotten rests on who draws it: an id is 96 random bits.
func (v *Venue) createKey(c *core.CreateKey) core.Reject {
	if !v.userExists(c.User) {
		return core.UnknownUser
	}
	if _, k := v.keys.find(c.Key); k != nil {
		return core.UnknownKey
	}
	k := &core.Key{ID: c.Key, User: c.User, Scopes: c.Scopes, Label: c.Label, Sealed: c.Sealed, Created: v.now.Ts}
	v.enter(k)
	v.ev.Add(&core.KeyChanged{Key: *k})
	return core.OK
}

// revokeKey is idempotent; a key that is not the user's looks like one that never
// was, and nothing happens. A revoked key leaves the state.
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

func (v *Venue) revoke(number uint64, k *core.Key) {
	gone := *k
	gone.Revoked = true
	if v.rules.Revision >= core.RevisionStrict {
		v.forget(number, k)
	} else {
		v.keep(number, &gone)
	}
	v.ev.Add(&core.KeyChanged{Key: gone})
}

func (v *Venue) resealKey(c *core.ResealKey) core.Reject {
	number, k := v.keys.find(c.Key)
	if k == nil {
		return core.UnknownKey
	}
	anew := *k
	anew.Sealed = c.Sealed
	v.keep(number, &anew)
	v.ev.Add(&core.KeyChanged{Key: anew, Resealed: true})
	return core.OK
}
