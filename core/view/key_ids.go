package view

import (
	"cmp"
	"slices"

	"duplex/core"
)

// keyIDsMax is the number of keys whose ids an account's rows can show. Beyond it the oldest
// revoked keys are forgotten, and their rows show no key.
const keyIDsMax = 1024

// keyIDs are the ids of an account's keys, revoked ones included, by rising number. Rows hold the
// number, which is shorter.
type keyIDs []keyID

type keyID struct {
	number  core.KeyNumber
	id      *string // never changes: orders, fills and what is shown of them share it
	revoked bool
}

func (l keyIDs) find(n core.KeyNumber) int {
	i, ok := slices.BinarySearchFunc(l, n, func(k keyID, n core.KeyNumber) int { return cmp.Compare(k.number, n) })
	if !ok {
		return -1
	}
	return i
}

// fold records a new key or a revocation.
func (l *keyIDs) fold(k *core.Key) {
	switch i := l.find(k.Number); {
	case k.Number == 0: // before key numbers
	case i >= 0:
		(*l)[i].revoked = k.Revoked
	default:
		*l = append(*l, keyID{k.Number, new(k.ID), k.Revoked}) // numbers rise
		if len(*l) > keyIDsMax {
			if i := slices.IndexFunc(*l, func(k keyID) bool { return k.revoked }); i >= 0 {
				*l = slices.Delete(*l, i, i+1)
			}
		}
	}
}

func (l *keyIDs) code(c *coder) {
	codeList(c, (*[]keyID)(l), func(k *keyID) {
		if c.reading {
			k.id = new(string)
		}
		unsigned(c, &k.number)
		c.string(k.id)
		c.flags(&k.revoked)
		c.check(len(*l) == 0 || (*l)[len(*l)-1].number < k.number)
	})
}

// id returns the id of a key, revoked or not. It returns nil for 0 and for a key that is no longer
// known.
func (l keyIDs) id(n core.KeyNumber) *string {
	if i := l.find(n); i >= 0 {
		return l[i].id
	}
	return nil
}

// name sets the id of the key of an order or a fill that was decoded. Entries that commands have
// added have it already, and are not written, because readers share them.
func (l keyIDs) name(n core.KeyNumber, id **string) {
	if n == 0 || *id != nil {
		return
	}
	if known := l.id(n); known != nil {
		*id = known
	}
}

// nameEvent sets the ids of keys in an event that was decoded.
func (l keyIDs) nameEvent(x *UserEvent) {
	switch what := x.What.(type) {
	case *Order:
		l.name(what.Key, &what.APIKey)
	case *Fill:
		l.name(what.Key, &what.APIKey)
	}
}

// nameRows sets the ids of keys in the rows of a restored account.
func (a *account) nameRows() {
	for _, x := range a.rows.all {
		if x.order != nil {
			a.keys.name(x.order.Key, &x.order.APIKey)
		}
	}
	fills, events := a.fills.unencoded(), a.events.unencoded()
	for i := range fills {
		a.keys.name(fills[i].Key, &fills[i].APIKey)
	}
	for i := range events {
		a.keys.nameEvent(&events[i])
	}
}

// KeyID returns the id of an account's key, revoked or not. It returns nil for 0 and for a key that
// is no longer known. The id never changes, so the caller may keep it.
func (w *View) KeyID(u core.UserID, n core.KeyNumber) *string {
	return w.account(u).keys.id(n)
}
