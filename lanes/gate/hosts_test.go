package gate

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHostAllowed(t *testing.T) {
	g := &Gate{Hosts: []string{"venue.example", "Other.Example:8443", "192.0.2.7", "[2001:db8::7]:80"}}
	lan := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 5), Port: 8080}
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:1": true, "127.0.0.1:8080": true, "127.9.9.9": true, "[::1]:8080": true, "[::1]": true, "[::ffff:127.0.0.1]": true, "localhost.": true,
		"10.0.0.5:8080": true, "10.0.0.5": true, "10.0.0.5:9": true, "10.0.0.6:8080": false,
		"venue.example": true, "venue.example:8080": true, "VENUE.example.": true, "venue.example.evil.example": false, "evil.venue.example": false, "venue": false,
		"other.example:8443": true, "other.example": false, "other.example:8444": false,
		"192.0.2.7:1": true, "192.0.2.70": false, "[2001:db8::7]:80": true, "[2001:DB8:0::7]:80": true, "[2001:db8::7]:81": false, "2001:db8::7": false,
		"": false, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "127.1": false, "0.0.0.0": false, "[localhost]": false, "[::1": false, "[::1]x": false, "localhost:1:2": false,
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.Host = host
		if got := g.HostAllowed(r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, lan))); got != want {
			t.Errorf("HostAllowed(%q): %v, want %v", host, got, want)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	if r.Host = "10.0.0.5:8080"; g.HostAllowed(r) {
		t.Error("an address is allowed although the local address is unknown")
	}
}

func TestCheckHost(t *testing.T) {
	for host, want := range map[string]bool{
		"venue.example": true, "venue.example:443": true, "10.0.0.5": true, "[2001:db8::7]": true, "[2001:db8::7]:80": true, "localhost": true,
		"": false, "https://venue.example": false, "venue.example/": false, "*": false, "*.example": false, "a b": false, "u@venue.example": false, ":80": false, "venue.example:": true, "venue.example:http": false, "venue.example:0": false, "venue.example:65536": false, "2001:db8::7": false,
	} {
		if err := CheckHost(host); (err == nil) != want {
			t.Errorf("CheckHost(%q): %v, want valid: %t", host, err, want)
		}
	}
}
