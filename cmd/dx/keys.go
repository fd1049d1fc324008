package main

import (
	"context"
	"fmt"
	"io"

	"duplex/cmd/dx/cli"
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
