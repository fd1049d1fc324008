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

	"duplex/core"
	"duplex/schemas"
)

// keysCmd is `dx keys`.
type keysCmd struct {
	RotateMaster rotateCmd `cmd:"" help:"Put a new master key in force, while the venue runs."`
}

// rotateCmd is `dx keys rotate-master`.
type rotateCmd struct {
	Admin         string `help:"The operator's listener." default:"http://127.0.0.1:8082" env:"DX_ADMIN_URL"`
	OperatorToken string `help:"Bearer of the operator; in DX_OPERATOR_TOKEN rather than here." env:"DX_OPERATOR_TOKEN" required:"" hidden:""`
	Reason        string `help:"Why, for the audit."`
}

func (r *rotateCmd) Help() string {
	return `The venue makes a new master key, seals every key secret under it, and then replaces its master.key file. No request fails meanwhile, and a crash at any moment leaves every secret openable. Backups made before need the old file.

A venue that is given its master key from outside is rotated by a restart with the new one in DX_MASTER_KEY and the old one in DX_MASTER_KEY_OLD.

Example:
  DX_OPERATOR_TOKEN=$(cat dx-data/operator.token) dx keys rotate-master`
}

func (r *rotateCmd) Run(ctx context.Context, out io.Writer) error {
	body, err := schemas.Append(nil, schemas.Why{Reason: r.Reason})
	if err != nil {
		return err
	}
	var done schemas.Resealed
	if err := asOperator(ctx, r.Admin, r.OperatorToken, "/admin/master-key/rotate", string(body), &done); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "a new master key is in force, and seals %d secrets\n", done.Resealed)
	return err
}

// The master key is a file, and while it is being replaced there are two.
func masterFile(dir string) string     { return filepath.Join(dir, "master.key") }
func nextMasterFile(dir string) string { return masterFile(dir) + ".next" }

// rotate seals everything under a new master key. Until that is durable the old file
// stands beside the new one, and a start finishes what a crash cut short.
func (h *house) rotate(ctx context.Context, by core.Audit) (int, error) {
	h.rotating.Lock()
	defer h.rotating.Unlock()
	text, err := secretFile(nextMasterFile(h.plan.dir))
	if err != nil {
		return 0, err
	}
	next, err := hex.DecodeString(text)
	if err == nil {
		err = h.gate.Vault.Turn(next)
	}
	if err != nil {
		return 0, err
	}
	n, err := h.gate.Reseal(ctx, by)
	if err == nil {
		err = errors.Join(os.Rename(nextMasterFile(h.plan.dir), masterFile(h.plan.dir)), syncDir(h.plan.dir))
	}
	if err == nil {
		h.gate.Vault.Forget()
	}
	return n, err
}

// resume finishes a rotation: one that a crash cut short, or one to a master key that
// is given from outside.
func (h *house) resume() error {
	ctx, by := context.Background(), core.Audit{Who: "dx", Why: "master key rotation"}
	if h.plan.masterOld != nil {
		n, err := h.gate.Reseal(ctx, by)
		if err == nil {
			h.gate.Vault.Forget()
			h.plan.log.Info("the old master key is no longer needed", "resealed", n)
		}
		return err
	}
	if _, err := os.Stat(nextMasterFile(h.plan.dir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := h.rotate(ctx, by)
	return err
}
