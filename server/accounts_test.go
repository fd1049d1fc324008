package server_test

import (
	"fmt"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// TestAccountsComeBack tests that a second start returns the accounts of the options with
// the same keys, although the accounts have made keys with the same label.
func TestAccountsComeBack(t *testing.T) {
	data := t.TempDir()
	accounts := []server.Account{{Name: "a", Funds: 100}, {Name: "b", Scopes: core.ScopeRead}}
	start := func(meanwhile func(*servertest.Venue)) string {
		t.Helper()
		v := servertest.Open(t, server.Options{Data: data, Accounts: accounts})
		defer v.Close()
		meanwhile(v)
		return fmt.Sprintf("%+v", v.Accounts())
	}
	first := start(func(v *servertest.Venue) {
		for i := range accounts {
			id, _, sealed := v.Gate().Vault.NewKey()
			v.Submit(&core.CreateKey{User: core.UserID(i + 1), Key: id, Scopes: core.ScopeRead, Label: server.AccountKeyLabel, Sealed: sealed})
		}
	})
	if again := start(func(*servertest.Venue) {}); again != first {
		t.Errorf("second start\n%s\nfirst start\n%s", again, first)
	}
}

// TestAccountOfAnotherToken tests that a venue starts again after the token of an account was reset: it is the
// account of before, with the money and the key of before, and the old token is not given out again.
func TestAccountOfAnotherToken(t *testing.T) {
	data := t.TempDir()
	start := func() (schemas.DevAccount, *servertest.Venue) {
		t.Helper()
		v := servertest.Open(t, server.Options{Data: data, Accounts: []server.Account{{Name: "a", Funds: 100}}})
		return v.Accounts()[0], v
	}
	was, v := start()
	v.Submit(&core.ResetToken{User: core.UserID(was.UserID), TokenHash: [32]byte{1}})
	v.Close()
	again, v := start()
	defer v.Close()
	was.AccountToken = ""
	if fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", was) {
		t.Errorf("after a reset: %+v, want %+v", again, was)
	}
}

// TestAgentsComeBack tests that a dev venue's agent has its own money, that a second start
// returns it with the same key and pays nothing again, and that a closed one stays closed.
func TestAgentsComeBack(t *testing.T) {
	data := t.TempDir()
	mandate := core.Mandate{}
	mandate.SetCost(core.RuleDailyLoss, 50)
	accounts := []server.Account{{Name: "a", Funds: 1000, Agents: []server.Agent{{Name: "agent", Funds: 100, Mandate: mandate}}}}
	start := func(meanwhile func(*servertest.Venue)) []schemas.DevAccount {
		t.Helper()
		v := servertest.Open(t, server.Options{Data: data, Accounts: accounts})
		defer v.Close()
		meanwhile(v)
		return v.Agents()
	}
	first := start(func(v *servertest.Venue) {
		k := v.Agents()[0]
		v.Engine().Read(func(s *venue.Venue, _ *view.View) {
			owner, _ := s.Balance(1)
			agent, _ := s.Balance(core.UserID(k.UserID))
			if u, ok := s.Agent(1, core.UserID(k.UserID)); owner != 1000 || agent != 100 || !ok || u.Agent.Mandate != mandate {
				t.Errorf("owner %d, agent %d, %+v", owner, agent, u.Agent)
			}
		})
		if _, err := v.ClientWithKey(k.APIKey, k.Secret).Balance(t.Context()); err != nil || k.AccountToken != "" {
			t.Errorf("the balance by key %+v: %v, want no error, and no account token in the key", k, err)
		}
	})
	again := start(func(v *servertest.Venue) {
		v.Engine().Read(func(s *venue.Venue, _ *view.View) {
			if got := s.Sums().Deposits; got != 1100 {
				t.Errorf("deposits of %d after two starts", got)
			}
		})
		v.Submit(&core.CloseAgent{Owner: 1, Agent: core.UserID(v.Agents()[0].UserID)})
	})
	if fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("second start\n%+v\nfirst start\n%+v", again, first)
	}
	if closed := start(func(*servertest.Venue) {}); len(closed) != 0 {
		t.Errorf("a closed agent came back: %+v", closed)
	}
}
