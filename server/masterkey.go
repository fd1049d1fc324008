package server

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/atomicfile"
	"duplex/lanes/gate"
)

// masterKeys are the master keys of a data folder.
//
// The journal holds the secrets of the API keys, sealed under the master key. So the
// fingerprint of the master key is kept beside the journal, and a venue does not start with
// a key that has another one. The file has one line for each master key that may have
// sealed a secret:
//
//	one line    the master key in use
//	two lines   during a rotation, the old and the new one: they are written before the
//	            first secret is sealed again. When every secret is sealed under the new key
//	            and master.key holds it, its line alone remains.
//
// A last line has the CRC-32C of those before it; a file of an older release has none. So
// after a crash at any point, the key that the next start finds is among the lines. A
// folder without the file, or with a damaged one, is checked by its secrets alone
// (verifyMasterKeys).
type masterKeys struct {
	data     string
	current  []byte
	old      []byte // nil, or the key that current replaces
	ownsFile bool   // current is in a file of data that the venue may replace
	sealsOld bool   // a member of a cluster whose others may not have the new key yet
	lost     bool   // the key before current is lost: revoke the keys that do not open
}

const masterKeyLen = 32

func masterKeyPath(data string) string { return filepath.Join(data, "master.key") }

// nextMasterKeyPath is the file of the new key while a rotation is in progress.
func nextMasterKeyPath(data string) string { return masterKeyPath(data) + ".next" }

// keepCurrent writes the current key to a file with its fingerprint, beside the one that the new key replaces.
func (k *masterKeys) keepCurrent() error {
	path := masterKeyPath(k.data) + "." + fingerprint(k.current)
	return atomicfile.Write(path, []byte(hex.EncodeToString(k.current)+"\n"))
}

func (k *masterKeys) journal() string { return filepath.Join(k.data, "journal") }

func (k *masterKeys) fingerprintFile() string {
	return filepath.Join(k.journal(), FingerprintFile)
}

// loadMasterKeys returns the master keys of the options, or of the data folder. It creates
// the file master.key at the first start, but never beside a journal, whose secrets a new
// key could not open.
func loadMasterKeys(o *Options) (masterKeys, error) {
	k := masterKeys{data: o.Data, current: o.MasterKey, old: o.OldMasterKey, lost: o.MasterKeyLost}
	if k.current != nil && len(k.current) != masterKeyLen {
		return k, &OptionError{"MasterKey", fmt.Errorf("%d bytes, not %d", len(k.current), masterKeyLen)}
	}
	if k.old != nil && len(k.old) != masterKeyLen {
		return k, &OptionError{"OldMasterKey", fmt.Errorf("%d bytes, not %d", len(k.old), masterKeyLen)}
	}
	if k.current != nil {
		return k, nil
	}
	k.ownsFile = o.Environment != environmentDev // the tokens of a dev venue are derived from its key
	path := masterKeyPath(k.data)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && engine.HasJournal(k.journal()) {
		list, err := k.fingerprints()
		if err != nil {
			return k, err
		}
		with := ""
		if len(list) > 0 {
			with = " with fingerprint " + strings.Join(list, " or ")
		}
		return k, wrongMasterKey("%s is missing, and the secrets of the journal beside it are sealed under the master key%s: put the file back, or give the key in DX_MASTER_KEY", path, with)
	}
	text, err := LoadOrCreateSecret(path)
	if err == nil {
		k.current, err = hex.DecodeString(text)
	}
	return k, err
}

func wrongMasterKey(format string, args ...any) error {
	return &OptionError{"MasterKey", fmt.Errorf(format, args...)}
}

// FingerprintFile is the name of the file beside the journal that identifies its master key.
const FingerprintFile = "master.fingerprint"

const fingerprintLen = 8 // bytes

// fingerprint identifies a master key without revealing it.
func fingerprint(master []byte) string {
	sum := sha256.Sum256(append([]byte("duplex master key\n"), master...))
	return hex.EncodeToString(sum[:fingerprintLen])
}

// sumOfFingerprints begins the last line of the fingerprint file.
const sumOfFingerprints = "crc32c "

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fingerprints returns the lines of the fingerprint file; none if there is no file. The error
// is a *journal.Damage if the file is not one that a venue has written.
func (k *masterKeys) fingerprints() (list []string, err error) {
	b, err := os.ReadFile(k.fingerprintFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, sum, summed := strings.Cut(string(b), sumOfFingerprints)
	list = strings.Fields(text)
	sound := len(list) > 0 && (!summed || sum == fmt.Sprintf("%08x\n", crc32.Checksum([]byte(text), castagnoli)))
	for _, f := range list {
		id, err := hex.DecodeString(f)
		sound = sound && err == nil && len(id) == fingerprintLen
	}
	if !sound {
		return nil, &journal.Damage{File: k.fingerprintFile(), Err: errNoFingerprint}
	}
	return list, nil
}

var errNoFingerprint = errors.New("it does not hold fingerprints of master keys: put it back from a backup, or remove it if you are sure of the key")

// setFingerprints writes the fingerprints of the master keys that may seal secrets from now
// on. It does not write a file that is right already, so that a venue with a full disk
// starts.
func (k *masterKeys) setFingerprints(masters ...[]byte) error {
	text := ""
	for _, m := range masters {
		if f := fingerprint(m) + "\n"; !strings.Contains(text, f) {
			text += f
		}
	}
	whole := text + sumOfFingerprints + fmt.Sprintf("%08x\n", crc32.Checksum([]byte(text), castagnoli))
	now, err := os.ReadFile(k.fingerprintFile())
	if err == nil && string(now) == whole || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = atomicfile.Write(k.fingerprintFile(), []byte(whole))
	if errors.Is(err, syscall.ENOSPC) && string(now) == text {
		return nil // of an older release, and right
	}
	return err
}

// given returns the current key and the old one, if there is one.
func (k *masterKeys) given() [][]byte {
	if k.old == nil {
		return [][]byte{k.current}
	}
	return [][]byte{k.current, k.old}
}

// vault returns a vault that opens secrets under the given keys and seals under the current
// one, or with sealsOld under the old one.
func (k *masterKeys) vault() (*gate.Vault, error) {
	if k.old == nil {
		return gate.NewVault(k.current)
	}
	first, then := k.old, k.current
	if k.sealsOld {
		first, then = then, first
	}
	v, err := gate.NewVault(first)
	if err == nil {
		err = v.AddMasterKey(then)
	}
	return v, err
}

// checkFingerprints returns an error if none of the given keys has a fingerprint of the
// file. It runs before the journal is restored, because that takes longer. A damaged file
// is left to verifyMasterKeys.
func (k *masterKeys) checkFingerprints() error {
	want, err := k.fingerprints()
	if damage := (*journal.Damage)(nil); errors.As(err, &damage) {
		return nil
	}
	if err != nil || len(want) == 0 || k.lost {
		return err
	}
	var have []string
	for _, m := range k.given() {
		f := fingerprint(m)
		if slices.Contains(want, f) {
			return nil
		}
		have = append(have, f)
	}
	return wrongMasterKey("the master key has fingerprint %s; the journal in %s is sealed under the one with fingerprint %s", strings.Join(have, " and "), k.journal(), strings.Join(want, " or "))
}

// next returns the new master key of a rotation that was interrupted; nil if there is none.
func (k *masterKeys) next() ([]byte, error) {
	if !k.ownsFile {
		return nil, nil
	}
	if _, err := os.Stat(nextMasterKeyPath(k.data)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	text, err := LoadOrCreateSecret(nextMasterKeyPath(k.data))
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

// verifyMasterKeys opens the secret of every key that is not revoked, and then writes the
// fingerprints. If some secrets do not open and the fingerprints show an unfinished
// rotation, the start fails. Otherwise only the keys of those secrets are lost.
func (v *Venue) verifyMasterKeys() error {
	if v.options.Virtual != nil {
		return nil // nothing is sealed
	}
	vault := v.gate.Vault
	if next, err := v.keys.next(); err != nil {
		return err
	} else if next != nil { // finishKeyRotation continues with it
		if vault, err = v.keys.vault(); err == nil {
			err = vault.AddMasterKey(next)
		}
		if err != nil {
			return err
		}
	}
	var all int
	var unopened []core.Key
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		for k := range s.Keys() {
			if k.Revoked {
				continue
			}
			all++
			if _, err := vault.Open(&k); err != nil {
				unopened = append(unopened, k)
			}
		}
	})
	want, err := v.keys.fingerprints()
	damage := (*journal.Damage)(nil)
	if err != nil && !errors.As(err, &damage) {
		return err
	}
	have := fingerprint(v.keys.current)
	switch {
	case len(unopened) == 0:
		if damage != nil {
			v.options.Log.Warn("a damaged file is written anew: every secret of the journal opens under the master key", "file", damage.File, "keys", all, "fingerprint", have)
		}
		return v.recordFingerprints()
	case damage != nil:
		return damage
	case v.keys.lost:
		return v.revokeLost(unopened)
	case len(want) > 1:
		return wrongMasterKey("the secrets of %d of %d keys do not open under the master key with fingerprint %s: a rotation between the keys with fingerprints %s did not end; start with the new one in DX_MASTER_KEY and the old one in DX_MASTER_KEY_OLD", len(unopened), all, have, strings.Join(want, " and "))
	case len(unopened) == all && len(want) == 0:
		return wrongMasterKey("none of the secrets of %d keys opens under the master key with fingerprint %s: they were sealed under another", all, have)
	case len(unopened) == all:
		return wrongMasterKey("none of the secrets of %d keys opens under the master key with fingerprint %s, though the journal names that fingerprint: was it put back from a backup of another time?", all, have)
	default:
		v.options.Log.Error("some key secrets open under no master key: their holders need new keys", "keys", len(unopened), "of", all, "fingerprint", have)
		return v.recordFingerprints()
	}
}

// revokeLost revokes the keys whose secrets are lost with the master key before this one.
func (v *Venue) revokeLost(lost []core.Key) error {
	for _, k := range lost {
		if err := v.submitOwn(&core.RevokeKey{User: k.User, Key: k.ID, Audit: core.Audit{Who: "dx", Why: "the master key is lost"}}); err != nil {
			return err
		}
	}
	v.options.Log.Warn("the master key before this one is lost: keys were revoked, their holders need new ones", "keys", len(lost))
	return v.recordFingerprints()
}

// recordFingerprints writes the fingerprints of the given keys, unless a rotation is to be
// continued, which writes its own.
func (v *Venue) recordFingerprints() error {
	if next, err := v.keys.next(); err != nil || next != nil {
		return err
	}
	return v.keys.setFingerprints(v.keys.given()...)
}
