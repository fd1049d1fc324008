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
	fmt.Fprintf(out, "Duplex is open.\n\n  API     %s\n  Portal  %s\n  Admin   %s\n  Keys    %s\n\nAccounts, each with $10,000:\n", f.API, f.Portal, f.Admin, cli.RelativePath(d.DevFile))
	for _, a := range f.Accounts {
		fmt.Fprintf(out, "  %-10s %s  %s\n", a.Name, a.APIKey, strings.Join(a.Scopes, ","))
	}
	fmt.Fprintf(out, "\n%s\n", d.marketText())
	fmt.Fprintf(out, "\n1. Place an order, in another terminal in this folder:\n\n  %s markets%s\n  %s order buy yes 10 --series btc-15m --max-cost 9%s\n", commandName(), d.named(), commandName(), d.named())
	fmt.Fprintf(out, "\n2. Sign a request by hand:\n\n%s", signedCurl(f))
	fmt.Fprintf(out, "\n3. Connect an AI agent: paste this into the MCP settings of its host, or run dx mcp install. The\n   agent trades with $100 of its own and loses at most $50 a day; see dx agent --help.\n\n  %s\n\nStop with Ctrl-C.\n", mcpHostConfig(profile))
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

// named returns the flag with which other commands find the dev file, "" if they find it
// without.
func (d *devCmd) named() string {
	if path := cli.RelativePath(d.DevFile); path != cli.DevFileDefault {
		return " --dev-file " + cli.ShellWord(path)
	}
	return ""
}

// commandName returns the command that started this program, to type again.
func commandName() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/dx"
	}
	return os.Args[0]
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
