package gate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
)

// TestRevokedKeyIsForgotten checks that no caches hold a revoked key.
func TestRevokedKeyIsForgotten(t *testing.T) {
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	h.Serve()
	k, other := h.NewKey(1, core.ScopeRead), h.NewKey(1, core.ScopeRead)
	for _, x := range []lanetest.Key{k, other} {
		if status, body := h.Call(x, "GET", "/v1/time", ""); status != 200 || h.Gate.CacheEntries(x.ID) != 2 {
			t.Fatalf("%d %s, %d cache entries", status, body, h.Gate.CacheEntries(x.ID))
		}
	}
	h.Submit(&core.RevokeKey{User: 1, Key: k.ID})
	if status, _ := h.Call(k, "GET", "/v1/time", ""); status != 401 || h.Gate.CacheEntries(k.ID) != 0 || h.Gate.CacheEntries(other.ID) != 2 {
		t.Errorf("status %d, %d cache entries, another key has %d", status, h.Gate.CacheEntries(k.ID), h.Gate.CacheEntries(other.ID))
	}
}

// TestKeyCreatedDuringARotation checks that the new master key decrypts the secret of a key whose
// creation was under way when a rotation began.
func TestKeyCreatedDuringARotation(t *testing.T) {
	h, l := lanetest.NewHeld(t)
	h.FreezeClock()
	l.Hold.Store(true)
	created, rotated := make(chan error, 1), make(chan error, 1)
	var id string
	go func() {
		k, err := h.Gate.IssueKey(context.Background(), 1, "", gate.UserScopes, core.Audit{})
		id = k.APIKey
		created <- err
	}()
	<-l.Took
	next := append(make([]byte, 31), 1)
	go func() {
		err := h.Gate.AddMasterKey(next)
		if err == nil {
			_, err = h.Gate.ResealSecrets(context.Background(), core.Audit{})
		}
		rotated <- err
	}()
	select {
	case err := <-rotated:
		t.Error("the rotation has ended before the creation", err)
		rotated <- err
	case <-time.After(50 * time.Millisecond): // nothing signals that it waits
	}
	l.Let <- struct{}{}
	for _, done := range []chan error{created, rotated} {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	vault, err := gate.NewVault(next)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(h.Engine.Key(id)); err != nil {
		t.Error(err)
	}
}

// TestRevocationWhileResealing checks that a key revoked meanwhile does not stop ResealSecrets.
func TestRevocationWhileResealing(t *testing.T) {
	h := lanetest.New(t)
	const keys = 40
	for range keys {
		h.NewKey(1, core.ScopeRead)
	}
	last := h.NewKey(2, core.ScopeRead)
	if err := h.Gate.Vault.AddMasterKey(append(make([]byte, 31), 1)); err != nil {
		t.Fatal(err)
	}
	f := h.Engine.Follow()
	done := make(chan error, 1)
	go func() {
		n, err := h.Gate.ResealSecrets(context.Background(), core.Audit{})
		if err == nil && (n < 1 || n > keys+1) {
			err = fmt.Errorf("%d keys resealed", n)
		}
		done <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if _, err := f.Next(ctx); err != nil { // the first secret is resealed
		t.Fatal(err)
	}
	h.Submit(&core.RevokeKey{User: 1})
	if err := <-done; err != nil {
		t.Error(err)
	}
	vault, err := gate.NewVault(append(make([]byte, 31), 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vault.Open(h.Engine.Key(last.ID)); err != nil {
		t.Errorf("the last key: %v", err)
	}
}
