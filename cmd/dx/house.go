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
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"duplex"
	"duplex/core"
	"duplex/core/engine"
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

// plan is what a house is built from.
type plan struct {
	listeners
	dir         string
	environment string
	oracle      string
	disputeNs   int64
	readRate    int64  // 0: the default
	writeFloor  int64  // 0: the default
	token       string // the operator's
	master      []byte
	masterOld   []byte // sealed what master has not yet, where both are given
	ownMaster   bool   // the master key is a file of dir
	sources     []feeds.Source
	calendar    *session.Calendar         // nil: every feed is always open
	devKey      func() schemas.DevAccount // nil: the portal lends no key
	log         *slog.Logger
}

// house is a running venue with its listeners.
type house struct {
	plan   plan
	engine *engine.Engine
	venue  *tools.Venue
	gate   *gate.Gate
	poster *feeds.Poster

	api, portal, admin string // base URLs
	events             *ws.Lane
	agents             *mcp.Lane
	servers            []*http.Server
	rotating           sync.Mutex
	stop               context.CancelFunc
	work               sync.WaitGroup
	failed             chan error
}

const stopTime = 9 * time.Second // contract operator, Stopping: 10 s in all

// open builds a house: the engine with what its journal holds, the rules in force,
// then the lanes. Nothing listens yet.
func open(p plan) (*house, error) {
	collectSeldom()
	spareProcessor()
	now := func() int64 { return time.Now().UnixNano() }
	o := engine.Options{Dir: filepath.Join(p.dir, "journal"), Now: now, Logf: func(msg string, args ...any) { p.log.Warn(msg, args...) }}
	if terminal(os.Stderr) {
		b := bar{to: os.Stderr}
		o.Replayed = func(done, total uint64) { b.total = total; b.at(done) }
		defer b.wipe()
	}
	e, err := engine.Open(o)
	if err != nil {
		return nil, err
	}
	vault, err := p.vault()
	if err != nil {
		return nil, err
	}
	terms := tools.DefaultTerms(now)
	terms.Environment, terms.Oracle = p.environment, p.oracle
	if p.readRate > 0 {
		terms.ReadRate = p.readRate
	}
	if p.writeFloor > 0 {
		terms.WriteFloor = p.writeFloor
	}
	v := &tools.Venue{Engine: e, Terms: terms, Funds: tools.Ledger{}}
	if p.calendar != nil {
		v.Hours = hours{p.calendar}
	}
	h := &house{plan: p, engine: e, venue: v, gate: gate.New(v, vault, p.log), failed: make(chan error, 4)}
	if err := errors.Join(h.resume(), h.rule()); err != nil {
		return nil, errors.Join(err, e.Close(context.Background()))
	}
	return h, nil
}

// collectSeldom lets the heap grow to five times what is live before it is collected:
// that is little beside what requests leave behind. GOGC in the environment wins.
func collectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// spareProcessor lets the runtime use one processor more than there are: the log's sync
// keeps one for its whole length, in which it does nothing. From then on the runtime no
// longer follows a container's limit that is changed under way. GOMAXPROCS in the
// environment wins.
var spareProcessor = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})

// vault opens secrets under the master key, and under the old one where there is one.
func (p *plan) vault() (*gate.Vault, error) {
	if p.masterOld == nil {
		return gate.NewVault(p.master)
	}
	v, err := gate.NewVault(p.masterOld)
	if err == nil {
		err = v.Turn(p.master)
	}
	return v, err
}

// rule puts the plan's rules into the journal where they differ.
func (h *house) rule() error {
	rules := core.DefaultRules()
	rules.DisputeNs = h.plan.disputeNs
	var same bool
	h.engine.Read(func(v *venue.Venue, _ *view.View) {
		same = v.Rules().DisputeNs == rules.DisputeNs && v.Rules().Grid.Name == rules.Grid.Name
	})
	if same {
		return nil
	}
	return h.do(&core.SetRules{Rules: rules, Audit: core.Audit{Who: "dx"}})
}

// do submits a command of the house itself.
func (h *house) do(cmd core.Command) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := h.engine.Submit(ctx, cmd)
	if err == nil && r.Reject != core.OK {
		err = r.Reject
	}
	return err
}

func (h *house) submit(ctx context.Context, cmd core.Command) error {
	_, err := h.engine.Submit(ctx, cmd)
	return err
}

// listen binds the three addresses, then starts prices and lanes.
func (h *house) listen() error {
	api, err := listenOn("api", h.plan.API)
	if err != nil {
		return err
	}
	portalAt, err := listenOn("portal", h.plan.Portal)
	if err != nil {
		return err
	}
	adminAt, err := listenOn("admin", h.plan.Admin)
	if err != nil {
		return err
	}
	h.api, h.portal, h.admin = "http://"+reachable(api), "http://"+reachable(portalAt), "http://"+reachable(adminAt)
	ctx, cancel := context.WithCancel(context.Background())
	h.stop = cancel
	if err := h.prices(ctx); err != nil {
		return err
	}
	if h.plan.environment == "dev" {
		h.gate.Origins = append(h.gate.Origins, h.portal)
	}
	routes := gate.NewRoutes(func(w http.ResponseWriter, _ *http.Request, err error) { h.gate.Fail(w, err) })
	lane := rest.Mount(routes, h.gate, version())
	h.events = ws.Mount(routes, h.gate)
	h.agents = mcp.Mount(routes, h.gate, version())
	h.serve(api, h.gate.Edge(routes))
	h.serve(portalAt, portal.New(portal.Options{Static: dashboard.Files(), DevKey: h.plan.devKey, Venue: h.venue, Gate: h.gate, OpenAPI: lane.OpenAPI(), AsyncAPI: ws.AsyncAPI(version(), h.api), Tools: h.agents.Offered(), Changelog: duplex.Changelog, API: h.api, MCP: h.api + mcp.Path, Log: h.plan.log}))
	h.serve(adminAt, admin.New(admin.Options{
		Venue: h.venue, Gate: h.gate, Token: sha256.Sum256([]byte(h.plan.token)), Desk: &manual.Desk{}, Sources: h.sources, Sockets: h.sockets, Rotate: h.rotation(), Log: h.plan.log,
	}))
	return nil
}

func (h *house) sources() []feeds.State {
	if h.poster == nil {
		return nil
	}
	return h.poster.States()
}

// rotation is how the master key is replaced; nil where it is given from outside, or
// where accounts are derived from it.
func (h *house) rotation() admin.Rotate {
	if !h.plan.ownMaster {
		return nil
	}
	return h.rotate
}

func (h *house) sockets() admin.Sockets {
	s := &h.events.Stats
	out := admin.Sockets{Frames: s.Frames.Load(), Deliveries: s.Handed.Load(), Thinned: s.Thinned.Load(), Closed: map[int]uint64{1009: 0, 1012: 0, 4401: 0, 4408: 0}}
	out.Connections, out.Subscriptions, out.QueuedBytes = h.events.Now()
	s.Closed(func(code int, n uint64) { out.Closed[code] = n })
	return out
}

// prices starts the sources and the sessions.
func (h *house) prices(ctx context.Context) error {
	keeper := session.NewKeeper(h.plan.calendar, h.submit)
	h.start(func() {
		if err := keeper.Run(ctx); err != nil && ctx.Err() == nil {
			h.failed <- fmt.Errorf("sessions: %w", err)
		}
	})
	if len(h.plan.sources) == 0 {
		return nil
	}
	poster, err := feeds.NewPoster(h.submit, h.plan.sources...)
	if err != nil {
		return err
	}
	h.poster = poster
	h.start(func() { poster.Run(ctx) })
	return nil
}

func (h *house) start(f func()) {
	h.work.Add(1)
	go func() { defer h.work.Done(); f() }()
}

func (h *house) serve(l net.Listener, handler http.Handler) {
	s := gate.Server(handler, h.plan.log)
	h.servers = append(h.servers, s)
	h.start(func() {
		if err := s.Serve(gate.Listen(l)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			h.failed <- err
		}
	})
}

// wait blocks until ctx ends or something the venue cannot do without has failed.
func (h *house) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-h.failed:
		return err
	case <-h.engine.Stopped():
		return h.engine.Err()
	}
}

// close drains: new commands are refused, those in flight finish, the state goes to
// disk (contract operator, Stopping).
func (h *house) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	h.engine.Drain()
	if h.stop != nil {
		h.stop()
	}
	var errs []error
	if h.events != nil {
		errs = append(errs, h.events.Close(ctx)) // hijacked connections are no server's to close
	}
	if h.agents != nil {
		h.agents.Close() // who waits for an event is answered before the servers wait for them
	}
	for _, s := range h.servers {
		if err := s.Shutdown(ctx); err != nil {
			errs = append(errs, err, s.Close())
		}
	}
	h.work.Wait()
	return errors.Join(append(errs, h.engine.Close(ctx))...)
}

func listenOn(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, flagError{flag, err}
	}
	return l, nil
}

// reachable is the listener's address as a client on this machine reaches it.
func reachable(l net.Listener) string {
	a := l.Addr().(*net.TCPAddr)
	if a.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", a.Port)
	}
	return a.String()
}

// hours shows the calendar's next boundaries in the schedule, one that gold and WTI
// share once: a window does not say whose it is.
type hours struct{ calendar *session.Calendar }

func (h hours) Boundaries(from int64) (out []core.Window) {
	for _, f := range []core.Feed{core.Gold, core.WTI} {
		next, _ := h.calendar.Next(f, time.Unix(0, from), 4) // fewer where the calendar ends; there the keeper fails
		for _, b := range next {
			if w := (core.Window{Kind: string(b.Kind), Start: b.At.UnixNano(), End: b.At.UnixNano()}); !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// masterKey comes from DX_MASTER_KEY (64 hex characters) or a file of the data
// directory, made on first start.
func masterKey(given, dir string) ([]byte, error) {
	if given != "" {
		b, err := hex.DecodeString(given)
		if err != nil || len(b) != 32 {
			return nil, flagError{"master-key", errors.New("64 hex characters are wanted")}
		}
		return b, nil
	}
	text, err := secretFile(masterFile(dir))
	if err != nil {
		return nil, err
	}
	return hex.DecodeString(text)
}

// secretFile reads 32 random bytes in hex, and makes them where there are none.
func secretFile(path string) (string, error) {
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
	return text, writeWhole(path, []byte(text+"\n"))
}

// writeWhole puts a file there at once or not at all, for its owner's eyes only.
func writeWhole(path string, b []byte) error {
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

// derive makes a token that comes back with the master key.
func derive(master []byte, prefix, of string) string {
	m := hmac.New(sha256.New, master)
	m.Write([]byte("token\n" + of))
	return prefix + hex.EncodeToString(m.Sum(nil))
}
