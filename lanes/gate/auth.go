package gate

import (
	"net/http"
	"strconv"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// Credentials are the three headers of a request, or what a browser's handshake
// brings instead.
type Credentials struct{ Key, Timestamp, Signature string }

// headers are the three as net/http keeps them.
var headers = [...]string{http.CanonicalHeaderKey(schemas.HeaderKey), http.CanonicalHeaderKey(schemas.HeaderTimestamp), http.CanonicalHeaderKey(schemas.HeaderSignature)}

// CredentialsOf reads the headers; each must be there exactly once.
func CredentialsOf(h http.Header) (c Credentials, ok bool) {
	one := func(name string) string {
		v := h[name]
		if len(v) != 1 {
			ok = false
			return ""
		}
		return v[0]
	}
	ok = true
	c = Credentials{one(headers[0]), one(headers[1]), one(headers[2])}
	return c, ok
}

// Authenticate proves who sent the request, and sets the call's key. Every failure
// is the same `unauthorized` and takes the same work, so that an unknown key, a
// revoked one and a wrong signature cannot be told apart (contract core, Order of
// checks).
func (g *Gate) Authenticate(r *http.Request, c *Call) error {
	cred, ok := CredentialsOf(r.Header)
	if !ok && g.Offered != nil && bare(r.Header) {
		cred, ok = g.Offered(r)
	}
	if !ok {
		return tools.Refuse("unauthorized")
	}
	return g.Prove(cred, r.Method, r.RequestURI, c)
}

// bare tells that a request has none of the three headers.
func bare(h http.Header) bool {
	for _, name := range headers {
		if len(h[name]) > 0 {
			return false
		}
	}
	return true
}

// Prove checks credentials against a method, a raw target and the call's raw body.
func (g *Gate) Prove(cred Credentials, method, target string, c *Call) error {
	nobody := g.Vault.nobody(cred.Key) // found also where it is not wanted
	key := g.Venue.Engine.Key(cred.Key)
	if key == nil {
		key = nobody
	}
	secret, sound := g.Vault.secret(key)
	valid := g.verify(secret, cred.Timestamp, method, target, c.Body, cred.Signature)
	timely := g.timely(cred.Timestamp)
	if bit(valid)&bit(timely)&bit(sound)&bit(!key.Revoked) == 0 { // none is looked at only because of another
		return tools.Refuse("unauthorized")
	}
	c.Key = key
	c.proof = cred
	return nil
}

func bit(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}

// timely tells whether a timestamp lies within the replay window (spec 5).
func (g *Gate) timely(ts string) bool {
	ms, err := strconv.ParseInt(ts, 10, 64)
	off := g.Venue.Terms.Now()/core.NsPerMs - ms
	return err == nil && off <= window && off >= -window
}
