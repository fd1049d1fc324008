package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/cmd/dx/cli"
	"duplex/internal/address"
	"duplex/lanes/mcp"
	"duplex/schemas"
	"duplex/server"
)

// doctorCmd is `dx mcp doctor`.
type doctorCmd struct {
	venueFlags
	OAuth *string `name:"oauth" help:"Connect to the agent lane at this address as a hosted agent does, with a page to open in a browser, and end the grant after that. Needs no key." placeholder:"URL"`
	JSON  bool    `help:"Print JSON."`
}

var errChecksFailed = errors.New("a check failed; see above")

func (d *doctorCmd) Run(ctx context.Context, out io.Writer) error {
	if d.OAuth != nil {
		return d.checkOAuth(ctx, out)
	}
	return printFindings(out, d.JSON, d.check(ctx))
}

// checkOAuth prints each step as it ends, because a person has to act in between.
func (d *doctorCmd) checkOAuth(ctx context.Context, out io.Writer) (err error) {
	base := strings.TrimSuffix(strings.TrimSuffix(*d.OAuth, "/"), mcp.Path)
	if server.CheckPublicURL(base) != nil {
		return cli.BadFlag("oauth", fmt.Errorf("must be the address of an agent lane, such as https://api.venue.example%s", mcp.Path))
	}
	var found []bridge.Finding
	bridge.OAuthDoctor(ctx, nil, base+mcp.Path, func(page string) {
		_, _ = fmt.Fprintf(os.Stderr, "Open this page within 5 minutes, and allow or deny:\n  %s\n", page) // the wait ends by itself
	}, func(f bridge.Finding) {
		found = append(found, f)
		if !d.JSON {
			err = errors.Join(err, writeFindings(out, false, f.OK, []bridge.Finding{f}))
		}
	})
	if d.JSON {
		return printFindings(out, true, found)
	}
	if err == nil && !found[len(found)-1].OK {
		err = errChecksFailed
	}
	return err
}

// check checks each node of the venue by itself: the bridge would go on with another one.
func (d *doctorCmd) check(ctx context.Context) []bridge.Finding {
	failed := func(err error) []bridge.Finding {
		return []bridge.Finding{{Check: "settings", Detail: err.Error(), Fix: "Start a venue with dx dev and pass its --dev-file, pass a --profile, or set DX_URL, DX_KEY and DX_SECRET."}}
	}
	base, key, secret, err := d.settings()
	if err != nil {
		return failed(err)
	}
	found := []bridge.Finding{{Check: "settings", OK: true, Detail: base + " with key " + key}}
	nodes := client.Addresses(base)
	if len(nodes) == 0 {
		return failed(fmt.Errorf("%q is no address of a venue", base))
	}
	for _, node := range nodes {
		c, err := bridgeClient(node, key, secret)
		if err != nil {
			return failed(err)
		}
		for _, f := range bridge.Doctor(ctx, c) {
			if len(nodes) > 1 {
				f.Check += " at " + node
			}
			found = append(found, f)
		}
	}
	return found
}

// printFindings prints the results of checks. It returns errChecksFailed if one failed.
func printFindings(out io.Writer, asJSON bool, found []bridge.Finding) error {
	healthy := !slices.ContainsFunc(found, func(f bridge.Finding) bool { return !f.OK })
	err := writeFindings(out, asJSON, healthy, found)
	if err == nil && !healthy {
		err = errChecksFailed
	}
	return err
}

func writeFindings(out io.Writer, asJSON, healthy bool, found []bridge.Finding) error {
	for i := range found { // errors of clients have the address
		found[i].Detail = schemas.ForTerminal(address.Redact(found[i].Detail))
	}
	if asJSON {
		return json.NewEncoder(out).Encode(struct {
			OK     bool             `json:"ok"`
			Checks []bridge.Finding `json:"checks"`
		}{healthy, found})
	}
	for _, f := range found {
		word, do := "ok", ""
		if !f.OK {
			word, do = "failed", "\n        "+f.Fix
		}
		if _, err := fmt.Fprintf(out, "%-7s %s: %s%s\n", word, f.Check, f.Detail, do); err != nil {
			return err
		}
	}
	return nil
}
