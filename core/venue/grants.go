package venue

import "duplex/core"

// validGrant refuses a new key whose grant is not one of an agent that ends in the future
// (docs/rules/oauth.md#grants). A key without a grant passes.
func (v *Venue) validGrant(c *core.CreateKey) core.Reject {
	g := &c.Grant
	switch {
	case *g == (core.Grant{}):
		return core.OK
	case v.rules.Revision < core.RevisionGrants:
		return core.UnknownKey
	case v.accounts[c.User].Agent == nil:
		return core.UnknownAgent
	case g.Generation != 0 || g.Issued != [2]int64{} || g.Expires <= v.now.Ts || g.Expires > v.now.Ts+core.GrantMaxNs:
		return core.BadExpiry
	}
	return core.OK
}

// renewGrant begins the next generation of a grant's tokens. The generation before is accepted once more for
// a while and changes nothing, because its answer may have been lost. Any older one, and a second use of the
// code, means that somebody else has a copy: it ends the grant, and the revocation is an event of the
// rejected command (docs/rules/oauth.md#tokens).
func (v *Venue) renewGrant(c *core.RenewGrant) core.Reject {
	k := v.keys.find(c.Key)
	if k == nil || k.User != c.User || k.Grant == nil || v.now.Ts >= k.Grant.Ends(k.Created) {
		return core.UnknownKey
	}
	switch g := k.Grant; {
	case c.Generation > g.Generation:
		return core.UnknownKey // no such token was issued
	case g.Repeats(c.Generation, v.now.Ts):
		return core.OK
	case c.Generation < g.Generation:
		v.revoke(k)
		return core.InvalidTransition
	}
	grant := *k.Grant
	grant.Generation, grant.Issued = grant.Generation+1, [2]int64{v.now.Ts, grant.Issued[0]}
	renewed := *k
	renewed.Grant = &grant
	v.storeKey(&renewed)
	if grant.Generation == 1 {
		v.armGrant(&renewed)
	}
	v.ev.Add(&core.KeyChanged{Key: renewed})
	return core.OK
}

// armGrant sets the timer for the end of a key's grant.
func (v *Venue) armGrant(k *core.Key) {
	v.grantTimers.add(k.Grant.Ends(k.Created), uint64(k.Number))
}

// endGrants revokes the keys whose grant has ended at ts.
func (v *Venue) endGrants(ts int64) {
	for {
		t, ok := v.grantTimers.pop(ts)
		if !ok {
			return
		}
		if v.grantCurrent(t) {
			k, _ := v.keys.all.Get(t.key)
			v.revoke(k)
		}
	}
}

// grantDue returns the next end of a grant, or never.
func (v *Venue) grantDue() int64 {
	v.grantTimers.prune(v.keys.all.Len(), v.grantCurrent)
	return v.grantTimers.firstCurrent(v.grantCurrent)
}

// grantCurrent reports whether the key's grant still ends at the timer's time.
func (v *Venue) grantCurrent(t timer) bool {
	k, ok := v.keys.all.Get(t.key)
	return ok && k.Grant.Ends(k.Created) == t.at
}
