package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/mirror"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// StopTimeout is the longest time that Close waits for work in progress. It is less than
// the 10 s of docs/rules/operation.md#stopping.
const StopTimeout = 9 * time.Second

// ownCommandTimeout bounds one command that the venue itself submits.
const ownCommandTimeout = 10 * time.Second

// Venue is a running venue with its listeners. Its methods are safe for concurrent use.
type Venue struct {
	options   Options
	temporary bool // Close removes the data folder
	keys      masterKeys
	operator  string

	engine   *engine.Engine
	gate     *gate.Gate
	poster   *feeds.Poster
	mirror   *mirror.Mirror // nil: there is none
	accounts []schemas.DevAccount
	agents   []schemas.DevAccount

	api, portal, admin *listener
	eventLane          *ws.Lane
	agentLane          *mcp.Lane
	servers            []*http.Server

	rotateMu   sync.Mutex
	stopPrices context.CancelFunc
	background sync.WaitGroup
	failed     chan error
}

// Open starts a venue. It binds the listeners, which answer at once that the venue is
// starting, restores the state from the journal, puts the rules in force, creates the
// accounts, starts the price sources and then serves requests. If ctx ends while the
// journal is restored, which can take minutes, Open stops and returns the error of ctx.
// Later ctx has no effect.
//
// An invalid option is an *OptionError. A damaged journal is a *journal.Damage.
func Open(ctx context.Context, o Options) (*Venue, error) {
	v := &Venue{options: o, failed: make(chan error, 8)}
	err := v.options.complete()
	if err == nil {
		err = v.open(ctx)
	}
	if err != nil {
		v.abandon()
		return nil, err
	}
	return v, nil
}

func (v *Venue) open(ctx context.Context) (err error) {
	if v.options.Data == "" {
		if v.options.Data, err = os.MkdirTemp("", "dx-dev-"); err != nil {
			return err
		}
		v.temporary = true
	}
	if v.keys, err = loadMasterKeys(&v.options); err != nil {
		return err
	}
	if v.operator, err = v.operatorToken(); err != nil {
		return err
	}
	progress := newStartProgress(v.options.Log, v.options.Progress)
	if err := v.bind(progress); err != nil {
		return err
	}
	if err := v.keys.checkFingerprints(); err != nil {
		return err
	}
	now := func() int64 { return v.options.Now().UnixNano() }
	options := engine.Options{Dir: v.keys.journal(), Now: now, Progress: progress.update, Logf: func(msg string, args ...any) { v.options.Log.Warn(msg, args...) }}
	if err := v.newMirror(&options); err != nil {
		return err
	}
	if v.options.TuneEngine != nil {
		v.options.TuneEngine(&options)
	}
	v.engine, err = engine.OpenContext(ctx, options)
	progress.end(v.engine, err)
	if err != nil {
		return err
	}
	if err := v.startMirror(); err != nil {
		return err
	}
	if err := v.openGate(now); err != nil {
		return err
	}
	if err := v.verifyMasterKeys(); err != nil {
		return err
	}
	if err := v.finishKeyRotation(); err != nil {
		return err
	}
	if err := v.applyRules(); err != nil {
		return err
	}
	if err := v.createAccounts(); err != nil {
		return err
	}
	if err := v.startPrices(); err != nil {
		return err
	}
	v.openLanes()
	return nil
}

// abandon releases what a failed start has opened.
func (v *Venue) abandon() {
	if v.stopPrices != nil {
		v.stopPrices()
	}
	for _, s := range v.servers {
		_ = s.Close() // no request was accepted on its connections
	}
	for _, l := range []net.Listener{v.options.APIListener, v.options.PortalListener, v.options.AdminListener} {
		if l != nil {
			_ = l.Close() // a server may have closed it
		}
	}
	v.background.Wait()
	if v.mirror != nil {
		_ = v.mirror.Close(context.Background()) // the error of the start is returned
	}
	if v.engine != nil {
		_ = v.engine.Close(context.Background()) // the error of the start is returned
	}
	if v.temporary {
		_ = os.RemoveAll(v.options.Data)
	}
}

// openGate creates the gate.
func (v *Venue) openGate(now func() int64) error {
	vault, err := v.keys.vault()
	if err != nil {
		return err
	}
	o := &v.options
	config := tools.DefaultConfig(now)
	config.Environment, config.Oracle = o.Environment, o.Oracle
	if o.ReadRate > 0 {
		config.ReadRate = o.ReadRate
	}
	if o.WriteFloor > 0 {
		config.WriteFloor = o.WriteFloor
	}
	v.gate = gate.Open(v.engine, config, vault, o.Log)
	if v.mirror != nil {
		v.gate.Venue.History = v.mirror
	}
	if o.Calendar != nil {
		v.gate.Venue.Sessions = sessionHours{o.Calendar}
	}
	v.gate.Origins, v.gate.Hosts, v.gate.TrustedProxies = slices.Clone(o.Origins), slices.Clone(o.Hosts), o.TrustedProxies
	v.gate.ReplayGuard, v.gate.InFlight = o.ReplayGuard, o.InFlight
	return nil
}

// applyRules puts the newest revision of the rules in force, and then the rules that follow
// from the options, each if it differs from what is in force.
func (v *Venue) applyRules() error {
	if err := v.activateRevision(); err != nil {
		return err
	}
	rules := core.DefaultRules()
	rules.DisputeNs, rules.MinSources = int64(v.options.DisputeWindow), minSourcesRule(v.options.Limits)
	var same bool
	v.engine.Read(func(s *venue.Venue, _ *view.View) {
		now := s.Rules()
		same = now.DisputeNs == rules.DisputeNs && now.Grid.Name == rules.Grid.Name && now.MinSources == rules.MinSources
	})
	if same {
		return nil
	}
	return v.submitOwn(&core.SetRules{Rules: rules, Audit: ownAudit})
}

// activateRevision puts the newest revision of the rules in force
// (docs/rules/operation.md#revision). The log has a line if the journal is an older one, because
// an older program cannot read it from then on.
func (v *Venue) activateRevision() error {
	var at core.Stamp
	var revision core.Revision
	v.engine.Read(func(s *venue.Venue, _ *view.View) { at, revision = s.Now(), s.Rules().Revision })
	if revision >= core.RevisionNewest {
		return nil
	}
	if err := v.submitOwn(&core.ActivateRules{Revision: core.RevisionNewest, Audit: ownAudit}); err != nil {
		return err
	}
	if at.Seq > 0 {
		v.options.Log.Info("the journal is brought to the newest revision; older versions of dx no longer read it", "revision", core.RevisionNewest, "before", revision, "seq", at.Seq)
	}
	return nil
}

// submitOwn submits a command of the venue itself.
func (v *Venue) submitOwn(cmd core.Command) error {
	ctx, cancel := context.WithTimeout(context.Background(), ownCommandTimeout)
	defer cancel()
	_, err := v.Submit(ctx, cmd)
	return err
}

// Submit sequences a command, bypassing authentication and limits, and returns its receipt.
// A rejection by a rule is a core.Reject.
func (v *Venue) Submit(ctx context.Context, cmd core.Command) (engine.Receipt, error) {
	r, err := v.engine.Submit(ctx, cmd)
	if err == nil && r.Reject != core.OK {
		err = r.Reject
	}
	return r, err
}

// Engine returns the sequencer, for reading the state and following events.
func (v *Venue) Engine() *engine.Engine { return v.engine }

// Mirror returns the mirror, nil if there is none.
func (v *Venue) Mirror() *mirror.Mirror { return v.mirror }

// Gate returns the gate, for issuing keys. Its fields must not be changed.
func (v *Venue) Gate() *gate.Gate { return v.gate }

// APIURL returns the base URL of REST, the agent lane and the event lane, as a client on
// this machine reaches it.
func (v *Venue) APIURL() string { return v.api.url }

// PortalURL returns the base URL of the portal.
func (v *Venue) PortalURL() string { return v.portal.url }

// AdminURL returns the base URL of the operator's listener.
func (v *Venue) AdminURL() string { return v.admin.url }

// OperatorToken returns the bearer token of the operator's listener.
func (v *Venue) OperatorToken() string { return v.operator }

// Accounts returns the accounts of Options.Accounts, in their order, with their secrets.
func (v *Venue) Accounts() []schemas.DevAccount { return v.accounts }

// Agents returns the agents of Options.Accounts with their secrets, without those that are
// closed. They have no account token.
func (v *Venue) Agents() []schemas.DevAccount { return v.agents }

// Data returns the data folder.
func (v *Venue) Data() string { return v.options.Data }

// Wait blocks until ctx ends, and then returns nil, or until the venue can no longer serve,
// and then returns the reason. The caller must still call Close.
func (v *Venue) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-v.failed:
		return err
	case <-v.engine.Stopped():
		return v.engine.Err()
	}
}

// Close stops the venue (docs/rules/operation.md#stopping): it rejects new commands,
// completes those in progress, closes all connections and writes a snapshot. It waits at
// most StopTimeout, or until ctx ends. It must be called once.
func (v *Venue) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, StopTimeout)
	defer cancel()
	v.engine.Drain()
	v.stopPrices()
	// http.Server does not close hijacked connections, and waits for blocked requests: so
	// the event lane closes its own, and the agent lane ends the requests that wait for
	// events.
	errs := []error{v.eventLane.Close(ctx)}
	v.agentLane.Close()
	for _, s := range v.servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, err, s.Close())
		}
	}
	v.background.Wait()
	if v.mirror != nil { // before the engine closes the log
		errs = append(errs, v.mirror.Close(ctx))
	}
	errs = append(errs, v.engine.Close(ctx))
	if v.temporary {
		errs = append(errs, os.RemoveAll(v.options.Data))
	}
	return errors.Join(errs...)
}

// operatorToken returns the bearer token of the operator.
func (v *Venue) operatorToken() (string, error) {
	switch {
	case v.options.OperatorToken != "":
		return v.options.OperatorToken, nil
	case v.options.Environment == environmentDev:
		return deriveToken(v.keys.current, "dxo_", "operator"), nil
	}
	return loadOrCreateSecret(filepath.Join(v.options.Data, "operator.token"))
}
