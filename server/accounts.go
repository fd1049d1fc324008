package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// accountKeyLabel is the label of the key of an account of Options.Accounts.
const accountKeyLabel = "dev"

// accountAudit marks the commands that create these accounts.
var accountAudit = core.Audit{Who: "dx dev"}

// createAccounts creates the accounts of the options that the journal does not have yet, and
// collects all of them with their secrets.
func (v *Venue) createAccounts() error {
	for _, a := range v.options.Accounts {
		account, err := v.findOrCreateAccount(a)
		if err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		v.accounts = append(v.accounts, account)
	}
	return nil
}

func (v *Venue) findOrCreateAccount(a Account) (out schemas.DevAccount, err error) {
	token := deriveToken(v.keys.current, "dxa_", a.Name)
	hash := sha256.Sum256([]byte(token))
	u, found := v.engine.AccountByToken(hash)
	if !found {
		if err := v.submitOwn(&core.CreateUser{Name: a.Name, TokenHash: hash, Audit: accountAudit}); err != nil {
			return out, err
		}
		u, _ = v.engine.AccountByToken(hash)
	}
	if a.Funds > 0 {
		// A repeated deposit_id changes nothing, so every start submits it: an earlier one
		// may have been interrupted before it.
		if err := v.submitOwn(&core.Deposit{User: u, DepositID: "dev-" + a.Name, Amount: a.Funds, Audit: accountAudit}); err != nil {
			return out, fmt.Errorf("deposit: %w", err)
		}
	}
	scopes := a.Scopes
	if scopes == 0 {
		scopes = gate.UserScopes
	}
	key, secret, err := v.findOrCreateKey(u, scopes)
	if err != nil {
		return out, fmt.Errorf("key: %w", err)
	}
	return schemas.DevAccount{Name: a.Name, UserID: uint32(u), AccountToken: token, APIKey: key, Secret: hex.EncodeToString(secret), Scopes: scopes.Names()}, nil
}

// findOrCreateKey returns the key that an earlier start created for the account, or creates
// it. An account may use the label for its own keys, so the oldest one counts.
func (v *Venue) findOrCreateKey(u core.UserID, scopes core.Scopes) (id string, secret []byte, err error) {
	var found *core.Key
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		for k := range s.KeysOf(u) {
			if k.Label == accountKeyLabel && k.Scopes == scopes {
				found = &k
				return
			}
		}
	})
	if found != nil {
		secret, err = v.gate.Vault.Open(found)
		return found.ID, secret, err
	}
	id, secret, sealed := v.gate.Vault.NewKey()
	return id, secret, v.submitOwn(&core.CreateKey{User: u, Key: id, Scopes: scopes, Label: accountKeyLabel, Sealed: sealed, Audit: accountAudit})
}
