package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"duplex/cmd/dx/bridge"
	"duplex/cmd/dx/cli"
)

// installCmd is `dx mcp install`.
type installCmd struct {
	venueFlags
	Client     string   `required:"" enum:"claude-code,claude-desktop,cursor,vscode,codex" help:"The host: claude-code, claude-desktop, cursor, vscode or codex."`
	Name       string   `help:"Name of the server in the host." default:"duplex"`
	Write      bool     `help:"Write the change. A backup of the file is kept beside it."`
	WithSecret bool     `help:"Put the values of DX_URL, DX_KEY and DX_SECRET into the file, which then only its owner can read."`
	ReadOnly   bool     `help:"Offer only tools that change nothing."`
	Toolset    string   `help:"Tools to offer: core (what trading needs) or all. With --tools it is all." enum:"core,all" default:"core"`
	Tools      []string `help:"Offer only these tools." placeholder:"NAME"`
}

func (i *installCmd) Help() string {
	return `Without --write it prints the file and the change, and changes nothing. The file gets no secret
unless --with-secret is given. It gets the name of a profile instead, a file of mode 0600 that
holds one key: that of --profile, or of the account --as, which dx dev writes beside its dev file.
If DX_KEY is set and --profile is not, the file names the variables that the host passes on.`
}

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (i *installCmd) Run(ctx context.Context, out io.Writer) error {
	s, err := i.server()
	if err != nil {
		return err
	}
	h, ok := bridge.FindHost(i.Client)
	if !ok {
		return cli.BadFlag("client", fmt.Errorf("no host %q", i.Client))
	}
	c, err := h.Plan(s)
	if err != nil {
		return err
	}
	switch {
	case !c.Needed():
		_, err = fmt.Fprintf(out, "%s needs no change.\n", c.Path)
	case !i.Write:
		_, err = fmt.Fprintf(out, "Change to %s:\n\n%s\n\nNothing was written. Use --write to write it.\n", c.Path, strings.TrimRight(string(c.Fragment), "\n"))
	default:
		if err = c.Write(); err == nil {
			_, err = fmt.Fprintf(out, "Wrote %s.%s\nRestart the host. If it finds no tools, run dx mcp doctor.\n", c.Path, backupNote(c))
		}
	}
	return err
}

func backupNote(c *bridge.Change) string {
	if c.Backup() == "" {
		return ""
	}
	return " The old file is " + c.Backup() + "."
}

// server returns the command by which the host starts this program.
func (i *installCmd) server() (*bridge.Server, error) {
	if !serverName.MatchString(i.Name) {
		return nil, cli.BadFlag("name", errors.New("must be letters, digits, _ and - only"))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if strings.Contains(self, "go-build") {
		return nil, errors.New("go run deletes this program when it ends: run go build -o bin/dx ./cmd/dx, then bin/dx mcp install")
	}
	s := &bridge.Server{Name: i.Name, Command: self, Args: []string{"mcp"}}
	if err := i.credentials(s); err != nil {
		return nil, err
	}
	if i.ReadOnly {
		s.Args = append(s.Args, "--read-only")
	}
	if i.Toolset == toolsetCore && len(i.Tools) == 0 {
		s.Args = append(s.Args, "--toolset", toolsetCore)
	}
	if len(i.Tools) > 0 {
		s.Args = append(s.Args, "--tools", strings.Join(i.Tools, ","))
	}
	return s, nil
}

// credentials sets how the bridge gets venue, key and secret: from a profile, from variables
// that the host passes on, or with --with-secret from values in the host's file. It never
// names the dev file, which holds the operator's token.
func (i *installCmd) credentials(s *bridge.Server) error {
	names := []string{"DX_URL", "DX_KEY", "DX_SECRET"}
	fromEnv := os.Getenv("DX_KEY") != "" && i.Profile == ""
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
		s.PassEnv = names
		return nil
	}
	named := i.venueFlags
	if named.Profile == "" {
		named.Profile = i.As
	}
	_, path, err := named.profile()
	switch {
	case err != nil && i.Profile == "" && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no DX_KEY, and no venue started here: %w", errors.Unwrap(err))
	case err != nil:
		return err
	}
	s.Args = append(s.Args, "--profile", path)
	return nil
}
