package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
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

// Reseal seals every secret that an older master key sealed under the one in force,
// and tells how many. Requests go on meanwhile: both open.
func (g *Gate) Reseal(ctx context.Context, by core.Audit) (n int, err error) {
	var keys []core.Key
	g.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { keys = slices.Collect(v.Keys()) })
	for i := range keys {
		k := &keys[i]
		secret, turn, err := g.Vault.unseal(k)
		if err != nil {
			return n, fmt.Errorf("key %s opens under none of the master keys: %w", k.ID, err)
		}
		if turn == 0 {
			continue
		}
		r, err := g.Venue.Engine.Submit(ctx, &core.ResealKey{Key: k.ID, Sealed: g.Vault.Seal(k.ID, secret), Audit: by})
		if err == nil && r.Reject != core.OK {
			err = r.Reject
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
