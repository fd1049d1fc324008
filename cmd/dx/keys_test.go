package main

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// TestRotateMaster tests that no request fails while the master key is rotated, that
// afterwards only the new master key opens the secrets, that the venue starts with it, and that an older backup
// starts with the key that the venue has kept. The audit has each rotation.
func TestRotateMaster(t *testing.T) {
	dir := t.TempDir()
	h := servertest.OpenLive(t, dir, func(o *server.Options) { o.ReadRate = 100_000 })
	old := servertest.MasterKey(t, dir)
	keys := []schemas.NewKey{h.NewAccount("a"), h.NewAccount("bb"), h.NewAccount("ccc")}
	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	expectCommand(t, 0, "whole", "backup", dir, "--to", backup)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var done atomic.Int64
	for _, k := range keys {
		c := h.ClientWithKey(k.APIKey, k.Secret)
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := c.Balance(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	t.Setenv("DX_ADMIN_URL", h.AdminURL())
	t.Setenv("DX_OPERATOR_TOKEN", "t")
	for range 3 {
		before := done.Load()
		if code, out, errs := runCommand("keys", "rotate-master", "--reason", "test"); code != 0 || !strings.HasPrefix(out, "a new master key is in force, and seals 3 secrets. The old one is kept beside it as master.key.FINGERPRINT") {
			t.Errorf("dx keys rotate-master: exit %d %s%s, want 0 and 3 secrets sealed", code, out, errs)
		}
		for done.Load() < before+20 && !t.Failed() { // requests went on under it
			servertest.CheckKey(t, h, keys[0])
		}
	}
	stop()
	all.Wait()
	vault, err := gate.NewVault(old)
	if err != nil {
		t.Fatal(err)
	}
	h.Engine().Read(func(v *venue.Venue, _ *view.View) {
		for k := range v.Keys() {
			if _, err := vault.Open(&k); err == nil {
				t.Errorf("the old master key opens %s", k.ID)
			}
		}
	})
	rotations, last := 0, ""
	h.Engine().Read(func(_ *venue.Venue, w *view.View) {
		for a := range w.Actions(0) { // newest first
			if a.Name != "rotate_master_key" {
				continue
			}
			if rotations++; last != "" && a.Detail["after"] != last || a.Who != "operator" || a.Why != "test" {
				t.Errorf("rotation %d is %+v, and the next one was from %s", rotations, a, last)
			}
			last = a.Detail["before"]
		}
	})
	h.Close()
	kept := filepath.Join(dir, "master.key."+last) // that is in the audit with the first rotation
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o600 || rotations != 3 {
		t.Fatalf("%d rotations in the audit, the file of the old key: %v %v", rotations, info, err)
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || string(key) != string(old) {
		t.Fatalf("%s has another key, %v", kept, err)
	}
	expectCommand(t, 0, "whole", "restore", backup, "--data", restored)
	b := servertest.OpenLive(t, restored, func(o *server.Options) { o.MasterKey = key })
	servertest.CheckKey(t, b, keys[2])
	b.Close()
	h = servertest.OpenLive(t, dir, nil)
	defer h.Close()
	if string(servertest.MasterKey(t, dir)) == string(old) {
		t.Error("the old master key is in force")
	}
	for _, k := range keys {
		servertest.CheckKey(t, h, k)
	}
}

// TestRotateGivenMasterKey tests that a venue whose master key is given from outside does not
// replace it itself.
func TestRotateGivenMasterKey(t *testing.T) {
	v := servertest.OpenLive(t, t.TempDir(), func(o *server.Options) { o.MasterKey = make([]byte, 32) })
	t.Setenv("DX_ADMIN_URL", v.AdminURL())
	t.Setenv("DX_OPERATOR_TOKEN", "t")
	expectCommand(t, 1, "invalid_transition", "keys", "rotate-master")
}

// TestContradictions tests that dx serve names the flag that cannot be with others, or without another.
func TestContradictions(t *testing.T) {
	serve := []string{"serve", "--data", t.TempDir(), "--oracle", "manual", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0"}
	for _, c := range []struct{ args, want string }{
		{"--signup open --account-rate 0", "dx: --account-rate: it is not 0 with the sign-up open"},
		{"--signup token --signup-token x --account-rate 0", "dx: --account-rate: it is not 0 with the sign-up token"},
		{"--signup open --account-rate 19", "dx: --account-rate: 0 or at least 20"},
		{"--account-keys=-1", "dx: --account-keys: must be"},
		{"--oauth", "dx: --public-url: OAuth needs it, and https"},
		{"--oauth --public-url https://api.venue.example", "dx: --public-portal-url: OAuth needs it, and https"},
		{"--oauth --public-url http://api.venue.example --public-portal-url https://venue.example", "dx: --public-url: OAuth needs it, and https"},
		{"--oauth --public-url https://api.venue.example --public-portal-url https://venue.example", "dx: --oauth: it needs TLS, or a trusted proxy that ends TLS"},
	} {
		if code, out, errs := runCommand(append(serve, strings.Fields(c.args)...)...); code != 2 || !strings.HasPrefix(withoutLog(errs), c.want) {
			t.Errorf("dx serve %s: exit %d %s%s, want 2 and %q", c.args, code, out, errs, c.want)
		}
	}
}

// TestMasterKeyFlags tests that dx serve names the flag of a master key that cannot work.
func TestMasterKeyFlags(t *testing.T) {
	dir, _ := servertest.DataWithDeposits(t)
	servertest.RemoveFile(t, filepath.Join(dir, "master.key"))
	serve := []string{"serve", "--data", dir, "--oracle", "manual", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0"}
	other := strings.Repeat("07", 32)
	for _, c := range []struct{ args, want string }{
		{"", "dx: --master-key: " + filepath.Join(dir, "master.key") + " is missing"},
		{"--master-key " + other, "dx: --master-key: the master key has fingerprint "},
		{"--master-key 07", "dx: --master-key: 64 hex characters are wanted"},
		{"--master-key-lost", "dx: --master-key-lost: "},
		{"--master-key-old " + other, "dx: --master-key-old: "},
		{"--master-key " + other + " --master-key-old 07", "dx: --master-key-old: 64 hex characters are wanted"},
	} {
		if code, out, errs := runCommand(append(serve, strings.Fields(c.args)...)...); code != 2 || !strings.HasPrefix(withoutLog(errs), c.want) {
			t.Errorf("dx serve %s: exit %d %s%s, want 2 and %q", c.args, code, out, errs, c.want)
		}
	}
}
