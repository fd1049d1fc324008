package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"duplex/cluster"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/journal"
	"duplex/core/mirror"
	"duplex/feeds"
	"duplex/internal/backoff"
	"duplex/internal/timeouts"
	"duplex/lanes/funding"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// StopTimeout is the longest time that Close waits for work in progress. It is less than
// the 10 s of docs/rules/operation.md#stopping.
const StopTimeout = 9 * time.Second

// memberRetry is the pause between two attempts of a member to submit a command of its own.
const memberRetry = 100 * time.Millisecond

// ownCommandTimeout bounds one command that the venue itself submits, and abandonTimeout what a failed
// start waits for. Tests shorten them.
var (
	ownCommandTimeout = 10 * time.Second
	abandonTimeout    = StopTimeout
)

// Venue is a running venue with its listeners. Its methods are safe for concurrent use.
type Venue struct {
	options   Options
	temporary bool // Close removes the data folder
	keys      masterKeys
	operator  string

	engine   *engine.Engine
	cluster  *cluster.Cluster  // nil: no member of several
	follower *cluster.Follower // nil: no follower
	gate     *gate.Gate
	poster   *feeds.Poster
	mirror   *mirror.Mirror // nil: there is none
	accounts []schemas.DevAccount
	agents   []schemas.DevAccount

	api, portal, admin *listener
	eventLane          *ws.Lane
	agentLane          *mcp.Lane
	servers            []*http.Server
	certificates       *tls.Config      // of the public listeners; nil without TLS
	certificateEnd     func() time.Time // when the first certificate ends; nil without TLS, zero if none is in use

	opened         atomic.Bool   // requests are served
	awaitsMajority atomic.Bool   // a member that starts
	closing        atomic.Bool   // Close has begun
	stopping       chan struct{} // closed by Close, after the drain
	sealsNew       bool          // of runDuties: the vault seals under the new master key
	resealed       bool          // of runDuties: and every secret is sealed under it
	rotateMu       sync.Mutex
	stopPrices     context.CancelFunc

	archive    *archive         // nil: there is none
	funding    *funding.Service // nil: there is none
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
	v := &Venue{options: o, failed: make(chan error, 8), stopping: make(chan struct{})}
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
	if err := checkEnvironment(&v.options); err != nil {
		return err
	}
	if v.keys, err = loadMasterKeys(&v.options); err != nil {
		return err
	}
	if v.operator, err = v.operatorToken(); err != nil {
		return err
	}
	v.logStart()
	progress := newStartProgress(v.lifecycle(), v.options.Progress)
	if err := v.bind(progress); err != nil {
		return err
	}
	if err := v.keys.checkFingerprints(); err != nil {
		return err
	}
	now := func() int64 { return v.options.Now().UnixNano() }
	virtual := v.options.Virtual
	if virtual != nil {
		now = virtual.Now
	}
	options := engine.Options{Dir: v.keys.journal(), Now: now, Progress: progress.update, Logf: func(msg string, args ...any) { v.options.Log.Warn(msg, args...) }}
	options.Info = v.lifecycle().Info
	if virtual != nil {
		options.Virtual = true
		options.OpenLog = func(j journal.Options) (engine.Log, error) {
			j.Unsynced = true // a run that is interrupted begins anew
			f, err := journal.Open(v.keys.journal(), j)
			if err != nil {
				return nil, err // not f: a Log that holds a nil *File is not nil
			}
			return f, nil
		}
	}
	if err := v.newMirror(&options); err != nil {
		return err
	}
	statusChanged := make(chan struct{}, 1)
	options.OnState = func(engine.Status) {
		select {
		case statusChanged <- struct{}{}:
		default:
		}
	}
	v.newArchive(&options)
	options.Keep = v.options.ArchiveKeep
	if err := v.openCluster(ctx, &options); err != nil {
		progress.end(nil, err)
		return err
	}
	if v.options.TuneEngine != nil {
		v.options.TuneEngine(&options)
	}
	v.engine, err = v.openEngine(ctx, options)
	progress.end(v.engine, err)
	if err != nil {
		return err
	}
	v.reportToNodes()
	if err := v.checkRecordedEnvironment(); err != nil {
		return err
	}
	if err := v.startMirror(); err != nil {
		return err
	}
	v.startArchive()
	if err := v.openGate(now); err != nil {
		return err
	}
	if v.follower == nil {
		err = v.prepareToWrite()
	} else {
		v.stopPrices = func() {} // there are none
		err = v.markEnvironment()
	}
	if err != nil {
		return err
	}
	v.openLanes()
	v.opened.Store(true)
	v.background.Go(func() { v.followStatus(statusChanged) })
	if v.cluster != nil {
		v.background.Go(v.runDuties)
	}
	return nil
}

// prepareToWrite checks the secrets, puts the rules in force, creates the accounts, and starts prices and
// funding. A follower writes nothing and skips it.
func (v *Venue) prepareToWrite() error {
	for _, step := range []func() error{
		v.verifyMasterKeys, v.finishKeyRotation, v.applyRules, v.markEnvironment, v.revokeLostOperators, v.requireNamedAdmin, v.createAccounts, v.startPrices, v.openFunding,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// followStatus closes the sockets of a member that does not know the state of the venue any more.
func (v *Venue) followStatus(changed <-chan struct{}) {
	for {
		select {
		case <-v.engine.Stopped():
			return
		case <-v.stopping:
			return
		case <-changed:
			if !v.engine.ServesReads() {
				v.eventLane.Restart()
			}
		}
	}
}

// abandon releases what a failed start has opened. It waits at most abandonTimeout for commands: a
// member without a majority has some that are never delivered.
func (v *Venue) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
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
	if v.funding != nil {
		v.funding.Close()
	}
	if v.mirror != nil {
		_ = v.mirror.Close(ctx) // the error of the start is returned
	}
	if v.engine != nil {
		_ = v.engine.Close(ctx) // the error of the start is returned
	}
	_ = v.closeCluster() // the error of the start is returned
	if v.archive != nil {
		v.archive.close(ctx)
	}
	if v.temporary {
		_ = os.RemoveAll(v.options.Data)
	}
}

// openGate creates the gate.
func (v *Venue) openGate(now func() int64) error {
	v.keys.sealsOld = v.cluster != nil && !v.cluster.HasNewMasterKey()
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
	config.AccountRate, config.AccountRateGrows = o.accountRate()
	config.ResponseBudget = int64(timeouts.Of(time.Duration(config.ResponseBudget)))
	if x := o.Virtual; x != nil {
		config.WallClock = func() tools.WallTime { return tools.WallTime(o.Now().UnixNano()) }
		for id, secret := range x.Secrets {
			vault.Hold(id, secret)
		}
	}
	v.gate = gate.Open(v.engine, config, vault, o.Log)
	if x := o.Virtual; x != nil {
		v.gate.Venue.Virtual, v.gate.Intercept, v.gate.OnUnauthorized, v.gate.Unlimited = x.Time, x.Intercept, x.OnUnauthorized, x.Unlimited
	}
	if v.mirror != nil {
		v.gate.Venue.History = v.mirror
	}
	if o.Calendar != nil {
		v.gate.Venue.Sessions = sessionHours{o.Calendar}
	}
	v.gate.Origins, v.gate.Hosts, v.gate.TrustedProxies = v.origins(), slices.Clone(o.Hosts), o.TrustedProxies
	v.gate.ReplayGuard, v.gate.InFlight = o.ReplayGuard, o.InFlight
	if v.follower != nil {
		v.gate.MemberURL = v.follower.MemberURL
	}
	return nil
}

// submitOwn submits a command of the venue itself. A member of several that takes no commands yet
// submits it once it does.
func (v *Venue) submitOwn(cmd core.Command) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeouts.Of(ownCommandTimeout))
	defer cancel()
	for {
		_, err := v.Submit(ctx, cmd)
		if _, several := v.engine.MemberStatus(); !several || !errors.Is(err, engine.ErrShed) || ctx.Err() != nil {
			return err
		}
		backoff.Sleep(ctx, memberRetry)
	}
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

// PublicURL returns the base URL of the API as its clients reach it: Options.PublicURL, else
// APIURL.
func (v *Venue) PublicURL() string { return cmp.Or(v.options.PublicURL, v.api.url) }

// PublicPortalURL is PublicURL of the portal.
func (v *Venue) PublicPortalURL() string { return cmp.Or(v.options.PublicPortalURL, v.portal.url) }

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
		err := v.engine.Err()
		if errors.Is(err, engine.ErrDiverged) && v.cluster != nil {
			err = errors.Join(err, v.cluster.KeepDiverged(err))
		}
		return err
	}
}

// Close stops the venue (docs/rules/operation.md#stopping): it rejects new commands,
// completes those in progress, closes all connections and writes a snapshot. It waits at
// most StopTimeout, or until ctx ends. It must be called once.
func (v *Venue) Close(ctx context.Context) error {
	begun := time.Now()
	v.lifecycle().Info("venue stops", "seq", v.engine.Seq())
	v.closing.Store(true)
	v.drain(ctx)
	ctx, cancel := context.WithTimeout(ctx, StopTimeout)
	defer cancel()
	close(v.stopping)
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
	if v.funding != nil {
		v.funding.Close()
	}
	if v.mirror != nil { // before the engine closes the log
		errs = append(errs, v.mirror.Close(ctx))
	}
	errs = append(errs, v.closeEngine(ctx), v.closeCluster())
	if v.archive != nil {
		v.archive.close(ctx)
	}
	if v.temporary {
		errs = append(errs, os.RemoveAll(v.options.Data))
	}
	err := errors.Join(errs...)
	if err != nil {
		v.lifecycle().Error("venue stopped with an error", "err", err)
		return err
	}
	v.lifecycle().Info("venue stopped", "seq", v.engine.Seq(), "took_ms", time.Since(begun).Milliseconds())
	return nil
}

// drain takes the node from its callers: readiness fails, writes are refused, the sockets get a notice, and reads
// go on for Options.DrainWait, or until ctx ends.
func (v *Venue) drain(ctx context.Context) {
	lead, cancel := context.WithTimeout(ctx, StopTimeout)
	v.leaveLead(lead)
	cancel()
	v.engine.Drain()
	v.stopPrices()
	wait := v.options.DrainWait
	if wait <= 0 {
		return
	}
	v.api.drains.Store(true)
	v.portal.drains.Store(true)
	v.eventLane.Drain(v.gate.Venue.Config.Wall().Time().Add(wait).UnixNano())
	v.lifecycle().Info("venue drains", "for", wait)
	backoff.Sleep(ctx, wait)
}

// openFunding connects the venue with its funding service.
func (v *Venue) openFunding() (err error) {
	o := &v.options
	if o.FundingURL == "" {
		return nil
	}
	f := funding.Options{URL: o.FundingURL, Secret: o.FundingSecret, Cursor: filepath.Join(o.Data, "funding.json"), Engine: v.engine, Log: o.Log, Now: o.Now}
	if v.cluster != nil {
		f.Leads = v.engine.IsLeader
	}
	v.funding, err = funding.Open(f)
	if err == nil {
		v.gate.Venue.Funds = v.funding
	}
	return err
}

// operatorToken returns the bearer token of the operator.
func (v *Venue) operatorToken() (string, error) {
	switch {
	case v.options.OperatorToken != "":
		return v.options.OperatorToken, nil
	case v.options.Environment == environmentDev:
		return deriveToken(v.keys.current, "dxo_", "operator"), nil
	}
	return LoadOrCreateSecret(filepath.Join(v.options.Data, "operator.token"))
}
