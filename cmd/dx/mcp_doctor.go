package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/internal/address"
	"duplex/schemas"
)

// doctorCmd is `dx mcp doctor`.
type doctorCmd struct {
	venueFlags
	JSON bool `help:"Print JSON."`
}

var errChecksFailed = errors.New("a check failed; see above")

func (d *doctorCmd) Run(ctx context.Context, out io.Writer) error {
	return printFindings(out, d.JSON, d.check(ctx))
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
