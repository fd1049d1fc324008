package flood

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/server"
	"duplex/server/servertest"
)

// manyAddresses are 200 addresses of loopback.
const manyAddresses = "127.1.%d.1"

// anonymous is a caller without an account. It reads a document of the portal.
const anonymous = "nobody"

// floodedVenue is a whole venue and an attacker of it. The attacker has an account too, bob, whose key it uses.
type floodedVenue struct {
	*servertest.Venue
	roots    *x509.CertPool // nil without TLS
	attacker *attacker
}

// newFloodedVenue opens a venue. With 1024 open files its API serves 336 connections at once and its portal
// 112; with 0 they serve what the limit of the process allows.
func newFloodedVenue(t *testing.T, withTLS bool, openFiles uint64) *floodedVenue {
	t.Helper()
	f := &floodedVenue{attacker: &attacker{}}
	var certificate server.TLS
	if withTLS {
		certificate, f.attacker.Roots = writeTestCertificate(t)
		f.roots = f.attacker.pool()
	}
	f.Venue = servertest.New(t, func(o *server.Options) {
		o.OpenFiles, o.TLS, o.ReadRate = openFiles, certificate, 1_000_000
	})
	f.attacker.API, f.attacker.Account, f.attacker.Clock = f.APIURL(), f.Account("bob"), time.Until(f.Clock.Time())
	f.attacker.Seq = f.Engine().Seq()
	return f
}

// writeTestCertificate writes a certificate of 127.0.0.1, and returns the authority to trust.
func writeTestCertificate(t *testing.T) (files server.TLS, roots []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // quick handshakes
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	public, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files = server.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for file, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: public}, files.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public})
}

// transport returns a transport with connections of its own.
func (f *floodedVenue) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.roots}, ForceAttemptHTTP2: true}
}

// served checks that an account gets the answer to a read.
func (f *floodedVenue) served(t *testing.T, tr *http.Transport, base, account string) error {
	t.Helper()
	path, as := "/", (*attacker)(nil)
	if account != anonymous {
		path, as = readOf(base == f.APIURL()), f.caller(account)
	}
	r, err := as.newRequest(t.Context(), base, path)
	if err != nil {
		return err
	}
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

const halfABody = "half a body"

// floodKinds are the ways in which an attacker uses each connection once, and then holds it.
var floodKinds = map[string]func(a *attacker, ctx context.Context, c net.Conn, base string) error{
	"silence": func(*attacker, context.Context, net.Conn, string) error { return nil },
	"half a head": func(a *attacker, ctx context.Context, c net.Conn, _ string) error {
		c, err := a.shakeHands(ctx, c)
		if err == nil {
			_, err = io.WriteString(c, "GET /v1/time HTTP/1.1\r\nHost: x\r\n")
		}
		return err
	},
	halfABody: func(a *attacker, ctx context.Context, c net.Conn, base string) error {
		c, err := a.shakeHands(ctx, c)
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/portfolio/orders", nil)
		if err != nil {
			return err
		}
		a.signWrongly(r)
		r.ContentLength, r.Body = 61_000, io.NopCloser(bytes.NewReader(make([]byte, 60_000)))
		_ = r.Write(c) // its body is shorter than its length; the venue may have ended the connection
		return nil
	},
	"one unsigned request": func(a *attacker, ctx context.Context, c net.Conn, base string) error {
		return a.request(ctx, c, base, false, 401, 429) // the portal limits failures by address
	},
	"one key, used once": func(a *attacker, ctx context.Context, c net.Conn, base string) error {
		return a.request(ctx, c, base, true, 200, 429) // the portal limits the calls of an account; the connection is signed
	},
	"one key, waiting": waits,
}

// waits has one key wait for an event on each connection of the API. The portal has nothing to wait for.
func waits(a *attacker, ctx context.Context, c net.Conn, base string) error {
	if base != a.API {
		return a.request(ctx, c, base, true, 200, 429)
	}
	c, err := a.shakeHands(ctx, c)
	if err != nil {
		return err
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_event","arguments":{"after_seq":"%d","timeout_ms":25000,"kinds":["withdrawal"]}}}`, a.Seq)
	r, err := a.sign(ctx, http.MethodPost, base, "/v1/mcp", body)
	if err != nil {
		return err
	}
	return r.Write(c)
}

// TestFlood floods a listener with twice the connections that it serves, in several ways, from the address
// of everybody else and from many. After every few connections a new client comes. It must be served at its
// first try, on each interface, and whoever had signed before the flood stays connected
// (docs/security.md#too-much-work).
func TestFlood(t *testing.T) {
	for _, withTLS := range []bool{false, true} {
		if withTLS && testing.Short() {
			continue // the race detector has seen the same code; .ci/full race runs it
		}
		f := newFloodedVenue(t, withTLS, 1024)
		from := []string{manyAddresses, "127.0.0.1"}
		if withTLS {
			from = from[:1] // a network is the same below TLS
		}
		for _, from := range from {
			for kind := range floodKinds {
				if kind == halfABody {
					continue // it is for measurements: bodies have tests of their own
				}
				for lane, base := range map[string]string{"API": f.APIURL(), "portal": f.PortalURL()} {
					connections := map[string]int{"API": 700, "portal": 250}[lane] // twice as many as it serves
					t.Run(fmt.Sprintf("%s, TLS %v, from %s, %s", lane, withTLS, from, kind), func(t *testing.T) {
						check := f.connected(t)
						defer f.attacker.hangUp()
						for i := range connections {
							if err := f.attacker.open(t.Context(), kind, base, from, i); err != nil {
								t.Fatalf("the attacker's connection %d: %v", i, err)
							}
							if every := connections / 100; i%every == 0 {
								if err := f.newClient(t, i/every); err != nil {
									t.Errorf("new client %d: %v", i/every, err)
								}
							}
						}
						check()
					})
				}
			}
		}
	}
}

// TestLongFlood is TestFlood with the real bounds, and with an attacker in a process of its own that opens
// 16,384 connections as fast as it can; without TLS, where that takes seconds, twice. Each of 100 new clients must be served within a second.
func TestLongFlood(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip(".ci/full flood runs it")
	}
	for _, withTLS := range []bool{false, true} {
		f := newFloodedVenue(t, withTLS, 0)
		for kind := range floodKinds {
			if kind == halfABody {
				continue
			}
			for lane, base := range map[string]string{"API": f.APIURL(), "portal": f.PortalURL()} {
				t.Run(fmt.Sprintf("%s, TLS %v, %s", lane, withTLS, kind), func(t *testing.T) {
					check := f.connected(t)
					before := residentMemory(t)
					peak := before
					ended := f.attackFromAProcess(t, floodOrder{Kind: kind, Base: base, From: manyAddresses, Connections: 16_384, Passes: map[bool]int{false: 2, true: 1}[withTLS]})
					served, slowest := 0, time.Duration(0)
					for during := true; during || served < 100; served++ {
						select {
						case err := <-ended:
							if during = false; err != nil {
								t.Fatal(err)
							}
							ended = nil
						default:
						}
						began := time.Now()
						if err := f.newClient(t, served); err != nil {
							t.Errorf("new client %d: %v", served, err)
						}
						slowest = max(slowest, time.Since(began))
						peak = max(peak, residentMemory(t))
					}
					check()
					if slowest > time.Second {
						t.Errorf("a new client waited %v", slowest)
					}
					t.Logf("%d new clients, the slowest was served after %v; resident memory grew by %d MB", served, slowest, (peak-before)>>20)
				})
			}
		}
	}
}

// TestLongEndlessBodies sends bodies that never end: 200 connections of HTTP/2 with 100 streams each and
// 61 KB of every body, without credentials and with wrong ones. The venue's resident memory grows by less
// than 200 MB, or 350 MB if the bodies come from 200 networks, and new clients are served.
func TestLongEndlessBodies(t *testing.T) {
	if os.Getenv("DX_LONG") == "" {
		t.Skip(".ci/full flood runs it")
	}
	f := newFloodedVenue(t, true, 0)
	for from, most := range map[string]int{"127.0.0.1": 200, manyAddresses: 350} {
		for _, kind := range []string{bodiesWithout, bodiesWithWrong} {
			t.Run(kind+" from "+from, func(t *testing.T) {
				check := f.connected(t)
				before := residentMemory(t)
				ended := f.attackFromAProcess(t, floodOrder{Kind: kind, Base: f.APIURL(), From: from, Connections: 200, Passes: 1})
				peak := before
				for n := 0; ; n++ {
					if err := f.newClient(t, n); err != nil {
						t.Errorf("new client %d: %v", n, err)
					}
					peak = max(peak, residentMemory(t))
					select {
					case err := <-ended:
						if check(); err != nil {
							t.Fatal(err)
						}
						if grown := (peak - before) >> 20; grown >= most {
							t.Errorf("resident memory grew by %d MB", grown)
						} else {
							t.Logf("resident memory grew by %d MB, %d new clients were served", grown, n+1)
						}
						return
					default:
					}
				}
			})
		}
	}
}

// residentMemory returns the resident memory of this process in bytes.
func residentMemory(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the system does not tell the resident memory: ", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// connected opens a client of each listener and a socket. check fails the test unless all are still
// connected.
func (f *floodedVenue) connected(t *testing.T) (check func()) {
	t.Helper()
	before, socket := f.transport(), f.socket(t)
	t.Cleanup(before.CloseIdleConnections)
	t.Cleanup(func() { _ = socket.CloseNow() })
	served := func() {
		t.Helper()
		for _, base := range []string{f.APIURL(), f.PortalURL()} {
			if err := f.served(t, before, base, "alice"); err != nil {
				t.Errorf("a client from before the flood: %v", err)
			}
		}
	}
	served()
	before.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("the connection has ended")
	}
	return func() {
		t.Helper()
		served()
		if err := socket.Ping(t.Context()); err != nil {
			t.Errorf("a socket from before the flood: %v", err)
		}
	}
}

// newClient is a client with a new connection, which must be served at its first try: on the API, on the
// portal and on the event lane by turns.
func (f *floodedVenue) newClient(t *testing.T, n int) error {
	t.Helper()
	tr := f.transport()
	defer tr.CloseIdleConnections()
	switch n % 3 {
	case 0:
		return f.served(t, tr, f.APIURL(), "alice")
	case 1:
		return f.served(t, tr, f.PortalURL(), anonymous)
	}
	return f.socket(t).CloseNow()
}

// socket opens an event stream of alice. Its reader answers pings until the test ends.
func (f *floodedVenue) socket(t *testing.T) *websocket.Conn {
	t.Helper()
	tr := f.transport()
	tr.ForceAttemptHTTP2 = false
	r, err := f.caller("alice").newRequest(t.Context(), f.APIURL(), "/v1/ws")
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := websocket.Dial(t.Context(), r.URL.String(), &websocket.DialOptions{HTTPHeader: r.Header, HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		t.Fatalf("a new socket: %v", err)
	}
	c.CloseRead(t.Context())
	return c
}
