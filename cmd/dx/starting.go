package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/server"
)

const startRedrawInterval = 100 * time.Millisecond

// startProgress draws the progress of a start on the terminal. Without a terminal it is
// nil, and the venue logs its progress.
func startProgress() func(server.Progress) {
	if !cli.IsTerminal(os.Stderr) {
		return nil
	}
	draw := drawStart(os.Stderr, time.Now())
	return func(p server.Progress) { draw(p, time.Now()) }
}

// drawStart returns a function that redraws one line of a terminal, and erases it at the
// end. A start that ends soon draws nothing.
func drawStart(term io.Writer, began time.Time) func(p server.Progress, now time.Time) {
	drawn := began
	return func(p server.Progress, now time.Time) {
		switch {
		case p.Ended:
			fmt.Fprint(term, "\r\x1b[K")
		case now.Sub(drawn) >= startRedrawInterval:
			drawn = now
			fmt.Fprintf(term, "\r\x1b[K%s: %d %% of %s %s", p.Phase, p.Done*100/max(p.Total, 1), cli.Grouped(p.Total), p.Unit)
		}
	}
}

// runVenue opens a venue in a process that serves little else, calls run, and closes the venue. An
// error of an option is one of its flag. A start that ctx interrupts is no error.
func runVenue(ctx context.Context, o server.Options, logged venueLog, run func(*server.Venue) error) error {
	server.TuneRuntime()
	if err := disableCoreDumps(); err != nil {
		return fmt.Errorf("core dumps cannot be disabled: %w", err)
	}
	o.Version, o.Progress, o.LogDropped = version(), startProgress(), logged.dropped
	if o.Cluster != nil {
		o.Cluster.OnFatal = logged.flush
	}
	v, err := server.Open(ctx, o)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	if err != nil {
		return asFlagError(err)
	}
	err = run(v)
	if closed := v.Close(context.Background()); err == nil {
		err = closed
	}
	return err
}

// optionFlags are the flags of the options that Open may reject.
var optionFlags = map[string]string{
	"API": "api", "Portal": "portal", "Admin": "admin", "Data": "data", "MasterKey": "master-key", "OldMasterKey": "master-key-old", "MasterKeyLost": "master-key-lost", "OperatorsLost": "operators-lost",
	"Cluster": "cluster", "Follow": "from", "AccountRate": "account-rate", "AccountKeys": "account-keys", "ArchiveKeep": "archive-keep", "Mirror": "mirror", "OAuth": "oauth", "DrainWait": "drain-wait",
	"PublicURL": "public-url", "PublicPortalURL": "public-portal-url", "Origins": "allow-origin", "FundingURL": "funding-url", "FundingSecret": "funding-secret", "SignUp": "signup", "SignUpToken": "signup-token",
	"TLS.Cert": "tls-cert", "TLS.ACMEDomains": "acme-domain", "TLS.ACMEDirectory": "acme-directory", "TLS.ACMEHTTP": "acme-http",
}

// asFlagError names the flag of an option instead of the option.
func asFlagError(err error) error {
	var o *server.OptionError
	if !errors.As(err, &o) {
		return err
	}
	if flag := optionFlags[o.Option]; flag != "" {
		return cli.BadFlag(flag, o.Err)
	}
	return o.Err
}
