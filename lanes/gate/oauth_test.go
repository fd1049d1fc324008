package gate

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"duplex/core"
)

// TestBearer tests which transports carry a bearer token: a token that was sent in the clear does not count.
func TestBearer(t *testing.T) {
	proxy := netip.MustParsePrefix("192.0.2.0/28")
	for name, x := range map[string]struct {
		peer string
		tls  bool
		want bool
	}{
		"this machine":         {"127.0.0.1:1", false, true},
		"this machine by IPv6": {"[::1]:1", false, true},
		"a trusted proxy":      {"192.0.2.1:1", false, true},
		"TLS":                  {"198.51.100.1:1", true, true},
		"another machine":      {"198.51.100.1:1", false, false},
		"the network at home":  {"192.168.1.2:1", false, false},
	} {
		g := &Gate{OAuth: &OAuth{Path: "/v1/mcp"}, TrustedProxies: []netip.Prefix{proxy}}
		r := httptest.NewRequest(http.MethodPost, "/v1/mcp", nil)
		r.Header.Set("Authorization", "Bearer dxt_x")
		r.RemoteAddr = x.peer
		if x.tls {
			r.TLS = &tls.ConnectionState{}
		}
		var c Call
		if found, err := g.findBearer(r, &c); !found || err != nil || (c.bearer != "") != x.want {
			t.Errorf("%s: found %t, %v, token %q", name, found, err, c.bearer)
		}
	}
}

// TestTokenParts tests that a token is what the vault made of a key, and nothing else.
func TestTokenParts(t *testing.T) {
	v, err := NewVault(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	id, _, sealed := v.NewKey()
	k := &core.Key{ID: id, Sealed: sealed}
	seen := map[string]bool{}
	for _, kind := range []TokenKind{CodeToken, AccessToken, RefreshToken} {
		for _, number := range []uint64{0, 1, 1<<64 - 1} {
			text, err := v.Token(kind, k, number)
			gotID, got, _, mac, ok := parseToken(kind, text)
			if err != nil || !ok || gotID != id || got != number || seen[string(mac)] {
				t.Errorf("%s%d: %s %v, parsed as %s %d %t", kind, number, text, err, gotID, got, ok)
			}
			seen[string(mac)] = true
			for _, other := range []string{text + "A", text[:len(text)-1], text[1:], "", text + "=", string(kind), text[:8] + "!" + text[9:]} {
				if _, _, _, _, ok := parseToken(kind, other); ok {
					t.Errorf("%q is a token", other)
				}
			}
		}
	}
}
