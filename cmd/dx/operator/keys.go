package operator

import (
	"context"
	"fmt"
	"io"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// Keys is `dx keys`.
type Keys struct {
	RotateMaster rotateMaster `cmd:"" help:"Replace the master key while the venue runs."`
}

// rotateMaster is `dx keys rotate-master`.
type rotateMaster struct {
	Admin         string `help:"Address of the admin listener." default:"http://127.0.0.1:8082" env:"DX_ADMIN_URL"`
	OperatorToken string `type:"secret" help:"The operator's bearer token, in the environment." env:"DX_OPERATOR_TOKEN" required:"" hidden:""`
	Reason        string `help:"Reason, for the audit."`
}

func (r *rotateMaster) Help() string {
	return `The venue makes a new master key, seals every key secret under it, and then replaces its master.key file. No request fails during this, and after a crash at any moment every secret can still be opened. The old key stays as master.key.FINGERPRINT, because older backups need it, and the audit has a row.

If the venue gets its master key from DX_MASTER_KEY, restart it instead, with the new key in DX_MASTER_KEY and the old one in DX_MASTER_KEY_OLD.

Example:
  DX_OPERATOR_TOKEN=dxo_... dx keys rotate-master --reason "yearly"`
}

func (r *rotateMaster) Run(ctx context.Context, out io.Writer) error {
	body, err := schemas.Append(nil, schemas.AuditReason{Reason: r.Reason})
	if err != nil {
		return err
	}
	var done schemas.Resealed
	if err := cli.OperatorPost(ctx, r.Admin, r.OperatorToken, "/admin/master-key/rotate", string(body), &done); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "a new master key is in force, and seals %s secrets. The old one is kept beside it as master.key.FINGERPRINT: older backups need it\n", cli.Grouped(done.Resealed))
	return err
}
