package main

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/lanes/gate"
	"duplex/schemas"
)

// sealedVenue is a data directory with two keys, and its master key.
func sealedVenue(t *testing.T) (dir string, master []byte, one, two schemas.NewKey) {
	t.Helper()
	dir = t.TempDir()
	h := openTestServer(t, dir, nil)
	one, two = h.key(t, "a"), h.key(t, "bb")
	master = h.options.masterKey
	h.mustClose(t)
	return dir, master, one, two
}

func fingerprintsIn(t *testing.T, dir string) string {
	t.Helper()
	list, err := (&serverOptions{dir: dir}).fingerprints()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func removeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

var otherMaster = append(make([]byte, 31), 7)

// A venue whose master key is missing or another one does not start: it says which is
// wanted, makes none, and starts with the right one.
func TestMissingMasterKey(t *testing.T) {
	dir, master, one, _ := sealedVenue(t)
	removeFile(t, masterKeyPath(dir))
	code, _, errs := runCommand("serve", "--data", dir, "--oracle", "manual", "--api", "127.0.0.1:0", "--portal", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	if code != 2 || !strings.Contains(errs, fingerprint(master)) || !strings.Contains(errs, masterKeyPath(dir)) || !strings.Contains(errs, "DX_MASTER_KEY") {
		t.Errorf("%d %s", code, errs)
	}
	if _, err := os.Stat(masterKeyPath(dir)); err == nil {
		t.Error("a new master key was made beside the journal")
	}
	h := openTestServer(t, dir, func(p *serverOptions) { p.masterKey, p.ownsMasterKey = master, false })
	h.checkKeyWorks(t, one)
	h.mustClose(t)
}

func TestWrongMasterKey(t *testing.T) {
	dir, master, one, _ := sealedVenue(t)
	wrong := func(p *serverOptions) { p.masterKey = otherMaster }
	named := func(err error, parts ...string) {
		t.Helper()
		var flag cli.FlagError
		if !errors.As(err, &flag) {
			t.Fatalf("not refused for the key: %v", err)
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not name %s", err, part)
			}
		}
	}
	named(refusedStart(t, dir, wrong), fingerprint(master), fingerprint(otherMaster))
	named(refusedStart(t, dir, func(p *serverOptions) {
		p.masterKey, p.oldMasterKey, p.ownsMasterKey = otherMaster, make([]byte, 32), false
	}), fingerprint(master), fingerprint(otherMaster))

	// A directory from before the file of fingerprints is judged by its secrets, and has
	// the file from then on.
	removeFile(t, filepath.Join(dir, "journal", fingerprintsName))
	named(refusedStart(t, dir, wrong), "none of the secrets of 2 keys", fingerprint(otherMaster))
	if got := fingerprintsIn(t, dir); got != "" {
		t.Errorf("the wrong key's start has left %s", got)
	}
	h := openTestServer(t, dir, nil)
	h.checkKeyWorks(t, one)
	h.mustClose(t)
	if got := fingerprintsIn(t, dir); got != fingerprint(master) {
		t.Errorf("fingerprints %s, not %s", got, fingerprint(master))
	}

	// A journal from a backup of before a rotation, put back beside the newer key.
	replaceFile(t, (&serverOptions{dir: dir}).fingerprintsFile(), fingerprint(otherMaster)+"\n")
	named(refusedStart(t, dir, wrong), "none of the secrets of 2 keys", "backup")
}

// Of a directory from before fingerprints some secrets may be sealed under a key that is
// lost: the venue starts for all others.
func TestSomeSecretsLost(t *testing.T) {
	dir, _, one, two := sealedVenue(t)
	h := openTestServer(t, dir, nil)
	if err := h.submitOwn(&core.ResealKey{Key: two.APIKey, Sealed: make([]byte, 60)}); err != nil {
		t.Fatal(err)
	}
	h.mustClose(t)
	h = openTestServer(t, dir, nil)
	defer h.mustClose(t)
	h.checkKeyWorks(t, one)
	if _, err := h.clientFor(t, two).Balance(t.Context()); err == nil {
		t.Error("a secret that no master key opens is taken")
	}
}

// A master key that is lost for good costs the API keys, and nothing else: the venue
// starts with a new one when it is told so, and holders make new keys.
func TestLostMasterKey(t *testing.T) {
	dir, _, one, _ := sealedVenue(t)
	removeFile(t, masterKeyPath(dir))
	if code, _, errs := runCommand("serve", "--data", dir, "--oracle", "manual", "--master-key-lost"); code != 2 || !strings.Contains(errs, "master-key") {
		t.Errorf("without a new key: %d %s", code, errs)
	}
	fresh := func(lost bool) func(*serverOptions) {
		return func(p *serverOptions) { p.masterKey, p.ownsMasterKey, p.masterKeyLost = otherMaster, false, lost }
	}
	if err := refusedStart(t, dir, fresh(false)); err == nil {
		t.Error("it starts untold")
	}
	h := openTestServer(t, dir, fresh(true))
	if _, err := h.clientFor(t, one).Balance(t.Context()); err == nil {
		t.Error("a lost key opens")
	}
	k, err := h.gate.IssueKey(t.Context(), 1, "", gate.UserScopes, core.Audit{Who: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h.checkKeyWorks(t, k)
	h.mustClose(t)
	h = openTestServer(t, dir, fresh(false)) // from then on like any other
	h.checkKeyWorks(t, k)
	h.mustClose(t)
}

// At whatever point a crash interrupts a rotation, the next start finishes it, and the
// fingerprints end with the new key's alone.
func TestRotationEndsAfterEveryCrash(t *testing.T) {
	points := []string{"the new file", "both fingerprints", "one secret", "every secret", "the file replaced"}
	for n, point := range points {
		t.Run(point, func(t *testing.T) {
			dir, master, one, two := sealedVenue(t)
			h := openTestServer(t, dir, nil)
			text, err := loadOrCreateSecret(nextMasterKeyPath(dir))
			if err != nil {
				t.Fatal(err)
			}
			next, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			if n >= 1 {
				if err := h.options.setFingerprints(master, next); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.gate.Vault.AddMasterKey(next); err != nil {
				t.Fatal(err)
			}
			for i, k := range []schemas.NewKey{one, two} {
				if n >= 2+i {
					secret, _ := schemas.ParseSecret(k.Secret)
					if err := h.submitOwn(&core.ResealKey{Key: k.APIKey, Sealed: h.gate.Vault.Seal(k.APIKey, secret)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			h.mustClose(t)
			if n >= 4 {
				if err := os.Rename(nextMasterKeyPath(dir), masterKeyPath(dir)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second start finds nothing left to do
				h = openTestServer(t, dir, nil)
				h.checkKeyWorks(t, one)
				h.checkKeyWorks(t, two)
				h.mustClose(t)
				if got := fingerprintsIn(t, dir); got != fingerprint(next) {
					t.Errorf("fingerprints %s, not %s", got, fingerprint(next))
				}
				if b, err := os.ReadFile(masterKeyPath(dir)); err != nil || strings.TrimSpace(string(b)) != text {
					t.Error("master.key is not the new one", err)
				}
			}
		})
	}
}

// A rotation from outside that a crash cut short goes on with both keys, and with either
// alone the venue does not start.
func TestRotationFromOutsideCutShort(t *testing.T) {
	dir, first, one, two := sealedVenue(t)
	removeFile(t, masterKeyPath(dir))
	second := otherMaster
	both := func(p *serverOptions) { p.masterKey, p.oldMasterKey, p.ownsMasterKey = second, first, false }
	alone := func(key []byte) func(*serverOptions) {
		return func(p *serverOptions) { p.masterKey, p.ownsMasterKey = key, false }
	}
	h := openTestServer(t, dir, alone(first))
	if err := h.options.setFingerprints(second, first); err != nil {
		t.Fatal(err)
	}
	if err := h.gate.Vault.AddMasterKey(second); err != nil {
		t.Fatal(err)
	}
	secret, _ := schemas.ParseSecret(one.Secret)
	if err := h.submitOwn(&core.ResealKey{Key: one.APIKey, Sealed: h.gate.Vault.Seal(one.APIKey, secret)}); err != nil {
		t.Fatal(err)
	}
	h.mustClose(t)
	for _, key := range [][]byte{first, second} {
		if err := refusedStart(t, dir, alone(key)); err == nil || !strings.Contains(err.Error(), "1 of 2 keys") || !strings.Contains(err.Error(), fingerprint(first)) || !strings.Contains(err.Error(), fingerprint(second)) {
			t.Errorf("with one key alone: %v", err)
		}
	}
	for _, start := range []func(*serverOptions){both, alone(second)} {
		h = openTestServer(t, dir, start)
		h.checkKeyWorks(t, one)
		h.checkKeyWorks(t, two)
		h.mustClose(t)
	}
	if got := fingerprintsIn(t, dir); got != fingerprint(second) {
		t.Errorf("fingerprints %s, not %s", got, fingerprint(second))
	}
}
