package main

import (
	"context"
	"errors"
	"io"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// throughCmd is `dx doctor`.
type throughCmd struct {
	cli.ClientFlags
	Through string `help:"Address of the API as clients reach it; default: that of --url." placeholder:"URL"`
	JSON    bool   `help:"Print JSON."`
}

func (d *throughCmd) Help() string {
	return `Checks a venue from where a client is: the key and the clock, the certificate, and that a proxy on the way passes on what it must: the Host, the body of a DELETE, a query of 8 KiB, a body of 64 KiB, WebSockets, and streams without collecting them. It places no order and needs a key with the scopes read and trade. The exit code is 1 if a check fails.

Example:
  dx doctor --through https://api.venue.example --key dxk… --secret …`
}

func (d *throughCmd) Run(ctx context.Context, out io.Writer) error {
	if d.Through != "" {
		d.URL = d.Through // the dev file is not asked for an address that is not used
	}
	base, key, secret, err := d.Resolve()
	if err != nil {
		return err
	}
	if d.Through != "" {
		base = d.Through
	}
	raw, ok := schemas.ParseSecret(secret)
	if !ok {
		return cli.BadFlag("secret", errors.New("DX_SECRET must be 64 hex characters"))
	}
	var all []bridge.Finding
	for _, address := range client.Addresses(base) {
		c, err := client.New(address, key, raw, client.MaxAttempts(1), client.WithHTTPClient(bridge.NewHTTPClient()))
		if err != nil {
			return cli.BadFlag("url", err)
		}
		found := []bridge.Finding{{Check: "settings", OK: true, Detail: address + " with key " + key}}
		found = append(found, bridge.Doctor(ctx, c)...)
		if len(found) > 2 { // the venue responds
			found = append(found, bridge.Through(ctx, c, address)...)
		}
		all = append(all, found...)
	}
	return printFindings(out, d.JSON, all)
}
