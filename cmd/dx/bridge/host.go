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
	{"claude-code", inHome(".claude.json"), "mcpServers", "stdio", func(n string) string { return "${" + n + "}" }},
	{"claude-desktop", inConfig("Claude", "claude_desktop_config.json"), "mcpServers", "", nil},
	{"cursor", inHome(".cursor", "mcp.json"), "mcpServers", "", envReference},
	{"vscode", inConfig("Code", "User", "mcp.json"), "servers", "stdio", envReference},
	{"codex", codexFile, "", "", func(n string) string { return n }},
}

func envReference(name string) string { return "${env:" + name + "}" }

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

// checkEnvPassing returns an error if the host cannot pass on PassEnv.
func (h *Host) checkEnvPassing(s *Server) error {
	if len(s.PassEnv) > 0 && h.env == nil {
		return fmt.Errorf("%s starts servers without %v: use a dev file, or --with-secret to put their values into its config", h.Name, s.PassEnv)
	}
	return nil
}

// Fragment returns the text that Merge adds to the file.
func (h *Host) Fragment(s *Server) ([]byte, error) { return h.Merge(nil, s) }

// Merge adds or replaces a server in the text of the host's file and keeps all other text,
// including comments. It fails if the text does not have the host's format.
func (h *Host) Merge(old []byte, s *Server) ([]byte, error) {
	if err := h.checkEnvPassing(s); err != nil {
		return nil, err
	}
	if h.list == "" {
		return mergeTOML(old, s)
	}
	return mergeJSON(old, h.list, s.Name, h.entry(s))
}
