package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"duplex/schemas"
)

// greet tells where things are and three things to try first: an order, a signed
// request made by hand, and what an agent's host wants pasted.
func (d *devCmd) greet(out io.Writer, f schemas.DevFile) {
	fmt.Fprintf(out, "Duplex is open.\n\n  API     %s\n  Portal  %s\n  Admin   %s\n  Keys    %s\n\nAccounts, each with $10,000:\n", f.API, f.Portal, f.Admin, nearby(d.DevFile))
	for _, a := range f.Accounts {
		fmt.Fprintf(out, "  %-10s %s  %s\n", a.Name, a.APIKey, strings.Join(a.Scopes, ","))
	}
	fmt.Fprintf(out, "\n1. Place an order, in another terminal here:\n\n  %s markets\n  %s order buy yes 10 @55 --market-id 1\n", self(), self())
	fmt.Fprintf(out, "\n2. Sign a request by hand:\n\n%s", signedCurl(f))
	fmt.Fprintf(out, "\n3. Give an agent the venue: paste this into its host's MCP settings, or see dx mcp install.\n\n  %s\n\nStop with Ctrl-C.\n", hostConfig(d.DevFile))
}

// nearby is a path as one would type it here.
func nearby(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// self is how this program was called, to repeat it.
func self() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/dx"
	}
	return os.Args[0]
}

// signedCurl reads the balance of the first account with a shell's own tools.
func signedCurl(f schemas.DevFile) string {
	const target = "/v1/portfolio/balance"
	a := f.Accounts[0]
	return fmt.Sprintf(`  T=$(date +%%s)000
  S=$(printf "$T\nGET\n%s\n" | openssl dgst -sha256 -mac HMAC -macopt hexkey:%s -binary | base64)
  curl -s %s%s -H "%s: %s" -H "%s: $T" -H "%s: $S"
`, target, a.Secret, f.API, target, schemas.HeaderKey, a.APIKey, schemas.HeaderTimestamp, schemas.HeaderSignature)
}

// hostConfig is the entry an MCP host wants. It names the dev file, no secret.
func hostConfig(devFile string) string {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	s := server{Args: []string{"mcp", "--dev-file", devFile}}
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
		panic(err) // strings alone
	}
	return string(b)
}
