package server_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"duplex/internal/logbuffer"
	"duplex/server"
	"duplex/server/servertest"
)

// TestPublicURLs checks that pages, documents and the log name the public addresses, and that the API accepts
// the portal's origin and the agent lane its host.
func TestPublicURLs(t *testing.T) {
	logs := &logbuffer.Buffer{}
	v := servertest.OpenLive(t, t.TempDir(), func(o *server.Options) {
		o.Log, o.PublicURL, o.PublicPortalURL = slog.New(slog.NewTextHandler(logs, nil)), "https://api.venue.example", "https://venue.example:8443"
	})
	v.LogOpen()
	if !strings.Contains(logs.String(), `msg="venue open" api=https://api.venue.example portal=https://venue.example:8443 `) {
		t.Error(logs.String())
	}
	for path, want := range map[string][]string{
		"/":              {},
		"/venue.json":    {`"api":"https://api.venue.example"`, `"ws":"wss://api.venue.example/v1/ws"`, `"mcp":"https://api.venue.example/v1/mcp"`},
		"/llms.txt":      {"https://api.venue.example"},
		"/openapi.json":  {`"url":"https://api.venue.example"`},
		"/asyncapi.json": {"api.venue.example"},
	} {
		status, header, body := request(t, "GET", v.PortalURL()+path, "")
		if status != http.StatusOK {
			t.Fatalf("GET %s on the portal: %d, want 200", path, status)
		}
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s does not have %s", path, text)
			}
		}
		if strings.Contains(body, strings.TrimPrefix(v.APIURL(), "http://")) {
			t.Errorf("%s names the listener", path)
		}
		if csp := header.Get("Content-Security-Policy"); !strings.Contains(csp, "connect-src 'self' https://api.venue.example wss://api.venue.example;") {
			t.Errorf("policy of %s: %s", path, csp)
		}
	}
	for origin, allowed := range map[string]bool{"https://venue.example:8443": true, "https://venue.example": false} {
		_, header, _ := request(t, "OPTIONS", v.APIURL()+"/v1/markets", "", "Origin", origin, "Access-Control-Request-Method", "GET")
		if got := header.Get("Access-Control-Allow-Origin") == origin; got != allowed {
			t.Errorf("origin %s: allowed is %v", origin, got)
		}
	}
	for host, want := range map[string]bool{"api.venue.example": true, "api.venue.example:444": true, "venue.example": false} {
		if got := v.Gate().HostAllowed(&http.Request{Host: host}); got != want {
			t.Errorf("host %s: allowed is %v", host, got)
		}
	}
}

func TestCheckPublicURL(t *testing.T) {
	for text, valid := range map[string]bool{
		"https://venue.example": true, "http://127.0.0.1:8080": true, "https://[2001:db8::1]:443": true,
		"": false, "venue.example": false, "https://": false, "https://venue.example/": false, "https://venue.example/x": false,
		"ftp://venue.example": false, "https://u@venue.example": false, "https://venue.example?x": false, "https://:443": false,
	} {
		if err := server.CheckPublicURL(text); (err == nil) != valid {
			t.Errorf("CheckPublicURL(%q): %v, want valid: %t", text, err, valid)
		}
	}
}
