package gate

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// Credentials are the values of the three credential headers
// (docs/rules/accounts.md#signing), or their equivalents in a browser's handshake.
type Credentials struct{ Key, Timestamp, Signature string }

// credentialHeaders are the canonical names of the three headers.
var credentialHeaders = [...]string{http.CanonicalHeaderKey(schemas.HeaderKey), http.CanonicalHeaderKey(schemas.HeaderTimestamp), http.CanonicalHeaderKey(schemas.HeaderSignature)}

// CredentialsOf reads the credential headers. ok is false unless each is present exactly
// once.
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
	c = Credentials{one(credentialHeaders[0]), one(credentialHeaders[1]), one(credentialHeaders[2])}
	return c, ok
}

// findCredentials finds the credentials of a request, or returns unauthorized. Nothing but their presence
// decides, so the answer reveals nothing of a key.
func (g *Gate) findCredentials(r *http.Request, c *Call) (err error) {
	if found, err := g.findBearer(r, c); found {
		return err
	}
	cred, ok := CredentialsOf(r.Header)
	if !ok && g.BrowserCredentials != nil && hasNoCredentials(r.Header) {
		cred, ok = g.BrowserCredentials(r)
	}
	if !ok {
		return tools.NewError("unauthorized")
	}
	c.credentials = cred
	return nil
}

// Authenticate verifies the signature of a request and sets the key of the call. Every
// failure is the same unauthorized and does the same work, so that a caller cannot
// distinguish an unknown key from a revoked key or a wrong signature
// (docs/rules/accounts.md#unauthorized). On a node that may lack the key it is node_behind, and after too
// many failures of the key that is named it is rate_limited (docs/rules/limits.md#failed-signatures). A
// valid signature always passes.
func (g *Gate) Authenticate(r *http.Request, c *Call) error {
	if c.isBearer {
		return g.authenticateBearer(r, c)
	}
	cred := c.credentials
	err := g.VerifySignature(cred, r.Method, r.RequestURI, c)
	if err == nil {
		return nil
	}
	if behind := g.Behind(); behind != nil {
		return behind
	}
	if !g.Unlimited {
		err = cmp.Or(g.keyFailures.fail(cred.Key, g.Venue.Config.Wall().Time()), err)
	}
	return err
}

// UnauthorizedCause returns why a request is unauthorized. Only a dev venue tells, to those who build a client; on any
// other venue it is "", because a 401 must not reveal which check failed (docs/rules/accounts.md#unauthorized).
// c is the call of the request.
func (g *Gate) UnauthorizedCause(r *http.Request, c *Call) string {
	if g.Venue.Config.Environment != environmentDev {
		return ""
	}
	return unauthorizedCauses[g.unauthorizedCause(r, c)]
}

// unauthorizedCause returns why a request is unauthorized, for the venue's own log.
func (g *Gate) unauthorizedCause(r *http.Request, c *Call) string {
	if !c.signed || c.isBearer {
		return "token"
	}
	cred, ok := CredentialsOf(r.Header)
	key := g.Venue.Engine.Key(cred.Key)
	switch {
	case !ok:
		return "headers"
	case key == nil || key.Revoked:
		return "key"
	case c.cutBody:
		return "body"
	case c.Key != nil:
		return "repeated"
	case !g.withinReplayWindow(cred.Timestamp):
		return "clock"
	default:
		return "signature"
	}
}

// unauthorizedCauses describe the causes for the author of a client.
var unauthorizedCauses = map[string]string{
	"token":     "the bearer token is missing, the venue does not know it, or it has ended",
	"body":      "the body ended early, or did not arrive within the time for it",
	"headers":   "a header of " + schemas.HeaderKey + ", " + schemas.HeaderTimestamp + " and " + schemas.HeaderSignature + " is missing or repeated",
	"key":       "the venue has no such key, or it is revoked",
	"repeated":  "the same signed write has been sent before",
	"clock":     "the timestamp is not one in ms within 5 s of the venue's clock",
	"signature": "the signature is wrong, or the body did not arrive as it was signed",
}

// environmentDev is the environment of dx dev (docs/rules/operation.md#dev-venue).
const environmentDev = "dev"

// hasNoCredentials reports whether a request has none of the three headers.
func hasNoCredentials(h http.Header) bool {
	return !slices.ContainsFunc(credentialHeaders[:], func(name string) bool { return len(h[name]) > 0 })
}

// VerifySignature verifies credentials against a method, a raw target and the call's raw
// body. It sets the key of the call, or returns unauthorized.
func (g *Gate) VerifySignature(cred Credentials, method, target string, c *Call) error {
	dummy := g.Vault.dummyKey(cred.Key) // computed for every request, so that its time tells nothing
	key, secret, opened := g.Vault.secretOf(func() *core.Key { return cmp.Or(g.Venue.Engine.Key(cred.Key), dummy) })
	valid := g.verify(secret, cred.Timestamp, method, target, c.Body, cred.Signature)
	inWindow := g.withinReplayWindow(cred.Timestamp)
	if boolToInt(valid)&boolToInt(inWindow)&boolToInt(opened)&boolToInt(!key.Revoked) == 0 { // no short circuit: every operand is always evaluated
		return tools.NewError("unauthorized")
	}
	c.Key = key
	c.credentials = cred
	return nil
}

func boolToInt(b bool) (n int) {
	if b {
		n = 1
	}
	return n
}

// withinReplayWindow reports whether a timestamp in ms is within replayWindowMs of the
// machine's clock (docs/rules/accounts.md#replay-window).
func (g *Gate) withinReplayWindow(ts string) bool {
	ms, err := strconv.ParseInt(ts, 10, 64)
	off := g.Venue.Config.Wall().Ms() - ms
	return err == nil && off <= replayWindowMs && off >= -replayWindowMs
}
