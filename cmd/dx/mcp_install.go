package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
holds one key: that of --profile, or else of the agent that dx dev makes.
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
	if c.Needed() && !i.Write {
		_, err = fmt.Fprintf(out, "Change to %s:\n\n%s\n\nNothing was written. Use --write to write it.\n", c.Path, strings.TrimRight(string(c.Fragment), "\n"))
		return err
	}
	return c.Apply(out)
}

// server returns the command by which the host starts this program.
func (i *installCmd) server() (*bridge.Server, error) {
	if !serverName.MatchString(i.Name) {
		return nil, cli.BadFlag("name", errors.New("must be letters, digits, _ and - only"))
	}
	s, err := bridge.NewServer(i.Name)
	if err != nil {
		return nil, err
	}
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
	fromEnv := os.Getenv("DX_KEY") != "" && i.Profile == ""
	switch {
	case i.WithSecret:
		base, key, secret, err := i.settings()
		s.Env = map[string]string{"DX_URL": base, "DX_KEY": key, "DX_SECRET": secret}
		return err
	case fromEnv:
		for _, n := range bridge.Variables {
			if os.Getenv(n) == "" {
				return fmt.Errorf("DX_KEY is set and %s is not", n)
			}
		}
		s.PassEnv = bridge.Variables
		return nil
	}
	_, path, err := i.profile()
	if err == nil {
		s.Args = append(s.Args, "--profile", path)
	}
	return err
}
