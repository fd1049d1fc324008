package bridge

import (
	"fmt"
	"os"
	"path/filepath"
)

// Host is a program that starts MCP servers, with the format of its config file.
type Host struct {
	Name string
	file func() (string, error)
	list string                   // the member with the servers, for JSON; "" means TOML
	kind string                   // the type of an entry; "" if it has none
	env  func(name string) string // a reference to a variable of the host's environment; nil if unsupported
}

// Hosts lists the supported hosts.
var Hosts = []Host{
	{"claude-code", inHomeOr("CLAUDE_CONFIG_DIR", "", ".claude.json"), "mcpServers", "stdio", func(n string) string { return "${" + n + "}" }},
	{"claude-desktop", inConfig("Claude", "claude_desktop_config.json"), "mcpServers", "", nil},
	{"cursor", inHomeOr("", ".cursor", "mcp.json"), "mcpServers", "", envReference},
	{"vscode", vscodeFile, "servers", "stdio", envReference},
	{"codex", inHomeOr("CODEX_HOME", ".codex", "config.toml"), "", "", func(n string) string { return n }},
}

func envReference(name string) string { return "${env:" + name + "}" }

// inHomeOr returns the path of a file in a folder of the home directory, or in the folder that a variable
// of the host names.
func inHomeOr(variable, folder, file string) func() (string, error) {
	return func() (string, error) {
		if dir := os.Getenv(variable); dir != "" {
			return filepath.Abs(filepath.Join(dir, file))
		}
		home, err := os.UserHomeDir()
		return filepath.Join(home, folder, file), err
	}
}

func inConfig(path ...string) func() (string, error) {
	return func() (string, error) {
		dir, err := os.UserConfigDir()
		return filepath.Join(append([]string{dir}, path...)...), err
	}
}

// vscodeFile returns the user's mcp.json of VS Code, which looks for it in this order.
func vscodeFile() (string, error) {
	if dir := os.Getenv("VSCODE_PORTABLE"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "user-data", "User", "mcp.json"))
	}
	if dir := os.Getenv("VSCODE_APPDATA"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "Code", "User", "mcp.json"))
	}
	return inConfig("Code", "User", "mcp.json")()
}

// FindHost returns a host by name. It reports false if the host is not supported.
func FindHost(name string) (*Host, bool) {
	for i := range Hosts {
		if Hosts[i].Name == name {
			return &Hosts[i], true
		}
	}
	return nil, false
}

// File returns the path of the host's config file, with symbolic links resolved.
func (h *Host) File() (string, error) {
	path, err := h.file()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	return path, nil
}

// Server is the command by which a host starts the bridge.
type Server struct {
	Name    string // of the entry
	Command string
	Args    []string
	Env     map[string]string // values that the file holds
	PassEnv []string          // variables that the host passes on from its environment
}

// Variables are the variables from which the bridge takes venue, key and secret. An entry has those of its
// Server only; other variables in it are the user's.
var Variables = []string{"DX_URL", "DX_KEY", "DX_SECRET"}

// checkEnvPassing returns an error if the host cannot pass on PassEnv.
func (h *Host) checkEnvPassing(s *Server) error {
	if len(s.PassEnv) > 0 && h.env == nil {
		return fmt.Errorf("%s starts servers without %v: use a dev file, or --with-secret to put their values into its config", h.Name, s.PassEnv)
	}
	return nil
}

// Fragment returns the text that Merge adds to the file.
func (h *Host) Fragment(s *Server) ([]byte, error) { return h.Merge(nil, s) }

// Merge adds a server to the text of the host's file, or changes it, and keeps all other text,
// including comments. Of a server that is there it keeps what the user has added: variables and members
// such as disabled. It fails if the text does not have the host's format.
func (h *Host) Merge(old []byte, s *Server) ([]byte, error) {
	if err := h.checkEnvPassing(s); err != nil {
		return nil, err
	}
	if h.list == "" {
		return mergeTOML(old, s)
	}
	return h.mergeJSON(old, s)
}
