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
	// The audit comes first: who began a rotation is known then, whatever ends it.
	if err := v.auditMasterKey(ctx, next, by); err != nil {
		return 0, err
	}
	n, err := v.gate.ResealSecrets(ctx, by)
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

// auditMasterKey records the fingerprint of the key that takes the place of the recorded one, once.
func (v *Venue) auditMasterKey(ctx context.Context, next []byte, by core.Audit) error {
	if v.options.Virtual != nil {
		return nil
	}
	after := fingerprint(next)
	var revision core.Revision
	var recorded string
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		revision = s.Rules().Revision
		for _, x := range s.Settings() {
			if x.Name == core.SettingMasterKey {
				recorded = x.Value
			}
		}
	})
	if recorded == after || revision < core.RevisionSteps { // activateRules makes the record of an older journal
		return nil
	}
	_, err := v.Submit(ctx, &core.ChangeSetting{Name: core.SettingMasterKey, Before: recorded, Value: after, Audit: by})
	if errors.Is(err, core.InvalidTransition) { // another member has recorded it since
		return nil
	}
	if err == nil {
		v.options.Log.Warn("the master key is replaced", "before", recorded, "after", after, "operator", by.Who, "reason", by.Why)
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
	next, err := v.keys.next()
	if err != nil {
		return err
	}
	if next == nil { // also without a rotation: --master-key-lost
		if err := v.auditMasterKey(ctx, v.keys.current, by); err != nil {
			return err
		}
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
	if next != nil {
		_, err = v.rotateMasterKey(ctx, by)
	}
	return err
}
