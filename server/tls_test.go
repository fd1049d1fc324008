package server_test

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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/client"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// writeCertificate writes a certificate of 127.0.0.1 with a serial number and its key, and
// returns a client that trusts it alone.
func writeCertificate(t *testing.T, certFile, keyFile string, serial int64, end time.Time) *http.Client {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, b := range map[string][]byte{certFile: public, keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// TestTLS checks the listeners of a venue with TLS, and that a certificate that is half written is not
// used. TestReplacedCertificateBreaksNoConnection trades over TLS.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusting := writeCertificate(t, cert, key, 1, time.Now().Add(time.Hour))
	v := servertest.New(t, func(o *server.Options) { o.TLS = server.TLS{Cert: cert, Key: key} })
	for _, u := range []string{v.APIURL(), v.PortalURL()} {
		if !strings.HasPrefix(u, "https://127.0.0.1:") {
			t.Error(u)
		}
	}
	if !strings.HasPrefix(v.AdminURL(), "http://127.0.0.1:") {
		t.Error(v.AdminURL())
	}
	resp, err := trusting.Get(v.APIURL() + "/v1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp.Proto, resp.Status)
	}
	if text := askOperator(t, v, "GET", "/metrics", ""); !strings.Contains(text, "duplex_tls_certificate_end_seconds ") {
		t.Error("no metric of the certificate's end")
	}

	// A new pair is used for the next connections, and one that is half written is not.
	if err := os.WriteFile(key, []byte("cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	waitForSerial(t, v.PortalURL(), 1)
	writeCertificate(t, cert, key, 2, time.Now().Add(2*time.Hour))
	waitForSerial(t, v.PortalURL(), 2)
}

// strictTransport is the header of every response over TLS.
const strictTransport = "max-age=31536000"

// TestStrictTransportSecurity checks that a venue that speaks TLS tells browsers to come back over TLS alone,
// in every response, also while it starts, and that plain HTTP has no such header. TestPublicAdmin checks the
// operator's listener.
func TestStrictTransportSecurity(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusting := writeCertificate(t, cert, key, 1, time.Now().Add(time.Hour))
	data, _ := servertest.DataWithDeposits(t)
	check := func(when, method, url string, status int, want []string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		resp, err := trusting.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
		if got := resp.Header.Values("Strict-Transport-Security"); resp.StatusCode != status || !slices.Equal(got, want) {
			t.Errorf("%s: %s %s: %s, Strict-Transport-Security %q, want %d %q", when, method, url, resp.Status, got, status, want)
		}
	}
	secure := []string{strictTransport}
	var starting sync.Once
	v := servertest.OpenLive(t, data, func(o *server.Options) {
		o.TLS = server.TLS{Cert: cert, Key: key}
		o.APIListener, o.PortalListener, o.AdminListener = listenLoopback(t), listenLoopback(t), listenLoopback(t)
		api, portal := o.APIListener.Addr().String(), o.PortalListener.Addr().String()
		o.Progress = func(server.Progress) {
			starting.Do(func() {
				trusting.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true // the listener may have another address of loopback
				check("starting", "GET", "https://"+api+"/v1/time", 503, secure)
				check("starting", "GET", "https://"+portal+"/", 503, secure)
			})
		}
	})
	check("open", "GET", v.APIURL()+"/v1/time", 401, secure)
	check("open", "GET", v.APIURL()+"/no/such", 401, secure)
	check("open", "GET", v.PortalURL()+"/", 200, secure)
	check("open", "GET", v.PortalURL()+"/rules/errors.md", 200, secure)
	check("open", "GET", v.PortalURL()+"/keys", 401, secure)
	check("open", "GET", v.PortalURL()+"//", 404, secure)
	check("open", "GET", v.AdminURL()+"/livez", 200, nil) // plain HTTP on loopback
	plain := servertest.New(t)
	check("plain", "GET", plain.PortalURL()+"/", 200, nil)
}

// TestReplacedCertificateBreaksNoConnection sends requests over HTTP/1.1 and HTTP/2 and follows a WebSocket
// while the certificate is replaced: each goes on over the connection that it has, and new connections get
// the new certificate. The clients trust only the first one.
func TestReplacedCertificateBreaksNoConnection(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trusting := writeCertificate(t, cert, key, 1, time.Now().Add(time.Hour))
	v := servertest.New(t, func(o *server.Options) { o.TLS = server.TLS{Cert: cert, Key: key} })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	stop := func() { cancel(); running.Wait() }
	defer stop()

	events, broken := make(chan schemas.U64), make(chan error, 1)
	fail := func(err error) {
		select {
		case broken <- err:
		default:
		}
	}
	v.Transport = trusting.Transport
	alice := v.Client("alice")
	s := alice.Stream(client.StreamOptions{
		Channels:     []string{"user"},
		OnDisconnect: func(err error, _ time.Time) { fail(err) },
		OnEvent: func(e client.StreamEvent) {
			select {
			case events <- e.Seq:
			case <-ctx.Done():
			}
		},
	})
	running.Go(func() { _ = s.Run(ctx) }) // fail has its errors

	roots := trusting.Transport.(*http.Transport).TLSClientConfig.RootCAs
	h1, err := tls.Dial("tcp", strings.TrimPrefix(v.PortalURL(), "https://"), &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer h1.Close()
	h1Reader := bufio.NewReader(h1)
	dialed := 0 // the transport dials again only after its connection has ended
	h2 := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: roots}, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed++
		return new(net.Dialer).DialContext(ctx, network, addr)
	}}
	defer h2.CloseIdleConnections()
	h2.Protocols.SetHTTP2(true)
	requests := map[string]chan struct{}{}
	for protocol, send := range map[string]func(*http.Request) (*http.Response, error){
		"HTTP/2.0": h2.RoundTrip,
		"HTTP/1.1": func(r *http.Request) (*http.Response, error) {
			if err := r.Write(h1); err != nil {
				return nil, err
			}
			return http.ReadResponse(h1Reader, r)
		},
	} {
		done := make(chan struct{})
		requests[protocol] = done
		running.Go(func() {
			for ctx.Err() == nil {
				if err := getOnce(send, v.PortalURL()+"/llms.txt", protocol); err != nil {
					fail(err)
					return
				}
				select {
				case done <- struct{}{}:
				default:
				}
			}
		})
	}
	id := schemas.U64(0)
	goesOn := func() { // each of the three connections works
		id++
		tick := schemas.Int(100)
		o, err := alice.PlaceOrder(ctx, schemas.PlaceOrder{ClientOrderID: id, MarketID: 1, Side: "buy", Outcome: "yes", Tick: &tick, Qty: 1})
		if err != nil {
			t.Fatal(err)
		}
		late := time.After(3 * time.Minute)
		for seen, h1Done, h2Done := schemas.U64(0), requests["HTTP/1.1"], requests["HTTP/2.0"]; seen < o.Seq || h1Done != nil || h2Done != nil; {
			select {
			case seen = <-events:
			case <-h1Done:
				h1Done = nil
			case <-h2Done:
				h2Done = nil
			case err := <-broken:
				t.Fatal(err)
			case <-late:
				t.Fatal("a connection is silent")
			}
		}
	}
	goesOn()
	for serial := range int64(2) {
		writeCertificate(t, cert, key, serial+2, time.Now().Add(time.Hour))
		waitForSerial(t, v.PortalURL(), serial+2)
		goesOn()
	}
	select {
	case err := <-broken:
		t.Error(err)
	default:
	}
	stop()
	if dialed != 1 {
		t.Errorf("%d connections over HTTP/2", dialed)
	}
}

// getOnce sends one request and reads the response, which must be of a protocol.
func getOnce(send func(*http.Request) (*http.Response, error), url, protocol string) error {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := send(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && (resp.StatusCode != http.StatusOK || resp.Proto != protocol) {
		err = fmt.Errorf("the response has %s %s, want %s 200", resp.Proto, resp.Status, protocol)
	}
	return err
}

// waitForSerial connects until the server's certificate has a serial number.
func waitForSerial(t *testing.T, url string, want int64) {
	t.Helper()
	eventually(t, fmt.Sprintf("certificate %d", want), func() bool {
		c, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			return false
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64() == want
	})
}

// TestTLSOptions checks the settings with which a venue does not start, and that a public
// operator's listener speaks TLS.
func TestTLSOptions(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	endedCert, endedKey := filepath.Join(dir, "ended.pem"), filepath.Join(dir, "ended.key")
	writeCertificate(t, cert, key, 1, time.Now().Add(time.Hour))
	writeCertificate(t, endedCert, endedKey, 1, time.Now().Add(-time.Hour))
	for want, change := range map[string]func(*server.Options){
		"Admin: 0.0.0.0:0 can be reached":     func(o *server.Options) { o.Admin = "0.0.0.0:0" },
		"Admin: :0 can be reached":            func(o *server.Options) { o.Admin = ":0" },
		"TLS.Cert: a certificate and its key": func(o *server.Options) { o.TLS.Cert = cert },
		"TLS.Cert: open /nowhere":             func(o *server.Options) { o.TLS = server.TLS{Cert: "/nowhere", Key: key} },
		"TLS.Cert: tls: private key does not": func(o *server.Options) { o.TLS = server.TLS{Cert: cert, Key: endedKey} },
		"ended on":                            func(o *server.Options) { o.TLS = server.TLS{Cert: endedCert, Key: endedKey} },
		"either from files": func(o *server.Options) {
			o.TLS = server.TLS{Cert: cert, Key: key, ACMEDomains: []string{"a.example"}}
		},
		"needs the names":      func(o *server.Options) { o.TLS.ACMEHTTP = ":80" },
		`"*.a.example" is not`: func(o *server.Options) { o.TLS.ACMEDomains = []string{"*.a.example"} },
		`"localhost" is not`:   func(o *server.Options) { o.TLS.ACMEDomains = []string{"localhost"} },
		"TLS.ACMEHTTP: ": func(o *server.Options) {
			o.TLS = server.TLS{ACMEDomains: []string{"a.example"}, ACMEHTTP: "256.0.0.1:1"}
		},
	} {
		err := startError(t, t.TempDir(), change)
		var option *server.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %[2]v, want an OptionError with %[1]q", want, err)
		}
	}
}

// TestPublicAdmin checks that a live venue offers the operator's listener to other machines only with
// TLS and a named admin, and that the shared token is not valid there.
func TestPublicAdmin(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1, time.Now().Add(time.Hour))
	public := func(o *server.Options) { o.Admin, o.TLS = "0.0.0.0:0", server.TLS{Cert: cert, Key: key} }
	var option *server.OptionError
	if err := startError(t, data, public); !errors.As(err, &option) || option.Option != "Admin" || !strings.Contains(err.Error(), "requires a named operator") {
		t.Fatal(err)
	}
	v := servertest.OpenLive(t, data, func(*server.Options) {})
	add := func(name, role string) (token string) {
		t.Helper()
		status, _, body := request(t, "POST", v.AdminURL()+"/admin/operators", `{"name":"`+name+`","role":"`+role+`"}`, "Authorization", "Bearer "+v.OperatorToken(), "Content-Type", "application/json")
		if status != 201 {
			t.Fatal(status, body)
		}
		return member(body, "operator_token")
	}
	viewer := add("vera", "viewer")
	v.Close()
	if err := startError(t, data, public); !errors.As(err, &option) {
		t.Fatalf("a viewer alone: %v", err)
	}
	v = servertest.OpenLive(t, data, func(*server.Options) {})
	admin := add("ann", "admin")
	v.Close()

	// Operators are revoked only if the venue then starts.
	err := startError(t, data, func(o *server.Options) { public(o); o.OperatorsLost = true })
	if !errors.As(err, &option) || option.Option != "OperatorsLost" || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Fatal(err)
	}

	v = servertest.OpenLive(t, data, public)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the certificate names no address
	for token, want := range map[string]int{v.OperatorToken(): 401, viewer: 200, admin: 200, "": 401} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", v.AdminURL()+"/admin/state", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%q: %s, want %d", token, res.Status, want)
		}
		if got := res.Header.Get("Strict-Transport-Security"); got != strictTransport {
			t.Errorf("%q: Strict-Transport-Security %q", token, got)
		}
	}
	client.CloseIdleConnections()
}
