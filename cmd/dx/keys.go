package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// keysCmd is `dx keys`.
type keysCmd struct {
	RotateMaster rotateCmd `cmd:"" help:"Replace the master key while the venue runs."`
}

// rotateCmd is `dx keys rotate-master`.
type rotateCmd struct {
	Admin         string `help:"Address of the admin listener." default:"http://127.0.0.1:8082" env:"DX_ADMIN_URL"`
	OperatorToken string `help:"The operator's bearer token, in the environment." env:"DX_OPERATOR_TOKEN" required:"" hidden:""`
	Reason        string `help:"Reason, for the audit."`
}

func (r *rotateCmd) Help() string {
	return `The venue makes a new master key, seals every key secret under it, and then replaces its master.key file. No request fails during this, and after a crash at any moment every secret can still be opened. Older backups need the old file.

If the venue gets its master key from DX_MASTER_KEY, restart it instead, with the new key in DX_MASTER_KEY and the old one in DX_MASTER_KEY_OLD.

Example:
  DX_OPERATOR_TOKEN=$(cat dx-data/operator.token) dx keys rotate-master`
}

func (r *rotateCmd) Run(ctx context.Context, out io.Writer) error {
	body, err := schemas.Append(nil, schemas.AuditReason{Reason: r.Reason})
	if err != nil {
		return err
	}
	var done schemas.Resealed
	if err := cli.OperatorPost(ctx, r.Admin, r.OperatorToken, "/admin/master-key/rotate", string(body), &done); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "a new master key is in force, and seals %d secrets\n", done.Resealed)
	return err
}

// The master key is a file, and while it is being replaced there are two.
func masterKeyPath(dir string) string     { return filepath.Join(dir, "master.key") }
func nextMasterKeyPath(dir string) string { return masterKeyPath(dir) + ".next" }

// rotateMasterKey seals everything under a new master key. Until that is durable the old file
// stands beside the new one, and a start finishes what a crash cut short.
func (h *venueServer) rotateMasterKey(ctx context.Context, by core.Audit) (int, error) {
	h.rotateMu.Lock()
	defer h.rotateMu.Unlock()
	text, err := loadOrCreateSecret(nextMasterKeyPath(h.options.dir))
	if err != nil {
		return 0, err
	}
	next, err := hex.DecodeString(text)
	if err == nil {
		err = h.options.setFingerprints(h.options.masterKey, next)
	}
	if err == nil {
		err = h.gate.Vault.AddMasterKey(next)
	}
	if err != nil {
		return 0, err
	}
	n, err := h.gate.ResealSecrets(ctx, by)
	if err == nil {
		err = errors.Join(os.Rename(nextMasterKeyPath(h.options.dir), masterKeyPath(h.options.dir)), syncDir(h.options.dir))
	}
	if err == nil {
		h.gate.Vault.DropOldMasterKeys()
		h.options.masterKey = next
		err = h.options.setFingerprints(next)
	}
	return n, err
}

// finishKeyRotation finishes a rotation: one that a crash cut short, or one to a master key that
// is given from outside.
func (h *venueServer) finishKeyRotation() error {
	ctx, by := context.Background(), core.Audit{Who: "dx", Why: "master key rotation"}
	if h.options.oldMasterKey != nil {
		n, err := h.gate.ResealSecrets(ctx, by)
		if err == nil {
			h.gate.Vault.DropOldMasterKeys()
			h.options.oldMasterKey = nil
			err = h.options.setFingerprints(h.options.masterKey)
		}
		if err == nil {
			h.options.log.Info("the old master key is no longer needed", "resealed", n)
		}
		return err
	}
	if _, err := os.Stat(nextMasterKeyPath(h.options.dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := h.rotateMasterKey(ctx, by)
	return err
}
