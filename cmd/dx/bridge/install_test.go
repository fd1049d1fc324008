package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

func server() *Server {
	return &Server{Name: "duplex", Command: "/opt/dx", Args: []string{"mcp", "--dev-file", "/a b/dev.json"}}
}

// home puts the config files of all hosts into a folder of the test.
func home(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, dir)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	t.Setenv("AppData", filepath.Join(dir, ".config"))
	for _, name := range []string{"CODEX_HOME", "CLAUDE_CONFIG_DIR", "VSCODE_PORTABLE", "VSCODE_APPDATA"} {
		t.Setenv(name, "")
	}
	return dir
}

// Files before and after Merge, which changes only the one server.
func TestMerge(t *testing.T) {
	const added = `"duplex": {
      "command": "/opt/dx",
      "args": [
        "mcp",
        "--dev-file",
        "/a b/dev.json"
      ]
    }`
	for _, x := range []struct{ name, host, old, want string }{
		{"no file", "cursor", "", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		{"other members", "cursor", "{\n  \"a\": [1, 2.50], // mine\n  \"b\": null\n}\n", "{\n  \"a\": [1, 2.50], // mine\n  \"b\": null,\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		{"another server", "cursor", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}\n  },\n  \"z\": 1\n}", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"},\n    " + added + "\n  },\n  \"z\": 1\n}"},
		{"an older entry", "cursor", "{\n  \"mcpServers\": {\n    \"duplex\": {\"command\": \"old\"}, // here\n    \"x\": {}\n  }\n}", "{\n  \"mcpServers\": {\n    " + added + ", // here\n    \"x\": {}\n  }\n}"},
		{"what the user added", "cursor", "{\n  \"mcpServers\": {\n    \"duplex\": {\n      \"command\": \"old\",\n      \"disabled\": true, // for now\n      \"env\": {\"A\": \"b\", \"DX_SECRET\": \"s\"},\n      \"args\": []\n    }\n  }\n}", "{\n  \"mcpServers\": {\n    \"duplex\": {\n      \"command\": \"/opt/dx\",\n      \"disabled\": true, // for now\n      \"env\": {\"A\": \"b\"},\n      \"args\": [\n        \"mcp\",\n        \"--dev-file\",\n        \"/a b/dev.json\"\n      ]\n    }\n  }\n}"},
		{"only our variables", "cursor", "{\n  \"mcpServers\": {\n    \"duplex\": {\"command\": \"x\", \"env\": {\"DX_KEY\": \"${env:DX_KEY}\"}}\n  }\n}\n", "{\n  \"mcpServers\": {\n    " + added + "\n  }\n}\n"},
		{"trailing commas", "cursor", "{\n  \"mcpServers\": {\n    \"x\": {},\n  },\n}", "{\n  \"mcpServers\": {\n    \"x\": {},\n    " + added + "\n  },\n}"},
		{"no TOML", "codex", "", codexTable},
		{"other tables", "codex", "# mine\nmodel = \"x\" # this\n\n[mcp_servers.a]\ncommand = \"b\"", "# mine\nmodel = \"x\" # this\n\n[mcp_servers.a]\ncommand = \"b\"\n\n" + codexTable},
		{"an older table", "codex", "[mcp_servers.duplex]\ncommand = \"old\"\n[mcp_servers.duplex.env]\nA = \"b\"\n# of z\n[mcp_servers.z]\ncommand = \"z\"\n", codexTable + "env = {A = 'b'}\n# of z\n[mcp_servers.z]\ncommand = \"z\"\n"},
		{"what the user added to a table", "codex", "[mcp_servers.duplex]\ncommand = \"old\"\nenabled = false\nenv_vars = [\"DX_KEY\", \"B\"]\n[mcp_servers.duplex.env]\nA = \"b\"\nDX_SECRET = \"s\"\n", codexTable + "env = {A = 'b'}\nenv_vars = ['B']\nenabled = false\n"},
	} {
		h, _ := FindHost(x.host)
		got, err := h.Merge([]byte(x.old), server())
		if err != nil || string(got) != x.want {
			t.Errorf("%s: %v\n%s\nnot\n%s", x.name, err, got, x.want)
			continue
		}
		if again, err := h.Merge(got, server()); err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time it becomes %v\n%s", x.name, err, again)
		}
	}
}

const codexTable = "[mcp_servers.duplex]\ncommand = '/opt/dx'\nargs = ['mcp', '--dev-file', '/a b/dev.json']\n"

// A file that does not have the host's format is not changed.
func TestMergeRefuses(t *testing.T) {
	for host, texts := range map[string][]string{
		"cursor": {"{", "[]", `{"mcpServers":[]}`, `{"mcpServers":null}`, "a = 1"},
		"codex":  {"a =", "mcp_servers = {a = {command = 'b'}}\n", "mcp_servers = 1\n", "{}"},
	} {
		h, _ := FindHost(host)
		for _, text := range texts {
			if got, err := h.Merge([]byte(text), server()); err == nil {
				t.Errorf("%s took %s: %s", host, text, got)
			}
		}
	}
}

// Variables are passed on by name; for a host without support for it Merge fails.
func TestEnvironmentIsNamed(t *testing.T) {
	s := server()
	s.PassEnv = []string{"DX_SECRET"}
	for host, want := range map[string]string{"claude-code": `"DX_SECRET": "${DX_SECRET}"`, "cursor": `"DX_SECRET": "${env:DX_SECRET}"`, "vscode": `"DX_SECRET": "${env:DX_SECRET}"`, "codex": `env_vars = ['DX_SECRET']`, "claude-desktop": ""} {
		h, _ := FindHost(host)
		got, err := h.Fragment(s)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "--with-secret") {
				t.Errorf("a variable by name for %s: %v, want an error that names --with-secret", host, err)
			}
		} else if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("a variable by name for %s: %v\n%s\nwant %s", host, err, got, want)
		}
	}
}

// TestHostsMoveTheirFiles checks the variables by which hosts keep their file elsewhere.
func TestHostsMoveTheirFiles(t *testing.T) {
	home(t)
	dir := t.TempDir()
	for _, x := range []struct{ variable, host, want string }{
		{"CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"}, {"CODEX_HOME", "codex", "config.toml"},
		{"VSCODE_APPDATA", "vscode", "Code/User/mcp.json"}, {"VSCODE_PORTABLE", "vscode", "user-data/User/mcp.json"},
	} {
		t.Setenv(x.variable, dir)
		h, _ := FindHost(x.host)
		if got, err := h.File(); err != nil || got != filepath.Join(dir, filepath.FromSlash(x.want)) {
			t.Errorf("the file of %s with %s: %s, %v, want %s in its folder", x.host, x.variable, got, err, x.want)
		}
	}
}

// The file of every host is written atomically with a backup. Only the owner can read one
// with a secret.
func TestWrite(t *testing.T) {
	dir := home(t)
	for i := range Hosts {
		h := &Hosts[i]
		c, err := h.Plan(server())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(c.Path); !strings.HasPrefix(c.Path, dir) || err == nil || !c.Needed() || c.Backup() != "" {
			t.Fatalf("the plan for %s: %s, %v, want a new file below the home folder, needed and without a backup", h.Name, c.Path, err)
		}
		write(t, c, 0o600)
		first, _ := os.ReadFile(c.Path)
		if err := os.Chmod(c.Path, 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err = h.Plan(server()); err != nil || c.Needed() {
			t.Errorf("%s: %v, needed again", h.Name, err)
		}
		s := server()
		s.Args = []string{"mcp", "--read-only"}
		if c, err = h.Plan(s); err != nil {
			t.Fatal(err)
		}
		write(t, c, 0o644)
		if kept, err := os.ReadFile(c.Backup()); err != nil || string(kept) != string(first) {
			t.Errorf("%s: %v, kept %s", h.Name, err, kept)
		}
		s.Env = map[string]string{"DX_SECRET": "s"}
		if c, err = h.Plan(s); err != nil {
			t.Fatal(err)
		}
		write(t, c, 0o600)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".cursor", "*"))
	if hidden, _ := filepath.Glob(filepath.Join(dir, ".cursor", ".*")); err != nil || len(left) != 2 || len(hidden) != 0 {
		t.Errorf("%v: %q and %q", err, left, hidden)
	}
	var codex map[string]any
	b, err := os.ReadFile(filepath.Join(dir, ".codex", "config.toml"))
	if err != nil || toml.Unmarshal(b, &codex) != nil || !strings.Contains(string(b), "DX_SECRET = 's'") {
		t.Errorf("the config of codex: %v: %s, want TOML with the secret", err, b)
	}
}

func write(t *testing.T, c *Change, mode os.FileMode) {
	t.Helper()
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(c.Path)
	if err != nil || string(b) != string(c.new) {
		t.Errorf("the config file after Write: %v: %s, want %s", err, b, c.new)
	}
	if at, err := os.Stat(c.Path); err != nil || at.Mode().Perm() != mode {
		t.Errorf("the mode of %s: %v, %v, want %v", c.Path, at.Mode(), err, mode)
	}
}

// A config that is a symbolic link stays one; its target is written.
func TestLinksAreFollowed(t *testing.T) {
	dir := home(t)
	real := filepath.Join(t.TempDir(), "real.json")
	if err := os.WriteFile(real, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, ".claude.json")
	if err := os.Symlink(real, link); err != nil {
		t.Skipf("no links can be made here (Windows wants a privilege for it): %v", err)
	}
	h, _ := FindHost("claude-code")
	c, err := h.Plan(server())
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, 0o600)
	if at, err := os.Lstat(link); err != nil || at.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link after Write is %v, %v, want a link", at, err)
	}
}
