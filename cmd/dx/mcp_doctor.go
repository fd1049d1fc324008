package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"duplex/cmd/dx/bridge"
)

// doctorCmd is `dx mcp doctor`.
type doctorCmd struct {
	venueFlags
	JSON bool `help:"Print JSON."`
}

var errChecksFailed = errors.New("a check failed; see above")

func (d *doctorCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	found := d.check(ctx, log)
	well := true
	for _, f := range found {
		well = well && f.OK
	}
	if err := d.printFindings(out, well, found); err != nil {
		return err
	}
	if !well {
		return errChecksFailed
	}
	return nil
}

func (d *doctorCmd) check(ctx context.Context, log *slog.Logger) []bridge.Finding {
	c, _, err := d.open(log)
	if err != nil {
		return []bridge.Finding{{Check: "settings", Detail: err.Error(), Fix: "Start a venue with dx dev and pass its --dev-file, pass a --profile, or set DX_URL, DX_KEY and DX_SECRET."}}
	}
	base, key, _, err := d.settings()
	if err != nil {
		return []bridge.Finding{{Check: "settings", Detail: err.Error(), Fix: "Check the dev file or the profile."}}
	}
	settings := bridge.Finding{Check: "settings", OK: true, Detail: base + " with key " + key}
	return append([]bridge.Finding{settings}, bridge.Doctor(ctx, c)...)
}

func (d *doctorCmd) printFindings(out io.Writer, well bool, found []bridge.Finding) error {
	if d.JSON {
		return json.NewEncoder(out).Encode(struct {
			OK     bool             `json:"ok"`
			Checks []bridge.Finding `json:"checks"`
		}{well, found})
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
