// Package acme orders certificates for a venue from an authority: pebble, the test server of
// Let's Encrypt. It is a module of its own, so that the program does not depend on it.
package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"duplex/server"
)

const name = "api.venue.test"

var folder string // of the authority's own certificate

// TestMain makes the authority's own certificate and has this process trust it.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if folder, err = os.MkdirTemp("", "acme-"); err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(folder)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			log.Fatal(err)
		}
		c := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
		der, err := x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key)
		if err != nil {
			log.Fatal(err)
		}
		secret, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			log.Fatal(err)
		}
		for file, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: secret}} {
			if err := os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600); err != nil {
				log.Fatal(err)
			}
		}
		if err := os.Setenv("SSL_CERT_FILE", filepath.Join(folder, "cert.pem")); err != nil {
			log.Fatal(err)
		}
		return m.Run()
	}())
}

// freePort returns a port of loopback on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// resolver serves DNS: every name is this machine.
func resolver(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // the authority asks over TCP
	if err != nil {
		t.Fatal(err)
	}
	s := &dns.Server{Listener: l, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if q.Question[0].Qtype == dns.TypeA {
			m.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(m) // the authority asks again
	})}
	go func() { _ = s.ActivateAndServe() }()
	t.Cleanup(func() { _ = s.Shutdown() })
	return l.Addr().String()
}

// authority runs pebble, which proves names at the given ports. It returns the URL of its
// directory and the authorities that sign what it issues.
func authority(t *testing.T, tlsPort, httpPort int) (directory string, roots *x509.CertPool) {
	t.Helper()
	listen, management := freePort(t), freePort(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": fmt.Sprintf("127.0.0.1:%d", listen), "managementListenAddress": fmt.Sprintf("127.0.0.1:%d", management),
		"certificate": filepath.Join(folder, "cert.pem"), "privateKey": filepath.Join(folder, "key.pem"), "httpPort": httpPort, "tlsPort": tlsPort,
		"retryAfter": map[string]int{"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "default", "validityPeriod": 7776000}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pebble.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := exec.Command("go", "tool", "-n", "pebble").Output()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), strings.TrimSpace(string(binary)), "-config", file, "-strict", "-dnsserver", resolver(t))
	c.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(said.String())
		}
	})
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(fmt.Sprintf("https://127.0.0.1:%d/roots/0", management))
		if err != nil {
			continue
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(b) {
			t.Fatalf("%s: %s", resp.Status, b)
		}
		return fmt.Sprintf("https://127.0.0.1:%d/dir", listen), roots
	}
	t.Fatal("the authority does not listen")
	return "", nil
}

// TestCertificates opens a venue without a certificate, and connects to it by its name. The
// authority proves the name through the API's own listener, or through the listener for plain
// HTTP. The venue keeps the certificate over a restart, and gets none for another name.
func TestCertificates(t *testing.T) {
	for proof, plain := range map[string]bool{"TLS-ALPN": false, "HTTP": true} {
		t.Run(proof, func(t *testing.T) {
			api, http80 := freePort(t), freePort(t)
			tlsPort := api
			if plain {
				tlsPort = freePort(t)
			}
			directory, roots := authority(t, tlsPort, http80)
			o := server.Options{Data: t.TempDir(), API: fmt.Sprintf("127.0.0.1:%d", api), Environment: "live", TLS: server.TLS{ACMEDomains: []string{name}, ACMEEmail: "operator@venue.test", ACMEDirectory: directory}}
			if plain {
				o.TLS.ACMEHTTP = fmt.Sprintf("127.0.0.1:%d", http80)
			}
			serial := connect(t, o, roots)
			if again := connect(t, o, roots); again.Cmp(serial) != 0 {
				t.Errorf("after a restart the certificate is %v, not %v", again, serial)
			}
		})
	}
}

// connect opens the venue, reads from it by its name, and returns the certificate's number.
func connect(t *testing.T, o server.Options, roots *x509.CertPool) *big.Int {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	v, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := v.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, o.API)
	}
	tr := &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, TLSHandshakeTimeout: time.Minute}
	defer tr.CloseIdleConnections()
	var resp *http.Response
	for end := time.Now().Add(4 * time.Minute); ; { // an order takes longer than a handshake may
		if resp, err = (&http.Client{Transport: tr}).Get("https://" + name + "/v1/time"); err == nil || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized || resp.ProtoMajor != 2 {
		t.Error(resp.Status, resp.Proto)
	}
	if _, err := (&http.Client{Transport: tr}).Get("https://other.venue.test/"); err == nil {
		t.Error("there is a certificate for another name")
	}
	if o.TLS.ACMEHTTP != "" {
		plain := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		req, _ := http.NewRequest(http.MethodGet, "http://"+o.TLS.ACMEHTTP+"/v1/time", nil)
		req.Host = name
		resp, err := plain.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "https://"+name+"/v1/time" {
			t.Error(resp.Status, resp.Header)
		}
	}
	return resp.TLS.PeerCertificates[0].SerialNumber
}
