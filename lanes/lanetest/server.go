// Package lanetest is a venue for the tests of one lane: the core on a journal in a
// temporary directory, a gate, two funded accounts and three trading BTC markets. A test
// mounts the lanes that it tests. Package server/servertest is the whole venue: the lanes
// below package server cannot use that one in their own tests, because it imports them.
//
// Clock and OpenMarkets serve both. Only tests use the package.
package lanetest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/feeds/adapter/adaptertest"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// InitialCash is the cash of each account, in pips.
const InitialCash = core.Pips(100_000_000)

// Each venue of a test has a journal of its own. By default a segment of it takes 64 MB,
// which are zeroed ahead of it and read at the start: most of what a venue cost.
func init() { wal.SegmentSizeBytes = 1 << 20 }

// Server is a venue under test.
type Server struct {
	T         testing.TB
	Engine    *engine.Engine
	Venue     *tools.Venue
	Gate      *gate.Gate
	Routes    *gate.Routes
	URL       string
	Transport *http.Transport // connects to URL
	Logs      *bytes.Buffer

	options engine.Options
	clock   *Clock
	secrets sync.Map // by key, of what SignedRequest has signed
}

// Key is an account's key with its secret.
type Key struct {
	ID     string
	Secret []byte
	User   core.UserID
}

// New opens a venue with users 1 and 2. A test mounts lanes on Routes, then calls Serve.
// tune may change the options of the engine.
func New(t testing.TB, tune ...func(*engine.Options)) *Server {
	h := &Server{T: t, Logs: &bytes.Buffer{}, clock: NewClock()}
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
	config := tools.DefaultConfig(h.Now)
	config.ResponseBudget = 60_000 // ms; no test fails because its machine is busy
	h.Gate = gate.Open(h.Engine, config, vault, slog.New(slog.NewTextHandler(h.Logs, nil)))
	h.Venue, h.Routes = h.Gate.Venue, h.Gate.NewRoutes()
	h.Submit(&core.ActivateRules{Revision: core.RevisionNewest}) // as the server does at its start
	for _, name := range []string{"alice", "bob"} {
		h.Submit(&core.CreateUser{Name: name, TokenHash: [32]byte{byte(len(name))}})
	}
	for u := core.UserID(1); u <= 2; u++ {
		h.Submit(&core.Deposit{User: u, DepositID: "first-" + strconv.Itoa(int(u)), Amount: InitialCash})
	}
	h.must(OpenMarkets(h.Engine, h.Now(), core.DefaultRules().DisputeNs))
	h.clock.Run()
	return h
}

// Reopen closes the engine and opens it again on the same journal. REST and tools use the
// new engine; the event lane does not.
func (h *Server) Reopen() {
	h.T.Helper()
	_ = h.Engine.Close(context.Background()) // returns the error that stopped the engine
	e, err := engine.Open(h.options)
	h.must(err)
	h.Engine, h.Venue.Engine = e, e
}

func (h *Server) must(err error) {
	h.T.Helper()
	if err != nil {
		h.T.Fatal(err)
	}
}

// Now returns the venue's time, ns.
func (h *Server) Now() int64 { return h.clock.Now() }

// FreezeClock stops the clock, so that no timer fires. AdvanceClock still moves it.
func (h *Server) FreezeClock() { h.clock.Freeze() }

// AdvanceClock moves the clock forward.
func (h *Server) AdvanceClock(d time.Duration) { h.clock.Advance(d) }

// Submit sequences a command and fails the test on an error of the engine. The command may
// be rejected.
func (h *Server) Submit(cmd core.Command) engine.Receipt {
	h.T.Helper()
	r, err := h.Engine.Submit(context.Background(), cmd)
	h.must(err)
	return r
}

// PostIndex sequences a BTC index tick for the current second.
func (h *Server) PostIndex(p core.Price) {
	h.T.Helper()
	h.Submit(IndexTick(core.BTC, h.Now(), p))
}

// WaitUntil waits until ok holds, and fails the test after 3 min.
func (h *Server) WaitUntil(ok func(*venue.Venue, *view.View) bool) {
	h.T.Helper()
	h.must(WaitUntil(h.Engine, ok))
}

// NewKey creates a key of account u.
func (h *Server) NewKey(u core.UserID, s core.Scopes) Key {
	h.T.Helper()
	id, secret, sealed := h.Gate.Vault.NewKey()
	h.Submit(&core.CreateKey{User: u, Key: id, Scopes: s, Sealed: sealed})
	return Key{id, secret, u}
}

// Serve starts the API listener on loopback, as dx serve does.
func (h *Server) Serve() {
	h.URL, h.Transport = h.ServeHandler(h.Gate.Edge(h.Routes), slog.New(slog.DiscardHandler)), http.DefaultTransport.(*http.Transport)
}

// ServeHandler starts another listener of the venue on loopback and returns its URL.
func (h *Server) ServeHandler(handler http.Handler, log *slog.Logger) string {
	s := httptest.NewUnstartedServer(nil)
	s.Config = gate.Server(handler, log)
	s.Config.ReadHeaderTimeout, s.Config.ReadTimeout = 0, 0 // however slow the machine is; ServeInMemory has them
	s.Listener = gate.WrapListener(s.Listener, gate.Places{Timeout: time.Hour})
	s.Start()
	h.T.Cleanup(s.Close)
	return s.URL
}

// ServeInMemory starts the API listener on an in-memory network, for a test in a synctest
// bubble, where timeouts pass without waiting. Requests must use Transport, not
// http.DefaultTransport.
func (h *Server) ServeInMemory() {
	w := adaptertest.NewWire()
	s := gate.Server(h.Gate.Edge(h.Routes), slog.New(slog.DiscardHandler))
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(gate.WrapListener(w, gate.Places{})) }) // returns after Close
	h.URL, h.Transport = "http://venue.test", &http.Transport{DialContext: w.Dial}
	h.T.Cleanup(func() {
		h.Transport.CloseIdleConnections()
		_ = s.Close()
		serving.Wait()
	})
}

// Dial opens a connection to the API listener.
func (h *Server) Dial() (net.Conn, error) {
	return h.Transport.DialContext(context.Background(), "tcp", strings.TrimPrefix(h.URL, "http://"))
}

// SignedRequest returns a signed request.
func (h *Server) SignedRequest(k Key, method, target string, body []byte) *http.Request {
	h.T.Helper()
	r, err := http.NewRequest(method, h.URL+target, bytes.NewReader(body))
	h.must(err)
	h.secrets.Store(k.ID, k.Secret)
	r.Header[http.CanonicalHeaderKey(schemas.HeaderKey)] = []string{k.ID}
	h.sign(r, k.Secret, body)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// RoundTrip sends a request. One of SignedRequest that the machine held up until its signature was too old, so
// that it was not executed, is signed and sent again.
func (h *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	transport := h.Transport
	if transport == nil { // the test has its own server
		transport = http.DefaultTransport.(*http.Transport)
	}
	for {
		resp, err := transport.RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusUnauthorized {
			return resp, err
		}
		again := h.signedAgain(r)
		if again == nil {
			return resp, nil
		}
		_ = resp.Body.Close()
		r = again
	}
}

// signedAgain returns the request with a new signature, or nil if its own is wrong or not too old.
func (h *Server) signedAgain(r *http.Request) *http.Request {
	secret, _ := h.secrets.Load(r.Header.Get(schemas.HeaderKey))
	signed, err := strconv.ParseInt(r.Header.Get(schemas.HeaderTimestamp), 10, 64)
	if secret == nil || err != nil || h.Now()/core.NsPerMs-signed <= schemas.ReplayWindowMs {
		return nil
	}
	var body []byte
	if r.GetBody != nil {
		b, _ := r.GetBody() // of bytes in memory
		body, _ = io.ReadAll(b)
	}
	if !schemas.Verify(secret.([]byte), r.Header.Get(schemas.HeaderTimestamp), r.Method, r.URL.RequestURI(), body, r.Header.Get(schemas.HeaderSignature)) {
		return nil
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	h.sign(again, secret.([]byte), body)
	return again
}

func (h *Server) sign(r *http.Request, secret, body []byte) {
	ts := strconv.FormatInt(h.Now()/core.NsPerMs, 10)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, r.Method, r.URL.RequestURI(), body))
}

// Send sends a request and returns status, header and body.
func (h *Server) Send(r *http.Request) (int, http.Header, string) {
	h.T.Helper()
	resp, err := h.RoundTrip(r)
	h.must(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	h.must(err)
	return resp.StatusCode, resp.Header, string(b)
}

// Request sends a request that is not signed and returns status, header and body.
func (h *Server) Request(method, url, body string, header http.Header) (int, http.Header, string) {
	h.T.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	h.must(err)
	maps.Copy(r.Header, header)
	return h.Send(r)
}

// Call sends a signed request and returns status and body.
func (h *Server) Call(k Key, method, target, body string) (int, string) {
	h.T.Helper()
	status, _, got := h.Send(h.SignedRequest(k, method, target, []byte(body)))
	return status, got
}
