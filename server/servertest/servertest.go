// Package servertest opens whole venues for tests: all lanes on loopback, a clock that the
// test moves, prices that it posts, and funded accounts with keys.
//
//	v := servertest.New(t)
//	c := v.Client("alice")
//	o, err := c.PlaceOrder(ctx, schemas.PlaceOrder{MarketID: 1, …})
//	v.PostPrice(core.BTC, price)
//	v.Advance(time.Minute)
//
// Only tests and examples use the package.
package servertest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/timeouts"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/server"
)

// A machine that is held up for two seconds gives no 504, and a close frame has time to be written.
func init() { timeouts.Extend(30) }

// InitialCash is the cash of alice and bob, in pips: 10,000 dollars.
const InitialCash = lanetest.InitialCash

// Accounts are the accounts of a venue that New opens.
var Accounts = []server.Account{
	{Name: "alice", Scopes: gate.UserScopes, Funds: InitialCash},
	{Name: "bob", Scopes: gate.UserScopes, Funds: InitialCash},
}

// Venue is a venue under test. Its methods are for one goroutine at a time, except those of
// server.Venue.
type Venue struct {
	*server.Venue
	Clock *lanetest.Clock // nil after Open, which uses the clock of its options

	// Transport sends the requests of the clients made after it is set; nil: each has its own.
	Transport http.RoundTripper

	t       failer
	api     *cutListener // nil after Open and Wrap
	clients []*client.Client
	closed  bool
}

// failer is the part of testing.TB that a Venue uses.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// New opens a dev venue with Accounts and three BTC markets that trade, in slots 1 to 3. Its
// clock starts one second after a quarter of an hour, and runs with the machine's clock
// unless the test stops it. The dispute window is that of core.DefaultRules. A test may
// change the options, except Now and APIListener. The end of the test closes the venue.
func New(t testing.TB, change ...func(*server.Options)) *Venue {
	t.Helper()
	v := open(t, append([]func(*server.Options){func(o *server.Options) { o.Data = t.TempDir() }}, change...))
	t.Cleanup(v.Close)
	return v
}

// ForExample is New for an Example function, which has no testing.TB: the venue panics
// instead of failing a test, and the example must call Close.
func ForExample(change ...func(*server.Options)) *Venue { return open(panics{}, change) }

type panics struct{}

func (panics) Helper()           {}
func (panics) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func open(t failer, change []func(*server.Options)) *Venue {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	api, clock := &cutListener{Listener: tcp}, lanetest.NewClock()
	o := server.Options{APIListener: api, Now: clock.Time, Accounts: Accounts, DisputeWindow: time.Duration(core.DefaultRules().DisputeNs)}
	for _, f := range change {
		f(&o)
	}
	s, err := server.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	v := &Venue{Venue: s, Clock: clock, t: t, api: api}
	if err := lanetest.OpenMarkets(v.Engine(), clock.Now(), int64(o.DisputeWindow)); err != nil {
		v.Close()
		t.Fatal(err)
	}
	clock.Run()
	return v
}

// Open opens a venue with exactly the options given, for a test of Open itself or of a
// restart. It has no markets yet. The end of the test closes it, unless the test has done
// so.
func Open(t testing.TB, o server.Options) *Venue {
	t.Helper()
	s, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return Wrap(t, s)
}

// Wrap returns a Venue for a venue that a test has opened with package server. The end of
// the test closes it, unless the test has done so.
func Wrap(t testing.TB, s *server.Venue) *Venue {
	v := &Venue{Venue: s, t: t}
	t.Cleanup(v.Close)
	return v
}

// Close closes the venue and fails the test on an error. A second call has no effect.
func (v *Venue) Close() {
	v.t.Helper()
	if v.closed {
		return
	}
	v.closed = true
	if err := v.Venue.Close(context.Background()); err != nil {
		v.t.Fatal(err)
	}
}

// CutConnections closes every connection of the API, as a failing network does. Only a venue
// of New or ForExample has it.
func (v *Venue) CutConnections() { v.api.cut() }

// Advance moves the clock of the venue and of its clients, and waits until the venue has
// done what is due by then. Only a venue of New or ForExample has it.
func (v *Venue) Advance(d time.Duration) {
	v.t.Helper()
	v.Clock.Advance(d)
	for _, c := range v.clients {
		c.SetClock(time.Until(v.Clock.Time()))
	}
	v.Submit(&core.Clock{})
}

// PostPrice posts a price of a feed by hand, for the current second.
func (v *Venue) PostPrice(f core.Feed, p core.Price) {
	v.t.Helper()
	v.Submit(lanetest.IndexTick(f, v.Clock.Now(), p))
}

// Submit sequences a command and fails the test if it is rejected.
func (v *Venue) Submit(cmd core.Command) {
	v.t.Helper()
	if _, err := v.Venue.Submit(context.Background(), cmd); err != nil {
		v.t.Fatal(err)
	}
}

// WaitUntil waits until ok holds, and fails the test after 3 min.
func (v *Venue) WaitUntil(ok func(*venue.Venue, *view.View) bool) {
	v.t.Helper()
	if err := lanetest.WaitUntil(v.Engine(), ok); err != nil {
		v.t.Fatal(err)
	}
}

// Account returns an account of server.Options.Accounts.
func (v *Venue) Account(name string) schemas.DevAccount {
	v.t.Helper()
	for _, a := range v.Accounts() {
		if a.Name == name {
			return a
		}
	}
	v.t.Fatal(fmt.Sprintf("no account %q", name))
	return schemas.DevAccount{}
}

// Client returns a client with the key of an account, set to the clock of the venue.
func (v *Venue) Client(account string, options ...client.Option) *client.Client {
	v.t.Helper()
	a := v.Account(account)
	return v.ClientWithKey(a.APIKey, a.Secret, options...)
}

// ClientWithKey returns a client with a key, set to the clock of the venue.
func (v *Venue) ClientWithKey(id, secret string, options ...client.Option) *client.Client {
	v.t.Helper()
	raw, ok := schemas.ParseSecret(secret)
	if !ok {
		v.t.Fatal("not a secret")
	}
	s := &signer{transport: v.Transport, secret: raw}
	if s.transport == nil {
		s.transport = &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second}
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = client.Must(client.New(v.APIURL(), id, raw, append([]client.Option{client.WithHTTPClient(&http.Client{Transport: s, CheckRedirect: stay})}, options...)...))
	s.now = s.client.Now
	if v.Clock != nil {
		s.now = v.Clock.Time
		s.client.SetClock(time.Until(s.now()))
		v.clients = append(v.clients, s.client)
	}
	return s.client
}

// NewAccount creates an account without funds and returns a key of it.
func (v *Venue) NewAccount(name string) schemas.NewKey {
	v.t.Helper()
	token := [32]byte{}
	copy(token[:], name)
	v.Submit(&core.CreateUser{Name: name, TokenHash: token})
	u, _ := v.Engine().AccountByToken(token)
	k, err := v.Gate().IssueKey(context.Background(), u, "", gate.UserScopes, core.Audit{Who: "test"})
	if err != nil {
		v.t.Fatal(err)
	}
	return k
}
