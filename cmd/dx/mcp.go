package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// mcpCmd is `dx mcp …`: the bridge from an MCP host to the agent lane
// (docs/rules/agents.md#bridge).
type mcpCmd struct {
	Stdio   stdioCmd   `cmd:"" default:"withargs" help:"Forward MCP messages between standard input and output and the venue; the default."`
	Proxy   proxyCmd   `cmd:"" help:"Serve MCP over HTTP on this machine and sign the requests to the venue."`
	Install installCmd `cmd:"" help:"Show the change that adds the venue to a host's config file, or write it."`
	Doctor  doctorCmd  `cmd:"" help:"Check the connection between an MCP host and the venue."`
}

// venueFlags name a venue and a key. Address, key and secret come from the environment or
// from a file, never from an argument, which every program of the machine can read.
type venueFlags struct {
	Profile string `help:"Profile to use: its file, or its name, of a file in the folder agents beside the dev file (b-agents beside b.json). It holds one key, and takes precedence over all other settings." placeholder:"NAME|FILE" env:"DX_PROFILE"`
	DevFile string `help:"The file that dx dev writes; the profiles are in the folder agents beside it (b-agents beside b.json). DX_URL, DX_KEY and DX_SECRET take precedence over it." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
	As      string `help:"Whose key to use: that of the dev venue's agent, or of an account of the dev file (trader, maker, reader or treasurer)." default:"agent" env:"DX_AS"`
}

// profile reads the profile of --profile, or without one that of --as.
func (v *venueFlags) profile() (p schemas.Profile, path string, err error) {
	if v.Profile != "" {
		return cli.OpenProfile(v.DevFile, v.Profile)
	}
	p, path, err = cli.OpenProfile(v.DevFile, v.As)
	if errors.Is(err, fs.ErrNotExist) {
		return p, path, fmt.Errorf("no DX_URL, DX_KEY and DX_SECRET, and no venue started here: %w", errors.Unwrap(err))
	}
	return p, path, err
}

// settings returns the base URL of the venue, the key, and its secret in hex. What the
// environment leaves out comes from the agent's profile, or with --as from the dev file.
func (v *venueFlags) settings() (base, key, secret string, err error) {
	at := cli.ClientFlags{URL: os.Getenv("DX_URL"), Key: cli.SecretVariable("DX_KEY"), Secret: cli.SecretVariable("DX_SECRET"), DevFile: v.DevFile, As: v.As}
	if v.Profile == "" && (v.As != devAgent || at.URL != "" && at.Key != "") {
		return at.Resolve()
	}
	p, _, err := v.profile()
	if v.Profile == "" && at.URL != "" {
		p.API = at.URL
	}
	if v.Profile == "" && at.Key != "" {
		p.APIKey, p.Secret = at.Key, at.Secret
	}
	return p.API, p.APIKey, p.Secret, err
}

// open returns a client, and a logger that redacts its secret.
func (v *venueFlags) open(log *slog.Logger) (*client.Client, *slog.Logger, error) {
	base, key, secret, err := v.settings()
	if err != nil {
		return nil, nil, err
	}
	masked, mask := bridge.RedactSecrets(log, secret)
	c, err := bridgeClient(base, key, secret, cli.Reload(base, func() (base, key, secret string, err error) {
		base, key, secret, err = v.settings()
		mask(secret)
		return base, key, secret, err
	}))
	return c, masked, err
}

// commands returns the commands for errors of the bridge. They work where the bridge runs, and with a profile by its path
// anywhere.
func (v *venueFlags) commands() bridge.Commands {
	doctor := cli.CommandName() + " mcp doctor"
	if v.Profile != "" {
		doctor += " --profile " + cli.ShellWord(v.Profile)
	}
	if v.As != devAgent {
		doctor += " --as " + cli.ShellWord(v.As)
	}
	newKey, _ := cli.NewKeyCommand(v.DevFile, v.Profile)
	return bridge.Commands{Doctor: doctor + cli.DevFileArgument(v.DevFile), NewKey: newKey}
}

// bridgeClient returns a client of the venue at base, which may be a list of nodes.
func bridgeClient(base, key, secret string, opts ...client.Option) (*client.Client, error) {
	at := cli.ClientFlags{URL: base, Key: key, Secret: secret}
	return at.Client(append(opts, client.WithHTTPClient(bridge.NewHTTPClient()))...)
}

// toolsetCore is the toolset that dx mcp install sets (docs/rules/agents.md#toolsets).
const toolsetCore = "core"

// stdioCmd is `dx mcp`.
type stdioCmd struct {
	venueFlags
	ReadOnly bool     `help:"Offer only tools that change nothing."`
	UntilEOF bool     `name:"until-eof" help:"End when standard input ends, and not at SIGTERM or Ctrl-C: for a host that gets the same signal and still has calls to make." env:"DX_UNTIL_EOF"`
	Toolset  string   `help:"Tools to offer: core (what trading needs) or all." enum:"core,all" default:"all"`
	Tools    []string `help:"Offer only these tools." placeholder:"NAME"`

	OutputSchemas bool `help:"List the tools with their output schemas."`
}

func (s *stdioCmd) Help() string {
	return `A host starts this as its MCP server. It reads and writes JSON-RPC, one message per line; logs
go to standard error. dx mcp install adds it to a host's config file; dx mcp doctor finds out why
it fails.`
}

func (s *stdioCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	c, masked, err := s.open(log)
	if err != nil {
		return err
	}
	if s.UntilEOF {
		ctx = context.WithoutCancel(ctx)
	}
	return bridge.New(c, bridge.ToolFilter{ReadOnly: s.ReadOnly, Core: s.Toolset == toolsetCore, Tools: s.Tools, OutputSchemas: s.OutputSchemas}, s.commands(), masked).Run(ctx, os.Stdin, out)
}

// proxyCmd is `dx mcp proxy`.
type proxyCmd struct {
	venueFlags
	Listen string `help:"Loopback address to listen on." default:"127.0.0.1:0"`
	JSON   bool   `help:"Print JSON."`

	OutputSchemas bool `help:"List the tools with their output schemas."`
}

func (p *proxyCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) error {
	c, masked, err := p.open(log)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return cli.BadFlag("listen", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return errors.Join(cli.BadFlag("listen", errors.New("must be a loopback address: everyone who can reach it acts with this key")), l.Close())
	}
	if err := p.printURL(out, "http://"+l.Addr().String()+"/mcp"); err != nil {
		return errors.Join(err, l.Close())
	}
	s := &http.Server{Handler: bridge.Proxy(c, p.OutputSchemas, p.commands(), masked), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(masked.Handler(), slog.LevelDebug)}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return s.Close()
	}
}

func (p *proxyCmd) printURL(out io.Writer, url string) error {
	if !p.JSON {
		_, err := fmt.Fprintln(out, url)
		return err
	}
	return json.NewEncoder(out).Encode(struct {
		URL string `json:"url"`
	}{url})
}
