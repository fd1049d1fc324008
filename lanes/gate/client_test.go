package gate

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestClientAddr(t *testing.T) {
	g := &Gate{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48"), netip.MustParsePrefix("127.0.0.1/32")}}
	for _, c := range []struct {
		name, peer string
		forwarded  []string
		want       string
	}{
		{"no proxy", "198.51.100.7:5", nil, "198.51.100.7"},
		{"X-Forwarded-For of an untrusted peer", "198.51.100.7:5", []string{"203.0.113.1"}, "198.51.100.7"},
		{"an address next to the proxy network", "11.0.0.1:5", []string{"203.0.113.1"}, "11.0.0.1"},
		{"a proxy without X-Forwarded-For", "10.0.0.1:5", nil, "10.0.0.1"},
		{"one proxy", "10.0.0.1:5", []string{"203.0.113.1"}, "203.0.113.1"},
		{"one proxy on IPv6", "[2001:db8:1::9]:5", []string{"2001:db8:2::1"}, "2001:db8:2::1"},
		{"one proxy, mapped", "[::ffff:10.0.0.1]:5", []string{"::ffff:203.0.113.1"}, "203.0.113.1"},
		{"one proxy, after an address set by the client", "10.0.0.1:5", []string{"192.0.2.1, 203.0.113.1"}, "203.0.113.1"},
		{"invalid elements set by the client", "10.0.0.1:5", []string{"unknown, <script>, 203.0.113.1"}, "203.0.113.1"},
		{"the client's address is a trusted one", "10.0.0.1:5", []string{"192.0.2.1, 203.0.113.1, 10.0.0.9"}, "203.0.113.1"},
		{"two proxies", "127.0.0.1:5", []string{"203.0.113.1,10.3.2.1"}, "203.0.113.1"},
		{"two proxies, a line each", "127.0.0.1:5", []string{"192.0.2.1", "203.0.113.1", "10.3.2.1"}, "203.0.113.1"},
		{"with spaces and tabs", "10.0.0.1:5", []string{" 192.0.2.1 ,\t203.0.113.1\t"}, "203.0.113.1"},
		{"with a port", "10.0.0.1:5", []string{"203.0.113.1:40000"}, "203.0.113.1"},
		{"with a port, on IPv6", "10.0.0.1:5", []string{"[2001:db8:2::1]:40000"}, "2001:db8:2::1"},
		{"with a zone", "10.0.0.1:5", []string{"fe80::1%eth0"}, "fe80::1"},
		{"all are trusted", "10.0.0.1:5", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.1"},
		{"the last element is invalid", "10.0.0.1:5", []string{"203.0.113.1, unknown"}, "10.0.0.1"},
		{"an invalid element before the client", "10.0.0.1:5", []string{"203.0.113.1, -, 10.0.0.2"}, "10.0.0.1"},
		{"an empty list", "10.0.0.1:5", []string{""}, "10.0.0.1"},
		{"an empty last element", "10.0.0.1:5", []string{"203.0.113.1,"}, "10.0.0.1"},
		{"a host name", "10.0.0.1:5", []string{"client.example"}, "10.0.0.1"},
		{"a network", "10.0.0.1:5", []string{"203.0.113.0/24"}, "10.0.0.1"},
		{"an invalid peer address", "@", []string{"203.0.113.1"}, "invalid IP"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header = http.Header{"X-Forwarded-For": c.forwarded}
		if c.forwarded == nil {
			r.Header = http.Header{}
		}
		if got := g.ClientAddr(r).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
