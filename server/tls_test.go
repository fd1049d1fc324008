package server_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
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

// TestTLS trades on a venue with TLS: REST and the agent lane over HTTP/2, events over a
// WebSocket. The certificate is replaced while the venue runs.
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
	alice := v.Client("alice", client.WithHTTPClient(trusting))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	seen, once := make(chan struct{}), sync.Once{}
	s := alice.Stream(client.StreamOptions{Channels: []string{"user"}, OnDisconnect: func(err error) { t.Log("disconnected:", err) }, OnEvent: func(e client.StreamEvent) {
		if e.Type == "user" || e.Type == "user_snapshot" {
			once.Do(func() { close(seen) })
		}
	}})
	streamed := make(chan error, 1)
	streamCtx, stop := context.WithCancel(ctx)
	go func() { streamed <- s.Run(streamCtx) }()
	tick := schemas.Int(100)
	o, err := alice.PlaceOrder(ctx, schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Tick: &tick, Qty: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Cancel(ctx, o.OrderID); err != nil {
		t.Error(err)
	}
	select {
	case <-seen:
	case err := <-streamed:
		t.Error(err)
	case <-ctx.Done():
		t.Error("no event arrives")
	}
	stop()
	resp, err := trusting.Get(v.APIURL() + "/v1/mcp")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp.Proto, resp.Status)
	}
	if text := metricsOf(t, v); !strings.Contains(text, "duplex_tls_certificate_end_seconds ") {
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

// waitForSerial connects until the server's certificate has a serial number.
func waitForSerial(t *testing.T, url string, want int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		c, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		got := c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
		_ = c.Close()
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("certificate %d, not %d", got, want)
		}
	}
}

func metricsOf(t *testing.T, v *servertest.Venue) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, v.AdminURL()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+v.OperatorToken())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
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
		"TLS.Cert: stat /nowhere":             func(o *server.Options) { o.TLS = server.TLS{Cert: "/nowhere", Key: key} },
		"TLS.Cert: tls: private key does not": func(o *server.Options) { o.TLS = server.TLS{Cert: cert, Key: endedKey} },
		"ended on":                            func(o *server.Options) { o.TLS = server.TLS{Cert: endedCert, Key: endedKey} },
		"either from files": func(o *server.Options) {
			o.TLS = server.TLS{Cert: cert, Key: key, ACMEDomains: []string{"a.example"}}
		},
		"needs the names":      func(o *server.Options) { o.TLS.ACMEHTTP = ":80" },
		`"*.a.example" is not`: func(o *server.Options) { o.TLS.ACMEDomains = []string{"*.a.example"} },
		`"localhost" is not`:   func(o *server.Options) { o.TLS.ACMEDomains = []string{"localhost"} },
		"TLS.ACMEHTTP: listen ": func(o *server.Options) {
			o.TLS = server.TLS{ACMEDomains: []string{"a.example"}, ACMEHTTP: "256.0.0.1:1"}
		},
	} {
		err := startError(t, t.TempDir(), change)
		var option *server.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
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
	v := openLive(t, data, func(*server.Options) {})
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
	v = openLive(t, data, func(*server.Options) {})
	admin := add("ann", "admin")
	v.Close()

	// Operators are revoked only if the venue then starts.
	err := startError(t, data, func(o *server.Options) { public(o); o.OperatorsLost = true })
	if !errors.As(err, &option) || option.Option != "OperatorsLost" || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Fatal(err)
	}

	v = openLive(t, data, public)
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
	}
	client.CloseIdleConnections()
}
