package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"duplex/server"
)

const operations = "../../docs/operations"

// The alerts and the dashboard use only metrics and labels that /metrics has.
func TestAlertsAndDashboardNameWhatThereIs(t *testing.T) {
	p := start(t, t.TempDir(), "--sessions")
	p.devFile()
	runCommand("call", "GET", "/v1/nothing")      // an error response
	runCommand("watch", "oracle", "--count", "1") // a closed WebSocket
	ws, _, err := websocket.Dial(context.Background(), p.dev.WS, nil)
	if err == nil {
		_ = ws.CloseNow()
		t.Error("a handshake without a key")
	}
	req, err := http.NewRequest("GET", p.dev.Admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.dev.OperatorToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (duplex_\w+) (\w+)`).FindAllStringSubmatch(string(page), -1) {
		there[m[1]] = true
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			there[m[1]+part] = m[2] == "histogram"
		}
	}
	asked := 0
	for _, name := range []string{"alerts.yml", "grafana.json"} {
		text, err := os.ReadFile(filepath.Join(operations, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(text) {
			t.Errorf("%s is no JSON", name)
		}
		for _, m := range regexp.MustCompile(`duplex_\w+`).FindAllString(string(text), -1) {
			if asked++; !there[m] {
				t.Errorf("%s asks for %s, which /metrics does not tell", name, m)
			}
		}
	}
	if asked < 30 {
		t.Errorf("only %d metrics are asked for", asked)
	}
}

// The example dx.toml is valid, and every setting that it mentions exists.
func TestConfig(t *testing.T) {
	example := filepath.Join(operations, "dx.toml")
	if code, out, errs := runCommand("config", "check", "--config", example); code != 0 || out != "sound\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "dx.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, want := range map[string]string{
		`no_such = 1`:                "no_such",
		`api = "nowhere:port:port"`:  "--api",
		`dispute = "25h"`:            "--dispute",
		`dispute = "soon"`:           "dispute",
		`master_key = "abc"`:         "--master-key",
		`oracle = "sim"`:             "oracle",
		`sources = ["coinbase","x"]`: "sources",
		`api = `:                     "config",
	} {
		if code, out, errs := runCommand("config", "check", "--config", write(text)); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s%s", text, code, out, errs)
		}
	}
	path := write("# a comment\napi = \":1234\"\ndispute = \"6s\"\nreplay_guard = true\nmaster_key = \"" + strings.Repeat("ab", 32) + "\"\n")
	t.Setenv("DX_DISPUTE", "7s")
	code, out, errs := runCommand("config", "show", "--config", path, "--write-floor", "30")
	if code != 0 || strings.Contains(out, "abab") {
		t.Errorf("%d %s%s", code, out, errs)
	}
	for _, want := range []string{
		`api +:1234 +` + regexp.QuoteMeta(path) + `:2\n`, `dispute +7s +DX_DISPUTE\n`, `master-key +\(set\) +` + regexp.QuoteMeta(path) + `:5\n`, `replay-guard +true +` + regexp.QuoteMeta(path) + `:4\n`,
		`write-floor +30 +--write-floor\n`, `portal +:8081 +default\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// The systemd unit gives the venue enough time to stop, and no more privileges than it needs.
func TestServiceUnit(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(operations, "dx.service"))
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			has[name] = value
		}
	}
	for name, want := range map[string]string{
		"NoNewPrivileges": "yes", "ProtectSystem": "strict", "DynamicUser": "yes", "Restart": "on-failure", "CapabilityBoundingSet": "", "LimitCORE": "0",
		"KillSignal": "SIGTERM", "StateDirectoryMode": "0700",
	} {
		if got, there := has[name]; !there || got != want {
			t.Errorf("%s=%s", name, got)
		}
	}
	var seconds int
	if _, err := fmt.Sscan(has["TimeoutStopSec"], &seconds); err != nil || float64(seconds) <= server.StopTimeout.Seconds()+1 {
		t.Errorf("TimeoutStopSec=%s does not outlast a drain", has["TimeoutStopSec"])
	}
}
