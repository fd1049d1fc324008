package bridge

import (
	"fmt"
	"os"
	"path/filepath"
)

// Host is a program that starts MCP servers, and how its config file names them.
type Host struct {
	Name string
	file func() (string, error)
	list string                   // of JSON: the member that holds the servers; "": TOML
	kind string                   // the type that an entry says, if it must
	env  func(name string) string // how an entry refers to a variable of the host's own environment
}

// Hosts are those that Install knows.
var Hosts = []Host{
	{"claude-code", inHome(".claude.json"), "mcpServers", "stdio", func(n string) string { return "${" + n + "}" }},
	{"claude-desktop", inConfig("Claude", "claude_desktop_config.json"), "mcpServers", "", nil},
	{"cursor", inHome(".cursor", "mcp.json"), "mcpServers", "", envOf},
	{"vscode", inConfig("Code", "User", "mcp.json"), "servers", "stdio", envOf},
	{"codex", codexFile, "", "", func(n string) string { return n }},
}

func envOf(name string) string { return "${env:" + name + "}" }

func inHome(path ...string) func() (string, error) {
	return func() (string, error) {
		home, err := os.UserHomeDir()
		return filepath.Join(append([]string{home}, path...)...), err
	}
}

func inConfig(path ...string) func() (string, error) {
	return func() (string, error) {
		dir, err := os.UserConfigDir()
		return filepath.Join(append([]string{dir}, path...)...), err
	}
}

func codexFile() (string, error) {
	if dir := os.Getenv("CODEX_HOME"); dir != "" {
		return filepath.Join(dir, "config.toml"), nil
	}
	return inHome(".codex", "config.toml")()
}

// HostOf finds a host by name; false if it is not known.
func HostOf(name string) (*Host, bool) {
	for i := range Hosts {
		if Hosts[i].Name == name {
			return &Hosts[i], true
		}
	}
	return nil, false
}

// File is where the host keeps its servers, links followed.
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

// Server is the bridge as a host starts it.
type Server struct {
	Name    string // in the host's list
	Command string
	Args    []string
	Env     map[string]string // values that the file will hold
	Pass    []string          // variables of the host's environment that the bridge needs
}

// passes wants that the host can pass on what the server needs.
func (h *Host) passes(s *Server) error {
	if len(s.Pass) > 0 && h.env == nil {
		return fmt.Errorf("%s starts servers without %v: use a dev file, or --with-secret to put their values into its config", h.Name, s.Pass)
	}
	return nil
}

// Fragment is what the file gains.
func (h *Host) Fragment(s *Server) ([]byte, error) { return h.Merge(nil, s) }

// Merge puts a server into the text of the host's file and leaves all else there as
// it is, comments included. An error is that the text is not of the host's format.
func (h *Host) Merge(old []byte, s *Server) ([]byte, error) {
	if err := h.passes(s); err != nil {
		return nil, err
	}
	if h.list == "" {
		return mergeTOML(old, s)
	}
	return mergeJSON(old, h.list, s.Name, h.entry(s))
}
