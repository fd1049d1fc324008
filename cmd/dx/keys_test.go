package main

import (
	"context"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"duplex/client"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// openTestServer is a venue as dx serve opens one, without prices.
func openTestServer(t *testing.T, dir string, more func(*serverOptions)) *venueServer {
	t.Helper()
	h, err := tryOpen(t, dir, more)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func tryOpen(t *testing.T, dir string, more func(*serverOptions)) (*venueServer, error) {
	t.Helper()
	p := serverOptions{listeners: listeners{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"}, dir: dir, environment: "live", oracle: "manual", log: slog.New(slog.DiscardHandler), operatorToken: "t", ownsMasterKey: true}
	if more != nil {
		more(&p)
	}
	if p.masterKey == nil {
		var err error
		if p.masterKey, err = loadMasterKey("", dir); err != nil {
			return nil, err
		}
	}
	h, err := openServer(t.Context(), p)
	if err == nil {
		err = h.listen()
	}
	return h, err
}

// refusedStart is why a venue does not start; nil where it does.
func refusedStart(t *testing.T, dir string, more func(*serverOptions)) error {
	t.Helper()
	h, err := tryOpen(t, dir, more)
	if err == nil {
		h.mustClose(t)
	}
	return err
}

func (h *venueServer) mustClose(t *testing.T) {
	t.Helper()
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
}

// key makes an account with a key.
func (h *venueServer) key(t *testing.T, name string) schemas.NewKey {
	t.Helper()
	if err := h.submitOwn(&core.CreateUser{Name: name, TokenHash: [32]byte{byte(len(name))}}); err != nil {
		t.Fatal(err)
	}
	u, _ := h.engine.AccountByToken([32]byte{byte(len(name))})
	k, err := h.gate.IssueKey(t.Context(), u, "", gate.UserScopes, core.Audit{Who: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (h *venueServer) clientFor(t *testing.T, k schemas.NewKey) *client.Client {
	t.Helper()
	secret, ok := schemas.ParseSecret(k.Secret)
	if !ok {
		t.Fatal("no secret")
	}
	return client.New(h.api, k.APIKey, secret)
}

// checkKeyWorks tells whether a key opens the venue.
func (h *venueServer) checkKeyWorks(t *testing.T, k schemas.NewKey) {
	t.Helper()
	if _, err := h.clientFor(t, k).Balance(t.Context()); err != nil {
		t.Errorf("%s: %v", k.APIKey, err)
	}
}

// sealed is a key as the venue keeps it.
func (h *venueServer) sealed(id string) (out core.Key) {
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
		for k := range v.Keys() {
			if k.ID == id {
				out = k
			}
		}
	})
	return out
}

// TestRotateMaster: under load no request fails; afterwards only the new master key
// opens what is kept, and the venue starts with it.
func TestRotateMaster(t *testing.T) {
	dir := t.TempDir()
	h := openTestServer(t, dir, func(p *serverOptions) { p.readRate = 100_000 })
	old := h.options.masterKey
	keys := []schemas.NewKey{h.key(t, "a"), h.key(t, "bb"), h.key(t, "ccc")}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var done atomic.Int64
	for _, k := range keys {
		c := h.clientFor(t, k)
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
	t.Setenv("DX_ADMIN_URL", h.admin)
	t.Setenv("DX_OPERATOR_TOKEN", "t")
	for range 3 {
		before := done.Load()
		if code, out, errs := runCommand("keys", "rotate-master", "--reason", "test"); code != 0 || out != "a new master key is in force, and seals 3 secrets\n" {
			t.Errorf("%d %s%s", code, out, errs)
		}
		for done.Load() < before+20 && !t.Failed() { // requests went on under it
			h.checkKeyWorks(t, keys[0])
		}
	}
	stop()
	all.Wait()
	vault, err := gate.NewVault(old)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		is := h.sealed(k.APIKey)
		if _, err := vault.Open(&is); err == nil {
			t.Errorf("the old master key opens %s", k.APIKey)
		}
	}
	h.mustClose(t)
	h = openTestServer(t, dir, nil)
	defer h.mustClose(t)
	if string(h.options.masterKey) == string(old) {
		t.Error("the old master key is in force")
	}
	for _, k := range keys {
		h.checkKeyWorks(t, k)
	}
}

// TestRotationCutShort: the new file was there and one of two secrets sealed anew when
// the venue was killed. The next start finishes it.
func TestRotationCutShort(t *testing.T) {
	dir := t.TempDir()
	h := openTestServer(t, dir, nil)
	one, two := h.key(t, "a"), h.key(t, "bb")
	text, err := loadOrCreateSecret(nextMasterKeyPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	next, err := hex.DecodeString(text)
	if err == nil {
		err = h.gate.Vault.AddMasterKey(next)
	}
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := schemas.ParseSecret(one.Secret)
	if err := h.submitOwn(&core.ResealKey{Key: one.APIKey, Sealed: h.gate.Vault.Seal(one.APIKey, secret)}); err != nil {
		t.Fatal(err)
	}
	h.mustClose(t)
	h = openTestServer(t, dir, nil)
	h.checkKeyWorks(t, one)
	h.checkKeyWorks(t, two)
	h.mustClose(t)
	b, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err != nil || strings.TrimSpace(string(b)) != text {
		t.Errorf("%v: not the new master key", err)
	}
	if _, err := os.Stat(nextMasterKeyPath(dir)); err == nil {
		t.Error("the rotation is still under way")
	}
	h = openTestServer(t, dir, nil)
	h.checkKeyWorks(t, one)
	h.checkKeyWorks(t, two)
	h.mustClose(t)
}

// TestRotationFromOutside: the new master key is given beside the old one for one
// start, and alone from then on; the old one alone opens nothing.
func TestRotationFromOutside(t *testing.T) {
	dir := t.TempDir()
	first, second := make([]byte, 32), append(make([]byte, 31), 1)
	h := openTestServer(t, dir, func(p *serverOptions) { p.masterKey, p.ownsMasterKey = first, false })
	k := h.key(t, "a")
	t.Setenv("DX_ADMIN_URL", h.admin)
	t.Setenv("DX_OPERATOR_TOKEN", "t")
	if code, _, errs := runCommand("keys", "rotate-master"); code != 1 || !strings.Contains(errs, "invalid_transition") {
		t.Errorf("%d %s", code, errs)
	}
	h.mustClose(t)
	h = openTestServer(t, dir, func(p *serverOptions) { p.masterKey, p.oldMasterKey, p.ownsMasterKey = second, first, false })
	h.checkKeyWorks(t, k)
	h.mustClose(t)
	h = openTestServer(t, dir, func(p *serverOptions) { p.masterKey, p.ownsMasterKey = second, false })
	h.checkKeyWorks(t, k)
	h.mustClose(t)
	if err := refusedStart(t, dir, func(p *serverOptions) { p.masterKey, p.ownsMasterKey = first, false }); err == nil {
		t.Error("it starts with the old master key")
	}
}
