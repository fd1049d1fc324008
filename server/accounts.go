package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// accountKeyLabel is the label of the key of an account of Options.Accounts.
const accountKeyLabel = "dev"

// depositPrefix begins the deposit_id of the first funds of such an account.
const depositPrefix = "dev-"

// ownAudit marks the commands of the venue itself, and accountAudit those that create the
// accounts of the options.
var (
	ownAudit     = core.Audit{Who: "dx"}
	accountAudit = core.Audit{Who: "dx dev"}
)

// createAccounts creates the accounts of the options that the journal does not have yet, then
// their agents, and collects all of them with their secrets.
func (v *Venue) createAccounts() error {
	for _, a := range v.options.Accounts {
		account, err := v.findOrCreateAccount(a)
		if err != nil {
			return fmt.Errorf("account %s: %w", a.Name, err)
		}
		v.accounts = append(v.accounts, account)
	}
	for i, a := range v.options.Accounts {
		for _, g := range a.Agents {
			if err := v.createAgent(&v.accounts[i], g); err != nil {
				return fmt.Errorf("agent %s of %s: %w", g.Name, a.Name, err)
			}
		}
	}
	return nil
}

// createAgent creates an agent unless its owner has one of this name, and collects it with
// its secret. It leaves out an agent that is closed or that the venue rejects, because the
// owner may have closed it, and the operator may have suspended the owner.
func (v *Venue) createAgent(owner *schemas.DevAccount, g Agent) error {
	u, closed := v.findAgent(core.UserID(owner.UserID), g.Name)
	if u == 0 {
		err := v.submitOwn(&core.CreateAgent{Owner: core.UserID(owner.UserID), Name: g.Name, Mandate: g.Mandate, Audit: accountAudit})
		if rejected, ok := errors.AsType[core.Reject](err); ok {
			v.options.Log.Warn("the venue goes without an agent", "agent", g.Name, "owner", owner.Name, "err", rejected)
			return nil
		}
		if err != nil {
			return err
		}
		u, closed = v.findAgent(core.UserID(owner.UserID), g.Name)
	}
	if closed {
		return nil
	}
	account, err := v.fundWithKey(u, depositPrefix+owner.Name+"-"+g.Name, g.Funds, gate.UserScopes)
	account.Name = g.Name
	v.agents = append(v.agents, account)
	return err
}

// findAgent returns the owner's agent of a name, or 0 if there is none.
func (v *Venue) findAgent(owner core.UserID, name string) (found core.UserID, closed bool) {
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		for _, u := range s.Agents(owner) {
			if a, _ := s.User(u); a.Name == name {
				found, closed = u, a.Agent.Closed
			}
		}
	})
	return found, closed
}

func (v *Venue) findOrCreateAccount(a Account) (out schemas.DevAccount, err error) {
	token := deriveToken(v.keys.current, "dxa_", a.Name)
	hash := sha256.Sum256([]byte(token))
	u, found := v.engine.AccountByToken(hash)
	if !found { // its token was reset since, or it is new
		v.engine.Read(func(s *venue.Venue, _ *view.View) { u, found = s.Depositor(depositPrefix + a.Name) })
		if found {
			v.options.Log.Warn("an account has another token than that of its first start; the dev file has none", "account", a.Name)
			token = ""
		}
	}
	if !found {
		if err := v.submitOwn(&core.CreateUser{Name: a.Name, TokenHash: hash, Audit: accountAudit}); err != nil {
			return out, err
		}
		u, _ = v.engine.AccountByToken(hash)
	}
	out, err = v.fundWithKey(u, depositPrefix+a.Name, a.Funds, cmp.Or(a.Scopes, gate.UserScopes))
	out.Name, out.AccountToken = a.Name, token
	return out, err
}

// fundWithKey makes a deposit once and returns the account with its key.
func (v *Venue) fundWithKey(u core.UserID, depositID string, funds core.Pips, scopes core.Scopes) (out schemas.DevAccount, err error) {
	if funds > 0 {
		// A repeated deposit_id changes nothing, so every start submits it: an earlier one
		// may have been interrupted before it.
		if err := v.submitOwn(&core.Deposit{User: u, DepositID: depositID, Amount: funds, Audit: accountAudit}); err != nil {
			return out, fmt.Errorf("deposit: %w", err)
		}
	}
	key, secret, err := v.findOrCreateKey(u, scopes)
	if err != nil {
		return out, fmt.Errorf("key: %w", err)
	}
	return schemas.DevAccount{UserID: uint32(u), APIKey: key, Secret: hex.EncodeToString(secret), Scopes: scopes.Names()}, nil
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
