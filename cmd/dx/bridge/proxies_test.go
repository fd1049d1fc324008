package bridge_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/internal/proxytest"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// proxyClient returns a client of the venue behind a proxy, with the key of an account.
func proxyClient(p *proxytest.Proxy, a schemas.DevAccount) *client.Client {
	h := bridge.NewHTTPClient()
	h.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx, "127.0.0.1") }
	h.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: p.Roots}
	secret, _ := schemas.ParseSecret(a.Secret)
	return client.Must(client.New("https://"+proxytest.Host, a.APIKey, secret, client.WithHTTPClient(h)))
}

// TestProxies runs every check of dx doctor through each proxy of docs/operations/proxies, with
// its recipe, connects by OAuth and looks at the portal through it.
func TestProxies(t *testing.T) {
	v := servertest.Open(t, server.Options{
		Data: t.TempDir(), PublicURL: "https://" + proxytest.Host, PublicPortalURL: "https://" + proxytest.PortalHost, OAuth: true,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Accounts: []server.Account{{Name: "alice"}},
	})
	alice := v.Account("alice")
	address := 0 // the clients of each proxy have their own
	for _, name := range proxytest.Names {
		address++
		address := address
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proxytest.Start(t, name, []string{v.APIURL()}, []string{v.PortalURL()})
			doctor := proxyClient(p, alice)
			for _, f := range append(bridge.Doctor(t.Context(), doctor), bridge.Through(t.Context(), doctor, "https://"+proxytest.Host)...) {
				if !f.OK {
					t.Errorf("the check %s fails: %s", f.Check, f.Detail)
				}
			}
			through := p.HTTPClient("127.0.0.1").Transport
			bridge.OAuthDoctor(t.Context(), through, "https://"+proxytest.Host+"/v1/mcp", func(page string) {
				go decide(t, through, page, alice.AccountToken, "through-"+name, true)
			}, func(f bridge.Finding) {
				if !f.OK {
					t.Errorf("the step %s of OAuth fails: %s", f.Check, f.Detail)
				}
			})
			checkPortalThrough(t, p, fmt.Sprintf("127.0.%d.1", address), fmt.Sprintf("127.0.%d.2", address))
		})
	}
}

// checkPortalThrough checks the portal's host behind a proxy: it serves the screen, which names the public
// API, and an X-Forwarded-For that a client forges neither evades the limit of failed tokens nor spends that
// of another client. one and other are addresses of loopback.
func checkPortalThrough(t *testing.T, p *proxytest.Proxy, one, other string) {
	t.Helper()
	get := func(c *http.Client, path, token, forwarded string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+proxytest.PortalHost+path, nil)
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
	client := p.HTTPClient(one)
	if status, body := get(client, "/", "", ""); status != 200 || !strings.Contains(body, "<html") {
		t.Errorf("the screen: %d %.200s", status, body)
	}
	if status, body := get(client, "/venue.json", "", ""); status != 200 || !strings.Contains(body, `"https://`+proxytest.Host+`"`) {
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
	victim := p.HTTPClient(other)
	if status, body := get(victim, "/keys", "dxa_mistyped", "127.0.0.1"); status != http.StatusUnauthorized {
		t.Errorf("another client pays for it: %d %s", status, body)
	}
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
		{"https", proxytest.Host, 90 * 24 * time.Hour, true, "TLS 1.3, ", ""},
		{"http", proxytest.Host, 0, false, "none: everyone", "--tls-cert"},
		{"https", proxytest.Host, 90 * 24 * time.Hour, false, "unknown authority", "Check the certificate"},
		{"https", "other.example", 90 * 24 * time.Hour, true, "not other.example", "its names"},
		{"https", proxytest.Host, time.Hour, true, "the certificate ends at ", "Replace"},
	} {
		dir := t.TempDir()
		pair, err := tls.LoadX509KeyPair(proxytest.WriteCertificate(t, dir, time.Now().Add(c.end)), filepath.Join(dir, "key.pem"))
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
