package load

import (
	"strings"
	"testing"
)

// Both addresses must be loopback, and errors name the flag without its value's secrets.
func TestLoopback(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:8080", "http://127.9.8.7:1/", "http://localhost:8080", "http://[::1]:8080", "http://[::ffff:127.0.0.1]:8080"} {
		if got, err := (Address{"url", url}).loopback(); err != nil || got != strings.TrimSuffix(url, "/") {
			t.Errorf("the address %s: %q, %v, want it without a slash at the end", url, got, err)
		}
	}
}

// An operator's token takes precedence over keys, because each connection then has an account
// of its own.
func TestOperatorBeforeKeys(t *testing.T) {
	api, admin, keys := Address{"url", "http://127.0.0.1:1"}, Address{"admin", "http://127.0.0.1:3"}, []Key{{"k", strings.Repeat("5a", 32)}}
	for _, c := range []struct {
		admin Address
		token string
		given int
	}{{admin, "t", 0}, {admin, "", 1}, {Address{}, "t", 1}, {Address{}, "", 1}} {
		v, err := NewVenue(api, c.admin, c.token, keys)
		if err != nil || len(v.given) != c.given {
			t.Errorf("operator %v, token %q: %+v, %v, want %d keys used", c.admin, c.token, v, err, c.given)
		}
	}
}
