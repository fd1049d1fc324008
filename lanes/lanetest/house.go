// Package lanetest is a whole venue for tests of lanes: the real core on a journal
// of its own, the real door, two funded accounts and three BTC markets, with a
// clock that begins one second into a quarter of an hour.
package lanetest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// Funds are what each account has, in pips.
const Funds = core.Pips(100_000_000)

// House is a venue under test.
type House struct {
	T      testing.TB
	Engine *engine.Engine
	Venue  *tools.Venue
	Gate   *gate.Gate
	Routes *gate.Routes
	URL    string
	Logs   *bytes.Buffer

	options engine.Options
	shift   atomic.Int64
	still   atomic.Int64 // the clock while it stands, ns; else 0
}

// Key is an account's key with its secret.
type Key struct {
	ID     string
	Secret []byte
	User   core.UserID
}

// New opens a venue with users 1 and 2. Lanes are put on Routes, then Serve. A test may
// change how the engine is opened.
func New(t testing.TB, tune ...func(*engine.Options)) *House {
	h := &House{T: t, Logs: &bytes.Buffer{}}
	start := time.Now().Truncate(15 * time.Minute).Add(time.Second)
	h.still.Store(start.UnixNano()) // until the rounds are open: a slow machine must not miss their 5 s
	var err error
	h.options = engine.Options{Dir: t.TempDir(), Now: h.Now}
	for _, f := range tune {
		f(&h.options)
	}
	h.Engine, err = engine.Open(h.options)
	h.must(err)
	t.Cleanup(func() { h.must(h.Engine.Close(context.Background())) })
	vault, err := gate.NewVault(make([]byte, 32))
	h.must(err)
	h.Venue = &tools.Venue{Engine: h.Engine, Terms: tools.DefaultTerms(h.Now), Funds: tools.Ledger{}}
	h.Gate = gate.New(h.Venue, vault, slog.New(slog.NewTextHandler(h.Logs, nil)))
	h.Routes = gate.NewRoutes(func(w http.ResponseWriter, _ *http.Request, err error) { h.Gate.Fail(w, err) })
	for _, name := range []string{"alice", "bob"} {
		h.Do(&core.CreateUser{Name: name, TokenHash: [32]byte{byte(len(name))}})
	}
	for u := core.UserID(1); u <= 2; u++ {
		h.Do(&core.Deposit{User: u, DepositID: "first-" + strconv.Itoa(int(u)), Amount: Funds})
	}
	h.Do(&core.SetSession{Feed: core.BTC, Open: true})
	h.Tick(6_500_000_000_000)
	h.Do(&core.Clock{})
	h.Until(func(v *venue.Venue, _ *view.View) bool { s, ok := v.Slot(3); return ok && s.Status == core.Trading })
	h.shift.Store(start.UnixNano() - time.Now().UnixNano())
	h.still.Store(0)
	return h
}

// Reopen starts the engine again on what the one before has left, once that has
// stopped. REST and tools go on with it; the event lane does not.
func (h *House) Reopen() {
	h.T.Helper()
	_ = h.Engine.Close(context.Background()) // its error is why it stopped
	e, err := engine.Open(h.options)
	h.must(err)
	h.Engine, h.Venue.Engine = e, e
}

func (h *House) must(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Fatal(err)
	}
}

// Now is the venue's clock, ns.
func (h *House) Now() int64 {
	if at := h.still.Load(); at != 0 {
		return at
	}
	return time.Now().UnixNano() + h.shift.Load()
}

// Stop lets the clock stand, so that nothing falls due by itself; Skip still moves it.
func (h *House) Stop() { h.still.Store(h.Now()) }

// Skip sets the clock forward.
func (h *House) Skip(d time.Duration) {
	h.shift.Add(int64(d))
	if at := h.still.Load(); at != 0 {
		h.still.Store(at + int64(d))
	}
}

// Do submits a command and wants no error of the engine.
func (h *House) Do(cmd core.Command) engine.Receipt {
	h.T.Helper()
	r, err := h.Engine.Submit(context.Background(), cmd)
	h.must(err)
	return r
}

// Tick posts a BTC index for this second.
func (h *House) Tick(p core.Price) {
	h.T.Helper()
	h.Do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: h.Now() / core.NsPerSec, Price: p, Count: 3, Manual: true}})
}

// Until waits for something the venue does by itself.
func (h *House) Until(ok func(*venue.Venue, *view.View) bool) {
	h.T.Helper()
	f := h.Engine.Follow()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		var there bool
		h.Engine.Read(func(v *venue.Venue, w *view.View) { there = ok(v, w) })
		if there {
			return
		}
		if _, err := f.Next(ctx); err != nil {
			h.T.Fatal("it never came about")
		}
	}
}

// Key makes a key of an account.
func (h *House) Key(u core.UserID, s core.Scopes) Key {
	h.T.Helper()
	id, secret, sealed := h.Gate.Vault.NewKey()
	h.Do(&core.CreateKey{User: u, Key: id, Scopes: s, Sealed: sealed})
	return Key{id, secret, u}
}

// Serve starts the API listener on loopback, as dx serve does. A test may shorten its
// times.
func (h *House) Serve(tune ...func(*http.Server)) {
	s := httptest.NewUnstartedServer(nil)
	s.Config = gate.Server(h.Gate.Edge(h.Routes), slog.New(slog.DiscardHandler))
	for _, f := range tune {
		f(s.Config)
	}
	s.Listener = gate.Listen(s.Listener)
	s.Start()
	h.T.Cleanup(s.Close)
	h.URL = s.URL
}

// Request makes a signed request.
func (h *House) Request(k Key, method, target string, body []byte) *http.Request {
	h.T.Helper()
	r, err := http.NewRequest(method, h.URL+target, bytes.NewReader(body))
	h.must(err)
	ts := strconv.FormatInt(h.Now()/core.NsPerMs, 10)
	r.Header[http.CanonicalHeaderKey(schemas.HeaderKey)] = []string{k.ID}
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(k.Secret, ts, method, target, body))
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// Send sends a request and gives status, header and body.
func (h *House) Send(r *http.Request) (int, http.Header, string) {
	h.T.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	h.must(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	h.must(err)
	return resp.StatusCode, resp.Header, string(b)
}

// Call sends one signed request.
func (h *House) Call(k Key, method, target, body string) (int, string) {
	h.T.Helper()
	status, _, got := h.Send(h.Request(k, method, target, []byte(body)))
	return status, got
}
