package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"duplex"
	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/engine"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/examples/dashboard"
	"duplex/feeds"
	"duplex/feeds/manual"
	"duplex/feeds/session"
	"duplex/lanes/admin"
	"duplex/lanes/gate"
	"duplex/lanes/mcp"
	"duplex/lanes/portal"
	"duplex/lanes/rest"
	"duplex/lanes/ws"
	"duplex/schemas"
	"duplex/tools"
)

// listeners are the addresses of a venue; they differ in whom they trust.
type listeners struct{ API, Portal, Admin string }

// serverOptions is what a house is built from.
type serverOptions struct {
	listeners
	dir             string
	environment     string
	oracle          string
	disputeWindowNs int64
	readRate        int64  // 0: the default
	writeFloor      int64  // 0: the default
	operatorToken   string // the operator's
	masterKey       []byte
	oldMasterKey    []byte // sealed what master has not yet, where both are given
	ownsMasterKey   bool   // the master key is a file of dir
	masterKeyLost   bool   // the one before is lost: keys that do not open are revoked
	sources         []feeds.Source
	limits          [core.Feeds]feed.Limit
	calendar        *session.Calendar         // nil: every feed is always open
	devKey          func() schemas.DevAccount // nil: the portal lends no key
	log             *slog.Logger
	progress        func(engine.Progress) // of the start; nil: nobody else wants to know
}

// venueServer is a running venue with its listeners.
type venueServer struct {
	options serverOptions
	engine  *engine.Engine
	venue   *tools.Venue
	gate    *gate.Gate
	poster  *feeds.Poster

	api, portal, admin string // base URLs
	fronts             struct{ api, portal, admin *front }
	eventLane          *ws.Lane
	agentLane          *mcp.Lane
	servers            []*http.Server
	rotateMu           sync.Mutex
	stop               context.CancelFunc
	background         sync.WaitGroup
	failed             chan error
}

const stopTimeout = 9 * time.Second // of the 10 s of docs/rules/operation.md#stopping

// openServer builds a server: it binds the listeners, which answer that the venue is
// starting, restores what the journal holds, and puts the rules in force. listen opens the
// lanes. When ctx ends meanwhile, openServer gives up.
func openServer(ctx context.Context, p serverOptions) (*venueServer, error) {
	paceCollector()
	raiseGOMAXPROCS()
	h := &venueServer{options: p, failed: make(chan error, 8)}
	if err := h.open(ctx); err != nil {
		h.unbind()
		return nil, err
	}
	return h, nil
}

func (h *venueServer) open(ctx context.Context) error {
	p, now := &h.options, func() int64 { return time.Now().UnixNano() }
	s := newStarting(p.log)
	if err := h.bind(s); err != nil {
		return err
	}
	if err := p.knownMaster(); err != nil {
		return err
	}
	e, err := engine.OpenContext(ctx, engine.Options{
		Dir: p.journal(), Now: now, Progress: func(at engine.Progress) {
			s.at(at)
			if p.progress != nil {
				p.progress(at)
			}
		}, Logf: func(msg string, args ...any) { p.log.Warn(msg, args...) },
	})
	s.end(e, err)
	if err != nil {
		return err
	}
	if err := h.serveFrom(e, now); err != nil {
		return errors.Join(err, e.Close(context.Background()))
	}
	return nil
}

// journal is where the journal lies.
func (p *serverOptions) journal() string { return filepath.Join(p.dir, "journal") }

// bind opens the three addresses.
func (h *venueServer) bind(s *starting) error {
	bound := func(flag, addr string, closed http.Handler) (*front, string, error) {
		l, err := listenOn(flag, addr)
		if err != nil {
			return nil, "", err
		}
		f := newFront(closed)
		h.serveHTTP(l, f)
		return f, "http://" + clientAddress(l), nil
	}
	var err error
	if h.fronts.admin, h.admin, err = bound("admin", h.options.Admin, h.options.closedAdmin(s)); err != nil {
		return err
	}
	if h.fronts.api, h.api, err = bound("api", h.options.API, closedAPI()); err != nil {
		return err
	}
	h.fronts.portal, h.portal, err = bound("portal", h.options.Portal, closedPortal())
	return err
}

// unbind closes listeners behind which no venue came about.
func (h *venueServer) unbind() {
	for _, s := range h.servers {
		_ = s.Close() // nothing was promised on their connections
	}
	h.background.Wait()
}

// serveFrom makes the venue's parts from an engine, and puts key and rules in force.
func (h *venueServer) serveFrom(e *engine.Engine, now func() int64) error {
	p := &h.options
	vault, err := p.vault()
	if err != nil {
		return err
	}
	terms := tools.DefaultConfig(now)
	terms.Environment, terms.Oracle = p.environment, p.oracle
	if p.readRate > 0 {
		terms.ReadRate = p.readRate
	}
	if p.writeFloor > 0 {
		terms.WriteFloor = p.writeFloor
	}
	v := &tools.Venue{Engine: e, Config: terms, Funds: tools.ManualFunding{}}
	if p.calendar != nil {
		v.Sessions = sessionHours{p.calendar}
	}
	h.engine, h.venue, h.gate = e, v, gate.New(v, vault, p.log)
	if err := h.opens(); err != nil {
		return err
	}
	if err := h.finishKeyRotation(); err != nil {
		return err
	}
	return h.applyRules()
}

// raiseGOMAXPROCS lets the runtime use one processor more than there are: the log's sync
// keeps one for its whole length, in which it does nothing. From then on the runtime no
// longer follows a container's limit that is changed under way. GOMAXPROCS in the
// environment wins.
var raiseGOMAXPROCS = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})

// applyRules puts the plan's rules into the journal where they differ.
func (h *venueServer) applyRules() error {
	rules := core.DefaultRules()
	rules.DisputeNs, rules.MinSources = h.options.disputeWindowNs, leastSources(h.options.limits)
	var same bool
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
		now := v.Rules()
		same = now.DisputeNs == rules.DisputeNs && now.Grid.Name == rules.Grid.Name && now.Revision == rules.Revision && now.MinSources == rules.MinSources
	})
	if same {
		return nil
	}
	return h.submitOwn(&core.SetRules{Rules: rules, Audit: core.Audit{Who: "dx"}})
}

// submitOwn submits a command of the house itself.
func (h *venueServer) submitOwn(cmd core.Command) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := h.engine.Submit(ctx, cmd)
	if err == nil && r.Reject != core.OK {
		err = r.Reject
	}
	return err
}

func (h *venueServer) submit(ctx context.Context, cmd core.Command) error {
	_, err := h.engine.Submit(ctx, cmd)
	return err
}

// listen starts prices and opens the lanes on the listeners.
func (h *venueServer) listen() error {
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	if err := h.startPrices(ctx); err != nil {
		return err
	}
	if name, _, err := net.SplitHostPort(h.options.API); err == nil && name != "" {
		h.gate.Hosts = append(h.gate.Hosts, name) // the API is bound to it
	}
	if h.options.environment == "dev" {
		h.gate.Origins = append(h.gate.Origins, h.portal)
	}
	routes := gate.NewRoutes(func(w http.ResponseWriter, _ *http.Request, err error) { h.gate.WriteError(w, err) })
	lane := rest.Mount(routes, h.gate, version())
	h.eventLane = ws.Mount(routes, h.gate)
	h.agentLane = mcp.Mount(routes, h.gate, version())
	h.fronts.api.open(h.gate.Edge(routes))
	h.fronts.portal.open(portal.New(portal.Options{Static: dashboard.Files(), DevKey: h.options.devKey, Venue: h.venue, Gate: h.gate, OpenAPI: lane.OpenAPI(), AsyncAPI: ws.AsyncAPI(version(), h.api), Tools: h.agentLane.ToolSpecs(), Changelog: duplex.Changelog, API: h.api, MCP: h.api + mcp.Path, Log: h.options.log}))
	h.fronts.admin.open(admin.New(admin.Options{
		Venue: h.venue, Gate: h.gate, Token: sha256.Sum256([]byte(h.options.operatorToken)), ManualOracle: &manual.Oracle{}, Sources: h.sourceStates, Index: h.indexStats, WebSocketStats: h.webSocketStats, RotateMasterKey: h.masterKeyRotation(), Log: h.options.log,
	}))
	return nil
}

func (h *venueServer) sourceStates() []feeds.State {
	if h.poster == nil {
		return nil
	}
	return h.poster.States()
}

// masterKeyRotation is how the master key is replaced; nil where it is given from outside, or
// where accounts are derived from it.
func (h *venueServer) masterKeyRotation() admin.MasterKeyRotation {
	if !h.options.ownsMasterKey {
		return nil
	}
	return h.rotateMasterKey
}

func (h *venueServer) webSocketStats() admin.WebSocketStats {
	s := &h.eventLane.Stats
	out := admin.WebSocketStats{Frames: s.Frames.Load(), Deliveries: s.Delivered.Load(), Conflated: s.Conflated.Load(), Closed: map[int]uint64{1009: 0, 1012: 0, 4401: 0, 4408: 0}}
	out.Connections, out.Subscriptions, out.QueuedBytes = h.eventLane.Usage()
	s.Closes(func(code int, n uint64) { out.Closed[code] = n })
	return out
}

func (h *venueServer) goBackground(f func()) {
	h.background.Add(1)
	go func() { defer h.background.Done(); f() }()
}

func (h *venueServer) serveHTTP(l net.Listener, handler http.Handler) {
	s := gate.Server(handler, h.options.log)
	h.servers = append(h.servers, s)
	h.goBackground(func() {
		if err := s.Serve(gate.WrapListener(l)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			h.failed <- err
		}
	})
}

// wait blocks until ctx ends or something the venue cannot do without has failed.
func (h *venueServer) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.failed:
		return err
	case <-h.engine.Stopped():
		return h.engine.Err()
	}
}

// close drains: it rejects new commands, lets those in flight finish, and writes the state
// to disk (docs/rules/operation.md#stopping).
func (h *venueServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	h.engine.Drain()
	if h.stop != nil {
		h.stop()
	}
	var errs []error
	if h.eventLane != nil {
		errs = append(errs, h.eventLane.Close(ctx)) // hijacked connections are no server's to close
	}
	if h.agentLane != nil {
		h.agentLane.Close() // who waits for an event is answered before the servers wait for them
	}
	for _, s := range h.servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, err, s.Close())
		}
	}
	h.background.Wait()
	return errors.Join(append(errs, h.engine.Close(ctx))...)
}

func listenOn(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cli.BadFlag(flag, err)
	}
	return l, nil
}

// clientAddress is the listener's address as a client on this machine reaches it.
func clientAddress(l net.Listener) string {
	a := l.Addr().(*net.TCPAddr)
	if a.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", a.Port)
	}
	return a.String()
}

// loadOrCreateSecret reads 32 random bytes in hex, and makes them where there are none.
func loadOrCreateSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err == nil {
		text := strings.TrimSpace(string(b))
		if raw, err := hex.DecodeString(text); err != nil || len(raw) != 32 {
			return "", fmt.Errorf("%s: 64 hex characters are wanted", path)
		}
		return text, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	text := hex.EncodeToString(raw[:])
	return text, writeFileAtomic(path, []byte(text+"\n"))
}

// writeFileAtomic puts a file there at once or not at all, for its owner's eyes only.
func writeFileAtomic(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // made 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// deriveToken makes a token that comes back with the master key.
func deriveToken(master []byte, prefix, of string) string {
	m := hmac.New(sha256.New, master)
	m.Write([]byte("token\n" + of))
	return prefix + hex.EncodeToString(m.Sum(nil))
}
