package bridge_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

const proxyHost, proxyPortal = "api.trade.example", "trade.example"

// proxyTest is a proxy in front of a venue, in a folder of its own.
type proxyTest struct {
	t       *testing.T
	dir     string
	port    string            // of the proxy, in place of 443
	replace *strings.Replacer // the recipe's addresses and files by the test's
	pool    *x509.CertPool    // the authority of its certificates, once it runs
}

// proxies are the recipes in docs/operations/proxies. Each entry writes the configuration of
// its test and returns the command that runs it, and the file with the authority to trust.
var proxies = map[string]func(p *proxyTest) (command []string, root string){
	"nginx": func(p *proxyTest) ([]string, string) {
		p.write("duplex.conf", p.recipe("nginx.conf"))
		p.write("nginx.conf", "daemon off;\nuser root;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\nevents { worker_connections 4096; }\nhttp { access_log off; include "+filepath.Join(p.dir, "duplex.conf")+"; }\n")
		return []string{"nginx", "-p", p.dir, "-c", filepath.Join(p.dir, "nginx.conf")}, p.certificate()
	},
	"haproxy": func(p *proxyTest) ([]string, string) {
		root := p.certificate()
		p.write("haproxy.cfg", p.recipe("haproxy.cfg"))
		return []string{"haproxy", "-db", "-f", filepath.Join(p.dir, "haproxy.cfg")}, root
	},
	"caddy": func(p *proxyTest) ([]string, string) {
		options := fmt.Sprintf("\n{\n\tadmin off\n\tlocal_certs\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port %s\n", p.port)
		recipe := strings.Replace(p.recipe("Caddyfile"), "\n{\n", options, 1) // into its global options
		if usesOldBufferOptions(p.t) {
			recipe = strings.ReplaceAll(recipe, "\t\trequest_buffers 64KiB", "\t\tmax_buffer_size 65536\n\t\tbuffer_requests")
		}
		p.write("Caddyfile", recipe)
		return []string{"caddy", "run", "--config", filepath.Join(p.dir, "Caddyfile"), "--adapter", "caddyfile"}, filepath.Join(p.dir, "caddy/pki/authorities/local/root.crt")
	},
}

// usesOldBufferOptions reports whether Caddy is older than 2.6.4. The recipe says what to write for it.
func usesOldBufferOptions(t *testing.T) bool {
	t.Helper()
	out, err := exec.Command("caddy", "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(strings.TrimPrefix(string(out), "v"), "2.6.2")
}

func (p *proxyTest) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *proxyTest) recipe(name string) string {
	p.t.Helper()
	b, err := os.ReadFile("../../../docs/operations/proxies/" + name)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.replace.Replace(string(b))
}

// certificate writes the files that the recipes name and returns the certificate's.
func (p *proxyTest) certificate() string {
	p.t.Helper()
	return p.certificateUntil(time.Now().AddDate(0, 3, 0))
}

func (p *proxyTest) certificateUntil(end time.Time) string {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	c := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: end, DNSNames: []string{proxyHost, proxyPortal}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, &c, &c, key.Public(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	public, private := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
	p.write("fullchain.pem", public)
	p.write("key.pem", private)
	p.write("duplex.pem", public+private)
	return filepath.Join(p.dir, "fullchain.pem")
}

// freePort returns a port on which nothing listens. It is below those that systems give to outgoing connections
// (Linux: from 32768), so that no other program gets it before the proxy binds it.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(15_000 + mathrand.IntN(15_000))
		if l, err := net.Listen("tcp", ":"+port); err == nil { // on every address, as a proxy may
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return ""
}

// startProxy starts a proxy with its recipe in front of an API and a portal, until the test ends. It skips the
// test if the proxy is not installed.
func startProxy(t *testing.T, name, api, portal string) *proxyTest {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && os.Getenv("DX_PROXIES") != "required" {
		t.Skip(name + " is not installed; DX_PROXIES=required makes this a failure")
	}
	p := &proxyTest{t: t, dir: t.TempDir(), port: freePort(t)}
	p.replace = strings.NewReplacer(
		"127.0.0.1:8080", strings.TrimPrefix(api, "http://"), "127.0.0.1:8081", strings.TrimPrefix(portal, "http://"),
		"listen 443", "listen 127.0.0.1:"+p.port, "bind :443", "bind 127.0.0.1:"+p.port, "/etc/dx/", p.dir+"/",
	)
	command, root := proxies[name](p)
	c := exec.Command(command[0], command[1:]...)
	var output strings.Builder
	c.Stdout, c.Stderr = &output, &output
	c.Env = append(os.Environ(), "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir, "HOME="+p.dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
		if t.Failed() {
			t.Log(output.String())
		}
	})
	if p.pool = waitForProxy(t, p.port, root, ended); p.pool == nil {
		t.Fatal(name + " has ended")
	}
	return p
}

// dial opens a TCP connection to the proxy from a loopback address.
func (p *proxyTest) dial(ctx context.Context, from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	return d.DialContext(ctx, "tcp", "127.0.0.1:"+p.port)
}

// httpClient returns a client from a loopback address.
func (p *proxyTest) httpClient(from string) *http.Client {
	t := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: p.pool}, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, from) },
	}
	p.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Timeout: 3 * time.Minute, Transport: t}
}

// client returns a client of the venue behind the proxy, with the key of an account.
func (p *proxyTest) client(a schemas.DevAccount) *client.Client {
	h := bridge.NewHTTPClient()
	h.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, "127.0.0.1") }
	h.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: p.pool}
	secret, _ := schemas.ParseSecret(a.Secret)
	return client.Must(client.New("https://"+proxyHost, a.APIKey, secret, client.WithHTTPClient(h)))
}

// TestProxies runs every check of dx doctor through each proxy of docs/operations/proxies, with
// its recipe, connects by OAuth and looks at the portal through it.
func TestProxies(t *testing.T) {
	v := servertest.Open(t, server.Options{
		Data: t.TempDir(), PublicURL: "https://" + proxyHost, PublicPortalURL: "https://" + proxyPortal, OAuth: true,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Accounts: []server.Account{{Name: "alice"}},
	})
	alice := v.Account("alice")
	address := 0 // the clients of each proxy have their own
	for name := range proxies {
		address++
		address := address
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, name, v.APIURL(), v.PortalURL())
			doctor := p.client(alice)
			for _, f := range append(bridge.Doctor(t.Context(), doctor), bridge.Through(t.Context(), doctor, "https://"+proxyHost)...) {
				if !f.OK {
					t.Errorf("the check %s fails: %s", f.Check, f.Detail)
				}
			}
			through := p.httpClient("127.0.0.1").Transport
			bridge.OAuthDoctor(t.Context(), through, "https://"+proxyHost+"/v1/mcp", func(page string) {
				go decide(t, through, page, alice.AccountToken, "through-"+name, true)
			}, func(f bridge.Finding) {
				if !f.OK {
					t.Errorf("the step %s of OAuth fails: %s", f.Check, f.Detail)
				}
			})
			checkPortalThrough(p, fmt.Sprintf("127.0.%d.1", address), fmt.Sprintf("127.0.%d.2", address))
		})
	}
}

// checkPortalThrough checks the portal's host behind a proxy: it serves the screen, which names the public
// API, and an X-Forwarded-For that a client forges neither evades the limit of failed tokens nor spends that
// of another client. one and other are addresses of loopback.
func checkPortalThrough(p *proxyTest, one, other string) {
	t := p.t
	t.Helper()
	get := func(c *http.Client, path, token, forwarded string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+proxyPortal+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	client := p.httpClient(one)
	if status, body := get(client, "/", "", ""); status != 200 || !strings.Contains(body, "<html") {
		t.Errorf("the screen: %d %.200s", status, body)
	}
	if status, body := get(client, "/venue.json", "", ""); status != 200 || !strings.Contains(body, `"https://`+proxyHost+`"`) {
		t.Errorf("venue.json: %d %s", status, body)
	}
	limited := false
	for n := 0; n < 300 && !limited; n++ {
		status, body := get(client, "/keys", "dxa_guessed", fmt.Sprintf("%s, 198.51.%d.%d", other, n/250, n%250))
		if limited = status == http.StatusTooManyRequests; !limited && status != http.StatusUnauthorized {
			t.Fatal(status, body)
		}
	}
	if !limited {
		t.Error("a forged X-Forwarded-For evades the limit of failed tokens")
	}
	victim := p.httpClient(other)
	if status, body := get(victim, "/keys", "dxa_mistyped", "127.0.0.1"); status != http.StatusUnauthorized {
		t.Errorf("another client pays for it: %d %s", status, body)
	}
}

// waitForProxy returns the authorities to trust once the proxy listens, and nil if it has ended.
func waitForProxy(t *testing.T, port, root string, ended chan error) *x509.CertPool {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			return nil
		default:
		}
		b, err := os.ReadFile(root)
		if err != nil {
			continue
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(b) {
			continue
		}
		// A proxy that gets its certificates by itself may listen before it has both.
		if hasCertificate(port, pool, proxyHost) && hasCertificate(port, pool, proxyPortal) {
			return pool
		}
	}
	t.Fatal("the proxy does not listen")
	return nil
}

// hasCertificate reports whether a host of the proxy has a certificate that the pool trusts.
func hasCertificate(port string, pool *x509.CertPool, host string) bool {
	conn, err := tls.Dial("tcp", "127.0.0.1:"+port, &tls.Config{RootCAs: pool, ServerName: host})
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// TestThrough puts proxies that break one thing each in front of a venue and checks that dx
// doctor names it.
func TestThrough(t *testing.T) {
	v := servertest.Open(t, server.Options{Data: t.TempDir(), Accounts: []server.Account{{Name: "alice"}}})
	venue, err := url.Parse(v.APIURL())
	if err != nil {
		t.Fatal(err)
	}
	type handler = func(w http.ResponseWriter, r *http.Request, pass http.Handler)
	for broken, front := range map[string]handler{
		"": func(w http.ResponseWriter, r *http.Request, pass http.Handler) { pass.ServeHTTP(w, r) },
		"body of a DELETE": func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if r.Method == http.MethodDelete {
				_, _ = io.Copy(io.Discard, r.Body)
				r.Body, r.ContentLength = http.NoBody, 0
			}
			pass.ServeHTTP(w, r)
		},
		"query of 8 KiB": func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if len(r.RequestURI) > 8000 {
				w.WriteHeader(http.StatusRequestURITooLong)
				return
			}
			pass.ServeHTTP(w, r)
		},
		"body of 64 KiB": func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if r.ContentLength > 32<<10 {
				w.WriteHeader(http.StatusRequestEntityTooLarge)
				return
			}
			pass.ServeHTTP(w, r)
		},
		"websocket": func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			r.Header.Del("Upgrade")
			pass.ServeHTTP(w, r)
		},
		"stream of the agent lane": func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			if r.URL.Path == bridge.Path {
				w = struct{ http.ResponseWriter }{w} // without Flush
			}
			pass.ServeHTTP(w, r)
		},
	} {
		t.Run(broken, func(t *testing.T) {
			pass := httputil.NewSingleHostReverseProxy(venue)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { front(w, r, pass) }))
			defer s.Close()
			if broken == "stream of the agent lane" {
				defer func(d time.Duration) { *bridge.StreamTimeout = d }(*bridge.StreamTimeout)
				*bridge.StreamTimeout = 100 * time.Millisecond // servertest makes it 30 times as long
			}
			a := v.Account("alice")
			secret, _ := schemas.ParseSecret(a.Secret)
			for _, f := range bridge.Through(t.Context(), client.Must(client.New(s.URL, a.APIKey, secret, client.WithHTTPClient(bridge.NewHTTPClient()))), s.URL) {
				if f.OK == (f.Check == broken) || f.OK != (f.Fix == "") {
					t.Errorf("the check %s: ok %v, %s, want %s alone to fail, with a fix", f.Check, f.OK, f.Detail, broken)
				}
			}
		})
	}
}

// TestThroughTLS checks what dx doctor says of a connection that is not encrypted, of a certificate that
// the client does not trust, and of one that ends soon.
func TestThroughTLS(t *testing.T) {
	for _, c := range []struct {
		scheme, host string
		end          time.Duration // of the certificate, from now
		trusted      bool
		detail, fix  string
	}{
		{"https", proxyHost, 90 * 24 * time.Hour, true, "TLS 1.3, ", ""},
		{"http", proxyHost, 0, false, "none: everyone", "--tls-cert"},
		{"https", proxyHost, 90 * 24 * time.Hour, false, "unknown authority", "Check the certificate"},
		{"https", "other.example", 90 * 24 * time.Hour, true, "not other.example", "its names"},
		{"https", proxyHost, time.Hour, true, "the certificate ends at ", "Replace"},
	} {
		p := &proxyTest{t: t, dir: t.TempDir()}
		root := p.certificateUntil(time.Now().Add(c.end))
		pair, err := tls.LoadX509KeyPair(root, filepath.Join(p.dir, "key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		if c.scheme == "https" {
			s.StartTLS()
		} else {
			s.Start()
		}
		defer s.Close()
		pool := x509.NewCertPool()
		if c.trusted {
			pool.AddCert(pair.Leaf)
		}
		h := bridge.NewHTTPClient()
		h.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
		h.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		}
		base := c.scheme + "://" + c.host
		f := bridge.Through(t.Context(), client.Must(client.New(base, "key", make([]byte, 32), client.WithHTTPClient(h))), base)[0]
		if f.Check != "tls" || f.OK != (c.fix == "") || !strings.Contains(f.Detail, c.detail) || !strings.Contains(f.Fix, c.fix) {
			t.Errorf("through %s: %+v, want the check tls with %q and the fix %q", base, f, c.detail, c.fix)
		}
	}
}
