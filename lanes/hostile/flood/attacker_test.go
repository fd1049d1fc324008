package flood

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/schemas"
)

// attacker opens connections to a venue and holds them. It has an account of its own. In a flood with the
// real bounds it runs in a process of its own, which gets it as JSON. Its methods are safe for concurrent use.
type attacker struct {
	API     string // the base URL of the API; the other listener is the portal
	Account schemas.DevAccount
	Clock   time.Duration // how far the venue's clock is ahead
	Roots   []byte        // PEM; nil without TLS
	Seq     uint64        // of a command before the flood

	mu   sync.Mutex
	held []net.Conn
}

func (a *attacker) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(a.Roots)
	return pool
}

// readOf is the target of a read that any account may do.
func readOf(api bool) string {
	if api {
		return "/v1/portfolio/balance"
	}
	return "/keys"
}

// newRequest returns a GET with the account's credential for that listener; without one if a is nil.
func (a *attacker) newRequest(ctx context.Context, base, path string) (*http.Request, error) {
	if a != nil && base == a.API {
		return a.sign(ctx, http.MethodGet, base, path, "")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if a != nil && err == nil {
		r.Header.Set("Authorization", "Bearer "+a.Account.AccountToken)
	}
	return r, err
}

// sign returns a request to the API, signed with the account's key. The body is JSON, or "".
func (a *attacker) sign(ctx context.Context, method, base, path, body string) (*http.Request, error) {
	secret, ok := schemas.ParseSecret(a.Account.Secret)
	if !ok {
		return nil, errors.New("not a secret")
	}
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	ts := strconv.FormatInt(time.Now().Add(a.Clock).UnixNano()/core.NsPerMs, 10)
	r.Header.Set(schemas.HeaderKey, a.Account.APIKey)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, method, path, []byte(body)))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	}
	return r, nil
}

// caller returns an attacker with another account, for its requests alone.
func (f *floodedVenue) caller(account string) *attacker {
	return &attacker{API: f.APIURL(), Account: f.Account(account), Clock: f.attacker.Clock}
}

// dialer returns the dialer of the connection number i of a flood. from is an address of loopback, or
// manyAddresses.
func dialer(from string, i int) *net.Dialer {
	if strings.Contains(from, "%") {
		from = fmt.Sprintf(from, i%200)
	}
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
}

// open opens the connection number i of a flood, uses it and holds it.
func (a *attacker) open(ctx context.Context, kind, base, from string, i int) error {
	u, err := url.Parse(base)
	if err != nil {
		return err
	}
	c, err := dialer(from, i).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.held = append(a.held, c)
	a.mu.Unlock()
	if err := c.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		return err
	}
	return floodKinds[kind](a, ctx, c, base)
}

// hangUp closes all connections.
func (a *attacker) hangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.held {
		_ = c.Close()
	}
	a.held = nil
}

// shakeHands does the handshake of a connection, if the venue speaks TLS.
func (a *attacker) shakeHands(ctx context.Context, c net.Conn) (net.Conn, error) {
	if a.Roots == nil {
		return c, nil
	}
	t := tls.Client(c, &tls.Config{RootCAs: a.pool(), ServerName: "127.0.0.1"})
	return t, t.HandshakeContext(ctx)
}

// request sends one request on a connection. Its answer must have one of the statuses.
func (a *attacker) request(ctx context.Context, c net.Conn, base string, signed bool, statuses ...int) error {
	c, err := a.shakeHands(ctx, c)
	if err != nil {
		return err
	}
	caller := a
	if !signed {
		caller = nil
	}
	r, err := caller.newRequest(ctx, base, readOf(base == a.API))
	if err != nil {
		return err
	}
	if err := r.Write(c); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if !slices.Contains(statuses, resp.StatusCode) {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// floodOrder is what an attacker in a process of its own does.
type floodOrder struct {
	Kind, Base, From    string
	Connections, Passes int
	Attacker            *attacker
}

// attackerVariable is the variable of the environment with a floodOrder, as JSON.
const attackerVariable = "DX_TEST_ATTACKER"

// TestMain runs the tests, or an attacker.
func TestMain(m *testing.M) {
	text := os.Getenv(attackerVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var o floodOrder
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range o.Passes {
		o.run()
	}
}

// run opens all connections as fast as it can, and then closes them. It ignores errors: the venue ends
// connections, as it should.
func (o *floodOrder) run() {
	switch o.Kind {
	case bodiesWithout, bodiesWithWrong:
		o.sendEndlessBodies()
		return
	case requestsWithout, requestsWithWrong:
		o.sendRequests()
		return
	}
	next := make(chan int)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for i := range next {
				_ = o.Attacker.open(context.Background(), o.Kind, o.Base, o.From, i)
			}
		})
	}
	for i := range o.Connections {
		next <- i
	}
	close(next)
	all.Wait()
	o.Attacker.hangUp()
}

// The kinds of a flood of bodies, and of requests.
const (
	bodiesWithout     = "bodies without credentials"
	bodiesWithWrong   = "bodies with wrong credentials"
	requestsWithout   = "requests without credentials"
	requestsWithWrong = "requests with wrong credentials"
)

// sendEndlessBodies sends 100 bodies on each connection, over HTTP/2. Of each it sends 61 KB, and then nothing
// until the venue has answered or 15 s have passed.
func (o *floodOrder) sendEndlessBodies() {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	some := bytes.Repeat([]byte("b"), 61_000)
	var all sync.WaitGroup
	for i := range o.Connections {
		tr := &http.Transport{
			DialContext: dialer(o.From, i).DialContext, TLSClientConfig: &tls.Config{RootCAs: o.Attacker.pool()}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
		}
		for range 100 {
			all.Go(func() {
				body, end := io.Pipe()
				defer end.Close()
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.Base+"/v1/portfolio/orders", io.MultiReader(bytes.NewReader(some), body))
				if err != nil {
					panic(err)
				}
				if o.Kind == bodiesWithWrong {
					o.Attacker.signWrongly(r)
				}
				if resp, err := tr.RoundTrip(r); err == nil {
					_ = resp.Body.Close()
				}
			})
		}
	}
	all.Wait()
}

// sendRequests sends the requests one after another on 32 connections, each of which lives as long as the venue
// keeps it.
func (o *floodOrder) sendRequests() {
	tr := &http.Transport{
		DialContext: dialer(o.From, 0).DialContext, TLSClientConfig: &tls.Config{RootCAs: o.Attacker.pool()}, ForceAttemptHTTP2: true, MaxConnsPerHost: 32, MaxIdleConnsPerHost: 32,
	}
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range o.Connections / 32 {
				r, err := http.NewRequest(http.MethodGet, o.Base, nil)
				if err != nil {
					panic(err)
				}
				if o.Kind == requestsWithWrong {
					o.Attacker.signWrongly(r)
				}
				if resp, err := tr.RoundTrip(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
		})
	}
	all.Wait()
}

// signWrongly gives a request the credentials of a key that does not exist.
func (a *attacker) signWrongly(r *http.Request) {
	r.Header.Set(schemas.HeaderKey, "dxk000000000000000000000000")
	r.Header.Set(schemas.HeaderTimestamp, strconv.FormatInt(time.Now().Add(a.Clock).UnixMilli(), 10))
	r.Header.Set(schemas.HeaderSignature, strings.Repeat("A", 43)+"=")
}

// attackFromAProcess starts an attacker and returns the end of it.
func (f *floodedVenue) attackFromAProcess(t *testing.T, o floodOrder) (ended <-chan error) {
	t.Helper()
	o.Attacker = f.attacker
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), attackerVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := make(chan error, 1)
	go func() { end <- cmd.Wait() }()
	return end
}
