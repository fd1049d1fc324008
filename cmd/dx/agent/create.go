package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/trading"
	"duplex/schemas"
)

// create is `dx agent create NAME`.
type create struct {
	ownerFlags
	mandateFlags
	keyFlags
	Name      string     `arg:"" help:"Name of the agent: up to 32 of a to z, 0 to 9 and -. Each name is used once."`
	Fund      cli.Amount `help:"Move so much of your free cash to the agent." placeholder:"DOLLARS"`
	Unbounded bool       `help:"Begin without bounds instead of with those of a preset."`
}

// keyFlags say what happens to the key of an agent.
type keyFlags struct {
	Scopes  []string `help:"What the key may do: read, trade." default:"read,trade" enum:"read,trade"`
	Install string   `help:"Add the agent to the config file of this host: claude-code, claude-desktop, cursor, vscode or codex." enum:",claude-code,claude-desktop,cursor,vscode,codex" default:""`
}

func (c *create) Help() string {
	return `Makes an account for an agent, with money of its own, a mandate and a key. Money is in dollars, the price collar in pips: 100 pips are a cent. Without --preset it gets the bounds of careful, and single flags replace them; with --unbounded only the bounds that you name hold. The key goes into a profile, a file of mode 0600: .dx/agents/NAME.json, beside the dev file.

  preset    an order   open   a day   collar   ends after
  careful   $2         $10    $10     300      24 h
  normal    $10        $50    $50     500      7 d
  loose     $50        $250   $250    1000     30 d

With --ask-above an order that puts more at stake in one round waits for you: dx agent approvals lists it, dx agent approve places it.

Examples:
  dx agent create bot --fund 50
  dx agent create bot --fund 50 --ask-above 1
  dx agent create bot --fund 50 --preset normal --install claude-code
  dx agent create bot --fund 50 --max-daily-loss 20 --max-order-cost 5 --series btc-60s --collar 500 --expires 7d`
}

func (c *create) Run(ctx context.Context, out io.Writer) error {
	if !schemas.IsAgentName(c.Name) {
		return cli.BadFlag("name", errors.New("must be up to 32 of a to z, 0 to 9 and -, and not begin with -"))
	}
	m, err := c.bounds(time.Now())
	if err != nil {
		return err
	}
	p, err := c.portal()
	if err != nil {
		return err
	}
	k, err := c.prepare(ctx, p, c.DevFile, c.Name)
	if err != nil {
		return err
	}
	body := schemas.CreateAgent{Name: c.Name, Fund: schemas.U64(c.Fund)}
	if body.Mandate, err = schemas.Append(nil, m); err != nil {
		return err
	}
	var made schemas.AgentCreated
	if _, err := p.do(ctx, "POST", "/agents", body, &made); err != nil {
		if isCode(err, "duplicate_agent_name") {
			return fmt.Errorf("%w\nIf it is open and its key is lost, make another one: %s agent key %s%s", err, cli.CommandName(), c.Name, p.flags)
		}
		return err
	}
	if err := k.issue(ctx, p, made.UserID); err != nil {
		return fmt.Errorf("the agent %s exists, but has no key: %w\nMake one with: %s agent key %s%s", c.Name, err, cli.CommandName(), c.Name, p.flags)
	}
	if c.JSON {
		err = json.NewEncoder(out).Encode(struct {
			keyResult
			Rev uint32      `json:"rev"`
			Seq schemas.U64 `json:"seq"`
		}{k.result(), made.Rev, made.Seq})
	} else {
		err = c.print(out, &m, k)
	}
	return errors.Join(err, k.install(out, c.JSON))
}

// bounds returns the mandate of the new agent: without --preset and --unbounded that of careful, as on the
// dashboard, with the bounds that flags name.
func (c *create) bounds(now time.Time) (m schemas.Mandate, err error) {
	switch {
	case c.Preset != "" && c.Unbounded:
		return m, cli.BadFlag("unbounded", errors.New("a preset has bounds; use one of both"))
	case c.Preset == "" && !c.Unbounded:
		c.Preset = "careful"
	}
	return m, c.apply(&m, now)
}

func (c *create) print(out io.Writer, m *schemas.Mandate, k *newKey) error {
	fmt.Fprintf(out, "%s is an agent (account %d) with %s. It\n", c.Name, k.profile.UserID, c.Fund)
	for _, line := range describe(m, c.Zone) {
		fmt.Fprintln(out, "  -", line)
	}
	if len(m.Categories) > 0 {
		k.series = trading.SeriesName(uint16(m.Categories[0]))
	}
	return k.print(out)
}

// key is `dx agent key NAME`.
type key struct {
	agentCmd
	keyFlags
}

func (k *key) Help() string {
	return `Makes another key of an agent and writes it to the agent's profile, for example after the profile was lost. Keys that exist stay valid; dx agent close revokes all of them. A key with --scopes read can watch the agent and not trade.

Examples:
  dx agent key bot
  dx agent key bot --install cursor`
}

func (k *key) Run(ctx context.Context, out io.Writer) error {
	p, a, err := k.open(ctx)
	if err != nil {
		return err
	}
	made, err := k.prepare(ctx, p, k.DevFile, a.Name)
	if err != nil {
		return err
	}
	if err := made.issue(ctx, p, a.UserID); err != nil {
		return err
	}
	if k.JSON {
		err = json.NewEncoder(out).Encode(made.result())
	} else {
		err = made.print(out)
	}
	return errors.Join(err, made.install(out, k.JSON))
}

// newKey is a key of an agent on its way into a profile.
type newKey struct {
	path    string
	scopes  []string
	series  string       // one that the agent may trade
	host    *bridge.Host // nil: no host gets it
	profile schemas.Profile
	flags   string // with which another command finds the owner
}

// keyResult is a new key as --json prints it, without the secret.
type keyResult struct {
	Name    string   `json:"name"`
	UserID  uint32   `json:"user_id"`
	APIKey  string   `json:"api_key"`
	Scopes  []string `json:"scopes"`
	Profile string   `json:"profile"`
}

// prepare finds out everything that could prevent a profile from being written, before the
// agent and its key are made.
func (f *keyFlags) prepare(ctx context.Context, p *portal, devFile, name string) (*newKey, error) {
	k := &newKey{scopes: f.Scopes, series: "btc-15m", flags: p.flags}
	if f.Install != "" {
		k.host, _ = bridge.FindHost(f.Install)
		if _, err := bridge.NewServer(serverName); err != nil {
			return nil, err
		}
	}
	at, err := p.addresses(ctx)
	if err != nil {
		return nil, err
	}
	k.profile = schemas.Profile{API: at.API, WS: at.WS, MCP: at.MCP, Name: name}
	if k.path, err = cli.ProfilePath(devFile, name); err != nil {
		return nil, err
	}
	return k, replaceable(ctx, k.path, at.API)
}

// replaceable returns an error if the file at path could still be of use: it is a profile whose
// key works, or of another venue, or it is no profile at all.
func replaceable(ctx context.Context, path, api string) error {
	old, err := cli.ReadProfile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && old.API == api {
		secret, _ := schemas.ParseSecret(old.Secret)
		var c *client.Client
		if c, err = client.New(old.API, old.APIKey, secret); err == nil {
			_, err = c.Balance(ctx)
		}
		if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == http.StatusUnauthorized {
			return nil
		}
	}
	return fmt.Errorf("%s exists; move it away, because it would be replaced", path)
}

// issue makes the key and writes the profile.
func (k *newKey) issue(ctx context.Context, p *portal, user uint32) error {
	var made schemas.NewKey
	if _, err := p.do(ctx, "POST", agentPath(user, "keys"), schemas.CreateKey{Label: "dx", Scopes: k.scopes}, &made); err != nil {
		return err
	}
	k.profile.UserID, k.profile.APIKey, k.profile.Secret, k.profile.Scopes = user, made.APIKey, made.Secret, made.Scopes
	return cli.WriteProfile(k.path, &k.profile)
}

func (k *newKey) result() keyResult {
	return keyResult{k.profile.Name, k.profile.UserID, k.profile.APIKey, k.profile.Scopes, k.path}
}

func (k *newKey) print(out io.Writer) error {
	name := k.profile.Name
	_, err := fmt.Fprintf(out, `Its key is in %s.

  give it to a host    %s mcp install --client claude-code --profile %[3]s --write
  trade with it        %[4]s order buy yes 1 --series %[5]s --profile %[3]s
  watch it             %[4]s agent show %[6]s%[7]s
  stop it              %[4]s agent halt %[6]s%[7]s
`, cli.RelativePath(k.path), cli.InstallCommand(), profileArgument(k.path, name), cli.CommandName(), k.series, name, k.flags)
	return err
}

// profileArgument is the value of --profile that selects the profile of an agent: its name if
// the profile is where other commands look for it, else its file.
func profileArgument(path, name string) string {
	if cli.RelativePath(path) == filepath.Join(filepath.Dir(cli.DevFileDefault), "agents", name+".json") {
		return name
	}
	return cli.ShellWord(path)
}

// serverName is the name of the venue in a host's config. A host has one agent, so that its
// tools are listed once.
const serverName = "duplex"

// install adds the agent to the config file of the host, if one is named.
func (k *newKey) install(out io.Writer, quiet bool) error {
	if k.host == nil {
		return nil
	}
	s, err := bridge.NewServer(serverName)
	if err != nil {
		return err
	}
	s.Args = append(s.Args, "--profile", k.path, "--toolset", "core") // as dx mcp install does
	c, err := k.host.Plan(s)
	if err != nil {
		return err
	}
	if quiet {
		out = io.Discard
	}
	return c.Apply(out)
}
