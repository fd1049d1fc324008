package server_test

import (
	"fmt"
	"testing"

	"duplex/core"
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
