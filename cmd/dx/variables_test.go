package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// tableOfVariables returns the text of docs/rules/operation.md#variables: each variable that a command reads
// and that is not named after a flag of a server, with the commands.
func tableOfVariables(t *testing.T) (rows []string, servers, clients map[string]bool) {
	parser, err := kong.New(&commandLine{}, append(mappers(), kong.Name("dx"), kong.Vars{"version": "test"}, kong.DefaultEnvars("DX"))...)
	if err != nil {
		t.Fatal(err)
	}
	readers := map[string]map[string]bool{}
	servers, clients = map[string]bool{}, map[string]bool{}
	add := func(name, command string) {
		if readers[name] == nil {
			readers[name] = map[string]bool{}
		}
		readers[name][command] = true
	}
	for _, f := range parser.Model.Flags {
		for _, name := range f.Envs {
			if f.Tag.Has("env") {
				add(name, "all")
			}
		}
	}
	for _, leaf := range parser.Model.Leaves(false) {
		command, _, _ := strings.Cut(leaf.Path(), " ")
		for _, f := range leaf.Flags {
			for _, name := range f.Envs {
				if f.Tag.Has("env") {
					add(name, command)
				}
				if hasSettings(leaf) {
					servers[name] = true
				} else if f.Tag.Has("env") {
					clients[name] = true
				}
			}
		}
	}
	for _, name := range []string{"DX_URL", "DX_KEY", "DX_SECRET"} { // mcp has no flags for them, as an argument is not private
		add(name, "mcp")
	}
	for name, reader := range otherVariables {
		add(name, reader)
		clients[name] = true
	}
	signers := maps.Clone(readers["DX_PROFILE"])
	rows = append(rows, "Clients are "+strings.Join(slices.Sorted(maps.Keys(signers)), ", ")+".", "", "| variable | read by |", "|---|---|")
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		by := readers[name]
		others := maps.Clone(by)
		maps.DeleteFunc(others, func(command string, _ bool) bool { return signers[command] })
		if len(by) == len(signers)+len(others) {
			by = others
			by["clients"] = true
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", name, strings.Join(slices.Sorted(maps.Keys(by)), ", ")))
	}
	return rows, servers, clients
}

// TestTableOfVariables checks that the rulebook lists every variable with the commands that read it, and that
// servers and clients share only those with one meaning for both.
func TestTableOfVariables(t *testing.T) {
	rows, servers, clients := tableOfVariables(t)
	page, err := os.ReadFile("../../docs/rules/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := strings.Join(rows, "\n") + "\n"; !strings.Contains(string(page), table+"\n") {
		t.Errorf("docs/rules/operation.md has another table of variables than\n%s", table)
	}
	for name := range clients {
		if servers[name] && !slices.Contains(strings.Fields("DX_DATA DX_DEV_FILE DX_MIRROR DX_OPERATOR_TOKEN DX_PYTH_KEY DX_PYTH_WTI DX_SOURCES DX_SOURCE_URL"), name) {
			t.Errorf("servers and clients read %s", name)
		}
	}
	if len(servers) < 50 || len(clients) < 10 {
		t.Errorf("only %d and %d variables", len(servers), len(clients))
	}
}

// TestWarningsOfVariables checks what is said about variables that nothing reads, or only until the next release.
func TestWarningsOfVariables(t *testing.T) {
	for _, c := range []struct {
		name, value, args string
		code              int
		want              string // in the errors; "" for none at all
	}{
		{"DX_DISPUTE", "7s", "config check", 0, ""},
		{"DX_DIPSUTE", "7s", "config check", 0, "dx: nothing reads DX_DIPSUTE; the nearest name is DX_DISPUTE\n"},
		{"DX_OPERATORTOKEN", "x", "config check", 0, "the nearest name is DX_OPERATOR_TOKEN\n"},
		{"DX_PORTAL", "https://venue.example", "config check", 0, "Use DX_PORTAL_URL for the address of the portal"},
		{"DX_PORTAL", "https://", "agent list", 1, "DX_PORTAL_URL must be an address"},
		{"DX_PORTAL", "127.0.0.1:1", "config check", 0, ""},
		{"DX_CODE", "1", "completion bash", 0, "dx: DX_CODE sets --code of dx completion; the next release does not read it, so use the flag\n"},
		{"DX_TIMEOUT", "0x10", "config check", 2, "dx: DX_TIMEOUT must be seconds, above 0 and at most 86400\n"},
		{"DX_TIMEOUT", "0.5", "config check", 0, ""},
		{"DX_TIMEOUT", "10", "config check", 0, ""},
		{"DX_BIN", "bin/dx", "config check", 0, ""},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			t.Setenv("DX_PORTAL_URL", "")
			t.Setenv("DX_ACCOUNT_TOKEN", "x")
			code, out, errs := runCommand(strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(errs, c.want) || c.want == "" && errs != "" {
				t.Errorf("exit %d: %.200s%s", code, out, errs)
			}
		})
	}
}
