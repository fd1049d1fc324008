package portal

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"duplex/schemas"
)

// newDashboardPortal opens a portal with a dashboard and a dev key in an environment.
func newDashboardPortal(t *testing.T, environment string) (v *testPortal, host string) {
	v = newTestPortal(t, func(o *Options) {
		o.Static = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}
		o.DevKey = func() schemas.DevAccount {
			return schemas.DevAccount{Name: "trader", AccountToken: "dxa_not-for-pages", APIKey: "k", Secret: "s", Scopes: []string{"read"}}
		}
		o.Venue.Config.Environment = environment
	})
	return v, strings.TrimPrefix(v.url, "http://")
}

// requestDevKey requests the dev key with a Host and Origin headers.
func (v *testPortal) requestDevKey(host string, origins ...string) (int, string) {
	v.T.Helper()
	r, err := http.NewRequest("POST", v.url+"/dev/key", nil)
	if err != nil {
		v.T.Fatal(err)
	}
	r.Host, r.Header["Origin"] = host, origins
	status, h, body := v.Send(r)
	if control := h.Get("Cache-Control"); control != "no-store" {
		v.T.Errorf("%s %v: Cache-Control is %q", host, origins, control)
	}
	return status, body
}

func TestDevKey(t *testing.T) {
	t.Parallel()
	v, host := newDashboardPortal(t, "dev")
	_, port, _ := strings.Cut(host, ":")
	for _, h := range []string{host, "localhost:" + port, "[::1]:" + port} {
		status, body := v.requestDevKey(h, "http://"+h)
		if status != 200 || body != `{"name":"trader","api_key":"k","secret":"s","scopes":["read"]}` {
			t.Errorf("the dev key at host %s: %d %s, want 200 and the trader's key", h, status, body)
		}
	}
}

// TestDevKeyForeignRequests checks that requests with another Host, and requests with
// another Origin or none, get not_found.
func TestDevKeyForeignRequests(t *testing.T) {
	t.Parallel()
	v, host := newDashboardPortal(t, "dev")
	_, port, _ := strings.Cut(host, ":")
	for _, c := range []struct {
		host    string
		origins []string
	}{
		{host, nil},
		{host, []string{"http://evil.example"}},
		{host, []string{"null"}},
		{host, []string{"https://" + host}},
		{host, []string{"http://" + host, "http://" + host}},
		{host, []string{"http://localhost:" + port}},
		{host, []string{"http://127.0.0.1:1"}},
		{"evil.example:" + port, []string{"http://evil.example:" + port}},
		{"127.0.0.1.evil.example:" + port, []string{"http://127.0.0.1.evil.example:" + port}},
		{"localhost", []string{"http://localhost"}},
		{"localhost:1", []string{"http://localhost:1"}},
		{"0.0.0.0:" + port, []string{"http://0.0.0.0:" + port}},
		{"10.0.0.1:" + port, []string{"http://10.0.0.1:" + port}},
	} {
		if status, body := v.requestDevKey(c.host, c.origins...); status != 404 || strings.Contains(body, "secret") {
			t.Errorf("the dev key at host %s from %v: %d %s, want 404", c.host, c.origins, status, body)
		}
	}
	v.wants("", "GET", "/dev/key", "", 405, "method_not_allowed")
}

func TestNoDevKeyInLive(t *testing.T) {
	t.Parallel()
	v, host := newDashboardPortal(t, "live")
	if status, body := v.requestDevKey(host, "http://"+host); status != 404 {
		t.Errorf("the dev key in live: %d %s, want 404", status, body)
	}
	if page := v.wants("", "GET", "/venue.json", "", 200, ""); !strings.Contains(page, `"dev_key":false`) {
		t.Error(page)
	}
}

// TestIsSameMachine checks that the address of the peer decides, whatever the headers say.
func TestIsSameMachine(t *testing.T) {
	t.Parallel()
	const host = "127.0.0.1:8081"
	for from, want := range map[string]bool{"127.0.0.1:5": true, "[::1]:5": true, "192.168.1.9:5": false, "[2001:db8::1]:5": false, "": false} {
		r := httptest.NewRequest("POST", "/dev/key", nil)
		r.Host, r.RemoteAddr = host, from
		r.Header.Set("Origin", "http://"+host)
		at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081}
		if got := isSameMachine(r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at))); got != want {
			t.Errorf("from %q: %v", from, got)
		}
		if isSameMachine(r) {
			t.Errorf("from %q without a listener", from)
		}
	}
}

func TestVenueInfo(t *testing.T) {
	t.Parallel()
	v, _ := newDashboardPortal(t, "dev")
	var s venueInfo
	if v.ask("", "GET", "/venue.json", "", 200, &s); s.Environment != "dev" || s.API != v.URL || s.WS != "ws"+strings.TrimPrefix(v.URL, "http")+"/v1/ws" || !s.DevKey {
		t.Errorf("/venue.json: %+v, want dev, the API and the socket at %s, and a dev key", s, v.URL)
	}
	newTestPortal(t, nil).wants("", "GET", "/venue.json", "", 404, "not_found") // served only with a dashboard
}
