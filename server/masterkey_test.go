package server_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// sealedVenue returns a data folder with two keys, and its master key.
func sealedVenue(t *testing.T) (dir string, master []byte, one, two schemas.NewKey) {
	t.Helper()
	dir = t.TempDir()
	h := servertest.OpenLive(t, dir, nil)
	one, two = h.NewAccount("a"), h.NewAccount("bb")
	master = servertest.MasterKey(t, dir)
	h.Close()
	return dir, master, one, two
}

func fingerprintsIn(t *testing.T, dir string) string {
	t.Helper()
	list, err := server.Fingerprints(dir)
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

// reseal seals a key's secret under the newest master key, as a rotation does.
func reseal(v *servertest.Venue, k schemas.NewKey) {
	secret, _ := schemas.ParseSecret(k.Secret)
	v.Submit(&core.ResealKey{Key: k.APIKey, Sealed: v.Gate().Vault.Seal(k.APIKey, secret)})
}

var otherMaster = append(make([]byte, 31), 7)

// wantMasterKeyError checks that err is an error of the option MasterKey and contains parts.
func wantMasterKeyError(t *testing.T, err error, parts ...string) {
	t.Helper()
	var option *server.OptionError
	if !errors.As(err, &option) || option.Option != "MasterKey" {
		t.Fatalf("not an error of MasterKey: %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

// TestMissingMasterKey tests that a venue whose master.key is missing does not start or
// create one, names the key that is needed, and starts with it.
func TestMissingMasterKey(t *testing.T) {
	dir, master, one, _ := sealedVenue(t)
	servertest.RemoveFile(t, server.MasterKeyPath(dir))
	wantMasterKeyError(t, startError(t, dir, nil), server.Fingerprint(master), server.MasterKeyPath(dir), "DX_MASTER_KEY")
	if _, err := os.Stat(server.MasterKeyPath(dir)); err == nil {
		t.Error("a new master key was made beside the journal")
	}
	h := servertest.OpenLive(t, dir, func(o *server.Options) { o.MasterKey = master })
	servertest.CheckKey(t, h, one)
	h.Close()
}

// TestWrongMasterKey tests that a venue does not start with a key that sealed none of its
// secrets, and that the error names both fingerprints.
func TestWrongMasterKey(t *testing.T) {
	dir, master, one, _ := sealedVenue(t)
	wrong := func(o *server.Options) { o.MasterKey = otherMaster }
	wantMasterKeyError(t, startError(t, dir, wrong), server.Fingerprint(master), server.Fingerprint(otherMaster))
	wantMasterKeyError(t, startError(t, dir, func(o *server.Options) {
		o.MasterKey, o.OldMasterKey = otherMaster, make([]byte, 32)
	}), server.Fingerprint(master), server.Fingerprint(otherMaster))

	// A data folder of an older release has no fingerprints: its secrets are tried, and
	// then it has the file.
	servertest.RemoveFile(t, server.FingerprintPath(dir))
	wantMasterKeyError(t, startError(t, dir, wrong), "none of the secrets of 2 keys", server.Fingerprint(otherMaster))
	if got := fingerprintsIn(t, dir); got != "" {
		t.Errorf("the wrong key's start has left %s", got)
	}
	h := servertest.OpenLive(t, dir, nil)
	servertest.CheckKey(t, h, one)
	h.Close()
	if got := fingerprintsIn(t, dir); got != server.Fingerprint(master) {
		t.Errorf("fingerprints %s, not %s", got, server.Fingerprint(master))
	}

	// A journal from a backup that is older than a rotation, beside the newer key.
	replaceFile(t, server.FingerprintPath(dir), server.Fingerprint(otherMaster)+"\n")
	wantMasterKeyError(t, startError(t, dir, wrong), "none of the secrets of 2 keys", "backup")
}

// TestSomeSecretsLost tests that a venue starts although some secrets are sealed under a
// key that is lost.
func TestSomeSecretsLost(t *testing.T) {
	dir, _, one, two := sealedVenue(t)
	h := servertest.OpenLive(t, dir, nil)
	h.Submit(&core.ResealKey{Key: two.APIKey, Sealed: make([]byte, 60)})
	h.Close()
	h = servertest.OpenLive(t, dir, nil)
	defer h.Close()
	servertest.CheckKey(t, h, one)
	if _, err := h.ClientWithKey(two.APIKey, two.Secret).Balance(t.Context()); err == nil {
		t.Error("a secret that no master key opens is taken")
	}
}

// TestLostMasterKey tests that a venue whose master key is lost starts with a new one if
// MasterKeyLost is set, that it loses the API keys and nothing else, and that accounts can
// make new ones.
func TestLostMasterKey(t *testing.T) {
	dir, _, one, _ := sealedVenue(t)
	servertest.RemoveFile(t, server.MasterKeyPath(dir))
	var option *server.OptionError
	if err := startError(t, dir, func(o *server.Options) { o.MasterKeyLost = true }); !errors.As(err, &option) || option.Option != "MasterKeyLost" {
		t.Errorf("without a new key: %v", err)
	}
	fresh := func(lost bool) func(*server.Options) {
		return func(o *server.Options) { o.MasterKey, o.MasterKeyLost = otherMaster, lost }
	}
	if err := startError(t, dir, fresh(false)); err == nil {
		t.Error("it starts without MasterKeyLost")
	}
	h := servertest.OpenLive(t, dir, fresh(true))
	if _, err := h.ClientWithKey(one.APIKey, one.Secret).Balance(t.Context()); err == nil {
		t.Error("a lost key opens")
	}
	k, err := h.Gate().IssueKey(t.Context(), 1, "", gate.UserScopes, core.Audit{Who: "test"})
	if err != nil {
		t.Fatal(err)
	}
	servertest.CheckKey(t, h, k)
	h.Close()
	h = servertest.OpenLive(t, dir, fresh(false)) // MasterKeyLost is needed once
	servertest.CheckKey(t, h, k)
	h.Close()
}

// TestRotationEndsAfterEveryCrash tests that the next start finishes a rotation that a crash
// interrupted, at whatever point, and that only the new key's fingerprint remains.
func TestRotationEndsAfterEveryCrash(t *testing.T) {
	type point struct {
		name         string
		fingerprints bool // the file names both keys
		secrets      int  // that are sealed under the new key
		replaced     bool // master.key is the new one
	}
	points := []point{
		{"one secret, fingerprint of the old key alone", false, 1, false}, {"the new file", false, 0, false}, {"both fingerprints", true, 0, false},
		{"one secret", true, 1, false}, {"every secret", true, 2, false}, {"the file replaced", true, 2, true},
	}
	if testing.Short() { // each takes several starts
		points = points[:1]
	}
	for _, p := range points {
		t.Run(p.name, func(t *testing.T) {
			dir, master, one, two := sealedVenue(t)
			h := servertest.OpenLive(t, dir, nil)
			text, err := server.LoadOrCreateSecret(server.NextMasterKeyPath(dir))
			if err != nil {
				t.Fatal(err)
			}
			next, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			if p.fingerprints {
				if err := server.SetFingerprints(dir, master, next); err != nil {
					t.Fatal(err)
				}
			}
			if err := h.Gate().Vault.AddMasterKey(next); err != nil {
				t.Fatal(err)
			}
			for _, k := range []schemas.NewKey{one, two}[:p.secrets] {
				reseal(h, k)
			}
			h.Close()
			if p.replaced {
				if err := os.Rename(server.NextMasterKeyPath(dir), server.MasterKeyPath(dir)); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second start finds nothing left to do
				h = servertest.OpenLive(t, dir, nil)
				servertest.CheckKey(t, h, one)
				servertest.CheckKey(t, h, two)
				h.Close()
				if got := fingerprintsIn(t, dir); got != server.Fingerprint(next) {
					t.Errorf("fingerprints %s, not %s", got, server.Fingerprint(next))
				}
				if b, err := os.ReadFile(server.MasterKeyPath(dir)); err != nil || strings.TrimSpace(string(b)) != text {
					t.Error("master.key is not the new one", err)
				}
				if _, err := os.Stat(server.NextMasterKeyPath(dir)); err == nil {
					t.Error("the rotation is still under way")
				}
				kept, err := os.ReadFile(server.MasterKeyPath(dir) + "." + server.Fingerprint(master))
				if !p.replaced && (err != nil || strings.TrimSpace(string(kept)) != hex.EncodeToString(master)) { // it is written before the file is replaced
					t.Errorf("the old key is kept as %q: %v", kept, err)
				}
				if got := rotations(h); len(got) != 1 || got[0] != "dx "+server.Fingerprint(master)+" "+server.Fingerprint(next) {
					t.Errorf("the audit has the rotations %q", got)
				}
			}
		})
	}
}

// rotations are the rows of the audit about master keys: who, before and after.
func rotations(h *servertest.Venue) (out []string) {
	h.Venue.Engine().Read(func(_ *venue.Venue, w *view.View) {
		for a := range w.Actions(0) {
			if a.Name == "rotate_master_key" {
				out = append(out, a.Who+" "+a.Detail["before"]+" "+a.Detail["after"])
			}
		}
	})
	return out
}

// TestRotationFromOutsideCutShort tests that a rotation to a given key which a crash
// interrupted continues with both keys, and that the venue does not start with only one.
func TestRotationFromOutsideCutShort(t *testing.T) {
	dir, first, one, two := sealedVenue(t)
	servertest.RemoveFile(t, server.MasterKeyPath(dir))
	second := otherMaster
	both := func(o *server.Options) { o.MasterKey, o.OldMasterKey = second, first }
	alone := func(key []byte) func(*server.Options) {
		return func(o *server.Options) { o.MasterKey = key }
	}
	h := servertest.OpenLive(t, dir, alone(first))
	if err := server.SetFingerprints(dir, second, first); err != nil {
		t.Fatal(err)
	}
	if err := h.Gate().Vault.AddMasterKey(second); err != nil {
		t.Fatal(err)
	}
	reseal(h, one)
	h.Close()
	for _, key := range [][]byte{first, second} {
		if err := startError(t, dir, alone(key)); err == nil || !strings.Contains(err.Error(), "1 of 2 keys") || !strings.Contains(err.Error(), server.Fingerprint(first)) || !strings.Contains(err.Error(), server.Fingerprint(second)) {
			t.Errorf("with one key alone: %v", err)
		}
	}
	for _, start := range []func(*server.Options){both, alone(second)} {
		h = servertest.OpenLive(t, dir, start)
		servertest.CheckKey(t, h, one)
		servertest.CheckKey(t, h, two)
		h.Close()
	}
	if got := fingerprintsIn(t, dir); got != server.Fingerprint(second) {
		t.Errorf("fingerprints %s, not %s", got, server.Fingerprint(second))
	}
}

// TestRotationFromOutside tests that a venue whose master key is given replaces it at a start
// with both keys, needs only the new one from then on, and does not start with the old one.
func TestRotationFromOutside(t *testing.T) {
	dir := t.TempDir()
	first, second := make([]byte, 32), otherMaster
	h := servertest.OpenLive(t, dir, func(o *server.Options) { o.MasterKey = first })
	k := h.NewAccount("a")
	h.Close()
	for _, change := range []func(*server.Options){
		func(o *server.Options) { o.MasterKey, o.OldMasterKey = second, first },
		func(o *server.Options) { o.MasterKey = second },
	} {
		h = servertest.OpenLive(t, dir, change)
		servertest.CheckKey(t, h, k)
		if got := rotations(h); len(got) != 1 || got[0] != "dx "+server.Fingerprint(first)+" "+server.Fingerprint(second) {
			t.Errorf("the audit has the rotations %q", got)
		}
		h.Close()
	}
	wantMasterKeyError(t, startError(t, dir, func(o *server.Options) { o.MasterKey = first }), server.Fingerprint(first), server.Fingerprint(second))
}

// TestFlippedFilesBesideTheJournal flips each byte of the files beside the journal that have no other copy in the
// folder. With the right master key the venue starts, serves the keys and has written the file anew; with another key
// it ends with the name of the damaged file.
func TestFlippedFilesBesideTheJournal(t *testing.T) {
	dir, _, one, _ := sealedVenue(t)
	for _, name := range []string{server.FingerprintFile, server.EnvironmentFile} {
		file := filepath.Join(dir, "journal", name)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1 << (i % 8)
			replaceFile(t, file, string(flipped))
			if i%8 == 0 { // a start takes long
				h := servertest.OpenLive(t, dir, nil)
				servertest.CheckKey(t, h, one)
				h.Close()
				if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, whole) {
					t.Fatalf("%s with byte %d flipped: a start has left %q, %v", name, i, now, err)
				}
				replaceFile(t, file, string(flipped))
			}
			if name != server.FingerprintFile {
				continue
			}
			if list, err := server.Fingerprints(dir); err == nil {
				t.Errorf("%q is read as the fingerprints %q", flipped, list)
			}
		}
		replaceFile(t, file, string(whole))
	}
	file := filepath.Join(dir, "journal", server.FingerprintFile)
	replaceFile(t, file, "0123456789abcdeg\n")
	err := startError(t, dir, func(o *server.Options) { o.MasterKey = otherMaster })
	if damage := (*journal.Damage)(nil); !errors.As(err, &damage) || damage.File != file || !strings.Contains(err.Error(), "remove it if you are sure") {
		t.Errorf("another key beside a damaged fingerprint: %v", err)
	}
}
