package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// An MCP host starts dx mcp, calls tools and closes its input, then does the same over the
// proxy. The program gets the venue from its environment only.
func TestMCPHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	p := plainVenue.of(t)
	path := dxPath(t)
	a := p.account("trader")
	env := append(os.Environ(), "DX_URL="+p.dev.API, "DX_KEY="+a.APIKey, "DX_SECRET="+a.Secret)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`not JSON`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_balance","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"cancel_all_orders","arguments":{}}}`,
	}
	host := exec.CommandContext(ctx, path, "mcp", "--read-only")
	host.Env, host.Stdin = env, strings.NewReader(strings.Join(lines, "\n"))
	var out, errs bytes.Buffer
	host.Stdout, host.Stderr = &out, &errs
	if err := host.Run(); err != nil {
		t.Fatalf("dx mcp --read-only failed: %v\n%s", err, &errs)
	}
	said := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, want := range []string{`"protocolVersion":"2025-06-18"`, `"code":-32700`, `"cash":"100000000"`, `missing_scope`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
	for _, s := range said {
		if !json.Valid([]byte(s)) {
			t.Errorf("on standard output: %s", s)
		}
	}
	if len(said) != 4 || strings.Contains(errs.String(), a.Secret) {
		t.Errorf("%d messages\n%s", len(said), &errs)
	}

	proxy := exec.CommandContext(ctx, path, "mcp", "proxy", "--json")
	proxy.Env = env
	_, printed := startPiped(t, proxy)
	var at struct{ URL string }
	if !printed.Scan() || json.Unmarshal(printed.Bytes(), &at) != nil {
		t.Fatalf("dx mcp proxy --json: %v: %s, want its URL", printed.Err(), printed.Text())
	}
	resp, err := http.Post(at.URL, "application/json", strings.NewReader(lines[0]))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	if err := proxy.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := proxy.Wait(); err != nil {
		t.Errorf("the proxy ended with %v", err)
	}
	installs(t, p, path)
	doctors(t, p)
}

// installs adds the bridge to a host's config file and starts it by the command there.
func installs(t *testing.T, p *process, path string) {
	home, file := t.TempDir(), p.file
	dx := func(env []string, args ...string) (string, error) {
		c := exec.Command(path, args...)
		c.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
		c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	config := filepath.Join(home, ".claude.json")
	install := []string{"mcp", "install", "--client", "claude-code", "--dev-file", file, "--as", "reader"}
	if out, err := dx(nil, install...); err != nil || !strings.Contains(out, config) || !strings.Contains(out, `"mcpServers"`) {
		t.Fatalf("dx mcp install: %v: %s, want the config file and what it would write", err, out)
	}
	if _, err := os.Stat(config); err == nil {
		t.Error("it was written without --write")
	}
	if out, err := dx(nil, append(install, "--write")...); err != nil || !strings.Contains(out, "Wrote "+config) {
		t.Fatalf("dx mcp install --write: %v: %s, want that it wrote the config file", err, out)
	}
	var says struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	b, err := os.ReadFile(config)
	if err != nil || json.Unmarshal(b, &says) != nil || strings.Contains(string(b), p.account("reader").Secret) {
		t.Fatalf("the config file: %v: %s, want servers and no secret", err, b)
	}
	s := says.Servers["duplex"]
	profile := filepath.Join(filepath.Dir(file), "agents", "reader.json")
	if want := []string{"mcp", "--profile", profile, "--toolset", "core"}; !slices.Equal(s.Args, want) {
		t.Errorf("the host gets %q, not %q", s.Args, want)
	}
	onlyKey(t, p, profile, "reader")
	if out, err := dx(nil, s.Args...); s.Command != path || err != nil || !strings.Contains(out, `"supportedVersions"`) {
		t.Errorf("the host's command %s %q: %v: %s, want a discovery result of dx itself", s.Command, s.Args, err, out)
	}
	if out, err := dx([]string{"DX_KEY=k"}, install...); err == nil || !strings.Contains(out, "DX_URL is not") {
		t.Errorf("dx mcp install with a key and no URL: %v: %s, want an error that names DX_URL", err, out)
	}
	for _, args := range [][]string{{"mcp", "install", "--client", "claude-code", "--profile", "reader", "--dev-file", file}, {"mcp", "install", "--client", "claude-code", "--profile", profile}} {
		if out, err := dx([]string{"DX_KEY=k"}, args...); err != nil || !strings.Contains(out, "needs no change") {
			t.Errorf("dx %q: %v: %s, want that it needs no change", args, err, out)
		}
	}
	// A profile takes precedence over variables in the host's environment.
	if out, err := dx([]string{"DX_URL=http://127.0.0.1:1", "DX_KEY=k", "DX_SECRET=s"}, "mcp", "doctor", "--profile", profile); err != nil || !strings.Contains(out, "with key "+p.account("reader").APIKey) {
		t.Errorf("dx mcp doctor --profile beside variables: %v: %s, want the profile's key", err, out)
	}
	if out, err := dx([]string{"DX_PROFILE=" + profile}, "mcp", "doctor"); err != nil || !strings.Contains(out, "with key "+p.account("reader").APIKey) {
		t.Errorf("dx mcp doctor with DX_PROFILE: %v: %s, want the profile's key", err, out)
	}
	if out, err := dx(nil, "mcp", "--profile", "treasurer", "--dev-file", file); err != nil || !strings.Contains(out, `"supportedVersions"`) {
		t.Errorf("dx mcp --profile treasurer of the dev file: %v: %s, want a discovery result", err, out)
	}
	usesAgent(t, p, dx)
	for _, args := range []string{"mcp --profile nobody", "mcp --profile " + file, "mcp doctor --profile", "mcp install --client cursor --profile " + file, "mcp install", "mcp install --client emacs", "mcp install --client cursor --name a/b", "mcp proxy --listen 0.0.0.0:0", "mcp --secret x", "mcp --key x", "mcp --url x"} {
		if out, err := dx([]string{"DX_DEV_FILE=" + file}, strings.Fields(args)...); err == nil || err.(*exec.ExitError).ExitCode() != 2 {
			t.Errorf("dx %s: %v: %s, want exit 2", args, err, out)
		}
	}
}

// usesAgent checks that an MCP host gets the dev venue's agent by default, whose money and
// mandate are its own, and another account only with --as.
func usesAgent(t *testing.T, p *process, dx func(env []string, args ...string) (string, error)) {
	t.Helper()
	path := filepath.Join(filepath.Dir(p.file), "agents", "agent.json")
	agent, err := cli.ReadProfile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"mcp doctor", "with key " + agent.APIKey},
		{"mcp doctor --as trader", "with key " + p.account("trader").APIKey},
		{"mcp install --client cursor", path},
		{"call GET /v1/account --profile agent", `"kind":"agent","state":"active","owner_id":1,"mandate":{"price_collar":1000,"max_daily_loss":"500000"},"rev":1,`},
		{"call GET /v1/portfolio/balance --profile agent", `{"cash":"1000000",`},
		{"call GET /v1/portfolio/balance", `{"cash":"100000000",`},
	} {
		if out, err := dx([]string{"DX_DEV_FILE=" + p.file}, strings.Fields(c.args)...); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("dx %s: %v: %s, want %q", c.args, err, out, c.want)
		}
	}
}

// onlyKey checks that the profile of an account contains the key of the account and the
// addresses of the venue, nothing else of the dev file, and that only its owner can read it.
func onlyKey(t *testing.T, p *process, path, name string) {
	t.Helper()
	s, err := os.Stat(path)
	if err != nil || s.Mode().Perm() != 0o600 {
		t.Fatalf("the profile is %v, %v, want mode 0600", s, err)
	}
	got, err := cli.ReadProfile(path)
	a := p.account(name)
	want := schemas.Profile{API: p.dev.API, WS: p.dev.WS, MCP: p.dev.MCP, Name: name, UserID: a.UserID, APIKey: a.APIKey, Secret: a.Secret, Scopes: a.Scopes}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{p.dev.OperatorToken, a.AccountToken, p.account("treasurer").Secret} {
		if strings.Contains(string(b), secret) {
			t.Errorf("it holds more than the key:\n%s", b)
		}
	}
}

func doctors(t *testing.T, p *process) {
	a := p.account("trader")
	t.Setenv("DX_URL", p.dev.API)
	t.Setenv("DX_KEY", a.APIKey)
	t.Setenv("DX_SECRET", a.Secret)
	if code, out, errs := runCommand("mcp", "doctor"); code != 0 || strings.Count(out, "\n") != 8 || strings.Contains(out, "failed") || strings.Contains(out+errs, a.Secret) {
		t.Errorf("dx mcp doctor: exit %d %s%s, want 0, eight checks that pass, and no secret", code, out, errs)
	}
	t.Setenv("DX_URL", p.dev.API+", http://127.0.0.1:1")
	if code, out, _ := runCommand("mcp", "doctor"); code != 1 || strings.Count(out, "ok      ") != 8 || !strings.Contains(out, "ok      tools at "+p.dev.API+": ") || !strings.Contains(out, "failed  reach at http://127.0.0.1:1: ") {
		t.Errorf("of two nodes one is down: %d %s", code, out)
	}
	t.Setenv("DX_URL", p.dev.API)
	t.Setenv("DX_SECRET", strings.Repeat("00", 32))
	if code, out, _ := runCommand("mcp", "doctor"); code != 1 || !strings.Contains(out, "failed  key: ") {
		t.Errorf("dx mcp doctor with a wrong secret: exit %d %s, want 1 and a failed key", code, out)
	}
	code, out, _ := runCommand("mcp", "doctor", "--json")
	var says struct {
		OK     bool
		Checks []struct{ Check, Do string }
	}
	if err := json.Unmarshal([]byte(out), &says); err != nil || code != 1 || says.OK {
		t.Errorf("dx mcp doctor --json with a wrong secret: %v: exit %d %s, want 1 and not ok", err, code, out)
	}
	if len(says.Checks) != 4 || says.Checks[3].Do == "" {
		t.Errorf("dx mcp doctor --json with a wrong secret: %s, want four checks, the last with what to do", out)
	}
	t.Setenv("DX_SECRET", "short")
	if code, out, _ := runCommand("mcp", "doctor"); code != 1 || !strings.Contains(out, "failed  settings: ") {
		t.Errorf("dx mcp doctor with a short secret: exit %d %s, want 1 and failed settings", code, out)
	}
}

// TestDoctorThroughNeedsNoURL checks that the address of --through is enough, on a machine that has no venue.
func TestDoctorThroughNeedsNoURL(t *testing.T) {
	t.Setenv("DX_KEY", "dxk1")
	t.Setenv("DX_SECRET", strings.Repeat("0", 64))
	code, out, errs := runCommand("doctor", "--dev-file", filepath.Join(t.TempDir(), "none"), "--through", "http://127.0.0.1:1")
	if code != 1 || !strings.Contains(out, "ok      settings: http://127.0.0.1:1 with key dxk1") || !strings.Contains(out, "failed  reach: ") {
		t.Errorf("dx doctor --through alone: exit %d %s%s, want 1, its address in the settings, and a failed reach", code, out, errs)
	}
}

// TestBridgeUntilEOF tests that with DX_UNTIL_EOF the bridge answers after SIGTERM, and ends when its input does.
func TestBridgeUntilEOF(t *testing.T) {
	venue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID int }
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{}}`, m.ID)
	}))
	defer venue.Close()
	ctx, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	bridge := exec.CommandContext(ctx, dxPath(t), "mcp")
	bridge.Env = append(os.Environ(), "DX_URL="+venue.URL, "DX_KEY=k", "DX_SECRET="+strings.Repeat("00", 32), "DX_UNTIL_EOF=true")
	in, lines := startPiped(t, bridge)
	for id := 1; id <= 2; id++ {
		if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.Contains(lines.Text(), fmt.Sprintf(`"id":%d`, id)) {
			t.Fatalf("call %d: %q, %v", id, lines.Text(), lines.Err())
		}
		if err := bridge.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	if err := bridge.Wait(); err != nil {
		t.Errorf("at the end of its input it ends with %v", err)
	}
}
