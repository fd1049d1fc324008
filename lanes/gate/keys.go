package gate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/tools"
)

// UserScopes are the default scopes of a key, and the most that an account can give a key
// itself (docs/rules/accounts.md#scopes).
const UserScopes = core.ScopeRead | core.ScopeTrade

// ScopesOf returns the union of the named scopes, UserScopes if names is empty. Unknown
// names are ignored.
func ScopesOf(names []string) (s core.Scopes) {
	for _, name := range names {
		one, _ := core.ScopeOf(name) // the decoder has rejected unknown names
		s |= one
	}
	if len(names) == 0 {
		s = UserScopes
	}
	return s
}

// IssueKey creates a key of account u. Only this response ever contains its secret
// (docs/rules/accounts.md#keys).
func (g *Gate) IssueKey(ctx context.Context, u core.UserID, label string, scopes core.Scopes, by core.Audit) (out schemas.NewKey, err error) {
	k, secret, err := g.createKey(ctx, &core.CreateKey{User: u, Scopes: scopes, Label: label, Audit: by})
	if err != nil {
		return out, err
	}
	return schemas.NewKey{APIKey: k.ID, Secret: hex.EncodeToString(secret), Scopes: scopes.Names(), CreatedTs: schemas.U64(k.Created)}, nil
}

// IssueGrant creates a key for an OAuth client of agent u, and returns the code that the client exchanges
// (docs/rules/oauth.md#grants).
func (g *Gate) IssueGrant(ctx context.Context, u core.UserID, label string, scopes core.Scopes, grant core.Grant, by core.Audit) (code string, err error) {
	k, _, err := g.createKey(ctx, &core.CreateKey{User: u, Scopes: scopes, Label: label, Grant: grant, Audit: by})
	if err != nil {
		return "", err
	}
	return g.Vault.Token(CodeToken, k, 0)
}

// createKey draws the id and the secret of a key and creates it.
func (g *Gate) createKey(ctx context.Context, c *core.CreateKey) (k *core.Key, secret []byte, err error) {
	g.creating.RLock()
	defer g.creating.RUnlock()
	c.Key, secret, c.Sealed = g.Vault.NewKey()
	r, err := tools.Accepted(g.Venue.Engine.Submit(ctx, c))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range r.Events {
		if e, ok := e.(*core.KeyChanged); ok {
			return &e.Key, secret, nil
		}
	}
	panic(core.InvariantViolation{Detail: "a new key without an event"})
}

// AddMasterKey makes a 32-byte key the current master key, see Vault.AddMasterKey. It waits for
// the keys that are being created, so that ResealSecrets finds every key that IssueKey sealed
// under an older one.
func (g *Gate) AddMasterKey(masterKey []byte) error {
	g.creating.Lock()
	defer g.creating.Unlock()
	return g.Vault.AddMasterKey(masterKey)
}

// ResealSecrets encrypts every secret under the current master key that still has an older one, and returns how
// many it changed. Requests are served meanwhile, because both master keys decrypt. It searches again until it
// finds none: a key whose creation was on its way can arrive during the search.
func (g *Gate) ResealSecrets(ctx context.Context, by core.Audit) (n int, err error) {
	for {
		found, err := g.resealFound(ctx, by)
		n += found
		if found == 0 || err != nil {
			return n, err
		}
	}
}

func (g *Gate) resealFound(ctx context.Context, by core.Audit) (n int, err error) {
	var keys []core.Key
	g.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) { keys = slices.Collect(v.Keys()) })
	for i := range keys {
		k := &keys[i]
		secret, masterIndex, err := g.Vault.openWith(k)
		if err != nil {
			return n, fmt.Errorf("no master key decrypts the secret of key %s: %w", k.ID, err)
		}
		if masterIndex == 0 {
			continue
		}
		_, err = tools.Accepted(g.Venue.Engine.Submit(ctx, &core.ResealKey{Key: k.ID, Sealed: g.Vault.Seal(k.ID, secret), Audit: by}))
		if errors.Is(err, core.UnknownKey) {
			continue // revoked in the meantime
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
