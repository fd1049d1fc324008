package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"duplex/cmd/dx/bridge"
)

// installCmd is `dx mcp install`.
type installCmd struct {
	venueFlags
	Client     string   `required:"" enum:"claude-code,claude-desktop,cursor,vscode,codex" help:"The host: claude-code, claude-desktop, cursor, vscode or codex."`
	Name       string   `help:"Name of the server in the host." default:"duplex"`
	Write      bool     `help:"Write the change; what was there is kept beside it."`
	WithSecret bool     `help:"Put the values of DX_URL, DX_KEY and DX_SECRET into the file, which becomes its owner's alone."`
	ReadOnly   bool     `help:"Offer only tools that change nothing."`
	Tools      []string `help:"Offer only these tools." placeholder:"NAME"`
}

func (i *installCmd) Help() string {
	return `Without --write nothing changes: the file and what it would gain are printed. No secret goes
into the file unless --with-secret says so: with DX_KEY set the host passes the variables on by
name, without it the bridge reads the dev file.`
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (i *installCmd) Run(ctx context.Context, out io.Writer) error {
	s, err := i.server()
	if err != nil {
		return err
	}
	h, ok := bridge.HostOf(i.Client)
	if !ok {
		return flagError{"client", fmt.Errorf("no host %q", i.Client)}
	}
	c, err := h.Plan(s)
	if err != nil {
		return err
	}
	switch {
	case !c.Needed():
		_, err = fmt.Fprintf(out, "%s has it already.\n", c.Path)
	case !i.Write:
		_, err = fmt.Fprintf(out, "%s gains:\n\n%s\n\nNothing was written; --write does.\n", c.Path, strings.TrimRight(string(c.Fragment), "\n"))
	default:
		if err = c.Write(); err == nil {
			_, err = fmt.Fprintf(out, "Wrote %s.%s\nRestart the host, then dx mcp doctor if it finds no tools.\n", c.Path, keptAt(c))
		}
	}
	return err
}

func keptAt(c *bridge.Change) string {
	if c.Backup() == "" {
		return ""
	}
	return " What was there is in " + c.Backup() + "."
}

// server is how the host is to start this program.
func (i *installCmd) server() (*bridge.Server, error) {
	if !serverName.MatchString(i.Name) {
		return nil, flagError{"name", errors.New("letters, digits, _ and - only")}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if strings.Contains(self, "go-build") {
		return nil, errors.New("this program is go run's and will be gone: go build -o bin/dx ./cmd/dx, then bin/dx mcp install")
	}
	s := &bridge.Server{Name: i.Name, Command: self, Args: []string{"mcp"}}
	if err := i.credentials(s); err != nil {
		return nil, err
	}
	if i.ReadOnly {
		s.Args = append(s.Args, "--read-only")
	}
	if len(i.Tools) > 0 {
		s.Args = append(s.Args, "--tools", strings.Join(i.Tools, ","))
	}
	return s, nil
}

// credentials says where the bridge finds venue, key and secret: by the names of the
// variables, by their values if that was asked for, or in the dev file.
func (i *installCmd) credentials(s *bridge.Server) error {
	names := []string{"DX_URL", "DX_KEY", "DX_SECRET"}
	fromEnv := os.Getenv("DX_KEY") != ""
	switch {
	case i.WithSecret:
		base, key, secret, err := i.settings()
		s.Env = map[string]string{"DX_URL": base, "DX_KEY": key, "DX_SECRET": secret}
		return err
	case fromEnv:
		for _, n := range names {
			if os.Getenv(n) == "" {
				return fmt.Errorf("DX_KEY is set and %s is not", n)
			}
		}
		s.Pass = names
		return nil
	}
	file, err := filepath.Abs(i.DevFile)
	if err != nil {
		return err
	}
	if _, err := readDevFile(file); err != nil {
		return fmt.Errorf("no DX_KEY, and no venue started here: %w", err)
	}
	s.Args = append(s.Args, "--dev-file", file, "--as", i.As)
	return nil
}
