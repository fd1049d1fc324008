package server

import (
	"context"
	"encoding/hex"
	"errors"
	"os"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/atomicfile"
)

// rotateMasterKey makes a new master key and seals every secret under it. Until every secret
// is sealed and durable, the new key is in a file beside the old one, so that the next start
// can finish what a crash interrupts. The old key stays in a file with its fingerprint, because older
// backups need it. It returns the number of secrets.
func (v *Venue) rotateMasterKey(ctx context.Context, by core.Audit) (int, error) {
	v.rotateMu.Lock()
	defer v.rotateMu.Unlock()
	text, err := LoadOrCreateSecret(nextMasterKeyPath(v.keys.data))
	if err != nil {
		return 0, err
	}
	next, err := hex.DecodeString(text)
	if err == nil {
		err = v.keys.setFingerprints(v.keys.current, next)
	}
	if err == nil {
		err = v.gate.AddMasterKey(next)
	}
	if err != nil {
		return 0, err
	}
	n, err := v.gate.ResealSecrets(ctx, by)
	if err == nil {
		err = v.auditMasterKey(ctx, next, by)
	}
	if err == nil {
		err = v.keys.keepCurrent()
	}
	if err == nil {
		err = errors.Join(os.Rename(nextMasterKeyPath(v.keys.data), masterKeyPath(v.keys.data)), atomicfile.SyncDir(v.keys.data))
	}
	if err == nil {
		v.gate.Vault.DropOldMasterKeys()
		v.keys.current = next
		err = v.keys.setFingerprints(next)
	}
	return n, err
}

// auditMasterKey records the fingerprint of the key that is in force from now on, once.
func (v *Venue) auditMasterKey(ctx context.Context, next []byte, by core.Audit) error {
	before, after := fingerprint(v.keys.current), fingerprint(next)
	var recorded string
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		for _, x := range s.Settings() {
			if x.Name == core.SettingMasterKey {
				recorded = x.Value
			}
		}
	})
	if recorded == after { // a rotation that a crash has interrupted
		return nil
	}
	_, err := v.Submit(ctx, &core.ChangeSetting{Name: core.SettingMasterKey, Before: recorded, Value: after, Audit: by})
	if err == nil {
		v.options.Log.Warn("the master key is replaced", "before", before, "after", after, "operator", by.Who, "reason", by.Why)
	}
	return err
}

// finishKeyRotation finishes a rotation: one to Options.MasterKey, or one of the venue's own
// file that was interrupted.
func (v *Venue) finishKeyRotation() error {
	ctx, by := context.Background(), core.Audit{Who: "dx", Why: "master key rotation"}
	if v.cluster != nil {
		return nil // runDuties does
	}
	if v.keys.old != nil {
		n, err := v.gate.ResealSecrets(ctx, by)
		if err == nil {
			v.gate.Vault.DropOldMasterKeys()
			v.keys.old = nil
			err = v.keys.setFingerprints(v.keys.current)
		}
		if err == nil {
			v.options.Log.Info("the old master key is no longer needed", "resealed", n)
		}
		return err
	}
	next, err := v.keys.next()
	if err != nil || next == nil {
		return err
	}
	_, err = v.rotateMasterKey(ctx, by)
	return err
}
