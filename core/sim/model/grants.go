package model

import (
	"time"

	"duplex/core"
)

// grant is what makes a key that of an OAuth client. It keeps every time at which tokens were issued, of
// which the venue keeps two.
type grant struct {
	client, redirect string
	challenge        [32]byte
	created, until   int64   // ns
	issued           []int64 // ns; a pair of tokens each
}

// end is when the grant ends, in ns: a code that is not exchanged within a minute ends it too.
func (g *grant) end() int64 {
	if len(g.issued) == 0 {
		return min(g.until, g.created+int64(time.Minute))
	}
	return g.until
}

// shown is the grant as the venue keeps it.
func (g *grant) shown() (out core.Grant) {
	if g == nil {
		return out
	}
	out = core.Grant{Client: g.client, Redirect: g.redirect, Challenge: g.challenge, Expires: g.until, Generation: uint32(len(g.issued))}
	for i := range min(2, len(g.issued)) {
		out.Issued[i] = g.issued[len(g.issued)-1-i]
	}
	return out
}

func (v *Venue) checkGrant(c *core.CreateKey) core.Reject {
	const most = 91 * 24 * int64(time.Hour)
	switch g := c.Grant; {
	case g == (core.Grant{}):
	case v.rules.Revision < core.RevisionGrants:
		return core.UnknownKey
	case v.users[c.User].agent == nil:
		return core.UnknownAgent
	case g.Generation > 0 || g.Issued[0] != 0 || g.Issued[1] != 0 || g.Expires <= v.now.Ts || g.Expires-v.now.Ts > most:
		return core.BadExpiry
	}
	return core.OK
}

// grantOf returns the grant of a new key, and notes its client as the agent's newest.
func (v *Venue) grantOf(c *core.CreateKey) *grant {
	if c.Grant == (core.Grant{}) {
		return nil
	}
	v.users[c.User].agent.client = c.Grant.Client
	return &grant{client: c.Grant.Client, redirect: c.Grant.Redirect, challenge: c.Grant.Challenge, created: v.now.Ts, until: c.Grant.Expires}
}

// renewGrant issues a pair of tokens for the newest pair, or for the code. It does so again for the pair
// before, for half a minute, and ends the grant if an older pair or the code comes back.
func (v *Venue) renewGrant(c *core.RenewGrant) core.Reject {
	k, ok := v.keys[c.Key]
	if !ok || k.user != c.User || k.grant == nil || v.now.Ts >= k.grant.end() {
		return core.UnknownKey
	}
	issued := k.grant.issued
	switch old := len(issued) - int(c.Generation); {
	case old < 0:
		return core.UnknownKey
	case old == 0:
		k.grant.issued = append(issued, v.now.Ts)
		return core.OK
	case old == 1 && c.Generation >= 1 && v.now.Ts-issued[c.Generation] < int64(30*time.Second):
		return core.OK
	}
	v.revoke(c.Key)
	return core.InvalidTransition
}

// endGrants removes the keys whose grant has ended.
func (v *Venue) endGrants() {
	for id, k := range v.keys {
		if k.grant != nil && v.now.Ts >= k.grant.end() {
			v.revoke(id)
		}
	}
}
