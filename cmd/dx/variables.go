package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"duplex/client"
	"duplex/internal/edits"
)

// Variables set flags (docs/rules/operation.md#variables). dx dev, serve, follow and config read one for
// each of their flags, named after it. Other commands read only those that a flag has in its tag env.
// They still read one for every flag, with a warning, which the next release does not.

// otherVariables are read without a flag, by a command each.
var otherVariables = map[string]string{"DX_PORTAL_URL": "agent", "DX_ACCOUNT_TOKEN": "agent", "DX_TIMEOUT": "clients"}

// hasSettings reports whether every flag of a command has a variable.
func hasSettings(leaf *kong.Node) bool {
	name, _, _ := strings.Cut(leaf.Path(), " ")
	return slices.Contains([]string{"dev", "serve", "follow", "config"}, name)
}

// checkVariables writes a warning for each variable DX_… that nothing reads, and checks those that no flag
// parses. It gives the variable of dx agent its new name.
func checkVariables(app *kong.Application, errs io.Writer) error {
	if old := os.Getenv("DX_PORTAL"); strings.Contains(old, "://") { // not an address to listen on
		fmt.Fprintln(errs, "dx: DX_PORTAL is an address to listen on. Use DX_PORTAL_URL for the address of the portal; the next release does not read it from DX_PORTAL.")
		if os.Getenv("DX_PORTAL_URL") == "" {
			_ = os.Setenv("DX_PORTAL_URL", old) // the name is valid
		}
		_ = os.Unsetenv("DX_PORTAL")
	}
	if err := client.CheckTimeout(os.Getenv("DX_TIMEOUT")); err != nil {
		return fmt.Errorf("DX_TIMEOUT %w", err)
	}
	known := map[string]bool{"DX_MCP": true, "DX_BIN": true, "DX_LONG": true, "DX_PROXIES": true, devMemberVariable: true} // of an arena's agents, of the Python packages, of tests and of dx dev --members
	for name := range otherVariables {
		known[name] = true
	}
	for _, leaf := range append([]*kong.Node{app.Node}, app.Leaves(false)...) {
		for _, f := range leaf.Flags {
			for _, name := range f.Envs {
				known[name] = true
			}
		}
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "DX_") && !known[name] {
			fmt.Fprintf(errs, "dx: nothing reads %s; the nearest name is %s\n", name, nearestName(name, known))
		}
	}
	return nil
}

// warnOfFlagVariables writes a warning for each variable that sets a flag of the command only in this release.
func warnOfFlagVariables(leaf *kong.Node, errs io.Writer) {
	for leaf != nil && !hasSettings(leaf) && leaf.Parent != nil {
		for _, f := range leaf.Flags {
			if name := setEnvName(f); name != "" && !f.Tag.Has("env") {
				fmt.Fprintf(errs, "dx: %s sets --%s of dx %s; the next release does not read it, so use the flag\n", name, f.Name, leaf.Path())
			}
		}
		leaf = leaf.Parent
	}
}

// nearestName returns the name with the fewest edits to a name; of several, the first in the alphabet.
func nearestName(name string, known map[string]bool) (nearest string) {
	least := -1
	for other := range known {
		if n := edits.Between(name, other); least < 0 || n < least || n == least && other < nearest {
			least, nearest = n, other
		}
	}
	return nearest
}
