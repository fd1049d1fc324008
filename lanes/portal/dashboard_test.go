package portal

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"duplex/schemas"
)

// screened opens a portal with a dashboard, in an environment, that has a key to lend.
func screened(t *testing.T, environment string) (v *visitor, host string) {
	v = start(t, func(o *Options) {
		o.Static = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}}
		o.DevKey = func() schemas.DevAccount {
			return schemas.DevAccount{Name: "trader", AccountToken: "dxa_not-for-pages", APIKey: "k", Secret: "s", Scopes: []string{"read"}}
		}
		o.Venue.Terms.Environment = environment
	})
	return v, strings.TrimPrefix(v.url, "http://")
}

// borrow asks for the key as a page of an origin does, under a name of the host.
func (v *visitor) borrow(host string, origins ...string) (int, string) {
	v.T.Helper()
	r, err := http.NewRequest("POST", v.url+"/dev/key", nil)
	if err != nil {
		v.T.Fatal(err)
	}
	r.Host = host
	for _, o := range origins {
		r.Header.Add("Origin", o)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		v.T.Fatal(err)
	}
	defer resp.Body.Close()
	if kept := resp.Header.Get("Cache-Control"); kept != "no-store" {
		v.T.Errorf("%s %v: Cache-Control is %q", host, origins, kept)
	}
	var out map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		v.T.Fatal(err)
	}
	b, err := json.Marshal(out)
	if err != nil {
		v.T.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestTheDevKeyIsLentToPagesOfThisPortal(t *testing.T) {
	v, host := screened(t, "dev")
	_, port, _ := strings.Cut(host, ":")
	for _, h := range []string{host, "localhost:" + port, "[::1]:" + port} {
		status, body := v.borrow(h, "http://"+h)
		if status != 200 || body != `{"api_key":"k","name":"trader","scopes":["read"],"secret":"s"}` {
			t.Errorf("%s: %d %s", h, status, body)
		}
	}
}

// A name pointed at this machine, a page of elsewhere, a proxy, a plain link and a
// client that says no origin get what an unknown path gets.
func TestTheDevKeyIsLentToNobodyElse(t *testing.T) {
	v, host := screened(t, "dev")
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
		if status, body := v.borrow(c.host, c.origins...); status != 404 || strings.Contains(body, "secret") {
			t.Errorf("%s %v: %d %s", c.host, c.origins, status, body)
		}
	}
	v.wants("", "GET", "/dev/key", "", 405, "method_not_allowed")
}

func TestNoDevKeyInLive(t *testing.T) {
	v, host := screened(t, "live")
	if status, body := v.borrow(host, "http://"+host); status != 404 {
		t.Errorf("%d %s", status, body)
	}
	if page := v.wants("", "GET", "/venue.json", "", 200, ""); !strings.Contains(page, `"dev_key":false`) {
		t.Error(page)
	}
}

// A visitor from another machine is not at home, whatever it says.
func TestAtHome(t *testing.T) {
	const host = "127.0.0.1:8081"
	for from, want := range map[string]bool{"127.0.0.1:5": true, "[::1]:5": true, "192.168.1.9:5": false, "[2001:db8::1]:5": false, "": false} {
		r := httptest.NewRequest("POST", "/dev/key", nil)
		r.Host, r.RemoteAddr = host, from
		r.Header.Set("Origin", "http://"+host)
		at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081}
		if got := atHome(r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at))); got != want {
			t.Errorf("from %q: %v", from, got)
		}
		if atHome(r) {
			t.Errorf("from %q without a listener", from)
		}
	}
}

func TestStation(t *testing.T) {
	v, _ := screened(t, "dev")
	var s station
	if err := json.Unmarshal([]byte(v.wants("", "GET", "/venue.json", "", 200, "")), &s); err != nil {
		t.Fatal(err)
	}
	if s.Environment != "dev" || s.API != v.URL || s.WS != "ws"+strings.TrimPrefix(v.URL, "http")+"/v1/ws" || !s.DevKey {
		t.Errorf("%+v", s)
	}
	start(t, nil).wants("", "GET", "/venue.json", "", 404, "not_found") // without a dashboard nobody asks
}
