package main

import (
	"fmt"
	"log/slog"
	"testing"

	"duplex/core"
)

// The keys of a dev venue come back with its data, whatever keys an account gives
// itself and however it labels them.
func TestDevKeysComeBack(t *testing.T) {
	dir := t.TempDir()
	furnished := func(meanwhile func(*venueServer)) string {
		t.Helper()
		master, err := loadMasterKey("", dir)
		if err != nil {
			t.Fatal(err)
		}
		h, err := openServer(t.Context(), serverOptions{dir: dir, environment: "dev", oracle: "manual", disputeWindowNs: devDisputeNs, masterKey: master, log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		accounts, err := h.createDevAccounts()
		if err != nil {
			t.Fatal(err)
		}
		meanwhile(h)
		if err := h.close(); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%+v", accounts)
	}
	first := furnished(func(h *venueServer) {
		for u := core.UserID(1); u <= core.UserID(len(devAccounts)); u++ {
			id, _, sealed := h.gate.Vault.NewKey()
			if err := h.submitOwn(&core.CreateKey{User: u, Key: id, Scopes: core.ScopeRead, Label: devLabel, Sealed: sealed}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if again := furnished(func(*venueServer) {}); again != first {
		t.Errorf("came back as\n%s\nnot\n%s", again, first)
	}
}
