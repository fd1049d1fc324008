package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/internal/marketsim"
	"duplex/schemas"
)

// printGreeting prints the addresses, the accounts and three things to try: an order, a
// request signed by hand, and the settings of an agent's host.
func (d *devCmd) printGreeting(out io.Writer, f schemas.DevFile, profile string) {
	dx, flags := cli.CommandName(), cli.DevFileArgument(d.DevFile)
	fmt.Fprintf(out, "Duplex is open.\n\n  API     %s\n  Portal  %s\n  Admin   %s\n  Keys    %s\n\nAccounts, each with $10,000:\n", f.API, f.Portal, f.Admin, cli.RelativePath(d.DevFile))
	for _, a := range f.Accounts {
		fmt.Fprintf(out, "  %-10s %s  %s\n", a.Name, a.APIKey, strings.Join(a.Scopes, ","))
	}
	fmt.Fprintf(out, "\n%s\n", d.marketText())
	fmt.Fprintf(out, "\n1. Place an order, in another terminal in this folder:\n\n  %s markets%s\n  %s order buy yes 10 --series btc-15m --max-cost 9%s\n", dx, flags, dx, flags)
	fmt.Fprintf(out, "\n2. Sign a request by hand:\n\n%s", signedCurl(f))
	fmt.Fprintf(out, "\n3. Connect an AI agent: paste this into the MCP settings of its host\n\n  %s\n\n   or add it to Claude Code (--client also takes claude-desktop, cursor, vscode and codex):\n\n  %s mcp install --client claude-code%s --write\n", mcpHostConfig(profile), cli.InstallCommand(), flags)
	fmt.Fprintf(out, "\n   The agent trades with $100 of its own and loses at most $50 a day. What you can do with agents:\n\n  %s agent --help\n\nStop with Ctrl-C.\n", dx)
}

// marketText says who trades besides the user.
func (d *devCmd) marketText() string {
	switch {
	case d.NoMaker:
		return "Nobody else trades here."
	case d.QuietMarket:
		return "A house maker quotes every market. It is a program with play money."
	}
	return fmt.Sprintf(`A house maker quotes every market, and %d noise traders place about %d small random orders a minute. They
are programs with play money: what they do says nothing about a real market. --quiet-market leaves out the
noise traders, --no-maker both.`, noiseTraders, noiseTraders*int(time.Minute/marketsim.DefaultNoise().Every))
}

// signedCurl returns shell commands that read the balance of the first account.
func signedCurl(f schemas.DevFile) string {
	const target = "/v1/portfolio/balance"
	a := f.Accounts[0]
	return fmt.Sprintf(`  T=$(date +%%s)000
  S=$(printf "$T\nGET\n%s\n" | openssl dgst -sha256 -mac HMAC -macopt hexkey:%s -binary | base64)
  curl -s %s%s -H "%s: %s" -H "%s: $T" -H "%s: $S"
`, target, a.Secret, f.API, target, schemas.HeaderKey, a.APIKey, schemas.HeaderTimestamp, schemas.HeaderSignature)
}

// mcpHostConfig returns the MCP server entry for an agent's host. It names the file of a
// profile and holds no secret.
func mcpHostConfig(profile string) string {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	s := server{Args: []string{"mcp", "--profile", profile, "--toolset", toolsetCore}}
	exe, err := os.Executable()
	wd, wderr := os.Getwd()
	switch {
	case err == nil && !strings.Contains(exe, "go-build"):
		s.Command = exe
	case wderr == nil:
		s.Command, s.Args = "go", append([]string{"run", "-C", wd, "./cmd/dx"}, s.Args...)
	}
	b, err := json.Marshal(map[string]map[string]server{"mcpServers": {"duplex": s}})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}
