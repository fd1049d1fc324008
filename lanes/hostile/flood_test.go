package hostile

import (
	"bufio"
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
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"duplex/core"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// visitor is in place of an account: somebody who reads the portal.
const visitor = "a visitor"

// floodedVenue is a whole venue whose API serves 336 connections at once and whose portal serves 112.
type floodedVenue struct {
	*servertest.Venue
	t     *testing.T
	roots *x509.CertPool // nil without TLS
	held  []net.Conn     // connections of the attacker
}

func newFloodedVenue(t *testing.T, withTLS bool) *floodedVenue {
	t.Helper()
	f := &floodedVenue{t: t}
	var certificate server.TLS
	if withTLS {
		certificate, f.roots = writeTestCertificate(t)
	}
	f.Venue = servertest.New(t, func(o *server.Options) { o.OpenFiles, o.TLS, o.ReadRate = 1024, certificate, 1_000_000 })
	t.Cleanup(func() {
		for _, c := range f.held {
			_ = c.Close()
		}
	})
	return f
}

// writeTestCertificate writes a certificate of 127.0.0.1, and returns the authority to trust.
func writeTestCertificate(t *testing.T) (files server.TLS, roots *x509.CertPool) {
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
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}))
	return files, roots
}

// connect opens a connection to a listener from an address of loopback.
func (f *floodedVenue) connect(ctx context.Context, from, base string) (net.Conn, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(ctx, "tcp", u.Host)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(testTimeout))
	}
	return c, err
}

// transport returns a transport with connections of its own.
func (f *floodedVenue) transport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.roots}, ForceAttemptHTTP2: true}
}

// get returns a request for a read that the account may do; "" sends no credential. visitor is for the
// front page of the portal.
func (f *floodedVenue) get(t *testing.T, base, account string) *http.Request {
	t.Helper()
	path := map[bool]string{true: "/v1/portfolio/balance", false: "/keys"}[base == f.APIURL()]
	if account == visitor {
		account, path = "", "/"
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case account == "":
	case base == f.APIURL():
		f.sign(r, account)
	default:
		r.Header.Set("Authorization", "Bearer "+f.Account(account).AccountToken)
	}
	return r
}

// sign signs a request without a body.
func (f *floodedVenue) sign(r *http.Request, account string) {
	a := f.Account(account)
	secret, _ := schemas.ParseSecret(a.Secret)
	ts := strconv.FormatInt(f.Clock.Now()/core.NsPerMs, 10)
	r.Header.Set(schemas.HeaderKey, a.APIKey)
	r.Header.Set(schemas.HeaderTimestamp, ts)
	r.Header.Set(schemas.HeaderSignature, schemas.Sign(secret, ts, r.Method, r.URL.RequestURI(), nil))
}

// served checks that an account gets the answer to a read.
func (f *floodedVenue) served(t *testing.T, tr *http.Transport, base, account string) error {
	t.Helper()
	resp, err := tr.RoundTrip(f.get(t, base, account))
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

// request sends a request on a connection of the attacker and reads the status of its answer.
func (f *floodedVenue) request(c net.Conn, base string, r *http.Request) (status int, err error) {
	if f.roots != nil {
		t := tls.Client(c, &tls.Config{RootCAs: f.roots, ServerName: "127.0.0.1"})
		if err := t.HandshakeContext(r.Context()); err != nil {
			return 0, err
		}
		c = t
	}
	if err := r.Write(c); err != nil {
		return 0, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
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
		f := newFloodedVenue(t, withTLS)
		floods := map[string]func(c net.Conn, base string) error{
			"silence": func(net.Conn, string) error { return nil },
			"half a head": func(c net.Conn, _ string) error {
				_, err := io.WriteString(c, "GET /v1/time HTTP/1.1\r\nHost: x\r\n") // with TLS no handshake
				return err
			},
			"one unsigned request": func(c net.Conn, base string) error {
				status, err := f.request(c, base, f.get(t, base, ""))
				if err == nil && status != 401 && status != 429 { // the portal limits failures by address
					err = fmt.Errorf("status %d", status)
				}
				return err
			},
			"one key, used once": func(c net.Conn, base string) error {
				status, err := f.request(c, base, f.get(t, base, "bob"))
				if err == nil && status != 200 && status != 429 { // the portal limits the calls of an account; the connection is signed
					err = fmt.Errorf("status %d", status)
				}
				return err
			},
		}
		from := []string{"127.1.%d.1", "127.0.0.1"}
		if withTLS {
			from = from[:1] // a network is the same below TLS
		}
		for _, from := range from {
			for name, flood := range floods {
				for lane, base := range map[string]string{"API": f.APIURL(), "portal": f.PortalURL()} {
					connections := map[string]int{"API": 700, "portal": 250}[lane] // twice as many as it serves
					t.Run(fmt.Sprintf("%s, TLS %v, from %s, %s", lane, withTLS, from, name), func(t *testing.T) {
						before, socket := f.transport(), f.socket(t)
						defer before.CloseIdleConnections()
						defer socket.CloseNow()
						for _, base := range []string{f.APIURL(), f.PortalURL()} {
							if err := f.served(t, before, base, "alice"); err != nil {
								t.Fatal(err)
							}
						}
						before.DialContext = func(context.Context, string, string) (net.Conn, error) {
							return nil, errors.New("the connection has ended")
						}
						for i := range connections {
							address := from
							if strings.Contains(from, "%") {
								address = fmt.Sprintf(from, i%200)
							}
							c, err := f.connect(t.Context(), address, base)
							if err != nil {
								t.Fatal(err)
							}
							f.held = append(f.held, c)
							if err := flood(c, base); err != nil {
								t.Fatalf("the attacker's connection %d: %v", i, err)
							}
							if every := connections / 100; i%every == 0 {
								f.newClient(t, i/every)
							}
						}
						for _, base := range []string{f.APIURL(), f.PortalURL()} {
							if err := f.served(t, before, base, "alice"); err != nil {
								t.Errorf("a client from before the flood: %v", err)
							}
						}
						if err := socket.Ping(t.Context()); err != nil {
							t.Errorf("a socket from before the flood: %v", err)
						}
						for _, c := range f.held {
							_ = c.Close()
						}
						f.held = nil
					})
				}
			}
		}
	}
}

// newClient checks that a client with a new connection is served at its first try: on the API, on the
// portal and on the event lane by turns.
func (f *floodedVenue) newClient(t *testing.T, n int) {
	t.Helper()
	tr := f.transport()
	defer tr.CloseIdleConnections()
	var err error
	switch n % 3 {
	case 0:
		err = f.served(t, tr, f.APIURL(), "alice")
	case 1:
		err = f.served(t, tr, f.PortalURL(), visitor)
	case 2:
		f.socket(t).CloseNow()
	}
	if err != nil {
		t.Errorf("new client %d: %v", n, err)
	}
}

// socket opens an event stream of alice. Its reader answers pings until the test ends.
func (f *floodedVenue) socket(t *testing.T) *websocket.Conn {
	t.Helper()
	tr := f.transport()
	tr.ForceAttemptHTTP2 = false
	r, err := http.NewRequest("GET", f.APIURL()+"/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	f.sign(r, "alice")
	c, _, err := websocket.Dial(t.Context(), r.URL.String(), &websocket.DialOptions{HTTPHeader: r.Header, HTTPClient: &http.Client{Transport: tr}})
	if err != nil {
		t.Fatalf("a new socket: %v", err)
	}
	c.CloseRead(t.Context())
	return c
}
