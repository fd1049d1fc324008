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

// opened is a venue as dx serve opens one, without prices.
func opened(t *testing.T, dir string, more func(*plan)) *house {
	t.Helper()
	p := plan{listeners: listeners{"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"}, dir: dir, environment: "live", oracle: "manual", log: slog.New(slog.DiscardHandler), token: "t", ownMaster: true}
	var err error
	if p.master, err = masterKey("", dir); err != nil {
		t.Fatal(err)
	}
	if more != nil {
		more(&p)
	}
	h, err := open(p)
	if err == nil {
		err = h.listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) shut(t *testing.T) {
	t.Helper()
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
}

// key makes an account with a key.
func (h *house) key(t *testing.T, name string) schemas.NewKey {
	t.Helper()
	if err := h.do(&core.CreateUser{Name: name, TokenHash: [32]byte{byte(len(name))}}); err != nil {
		t.Fatal(err)
	}
	u, _ := h.engine.Holder([32]byte{byte(len(name))})
	k, err := h.gate.Issue(t.Context(), u, "", gate.UserScopes, core.Audit{Who: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (h *house) as(t *testing.T, k schemas.NewKey) *client.Client {
	t.Helper()
	secret, ok := schemas.Secret(k.Secret)
	if !ok {
		t.Fatal("no secret")
	}
	return client.New(h.api, k.APIKey, secret)
}

// answers tells whether a key opens the venue.
func (h *house) answers(t *testing.T, k schemas.NewKey) {
	t.Helper()
	if _, err := h.as(t, k).Balance(t.Context()); err != nil {
		t.Errorf("%s: %v", k.APIKey, err)
	}
}

// sealed is a key as the venue keeps it.
func (h *house) sealed(id string) (out core.Key) {
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
	h := opened(t, dir, func(p *plan) { p.readRate = 100_000 })
	old := h.plan.master
	keys := []schemas.NewKey{h.key(t, "a"), h.key(t, "bb"), h.key(t, "ccc")}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var done atomic.Int64
	for _, k := range keys {
		c := h.as(t, k)
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
		if code, out, errs := said("keys", "rotate-master", "--reason", "test"); code != 0 || out != "a new master key is in force, and seals 3 secrets\n" {
			t.Errorf("%d %s%s", code, out, errs)
		}
		for done.Load() < before+20 && !t.Failed() { // requests went on under it
			h.answers(t, keys[0])
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
	h.shut(t)
	h = opened(t, dir, nil)
	defer h.shut(t)
	if string(h.plan.master) == string(old) {
		t.Error("the old master key is in force")
	}
	for _, k := range keys {
		h.answers(t, k)
	}
}

// TestRotationCutShort: the new file was there and one of two secrets sealed anew when
// the venue was killed. The next start finishes it.
func TestRotationCutShort(t *testing.T) {
	dir := t.TempDir()
	h := opened(t, dir, nil)
	one, two := h.key(t, "a"), h.key(t, "bb")
	text, err := secretFile(nextMasterFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	next, err := hex.DecodeString(text)
	if err == nil {
		err = h.gate.Vault.Turn(next)
	}
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := schemas.Secret(one.Secret)
	if err := h.do(&core.ResealKey{Key: one.APIKey, Sealed: h.gate.Vault.Seal(one.APIKey, secret)}); err != nil {
		t.Fatal(err)
	}
	h.shut(t)
	h = opened(t, dir, nil)
	h.answers(t, one)
	h.answers(t, two)
	h.shut(t)
	b, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err != nil || strings.TrimSpace(string(b)) != text {
		t.Errorf("%v: not the new master key", err)
	}
	if _, err := os.Stat(nextMasterFile(dir)); err == nil {
		t.Error("the rotation is still under way")
	}
	h = opened(t, dir, nil)
	h.answers(t, one)
	h.answers(t, two)
	h.shut(t)
}

// TestRotationFromOutside: the new master key is given beside the old one for one
// start, and alone from then on; the old one alone opens nothing.
func TestRotationFromOutside(t *testing.T) {
	dir := t.TempDir()
	first, second := make([]byte, 32), append(make([]byte, 31), 1)
	h := opened(t, dir, func(p *plan) { p.master, p.ownMaster = first, false })
	k := h.key(t, "a")
	t.Setenv("DX_ADMIN_URL", h.admin)
	t.Setenv("DX_OPERATOR_TOKEN", "t")
	if code, _, errs := said("keys", "rotate-master"); code != 1 || !strings.Contains(errs, "invalid_transition") {
		t.Errorf("%d %s", code, errs)
	}
	h.shut(t)
	h = opened(t, dir, func(p *plan) { p.master, p.masterOld, p.ownMaster = second, first, false })
	h.answers(t, k)
	h.shut(t)
	h = opened(t, dir, func(p *plan) { p.master, p.ownMaster = second, false })
	h.answers(t, k)
	h.shut(t)
	h = opened(t, dir, func(p *plan) { p.master, p.ownMaster = first, false })
	defer h.shut(t)
	if _, err := h.as(t, k).Balance(t.Context()); err == nil {
		t.Error("the old master key still opens")
	}
}
