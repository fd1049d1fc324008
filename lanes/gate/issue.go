package gate

import (
	"context"
	"encoding/hex"

	"duplex/core"
	"duplex/schemas"
)

// UserScopes are what a key has where nothing is asked for, and the most that an
// account can give itself (spec 5).
const UserScopes = core.ScopeRead | core.ScopeTrade

// ScopesOf joins the scopes of these names; none at all means UserScopes.
func ScopesOf(names []string) (s core.Scopes) {
	for _, name := range names {
		one, _ := core.ScopeOf(name) // decoding let no other name pass
		s |= one
	}
	if len(names) == 0 {
		s = UserScopes
	}
	return s
}

// Issue makes a key of an account. The answer is the one place its secret shows.
func (g *Gate) Issue(ctx context.Context, u core.UserID, label string, scopes core.Scopes, by core.Audit) (out schemas.NewKey, err error) {
	id, secret, sealed := g.Vault.NewKey()
	r, err := g.Venue.Engine.Submit(ctx, &core.CreateKey{User: u, Key: id, Scopes: scopes, Label: label, Sealed: sealed, Audit: by})
	if err != nil {
		return out, err
	}
	if r.Reject != core.OK {
		return out, r.Reject
	}
	return schemas.NewKey{APIKey: id, Secret: hex.EncodeToString(secret), Scopes: scopes.Names(), CreatedTs: schemas.U64(r.Stamp.Ts)}, nil
}
