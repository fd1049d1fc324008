package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"duplex/server"
)

const operations = "../../docs/operations"

// TestAlertsAndDashboardNameWhatThereIs checks that the alerts and the dashboard use only metrics that
// /metrics of a single machine has, but for those of a cluster.
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
	_, page := ask(t, "GET", p.dev.Admin+"/metrics", "Authorization", "Bearer "+p.dev.OperatorToken)
	there := metricNames(page)
	checkMetricsAsked(t, there, 30, func(name string) bool { return !strings.HasPrefix(name, clusterMetrics) })
}

// TestClusterAlerts checks the metrics of a cluster that the alerts and the dashboard use, and further ones
// for the operator, on a member and a follower.
func TestClusterAlerts(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t)
	f := c.follow()
	f.start(0)
	f.waitState("serving")
	_, member := c.send("GET", c.url(0, 8082)+"/metrics", "", clusterOperator)
	_, follower := c.send("GET", f.url(8082)+"/metrics", "", clusterOperator)
	there := metricNames(member + follower)
	checkMetricsAsked(t, there, 15, func(name string) bool { return strings.HasPrefix(name, clusterMetrics) })
	for _, name := range []string{"archive_unsynced_bytes", "compacted_number", "follow_streams", "follow_cut_total"} {
		if !there[clusterMetrics+name] {
			t.Errorf("no %s%s", clusterMetrics, name)
		}
	}
}

const clusterMetrics = "duplex_cluster_"

// metricNames are the names that a query can have of the metrics of a page.
func metricNames(page string) map[string]bool {
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (duplex_\w+) (\w+)`).FindAllStringSubmatch(page, -1) {
		there[m[1]] = true
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			there[m[1]+part] = m[2] == "histogram"
		}
	}
	return there
}

// checkMetricsAsked checks that those of the metrics that the alerts and the dashboard ask for which belong
// here are there, and that they are at least so many.
func checkMetricsAsked(t *testing.T, there map[string]bool, least int, belongs func(name string) bool) {
	t.Helper()
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
			if !belongs(m) {
				continue
			}
			if asked++; !there[m] {
				t.Errorf("%s asks for %s, which /metrics does not tell", name, m)
			}
		}
	}
	if asked < least {
		t.Errorf("only %d metrics are asked for", asked)
	}
}

// TestAlertsHaveARunbook checks that the handbook says what to do about each alert.
func TestAlertsHaveARunbook(t *testing.T) {
	alerts, err := os.ReadFile(filepath.Join(operations, "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	handbook, err := os.ReadFile(filepath.Join(operations, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`- alert: (\w+)`).FindAllSubmatch(alerts, -1)
	for _, a := range all {
		if !strings.Contains(string(handbook), "**"+string(a[1])+"**") {
			t.Errorf("docs/operations/README.md does not say what to do about %s", a[1])
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d alerts", len(all))
	}
}

// The example dx.toml is valid, and every setting that it mentions exists.
func TestConfig(t *testing.T) {
	example := filepath.Join(operations, "dx.toml")
	if code, out, errs := runCommand("config", "check", "--config", example); code != 0 || out != "sound\n" {
		t.Errorf("dx config check of the example: exit %d %s%s, want sound", code, out, errs)
	}
	write := func(text string) string { return textFile(t, "dx.toml", text) }
	for text, want := range map[string]string{
		`no_such = 1`:                      "no_such",
		`api = "nowhere:port:port"`:        "--api",
		`dispute = "25h"`:                  "--dispute",
		`dispute = "soon"`:                 "dispute",
		`master_key = "abc"`:               "--master-key",
		`oracle = "sim"`:                   "oracle",
		`sources = ["coinbase","x"]`:       "sources",
		"\napi = ":                         "line 2",
		"api = ':1'\napi = ':2'":           "line 2",
		"\nno_such = 1":                    "dx.toml:2: no such setting",
		"\n[admin]\nx = 1":                 "dx.toml:2: one value",
		"api = [':1']":                     "dx.toml:1: one value",
		"\nwrite_floor = 0x10":             "line 2: write_floor must be a whole number",
		"write_floor = 3\nwrite-floor = 4": "dx.toml:1: write-floor is set twice",
	} {
		expectCommand(t, 2, want, "config", "check", "--config", write(text))
	}
	for _, args := range []string{"--ports 1", "--ports 8080", "--ports 00", "--ports=", "--ports 0 --members 3", "--ports 0 --api 127.0.0.1:9999"} {
		expectCommand(t, 2, "--ports", append([]string{"dev"}, strings.Fields(args)...)...)
	}
	if code, out, errs := runCommand("config", "show", "--config", write("\ufeffwrite_floor = 7\n")); code != 0 || !regexp.MustCompile(`write-floor +7 +\S+:1\n`).MatchString(out) {
		t.Errorf("a byte order mark: %d %s%s", code, out, errs)
	}
	t.Run("of the folder", func(t *testing.T) {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("dx.toml", []byte("api = \":4321\"\nwrite_floor = 8\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := runCommand("config", "show"); code != 0 || !regexp.MustCompile(`api +:4321 +dx.toml:1\n`).MatchString(out) || !regexp.MustCompile(`portal +:8081 +default\n`).MatchString(out) {
			t.Errorf("the settings of dx.toml in this folder: %d %s%s", code, out, errs)
		}
		path := write("write_floor = 9\n")
		for _, given := range []string{"--config", "DX_CONFIG"} {
			args := []string{"config", "show"}
			if given == "--config" {
				args = append(args, given, path)
			} else {
				t.Setenv(given, path)
			}
			code, out, errs := runCommand(args...)
			if code != 0 || !regexp.MustCompile(`api +:4321 +dx.toml:1\n`).MatchString(out) || !regexp.MustCompile(`write-floor +9 +`+regexp.QuoteMeta(path)+`:1\n`).MatchString(out) {
				t.Errorf("%s beside dx.toml: %d %s%s", given, code, out, errs)
			}
		}
	})
	if code, out, errs := runCommand("config", "show", "--config", write("trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nlog_level = \"debug\"\n")); code != 0 || !regexp.MustCompile(`trusted-proxies +10.0.0.0/8 ::1/128 +\S+:1\n`).MatchString(out) || !regexp.MustCompile(`log-level +DEBUG +\S+:2\n`).MatchString(out) {
		t.Errorf("several values, and a setting of every command: %d %s%s", code, out, errs)
	}
	// Settings that may be absent are pointers.
	if code, out, errs := runCommand("config", "show", "--config", write("account_rate = 50\n")); code != 0 || !regexp.MustCompile(`account-rate +50 +\S+:1\n`).MatchString(out) || regexp.MustCompile(`0x|nil`).MatchString(out) {
		t.Errorf("settings that may be absent: %d %s%s, want values, and - for none", code, out, errs)
	}
	path := write("# a comment\napi = \":1234\"\ndispute = \"6s\"\nreplay_guard = true\nmaster_key = \"" + strings.Repeat("ab", 32) + "\"\n")
	t.Setenv("DX_DISPUTE", "7s")
	code, out, errs := runCommand("config", "show", "--config", path, "--write-floor", "30")
	if code != 0 || strings.Contains(out, "abab") {
		t.Errorf("dx config show: exit %d %s%s, want 0 and no master key", code, out, errs)
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
		"KillSignal": "SIGTERM", "StateDirectoryMode": "0700", "RestartPreventExitStatus": "3",
	} {
		if got, there := has[name]; !there || got != want {
			t.Errorf("the unit has %s=%s, want %q", name, got, want)
		}
	}
	var seconds int
	var limit, collector int
	if _, err := fmt.Sscanf(has["MemoryMax"], "%dG", &limit); err != nil || limit < 3 { // docs/operations/sizing.md: 5,000 full accounts
		t.Errorf("MemoryMax=%s", has["MemoryMax"])
	}
	if _, err := fmt.Sscanf(has["Environment"], "GOMEMLIMIT=%dMiB", &collector); err != nil || collector >= limit<<10 || collector < 3<<10 {
		t.Errorf("Environment=%s beside MemoryMax=%s", has["Environment"], has["MemoryMax"])
	}
	if systemd, err := exec.LookPath("systemd-analyze"); err == nil {
		if out, err := exec.Command(systemd, "verify", "--man=no", filepath.Join(operations, "dx.service")).CombinedOutput(); err != nil || strings.Contains(string(out), "dx.service:") {
			t.Errorf("systemd-analyze verify: %v\n%s", err, out)
		}
		unit := filepath.Join(t.TempDir(), "dx.service")
		if err := errors.Join(os.Mkdir(unit+".d", 0o700), os.WriteFile(unit, b, 0o600), os.WriteFile(filepath.Join(unit+".d", "public.conf"), dropIn(t), 0o600)); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(systemd, "verify", "--man=no", unit).CombinedOutput(); err != nil || strings.Contains(string(out), "public.conf:") {
			t.Errorf("systemd-analyze verify, with public.conf: %v\n%s", err, out)
		}
	}
	if _, err := fmt.Sscan(has["TimeoutStopSec"], &seconds); err != nil || float64(seconds) <= server.StopTimeout.Seconds()+1 {
		t.Errorf("TimeoutStopSec=%s does not outlast a drain", has["TimeoutStopSec"])
	}
}

func dropIn(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(operations, "public.conf"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPublicDropIn checks that the drop-in for the unit gives what the settings of a public venue need: the
// low ports, the files of the certificate and the folder of the archive, by the names that dx.toml has.
func TestPublicDropIn(t *testing.T) {
	conf := string(dropIn(t))
	toml, err := os.ReadFile(filepath.Join(operations, "dx.toml"))
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^# ` + name + ` = "(.+)"$`).FindSubmatch(toml)
		if m == nil {
			t.Fatalf("dx.toml has no %s", name)
		}
		return string(m[1])
	}
	cert, key, archive := setting("tls_cert"), setting("tls_key"), setting("archive_to")
	for _, line := range []string{
		"AmbientCapabilities=CAP_NET_BIND_SERVICE", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE", // the unit alone has none
		"LoadCredential=" + filepath.Base(cert) + ":" + cert, "LoadCredential=" + filepath.Base(key) + ":" + key,
		"Environment=DX_TLS_CERT=%d/" + filepath.Base(cert) + " DX_TLS_KEY=%d/" + filepath.Base(key),
		"ReadWritePaths=" + archive, "User=dx",
	} {
		if !strings.Contains(conf, "\n"+line+"\n") {
			t.Errorf("public.conf lacks %s", line)
		}
	}
	for name := range strings.SplitSeq("DX_TLS_CERT DX_TLS_KEY", " ") { // the variables exist
		expectCommand(t, 0, name, "serve", "--help")
	}
}

// TestComposeFiles checks that the commands of the compose files' own instructions find the operator's
// listener: dx in a container has no settings but the environment of its service.
func TestComposeFiles(t *testing.T) {
	for _, name := range []string{"compose.yaml", "compose.cluster.yaml"} {
		b, err := os.ReadFile("../../packaging/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^#.* exec \w+ /dx (admin|cluster) `).Match(b) {
			t.Errorf("%s: no command for the operator", name)
		}
		for _, variable := range []string{"DX_ADMIN_URL: http://127.0.0.1:8082", "DX_OPERATOR_TOKEN: ${DX_OPERATOR_TOKEN:?"} {
			if !strings.Contains(string(b), "    "+variable) {
				t.Errorf("%s lacks %s", name, variable)
			}
		}
	}
}
