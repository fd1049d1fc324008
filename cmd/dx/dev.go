package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/maker"
	"duplex/cmd/dx/mirror"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds/sim"
	"duplex/internal/atomicfile"
	"duplex/schemas"
	"duplex/server"
)

// devCmd is `dx dev`.
type devCmd struct {
	API         string `help:"Address of REST, the agent lane and events." default:"127.0.0.1:8080"`
	Portal      string `help:"Address of the portal." default:"127.0.0.1:8081"`
	Admin       string `help:"Address of the operator." default:"127.0.0.1:8082"`
	Data        string `help:"Keep the venue here; without it everything is gone at the end." type:"path"`
	DevFile     string `help:"Where to write URLs and keys." default:".dx/dev.json" type:"path"`
	Oracle      string `help:"How prices come: sim, manual (POST /admin/oracle/ticks) or replay:FILE." default:"sim"`
	ReplaySpeed int    `help:"How many times as fast a file is played." default:"1"`
	Seed        uint64 `help:"Seed of the simulated prices." default:"1"`
	Sessions    bool   `help:"Open the rounds of gold and WTI only in their trading sessions."`
	sessionFlags
	limitFlags
	accessFlags
	mirror.Flags
	ReadRate   int64 `help:"Read tokens a second of a key; raise it to measure." default:"100"`
	WriteFloor int64 `help:"Write tokens a second of a new account; raise it to measure." default:"20"`
	InFlight   uint  `help:"Requests that place orders in hand at once; more are refused with shed. 0: no bound but the queue." default:"0"`
	NoMaker    bool  `help:"Leave the house maker out."`
	Quiet      bool  `help:"Print no secret and no status."`
	JSON       bool  `help:"Print one line of JSON once it is open: where it listens and its dev file; no secret."`
}

const (
	devFunds   = core.Pips(100_000_000)     // 10,000 dollars
	makerFunds = core.Pips(100_000_000_000) // 10,000,000 dollars
	agentFunds = core.Pips(1_000_000)       // 100 dollars
	devDispute = time.Second
)

// makerAccount is the account of the house maker. The greeting and the dev file leave it
// out.
const makerAccount = "house"

// devAgent is the agent of the account trader. An MCP host gets its key.
const devAgent = "agent"

// devMandate is the mandate of devAgent: $50 loss a day and a price collar of 10 cents.
func devMandate() (m core.Mandate) {
	m.SetCost(core.RuleDailyLoss, 500_000)
	m.Bound(core.RulePriceCollar)
	m.Collar = 1000
	return m
}

// devAccounts are the accounts of a dev venue.
var devAccounts = []server.Account{
	{Name: "trader", Scopes: core.ScopeRead | core.ScopeTrade, Funds: devFunds, Agents: []server.Agent{{Name: devAgent, Funds: agentFunds, Mandate: devMandate()}}},
	{Name: "maker", Scopes: core.ScopeRead | core.ScopeTrade, Funds: devFunds},
	{Name: "reader", Scopes: core.ScopeRead, Funds: devFunds},
	{Name: "treasurer", Scopes: core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw, Funds: devFunds},
	{Name: makerAccount, Scopes: core.ScopeRead | core.ScopeTrade, Funds: makerFunds},
}

func (d *devCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) (err error) {
	o := server.Options{
		API: d.API, Portal: d.Portal, Admin: d.Admin, Data: d.Data, Environment: "dev", DisputeWindow: devDispute, Accounts: devAccounts,
		ReadRate: d.ReadRate, WriteFloor: d.WriteFloor, InFlight: int(d.InFlight), Log: log,
	}
	d.accessFlags.to(&o)
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
	v, err := openVenue(ctx, o)
	if v == nil {
		return err
	}
	err = d.runUntilDone(ctx, out, v, log)
	if closed := v.Close(context.Background()); err == nil {
		err = closed
	}
	return err
}

// runUntilDone writes the dev file, prints the greeting, runs the house maker, and returns
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
	makerCtx, stop := context.WithCancel(ctx)
	defer stop()
	makerDone := make(chan struct{})
	if d.NoMaker {
		close(makerDone)
	} else {
		go func() { defer close(makerDone); runMaker(makerCtx, v, log) }()
	}
	if d.JSON {
		err := json.NewEncoder(out).Encode(map[string]string{"api": file.API, "ws": file.WS, "mcp": file.MCP, "portal": file.Portal, "admin": file.Admin, "dev_file": d.DevFile, "profile": profile})
		if err != nil {
			return err
		}
	} else if !d.Quiet {
		d.printGreeting(out, file, profile)
		if cli.IsTerminal(out) {
			go runStatusLine(makerCtx, v, out)
		}
	}
	err = v.Wait(ctx)
	stop()
	<-makerDone // the maker cancels its quotes before the venue drains
	return err
}

// runMaker runs the house maker on its own account, over REST like any client.
func runMaker(ctx context.Context, v *server.Venue, log *slog.Logger) {
	for _, a := range v.Accounts() {
		if a.Name != makerAccount {
			continue
		}
		secret, _ := schemas.ParseSecret(a.Secret)
		if err := maker.Run(ctx, client.New(v.APIURL(), a.APIKey, secret), log.With("who", "house maker"), maker.Options{}); err != nil && ctx.Err() == nil {
			log.Error("the house maker stopped", "err", err)
		}
	}
}

func buildDevFile(v *server.Venue) schemas.DevFile {
	api := v.APIURL()
	f := schemas.DevFile{
		API: api, WS: "ws" + strings.TrimPrefix(api, "http") + "/v1/ws", MCP: api + "/v1/mcp", Portal: v.PortalURL(), Admin: v.AdminURL(),
		OperatorToken: v.OperatorToken(), Accounts: []schemas.DevAccount{},
	}
	for _, a := range v.Accounts() {
		if a.Name != makerAccount {
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
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return
		case <-tick.C:
			fmt.Fprintf(out, "\r\x1b[K%s", statusText(v.Engine()))
		}
	}
}

func statusText(e *engine.Engine) (line string) {
	e.Read(func(v *venue.Venue, _ *view.View) {
		trading := 0
		for m := core.MarketID(1); m <= venue.Slots; m++ {
			if s, ok := v.Market(m); ok && s.Status == core.Trading {
				trading++
			}
		}
		line = fmt.Sprintf("seq %d · %d markets trading · %d orders resting", v.Now().Seq, trading, v.Resting())
		for f := core.Feed(0); f < core.Feeds; f++ {
			if t, ok, _, _ := v.Index(f); ok {
				line += fmt.Sprintf(" · %s %d.%02d", f, t.Price/100_000_000, t.Price/1_000_000%100)
			}
		}
	})
	return line
}
