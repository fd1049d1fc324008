package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"duplex/client"
	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/maker"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds/sim"
	"duplex/schemas"
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
	Sessions    bool   `help:"Let gold and WTI follow their trading sessions."`
	sessionFlags
	limitFlags
	accessFlags
	ReadRate   int64 `help:"Read tokens a second of a key; raise it to measure." default:"100"`
	WriteFloor int64 `help:"Write tokens a second of a new account; raise it to measure." default:"20"`
	InFlight   uint  `help:"Requests that place orders in hand at once; more are refused with shed. 0: no bound but the queue." default:"0"`
	NoMaker    bool  `help:"Leave the house maker out."`
	Quiet      bool  `help:"Print no secret and no status."`
	JSON       bool  `help:"Print one line of JSON once it is open: where it listens and its dev file; no secret."`
}

const (
	devFunds     = core.Pips(100_000_000) // 10,000 dollars
	makerFunds   = core.Pips(100_000_000_000)
	devDisputeNs = core.NsPerSec
)

// devAccounts are the accounts of a dev venue; the house's is not shown.
var devAccounts = []struct {
	name   string
	scopes core.Scopes
	funds  core.Pips
	shown  bool
}{
	{"trader", core.ScopeRead | core.ScopeTrade, devFunds, true},
	{"maker", core.ScopeRead | core.ScopeTrade, devFunds, true},
	{"reader", core.ScopeRead, devFunds, true},
	{"treasurer", core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw, devFunds, true},
	{"house", core.ScopeRead | core.ScopeTrade, makerFunds, false},
}

func (d *devCmd) Run(ctx context.Context, out io.Writer, log *slog.Logger) (err error) {
	dir := d.Data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "dx-dev-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	p := serverOptions{listeners: listeners{d.API, d.Portal, d.Admin}, dir: dir, environment: "dev", disputeWindowNs: devDisputeNs, readRate: d.ReadRate, writeFloor: d.WriteFloor, log: log}
	if p.masterKey, err = loadMasterKey("", dir); err != nil {
		return err
	}
	p.operatorToken = deriveToken(p.masterKey, "dxo_", "operator")
	if p.oracle, p.sources, err = parseOracle(d.Oracle, d.ReplaySpeed, "sim", "manual"); err != nil {
		return err
	}
	if p.oracle == "sim" {
		p.sources = sim.New(d.Seed).Sources()
	}
	if p.limits, err = d.limits(p.sources); err != nil {
		return err
	}
	if d.Sessions {
		if p.calendar, err = d.calendar(); err != nil {
			return err
		}
	} else if d.Holidays != "" {
		return cli.BadFlag("holidays", errors.New("goes with --sessions"))
	}
	h, err := openServer(ctx, p)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	d.to(h.gate)
	h.gate.InFlight = int(d.InFlight)
	accounts, err := h.createDevAccounts()
	if err == nil {
		h.options.devKey = func() schemas.DevAccount { return accounts[0] } // trader
		err = h.listen()
	}
	if err == nil {
		err = d.runUntilDone(ctx, out, h, accounts)
	}
	if closed := h.close(); err == nil {
		err = closed
	}
	return err
}

// runUntilDone tells where everything is, keeps the house maker quoting, and waits.
func (d *devCmd) runUntilDone(ctx context.Context, out io.Writer, h *venueServer, accounts []schemas.DevAccount) error {
	file := h.buildDevFile(accounts)
	b, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := writeProfiles(d.DevFile, &file); err != nil {
		return cli.BadFlag("dev-file", err)
	}
	if err := writeFileAtomic(d.DevFile, append(b, '\n')); err != nil {
		return cli.BadFlag("dev-file", err)
	}
	trader, err := profilePath(d.DevFile, file.Accounts[0].Name)
	if err != nil {
		return cli.BadFlag("dev-file", err)
	}
	makerCtx, stop := context.WithCancel(ctx)
	defer stop()
	makerDone := make(chan struct{})
	if d.NoMaker {
		close(makerDone)
	} else {
		go func() { defer close(makerDone); h.runMaker(makerCtx, accounts) }()
	}
	if d.JSON {
		err := json.NewEncoder(out).Encode(map[string]string{"api": file.API, "ws": file.WS, "mcp": file.MCP, "portal": file.Portal, "admin": file.Admin, "dev_file": d.DevFile, "profile": trader})
		if err != nil {
			return err
		}
	} else if !d.Quiet {
		d.printGreeting(out, file, trader)
		if cli.IsTerminal(out) {
			go h.runStatusLine(makerCtx, out)
		}
	}
	err = h.wait(ctx)
	stop()
	<-makerDone // it takes its quotes back before the venue drains
	return err
}

// runMaker runs the house maker on its own account, through the public lane.
func (h *venueServer) runMaker(ctx context.Context, accounts []schemas.DevAccount) {
	for _, a := range accounts {
		if a.Name != "house" {
			continue
		}
		secret, _ := hex.DecodeString(a.Secret)
		if err := maker.Run(ctx, client.New(h.api, a.APIKey, secret), h.options.log.With("who", "house maker"), maker.Options{}); err != nil && ctx.Err() == nil {
			h.options.log.Error("the house maker stopped", "err", err)
		}
	}
}

// createDevAccounts makes the dev accounts where the journal does not have them yet, and
// gives all of them with their secrets.
func (h *venueServer) createDevAccounts() ([]schemas.DevAccount, error) {
	var out []schemas.DevAccount
	for _, a := range devAccounts {
		token := deriveToken(h.options.masterKey, "dxa_", a.name)
		hash := sha256.Sum256([]byte(token))
		u, there := h.engine.AccountByToken(hash)
		if !there {
			if err := h.submitOwn(&core.CreateUser{Name: a.name, TokenHash: hash, Audit: core.Audit{Who: "dx dev"}}); err != nil {
				return nil, fmt.Errorf("account %s: %w", a.name, err)
			}
			u, _ = h.engine.AccountByToken(hash)
		}
		// A repeated deposit_id changes nothing, so a start that was cut short is
		// made whole by the next.
		if err := h.submitOwn(&core.Deposit{User: u, DepositID: "dev-" + a.name, Amount: a.funds, Audit: core.Audit{Who: "dx dev"}}); err != nil {
			return nil, fmt.Errorf("funds of %s: %w", a.name, err)
		}
		key, secret, err := h.findOrCreateDevKey(u, a.scopes)
		if err != nil {
			return nil, fmt.Errorf("key of %s: %w", a.name, err)
		}
		out = append(out, schemas.DevAccount{Name: a.name, UserID: uint32(u), AccountToken: token, APIKey: key, Secret: hex.EncodeToString(secret), Scopes: a.scopes.Names()})
	}
	return out, nil
}

const devLabel = "dev"

// findOrCreateDevKey finds the account's dev key, or makes it. The oldest is it: an account may
// label a key of its own so too.
func (h *venueServer) findOrCreateDevKey(u core.UserID, scopes core.Scopes) (id string, secret []byte, err error) {
	var have *core.Key
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
		for k := range v.KeysOf(u) {
			if k.Label == devLabel && k.Scopes == scopes {
				have = &k
				return
			}
		}
	})
	if have != nil {
		secret, err = h.gate.Vault.Open(have)
		return have.ID, secret, err
	}
	id, secret, sealed := h.gate.Vault.NewKey()
	return id, secret, h.submitOwn(&core.CreateKey{User: u, Key: id, Scopes: scopes, Label: devLabel, Sealed: sealed, Audit: core.Audit{Who: "dx dev"}})
}

func (h *venueServer) buildDevFile(accounts []schemas.DevAccount) schemas.DevFile {
	f := schemas.DevFile{
		API: h.api, WS: "ws" + strings.TrimPrefix(h.api, "http") + "/v1/ws", MCP: h.api + "/v1/mcp", Portal: h.portal, Admin: h.admin,
		OperatorToken: h.options.operatorToken, Accounts: []schemas.DevAccount{},
	}
	for i, a := range accounts {
		if devAccounts[i].shown {
			f.Accounts = append(f.Accounts, a)
		}
	}
	return f
}

// runStatusLine keeps one line of a terminal up to date.
func (h *venueServer) runStatusLine(ctx context.Context, out io.Writer) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return
		case <-tick.C:
			fmt.Fprintf(out, "\r\x1b[K%s", h.statusText())
		}
	}
}

func (h *venueServer) statusText() (line string) {
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
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
