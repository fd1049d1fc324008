package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
)

// The journal holds key secrets sealed under the master key, and under another one none
// of them opens. So a fingerprint of the master key lies beside the journal, and a venue
// does not start with a key that has another. The file has a line for each master key
// that may have sealed secrets:
//
//	one line                         the key in force
//	two, while a rotation runs       the old and the new: written before the first secret
//	                                 is sealed anew, and replaced by the new one's alone
//	                                 when every secret is and master.key has the new key
//
// So whatever a crash interrupts, the key that the next start finds is among the lines.
// A directory from before the file is judged by its secrets alone (opens).
const fingerprintsName = "master.fingerprint"

func (p *serverOptions) fingerprintsFile() string {
	return filepath.Join(p.journal(), fingerprintsName)
}

// fingerprint tells master keys apart and says nothing else of them.
func fingerprint(master []byte) string {
	sum := sha256.Sum256(append([]byte("duplex master key\n"), master...))
	return hex.EncodeToString(sum[:8])
}

// fingerprints are those beside the journal; none where there is no file.
func (p *serverOptions) fingerprints() ([]string, error) {
	b, err := os.ReadFile(p.fingerprintsFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// setFingerprints names the master keys that may have sealed secrets from now on. A
// file that says so already is left alone, so that a full disk does not matter.
func (p *serverOptions) setFingerprints(masters ...[]byte) error {
	var list []string
	for _, m := range masters {
		if f := fingerprint(m); !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	now, err := p.fingerprints()
	if err != nil || slices.Equal(now, list) {
		return err
	}
	return writeFileAtomic(p.fingerprintsFile(), []byte(strings.Join(list, "\n")+"\n"))
}

// loadMasterKey comes from DX_MASTER_KEY (64 hex characters) or a file of the data
// directory, made on the first start and never beside a journal: its secrets are sealed
// under a key that a new one cannot replace.
func loadMasterKey(given, dir string) ([]byte, error) {
	if given != "" {
		b, err := hex.DecodeString(given)
		if err != nil || len(b) != 32 {
			return nil, cli.BadFlag("master-key", errors.New("64 hex characters are wanted"))
		}
		return b, nil
	}
	p := serverOptions{dir: dir}
	if _, err := os.Stat(masterKeyPath(dir)); errors.Is(err, fs.ErrNotExist) && hasJournal(p.journal()) {
		list, err := p.fingerprints()
		if err != nil {
			return nil, err
		}
		return nil, cli.BadFlag("master-key", fmt.Errorf("%s is missing, and the secrets of the journal beside it are sealed under the master key%s: put the file back, or give the key in DX_MASTER_KEY", masterKeyPath(dir), withFingerprint(list)))
	}
	text, err := loadOrCreateSecret(masterKeyPath(dir))
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

// hasJournal tells whether a directory holds a journal, or what is left of one.
func hasJournal(dir string) bool {
	for _, part := range []string{"log/*.wal", "snapshots/*.snapshot", "MARK"} {
		if found, _ := filepath.Glob(filepath.Join(dir, part)); len(found) > 0 {
			return true
		}
	}
	return false
}

func withFingerprint(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return " with fingerprint " + strings.Join(list, " or ")
}

// masters are the master keys that are given: the one in force, then an older one.
func (p *serverOptions) masters() [][]byte {
	if p.oldMasterKey == nil {
		return [][]byte{p.masterKey}
	}
	return [][]byte{p.masterKey, p.oldMasterKey}
}

// vault opens secrets under the masters.
func (p *serverOptions) vault() (*gate.Vault, error) {
	if p.oldMasterKey == nil {
		return gate.NewVault(p.masterKey)
	}
	v, err := gate.NewVault(p.oldMasterKey)
	if err == nil {
		err = v.AddMasterKey(p.masterKey)
	}
	return v, err
}

// knownMaster refuses master keys of which none is among the fingerprints beside the
// journal. It is asked before the replay, which takes longer.
func (p *serverOptions) knownMaster() error {
	want, err := p.fingerprints()
	if err != nil || len(want) == 0 || p.masterKeyLost {
		return err
	}
	var have []string
	for _, m := range p.masters() {
		if have = append(have, fingerprint(m)); slices.Contains(want, fingerprint(m)) {
			return nil
		}
	}
	return p.wrongMaster(fmt.Errorf("the master key has fingerprint %s; the journal in %s is sealed under the one with fingerprint %s", strings.Join(have, " and "), p.journal(), strings.Join(want, " or ")))
}

func (p *serverOptions) wrongMaster(err error) error { return cli.BadFlag("master-key", err) }

// opens proves the master keys by the secrets of the keys that are not revoked, and then
// notes their fingerprints. Where a few do not open, a rotation may have been left
// unfinished, which the fingerprints tell; else those keys alone are lost.
func (h *venueServer) opens() error {
	vault := h.gate.Vault
	if next, err := h.options.nextMaster(); err != nil {
		return err
	} else if next != nil { // resume goes on with it
		if vault, err = h.options.vault(); err == nil {
			err = vault.AddMasterKey(next)
		}
		if err != nil {
			return err
		}
	}
	var all int
	var shut []core.Key
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
		for k := range v.Keys() {
			if k.Revoked {
				continue
			}
			all++
			if _, err := vault.Open(&k); err != nil {
				shut = append(shut, k)
			}
		}
	})
	want, err := h.options.fingerprints()
	if err != nil {
		return err
	}
	have := fingerprint(h.options.masterKey)
	switch {
	case len(shut) == 0:
		return h.sealedBy()
	case h.options.masterKeyLost:
		return h.giveUp(shut)
	case len(want) > 1:
		return h.options.wrongMaster(fmt.Errorf("the secrets of %d of %d keys do not open under the master key with fingerprint %s: a rotation between the keys with fingerprints %s did not end; start with the new one in DX_MASTER_KEY and the old one in DX_MASTER_KEY_OLD", len(shut), all, have, strings.Join(want, " and ")))
	case len(shut) == all:
		return h.options.wrongMaster(fmt.Errorf("none of the secrets of %d keys opens under the master key with fingerprint %s%s", all, have, expected(want)))
	default:
		h.options.log.Error("some key secrets open under no master key: their holders need new keys", "keys", len(shut), "of", all, "fingerprint", have)
		return h.sealedBy()
	}
}

// giveUp revokes the keys whose secrets are lost with the master key before this one.
func (h *venueServer) giveUp(lost []core.Key) error {
	for _, k := range lost {
		if err := h.submitOwn(&core.RevokeKey{User: k.User, Key: k.ID, Audit: core.Audit{Who: "dx", Why: "the master key is lost"}}); err != nil {
			return err
		}
	}
	h.options.log.Warn("the master key before this one is lost: keys were revoked, their holders need new ones", "keys", len(lost))
	return h.sealedBy()
}

func expected(want []string) string {
	if len(want) == 0 {
		return ": they were sealed under another"
	}
	return ", though the journal names that fingerprint: was it put back from a backup of another time?"
}

// sealedBy notes the masters' fingerprints. A rotation that resume goes on with notes
// its own.
func (h *venueServer) sealedBy() error {
	if next, err := h.options.nextMaster(); err != nil || next != nil {
		return err
	}
	return h.options.setFingerprints(h.options.masters()...)
}

// nextMaster is the master key of a rotation that a crash cut short; nil if there is
// none.
func (p *serverOptions) nextMaster() ([]byte, error) {
	if !p.ownsMasterKey || p.oldMasterKey != nil {
		return nil, nil
	}
	if _, err := os.Stat(nextMasterKeyPath(p.dir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	text, err := loadOrCreateSecret(nextMasterKeyPath(p.dir))
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}
