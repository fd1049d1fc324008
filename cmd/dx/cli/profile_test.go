package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A profile is decoded strictly, and an error names the fault without the secret.
func TestReadProfile(t *testing.T) {
	secret := strings.Repeat("ab", 32)
	whole := `{"api":"http://127.0.0.1:8080","ws":"ws://127.0.0.1:8080/v1/ws","mcp":"http://127.0.0.1:8080/v1/mcp","name":"trader","user_id":1,"api_key":"dxk1","secret":"` + secret + `","scopes":["read","trade"]}`
	least := `{"api":"https://venue.example","api_key":"dxk1","secret":"` + secret + `"}`
	dev := `{"api":"http://127.0.0.1:8080","operator_token":"dxo_1","accounts":[{"name":"trader","api_key":"dxk1","secret":"` + secret + `"}]}`
	with := func(old, new string) string { return strings.Replace(whole, old, new, 1) }
	for _, c := range []struct {
		story, text, want string // "" if it is valid
	}{
		{"whole", whole, ""},
		{"an address and a key", least, ""},
		{"an empty file", "", "EOF"},
		{"no object", "[]", "JSON"},
		{"something behind it", whole + "{}", "after top-level value"},
		{"a member that is none", with(`"name"`, `"nmae"`), `unknown object member name "nmae"`},
		{"other capitals", with(`"api"`, `"API"`), `unknown object member name "API"`},
		{"a member twice", with(`"name":"trader"`, `"name":"trader","name":"trader"`), "duplicate"},
		{"an ill-typed member", with(`"user_id":1`, `"user_id":"1"`), "user_id"},
		{"no address", with(`http://127.0.0.1:8080"`, `"`), "api: must be an address"},
		{"several nodes", with(`"api":"http://127.0.0.1:8080`, `"api":"http://127.0.0.1:8080,https://b.example`), ""},
		{"one of several that is no address", with(`"api":"http://127.0.0.1:8080`, `"api":"http://127.0.0.1:8080,b.example`), "api: must be an address"},
		{"only a comma", with(`"api":"http://127.0.0.1:8080`, `"api":",`), "api: must be an address"},
		{"no HTTP", with(`http://`, `ftp://`), "api: must be an address"},
		{"no WebSocket", with(`ws://`, `http://`), "ws: must be an address"},
		{"no key", with(`dxk1`, ``), "api_key: missing"},
		{"white space around the secret", with(secret, secret+`\n`), ""},
		{"a short secret", with(secret, "abab"), "secret: must be 64 hex characters"},
		{"no secret", with(secret, ""), "secret: must be 64 hex characters"},
		{"a name that is no name", with("trader", "../trader"), "name: must be up to 32"},
		{"a dev file", dev, "a dev file, which holds the operator's token"},
		{"too long", whole + strings.Repeat(" ", profileMax), "more than 65536 bytes"},
	} {
		path := filepath.Join(t.TempDir(), "p.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadProfile(path)
		switch {
		case c.want == "":
			if err != nil || p.Secret != secret || p.APIKey != "dxk1" {
				t.Errorf("%s: %+v, %v, want the key dxk1 with its secret", c.story, p, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), secret):
			t.Errorf("%s: %v, want %q", c.story, err, c.want)
		case p.Secret != "" || p.APIKey != "":
			t.Errorf("%s: refused, and gave %+v", c.story, p)
		}
	}
	path := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadProfile(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if _, err := ReadProfile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Error(err)
	}
}

// A name selects a profile beside the dev file; other text is a path.
func TestProfilePath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{
		"trader": "/v/.dx/agents/trader.json", "my-agent-2": "/v/.dx/agents/my-agent-2.json",
		"trader.json": filepath.Join(wd, "trader.json"), "./trader": filepath.Join(wd, "trader"), "/etc/p.json": "/etc/p.json", "Trader": filepath.Join(wd, "Trader"),
	} {
		if got, err := ProfilePath("/v/.dx/dev.json", given); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", given, got, err, want)
		}
	}
}
