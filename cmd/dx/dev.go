package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/maker"
	"duplex/cmd/dx/mirror"
	"duplex/cmd/dx/noise"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds/sim"
	"duplex/internal/atomicfile"
	"duplex/internal/backoff"
	"duplex/internal/marketsim"
	"duplex/schemas"
	"duplex/server"
)

// devCmd is `dx dev`.
type devCmd struct {
	API         string  `help:"Address of REST, the agent lane and events." default:"127.0.0.1:8080"`
	Portal      string  `help:"Address of the portal." default:"127.0.0.1:8081"`
	Admin       string  `help:"Address of the operator." default:"127.0.0.1:8082"`
	Ports       *string `help:"0: every listener takes a free port, as --json and the dev file show." placeholder:"0"`
	Data        string  `help:"Keep the venue here; without it everything is gone at the end." type:"path"`
	DevFile     string  `help:"Where to write URLs and keys." default:".dx/dev.json" type:"path"`
	Oracle      string  `help:"How prices come: sim, manual (POST /admin/oracle/ticks) or replay:FILE." default:"sim"`
	ReplaySpeed int     `help:"How many times as fast a file is played." default:"1"`
	Seed        uint64  `help:"Seed of the simulated prices and of the noise traders." default:"1"`
	Sessions    bool    `help:"Open the rounds of feeds with trading sessions only in these."`
	sessionFlags
	limitFlags
	fourEyesFlags
	accessFlags
	mirror.Flags
	ReadRate    int64 `help:"Read tokens a second of a key; raise it to measure." default:"100"`
	WriteFloor  int64 `help:"Write tokens a second of a new account; raise it to measure." default:"20"`
	AccountRate int64 `help:"Write tokens a second of all keys of an account together, at least 20; 0: no such bound." default:"0"`
	InFlight    uint  `help:"Requests that place orders in hand at once; more are refused with shed. 0: no bound but the queue." default:"0"`
	NoOAuth     bool  `name:"no-oauth" help:"Let no host connect to the agent lane by OAuth. Without this one may if only this machine reaches the venue, or by the public URLs as with dx serve."`
	NoMaker     bool  `help:"Leave the house maker and the noise traders out."`
	QuietMarket bool  `help:"Leave the noise traders out."`
	Quiet       bool  `help:"Print no secret and no status."`
	Members     int   `help:"Run a cluster of 3 or 5 members on this machine, each in a process of its own, to try one." default:"1"`
	JSON        bool  `help:"Print one line of JSON once it is open: where it listens and its dev file; no secret."`
}

const (
	devFunds   = core.Pips(100_000_000)     // 10,000 dollars
	makerFunds = core.Pips(100_000_000_000) // 10,000,000 dollars
	noiseFunds = core.Pips(10_000_000_000)  // 1,000,000 dollars
	agentFunds = core.Pips(1_000_000)       // 100 dollars
	devDispute = time.Second
)

// makerAccount is the account of the house maker. The greeting and the dev file leave it
// out.
const makerAccount = "house"

// noiseTraders is the number of noise traders.
const noiseTraders = 3

// noiseAccount returns the name of the account of a noise trader, and of its stream of random
// numbers. The greeting and the dev file leave these accounts out.
func noiseAccount(i int) string { return fmt.Sprintf("noise-%d", i+1) }

// devAgent is the agent of the account trader. An MCP host gets its key.
const devAgent = "agent"

// devMandate is the mandate of devAgent: $50 loss a day and a price collar of 10 cents.
func devMandate() (m core.Mandate) {
	m.SetCost(core.RuleDailyLoss, 500_000)
	m.Bound(core.RulePriceCollar)
	m.Collar = 1000
	return m
}

// devAccounts are the accounts of a dev venue without noise traders.
var devAccounts = []server.Account{
	{Name: "trader", Scopes: core.ScopeRead | core.ScopeTrade, Funds: devFunds, Agents: []server.Agent{{Name: devAgent, Funds: agentFunds, Mandate: devMandate()}}},
	{Name: "maker", Scopes: core.ScopeRead | core.ScopeTrade, Funds: devFunds},
	{Name: "reader", Scopes: core.ScopeRead, Funds: devFunds},
	{Name: "treasurer", Scopes: core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw, Funds: devFunds},
	{Name: makerAccount, Scopes: core.ScopeRead | core.ScopeTrade, Funds: makerFunds},
}

// noisy reports whether there are noise traders. Without quotes they would have nobody to trade
// with.
func (d *devCmd) noisy() bool { return !d.NoMaker && !d.QuietMarket }

// accounts returns the accounts of the venue. Those of noise traders are the last, so that the
// numbers of the others do not depend on them.
func (d *devCmd) accounts() []server.Account {
	all := slices.Clone(devAccounts)
	if d.noisy() {
		for i := range noiseTraders {
			all = append(all, server.Account{Name: noiseAccount(i), Scopes: core.ScopeRead | core.ScopeTrade, Funds: noiseFunds})
		}
	}
	return all
}

func (d *devCmd) Run(ctx context.Context, k *kong.Context, out io.Writer, log *slog.Logger, logged venueLog) (err error) {
	if err := d.freePorts(k); err != nil {
		return err
	}
	o := server.Options{
		API: d.API, Portal: d.Portal, Admin: d.Admin, Data: d.Data, Environment: "dev", DisputeWindow: devDispute, Accounts: d.accounts(),
		ReadRate: d.ReadRate, WriteFloor: d.WriteFloor, AccountRate: &d.AccountRate, InFlight: int(d.InFlight), FourEyes: d.approvalLimit(), Log: log,
	}
	member, err := d.member()
	if err == nil && member == nil {
		err = devFileFree(ctx, d.DevFile)
	}
	switch {
	case err != nil:
		return err
	case member != nil:
		if err := member.to(&o); err != nil {
			return err
		}
	case d.Members != 1:
		return d.runMembers(ctx, out, log)
	}
	d.accessFlags.to(&o)
	o.OAuth = !d.NoOAuth && o.CheckOAuth() == nil
	if err := d.Flags.To(&o); err != nil {
		return err
	}
	if d.Data == "" { // nothing is kept
		o.Mirror = "off"
	}
	if o.Oracle, o.Sources, err = parseOracle(d.Oracle, d.ReplaySpeed, "sim", "manual"); err != nil {
		return err
	}
	if o.Oracle == "sim" {
		o.Sources = sim.New(d.Seed).Sources()
	}
	if o.Limits, err = d.limits(o.Sources); err != nil {
		return err
	}
	if d.Sessions {
		if o.Calendar, err = d.calendar(); err != nil {
			return err
		}
	} else if d.Holidays != "" {
		return cli.BadFlag("holidays", errors.New("goes with --sessions"))
	}
	return runVenue(ctx, o, logged, func(v *server.Venue) error { return d.runUntilDone(ctx, out, v, log) })
}

// freePorts makes every listener take a free port, if that is asked for. Members of a cluster cannot: each has to know
// the ports of the others before they start.
func (d *devCmd) freePorts(k *kong.Context) error {
	switch {
	case d.Ports == nil:
		return nil
	case *d.Ports != "0":
		return cli.BadFlag("ports", errors.New("must be 0"))
	case d.Members != 1:
		return cli.BadFlag("ports", errors.New("goes with one member"))
	}
	for i, address := range []*string{&d.API, &d.Portal, &d.Admin} {
		name := []string{"api", "portal", "admin"}[i]
		host, port, err := net.SplitHostPort(*address)
		if err != nil {
			continue // the venue says which one is wrong
		}
		if port != "0" && onCommandLine(k, name) {
			return cli.BadFlag(name, errors.New("has a port, and --ports 0 takes a free one: leave one of them out"))
		}
		*address = net.JoinHostPort(host, "0")
	}
	return nil
}

// devFileFree returns an error if a running venue has written the dev file: its clients would trade on this
// venue instead, and without a data folder its keys would be lost.
func devFileFree(ctx context.Context, path string) error {
	dev, err := cli.ReadDevFile(path)
	if err != nil || len(dev.Accounts) == 0 {
		return nil // there is none, or it is of no use
	}
	secret, _ := schemas.ParseSecret(dev.Accounts[0].Secret) // of another form: the key does not work
	c, err := client.New(dev.API, dev.Accounts[0].APIKey, secret, client.MaxAttempts(1))
	if err != nil {
		return nil // the same
	}
	_, err = c.Balance(ctx)
	var refused *client.Error
	var slow net.Error
	busy := errors.As(err, &refused) && (refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable)
	if err == nil || busy || errors.As(err, &slow) && slow.Timeout() {
		return cli.BadFlag("dev-file", fmt.Errorf("%s is the file of the venue that runs at %s: stop that one, or name another file for this one", path, dev.API))
	}
	return nil
}

// runUntilDone writes the dev file, prints the greeting, runs the house maker and the noise traders, and returns
// when ctx ends or the venue fails.
func (d *devCmd) runUntilDone(ctx context.Context, out io.Writer, v *server.Venue, log *slog.Logger) error {
	file := buildDevFile(v)
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := writeProfiles(d.DevFile, &file, v.Agents()); err != nil {
		return cli.BadFlag("dev-file", err)
	}
	if err := atomicfile.Write(d.DevFile, append(b, '\n')); err != nil {
		return cli.BadFlag("dev-file", err)
	}
	profile, err := cli.ProfilePath(d.DevFile, devAgent)
	if err != nil {
		return cli.BadFlag("dev-file", err)
	}
	tradersCtx, stop := context.WithCancel(ctx)
	defer stop()
	traders := d.startTraders(tradersCtx, v, log)
	if d.JSON {
		err := json.NewEncoder(out).Encode(map[string]string{"api": file.API, "ws": file.WS, "mcp": file.MCP, "portal": file.Portal, "admin": file.Admin, "dev_file": d.DevFile, "profile": profile})
		if err != nil {
			return err
		}
	} else if !d.Quiet {
		d.printGreeting(out, file, profile)
		if m, err := d.member(); err == nil && m != nil {
			m.printMembers(out, file.API, cli.DevFileArgument(d.DevFile))
		}
		if cli.IsTerminal(out) {
			go runStatusLine(tradersCtx, v, out)
		}
	}
	err = v.Wait(ctx)
	stop()
	traders.Wait() // the traders cancel their orders before the venue drains
	return err
}

// startTraders starts the house maker and the noise traders, each on its own account and over REST
// like any client, until ctx ends.
func (d *devCmd) startTraders(ctx context.Context, v *server.Venue, log *slog.Logger) (running *sync.WaitGroup) {
	running = new(sync.WaitGroup)
	for _, a := range v.Accounts() {
		secret, _ := schemas.ParseSecret(a.Secret)
		c, log := client.Must(client.New(v.APIURL(), a.APIKey, secret)), log.With("who", a.Name)
		switch {
		case a.Name == makerAccount && !d.NoMaker:
			running.Go(func() {
				if err := maker.Run(ctx, c, log, maker.Options{}); err != nil && ctx.Err() == nil {
					log.Error("the house maker stopped", "err", err)
				}
			})
		case isNoise(a.Name):
			running.Go(func() { noise.Run(ctx, c, log, d.Seed, a.Name, marketsim.DefaultNoise()) })
		}
	}
	return running
}

// isNoise reports whether an account belongs to a noise trader.
func isNoise(name string) bool { return strings.HasPrefix(name, "noise-") }

func buildDevFile(v *server.Venue) schemas.DevFile {
	api := v.APIURL()
	f := schemas.DevFile{
		API: api, WS: "ws" + strings.TrimPrefix(api, "http") + "/v1/ws", MCP: api + "/v1/mcp", Portal: v.PortalURL(), Admin: v.AdminURL(),
		OperatorToken: v.OperatorToken(), Accounts: []schemas.DevAccount{},
	}
	for _, a := range v.Accounts() {
		if a.Name != makerAccount && !isNoise(a.Name) {
			f.Accounts = append(f.Accounts, a)
		}
	}
	return f
}

// writeProfiles writes a profile for each account and agent of a dev venue into the folder
// agents beside the dev file.
func writeProfiles(devFile string, dev *schemas.DevFile, agents []schemas.DevAccount) error {
	for _, a := range slices.Concat(dev.Accounts, agents) {
		path, err := cli.ProfilePath(devFile, a.Name)
		if err != nil {
			return err
		}
		if err := cli.WriteProfile(path, &schemas.Profile{API: dev.API, WS: dev.WS, MCP: dev.MCP, Name: a.Name, UserID: a.UserID, APIKey: a.APIKey, Secret: a.Secret, Scopes: a.Scopes}); err != nil {
			return err
		}
	}
	return nil
}

// runStatusLine redraws one line of a terminal every second until ctx ends.
func runStatusLine(ctx context.Context, v *server.Venue, out io.Writer) {
	for backoff.Sleep(ctx, time.Second) {
		fmt.Fprintf(out, "\r\x1b[K%s", statusText(v.Engine()))
	}
	fmt.Fprintln(out)
}

func statusText(e *engine.Engine) (line string) {
	e.Read(func(v *venue.Venue, _ *view.View) {
		trading := 0
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok && s.Status == core.Trading {
				trading++
			}
		}
		line = fmt.Sprintf("seq %d · %d markets trading · %s orders resting", v.Now().Seq, trading, cli.Grouped(v.Resting()))
		for f := core.Feed(0); f < core.Feeds; f++ {
			if t, ok, _, _ := v.Index(f); ok {
				line += fmt.Sprintf(" · %s %s.%02d", f, cli.Grouped(int64(t.Price/100_000_000)), t.Price/1_000_000%100)
			}
		}
	})
	return line
}
