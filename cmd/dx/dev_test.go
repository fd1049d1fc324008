package main

import (
	"fmt"
	"log/slog"
	"testing"

	"duplex/core"
)

// The keys of a dev venue come back with its data, whatever keys an account gives
// itself and however it labels them (contract operator).
func TestDevKeysComeBack(t *testing.T) {
	dir := t.TempDir()
	furnished := func(meanwhile func(*house)) string {
		t.Helper()
		master, err := masterKey("", dir)
		if err != nil {
			t.Fatal(err)
		}
		h, err := open(plan{dir: dir, environment: "dev", oracle: "manual", disputeNs: devDispute, master: master, log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := h.furnish()
		if err != nil {
			t.Fatal(err)
		}
		meanwhile(h)
		if err := h.close(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", accounts)
	}
	first := furnished(func(h *house) {
		for u := core.UserID(1); u <= core.UserID(len(devAccounts)); u++ {
			id, _, sealed := h.gate.Vault.NewKey()
			if err := h.do(&core.CreateKey{User: u, Key: id, Scopes: core.ScopeRead, Label: devLabel, Sealed: sealed}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if again := furnished(func(*house) {}); again != first {
		t.Errorf("came back as\n%s\nnot\n%s", again, first)
	}
}
