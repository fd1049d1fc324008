package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"
)

// settings parses the text of a config file as dx serve does.
func settings(text []byte) (s serveSettings, err error) {
	resolver, err := tomlFlags(bytes.NewReader(text))
	if err != nil {
		return s, err
	}
	parser, err := kong.New(&s, append(mappers(), kong.Name("dx"), kong.Exit(func(int) {}), kong.Resolvers(resolver))...)
	if err != nil {
		return s, err
	}
	_, err = parser.Parse(nil)
	return s, err
}

// FuzzSettings tests that a config file is either rejected with an error text, or read as
// TOML reads it: its encoded values give the same settings.
func FuzzSettings(f *testing.F) {
	example, err := os.ReadFile(operations + "/dx.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, s := range []string{"api = \":1\"\nno_such = 1", "dispute = 5", "write_floor = 9223372036854775808", "allow-origin = [\"https://a\", \"b,c\"]", "api = \"\"\"\nx\"\"\"", "[data]\nx = 1", "sources = [[1]]", "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\nallowed_hosts = [\"a\", \"b:1\"]", "write-floor = 1\nwrite_floor = 2", "write_floor = 0x10", "replay_speed = 1_0", "\ufeffwrite_floor = 7"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		one, err := settings(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("the error has no text")
			}
			return
		}
		values := map[string]any{}
		if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte(byteOrderMark)), &values); err != nil {
			t.Fatalf("%q is read, and is no TOML: %v", text, err)
		}
		again, err := toml.Marshal(values)
		if err != nil {
			t.Fatal(err)
		}
		two, err := settings(again)
		if err != nil || !same(&one, &two) {
			t.Fatalf("%q\nsays %+v,\n%q\nsays %+v, %v", text, one, again, two, err)
		}
	})
}

func same(a, b *serveSettings) bool {
	x, errX := toml.Marshal(a)
	y, errY := toml.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// TestAddressesAreChecked checks that dx config check, and a start, refuse an address that no listener or
// connection can have, with the name of its flag.
func TestAddressesAreChecked(t *testing.T) {
	const member = "--node a --cluster a=127.0.0.1:7000,b=127.0.0.1:7010,c=127.0.0.1:7020 --master-key " + "0000000000000000000000000000000000000000000000000000000000000001 "
	const funding = "--funding-secret whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE= "
	for _, c := range []struct {
		flag, more string
		good, bad  string // separated by spaces
	}{
		{"api", "", ":8080 127.0.0.1:0", ":99999 8080 127.0.0.1:x"},
		{"portal", "", "[::1]:65535", ":65536"},
		{"admin", "", "127.0.0.1:0 localhost:8082", "127.0.0.1:99999 0.0.0.0:8082"}, // the last needs TLS
		{"public-url", "", "https://h https://h:8443", "https://h:99999 https://h:0 ftp://h h https://u:hunter2@h https://h/hunter2"},
		{"public-portal-url", "", "http://127.0.0.1:8081", "https://h:99999 wss://h"},
		{"allow-origin", "", "https://h http://127.0.0.1:3000 chrome-extension://abc", "https://h:99999 https://h/ https://u:hunter2@h * null"},
		{"mirror", "", "off sqlite postgres://u:p@h:5432/d postgresql://h/d", "postgres://u:hunter2@h:99999/d postgres://u:hunter2@h:x/d mysql://u:hunter2@h"},
		{"acme-directory", "--acme-domain a.example ", "https://h/directory http://127.0.0.1:14000/dir", "ftp://hunter2@h http://h/hunter2 https://h:99999 hunter2"},
		{"acme-http", "--acme-domain a.example ", ":80", ":99999 80"},
		{"funding-url", funding, "https://h/x http://127.0.0.1:9", "https://h:99999 http://h ftp://h https://u:hunter2@h https://h?k=hunter2 https://u:hunter2@h:x"},
		{"source-url", "", "kraken=wss://h kraken=ws://u:p@h:1/x?k=v", "kraken=https://h kraken=wss://h:99999 kraken=wss://u:hunter2@h:x kraken=hunter2 wss://u:hunter2@h"},
		{"source-url", "--pyth-key k ", "pyth=https://h pyth=http://127.0.0.1:1", "pyth=http://h pyth=wss://h pyth=https://h:99999"},
		{"peer", member, "127.0.0.1:7000", ":99999 7000"},
		{"follow", member, "127.0.0.1:0", ":99999"},
		{"follow-advertise", member, "127.0.0.1:7001", "h h:0 h:99999"},
		{"cluster", "--node a ", "", "a=h:99999 a=h:0 a=h"},
	} {
		for text := range strings.FieldsSeq(c.good) {
			expectCommand(t, 0, "sound", append(strings.Fields("config check "+c.more), "--"+c.flag+"="+text)...)
		}
		for i, text := range strings.Fields(c.bad) {
			for _, command := range []string{"config check ", "serve --data " + t.TempDir() + " "}[:max(1, 2-i)] {
				code, out, errs := runCommand(append(strings.Fields(command+c.more), "--"+c.flag+"="+text)...)
				if code != 2 || !strings.Contains(errs, "dx: --"+c.flag+": ") || strings.Contains(out+errs, "hunter2") {
					t.Errorf("%s --%s=%s: exit %d, %s%s", command, c.flag, text, code, out, errs)
				}
			}
		}
	}
	for _, args := range []string{"--from h:99999", "--from h", "--from 127.0.0.1:7001 --follow :99999"} {
		flag := args[strings.LastIndex(args, "--"):strings.LastIndex(args, " ")]
		expectCommand(t, 2, "dx: "+flag+": ", strings.Fields("follow --master-key 0000000000000000000000000000000000000000000000000000000000000001 --data "+t.TempDir()+" "+args)...)
	}
}

// TestSettingsShowNoSecret checks that dx config show, the log and errors show URLs without their user part and
// query, and no value of a secret.
func TestSettingsShowNoSecret(t *testing.T) {
	shown := []string{
		"config show --source-url kraken=wss://hunter2:hunter2@k.example/ws?key=hunter2 --source-url gemini=wss://g.example/ws",
		"config show --mirror postgres://h.example/d?password=hunter2", "config show --mirror postgres://u:hunter2@h.example:5/d", "config show --mirror postgres://u:1/hunter2@h.example/d",
		"config show --acme-directory https://u:hunter2@h.example/dir?k=hunter2", "config show --funding-url https://h.example?k=hunter2 --funding-secret hunter2",
		"config show --pyth-key hunter2 --signup-token hunter2 --master-key hunter2 --master-key-old hunter2",
		"config show --operator-token hunter2hunter2hunter2hunter2hunter2",
		"config show --allow-origin https://u:hunter2@h.example",
	}
	for i, want := range []string{
		"gemini:wss://g.example/ws kraken:wss://k.example/ws  ", "postgres://h.example/d  ", "postgres://h.example:5/d  ", "postgres://(not shown)", "https://h.example/dir  ", "https://h.example  ", "(set)", "(set)", "https://h.example  ",
	} {
		code, out, errs := runCommand(strings.Fields(shown[i])...)
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out+errs, "hunter2") {
			t.Errorf("%s: exit %d, want %q\n%s%s", shown[i], code, want, out, errs)
		}
	}
	for _, c := range []struct{ name, value, args string }{
		{"DX_OPERATOR_TOKEN", "hunter2", "config check"}, {"DX_PUBLIC_URL", "https://u:hunter2@h", "config check"}, {"DX_SOURCE_URL", `wss://u:hunter2@h`, "config check"}, {"DX_PUBLIC_URL", `hunter2"hunter2\`, "config check"},
		{"DX_FUNDING_URL", "https://u:hunter2@h:x", "config check --funding-secret hunter2"}, {"DX_MASTER_KEY", "hunter2", "config check"}, {"DX_MASTER_KEY", "-hunter2", "config check"},
		{"DX_MIRROR", "host=h password=hunter2", "config check"}, {"DX_MIRROR", "postgres://u:hunter2@h:99999/d", "config check"},
		{"X", "", "config check --operator-token -hunter2"}, {"X", "", "config check --signup-token --hunter2"},
		{"DX_ALLOWED_HOSTS", "u:hunter2@h", "config check"}, {"DX_TRUSTED_PROXIES", "https://u:hunter2@h", "config check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			code, out, errs := runCommand(strings.Fields(c.args)...)
			if code != 2 || !strings.Contains(errs, "dx: --") || strings.Contains(out+errs, "hunter2") {
				t.Errorf("%s=%s dx %s: exit %d\n%s%s", c.name, c.value, c.args, code, out, errs)
			}
		})
	}
	secret := strings.Repeat("01", 32)
	for _, args := range []string{
		"balance --url http://u:hunter2@127.0.0.1:1?k=hunter2", "balance --url http://u:hunter2@h:x", "doctor --url http://u:hunter2@127.0.0.1:1?k=hunter2", "doctor --url http://u:hunter2@h:x", "doctor --json --url http://u:hunter2@h:x",
		"bench --url http://u:hunter2@h:x --admin http://127.0.0.1:1", "mirror check --data . --mirror postgres://u:hunter2@127.0.0.1:1/d?password=hunter2", "mirror check --data . --mirror postgres://u:hunter2@h:x/d",
		"feeds watch --sources kraken --source-url kraken=wss://u:hunter2@h:x", "call GET /v1/time --url https://u:hunter2@h:x",
	} {
		t.Run(args, func(t *testing.T) {
			t.Setenv("DX_KEY", "k")
			t.Setenv("DX_SECRET", secret)
			t.Setenv("DX_OPERATOR_TOKEN", "hunter2")
			if code, out, errs := runCommand(strings.Fields(args)...); code == 0 || strings.Contains(out+errs, "hunter2") {
				t.Errorf("exit %d\n%s%s", code, out, errs)
			}
		})
	}
	for _, terminal := range []bool{false, true} {
		var line bytes.Buffer
		err := error(&url.Error{Op: "parse", URL: "https://u:hunter2@h:x", Err: errors.New("invalid port")})
		slog.New(handler(&line, terminal, slog.LevelInfo)).With("a", "wss://u:hunter2@h/x").Info("https://u:hunter2@h", "err", fmt.Errorf("dial: %w", err), "other", errors.New("as it is"), slog.Group("g", "b", "https://h?k=hunter2"))
		if text := line.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "wss://h/x") || !strings.Contains(text, "as it is") {
			t.Error(text)
		}
	}
}
