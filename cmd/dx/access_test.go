package main

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"duplex/client"
	"duplex/server"
)

// TestAccessSettings tests that hosts and proxies come from the file as from flags, and that
// an error names an invalid one.
func TestAccessSettings(t *testing.T) {
	s, err := settings([]byte("public_url = \"https://api.trade.example\"\npublic_portal_url = \"https://trade.example\"\nallowed_hosts = [\"api.trade.example\", \"[::1]:8080\"]\ntrusted_proxies = [\"10.1.2.3/8\", \"192.0.2.1\", \"::ffff:198.51.100.0/120\", \"2001:db8::1\"]"))
	if err != nil {
		t.Fatal(err)
	}
	var o server.Options
	s.accessFlags.to(&o)
	if o.PublicURL != "https://api.trade.example" || o.PublicPortalURL != "https://trade.example" {
		t.Error(o.PublicURL, o.PublicPortalURL)
	}
	if !slices.Equal(o.Hosts, []string{"api.trade.example", "[::1]:8080"}) {
		t.Error(o.Hosts)
	}
	var proxies []string
	for _, p := range o.TrustedProxies {
		proxies = append(proxies, p.String())
	}
	if got := strings.Join(proxies, " "); got != "10.0.0.0/8 192.0.2.1/32 198.51.100.0/24 2001:db8::1/128" {
		t.Error(got)
	}
	for text, flag := range map[string]string{
		`allowed_hosts = ["https://trade.example"]`: "allowed-hosts",
		`allowed_hosts = ["*.trade.example"]`:       "allowed-hosts",
		`allowed_hosts = ["trade.example:http"]`:    "allowed-hosts",
		`public_url = "venue.example"`:              "public-url",
		`public_portal_url = "https://a/b"`:         "public-portal-url",
		`trusted_proxies = ["10.0.0.0/33"]`:         "trusted-proxies",
		`trusted_proxies = ["proxy.trade.example"]`: "trusted-proxies",
		`trusted_proxies = ["10.0.0.1-10.0.0.255"]`: "trusted-proxies",
	} {
		if _, err := settings([]byte(text)); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("the settings %s: %v, want an error that names --%s", text, err, flag)
		}
	}
}

// asHost sends requests with a given Host.
type asHost string

func (h asHost) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = string(h)
	return http.DefaultTransport.RoundTrip(r)
}

// TestAgentLaneByName tests that the agent lane accepts loopback and the allowed hosts and
// no other name, and that REST accepts every name.
func TestAgentLaneByName(t *testing.T) {
	p := start(t, t.TempDir(), "--allowed-hosts", "venue.example,192.0.2.7")
	a := p.account("trader")
	secret, err := hex.DecodeString(a.Secret)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{strings.TrimPrefix(p.dev.API, "http://"): 200, "localhost:1": 200, "venue.example": 200, "192.0.2.7:80": 200, "evil.example": 403} {
		c := client.Must(client.New(p.dev.API, a.APIKey, secret, client.WithHTTPClient(&http.Client{Transport: asHost(host)})))
		ask := func(method, path string, header http.Header, body string, want int) {
			t.Helper()
			resp, err := c.Open(t.Context(), method, path, header, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s at %q: %s", path, host, resp.Status)
			}
		}
		ask("GET", "/v1/account/limits", nil, "", 200)
		ask("POST", "/v1/mcp", http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, want)
	}
}
