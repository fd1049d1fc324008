package gate

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"duplex/core"
	"duplex/schemas"
	"duplex/tools"
)

// OAuth makes one path of the API an OAuth 2.1 protected resource, where a bearer token replaces the three
// credential headers (docs/rules/oauth.md#the-lane).
type OAuth struct {
	Path   string // of the agent lane
	API    string // base URL of the API
	Issuer string // base URL of the portal, which is the authorization server
	Name   string // of the resource, for people
}

// Resource is the identifier of the protected resource (RFC 8707).
func (o *OAuth) Resource() string { return o.API + o.Path }

// resourceMetadata begins the path of the metadata of a protected resource (RFC 9728).
const resourceMetadata = "/.well-known/oauth-protected-resource"

// ResourceMetadata is the metadata of a protected resource.
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	Scopes               []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Name                 string   `json:"resource_name"`
}

// serveResourceMetadata answers the only requests of the API that need no credentials. It reports whether it
// has answered.
func (g *Gate) serveResourceMetadata(w http.ResponseWriter, r *http.Request, c *Call) bool {
	o := g.OAuth
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if o == nil || path != resourceMetadata && path != resourceMetadata+o.Path {
		return false
	}
	c.Op = "oauth_protected_resource"
	refuseBody(w, r)
	if !AnyOrigin(w, r, http.MethodGet) {
		WriteJSON(w, http.StatusOK, &ResourceMetadata{o.Resource(), []string{o.Issuer}, (core.ScopeRead | core.ScopeTrade).Names(), []string{"header"}, o.Name})
	}
	return true
}

// AnyOrigin lets pages of any origin call a path without credentials, as OAuth clients in browsers do. It
// answers OPTIONS, and any method but the one of the path, and then returns true.
func AnyOrigin(w http.ResponseWriter, r *http.Request, method string) bool {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Retry-After")
	switch {
	case r.Method == method || method == http.MethodGet && r.Method == http.MethodHead:
		return false
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", method)
		h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, MCP-Protocol-Version")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", method+", OPTIONS")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	return true
}

// TokenKind is the kind of a token of a grant, which begins its text.
type TokenKind string

// The kinds of tokens.
const (
	CodeToken    TokenKind = "dxg_"
	AccessToken  TokenKind = "dxt_"
	RefreshToken TokenKind = "dxr_"
)

const (
	tokenHeadBytes = keyIDBytes + 8 // the id of the key and the number
	tokenBytes     = tokenHeadBytes + sha256.Size
)

// Token returns a token of a grant: the id of its key, a number, and an HMAC of both by the secret of the key.
// So nothing is kept but the sealed secret, and each member of a cluster makes the same token. The number is
// the generation, 0 of a code.
func (v *Vault) Token(kind TokenKind, k *core.Key, number uint64) (string, error) {
	secret, err := v.Open(k)
	if err != nil {
		return "", err
	}
	head, err := hex.DecodeString(strings.TrimPrefix(k.ID, keyPrefix))
	if err != nil {
		return "", err
	}
	head = binary.BigEndian.AppendUint64(head, number)
	return string(kind) + base64.RawURLEncoding.EncodeToString(append(head, tokenMAC(secret, kind, head)...)), nil
}

func tokenMAC(secret []byte, kind TokenKind, head []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("oauth\n" + string(kind) + "\n"))
	m.Write(head)
	return m.Sum(nil)
}

// parseToken returns the parts of a token. ok is false if the text cannot be one.
func parseToken(kind TokenKind, text string) (keyID string, number uint64, head, mac []byte, ok bool) {
	text, ok = strings.CutPrefix(text, string(kind))
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if !ok || err != nil || len(raw) != tokenBytes {
		return "", 0, nil, nil, false
	}
	return keyPrefix + hex.EncodeToString(raw[:keyIDBytes]), binary.BigEndian.Uint64(raw[keyIDBytes:]), raw[:tokenHeadBytes], raw[tokenHeadBytes:], true
}

// memberLag is how long a node waits for what another one may have applied already.
const memberLag = 500 * time.Millisecond

// OpenToken returns the key with the grant of an authentic token, and the token's number. The caller decides
// whether that generation still counts. Another member may have issued the token a moment ago, so a node of
// several waits up to memberLag for a key or a generation that it does not have. It waits whatever is wrong with
// a token, so that the time does not reveal which keys exist.
func (g *Gate) OpenToken(ctx context.Context, kind TokenKind, text string) (k *core.Key, number uint64, ok bool) {
	id, number, head, mac, ok := parseToken(kind, text)
	if !ok {
		return nil, 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, memberLag)
	defer cancel()
	e := g.Venue.Engine
	_, several := e.MemberStatus()
	several = several || g.MemberURL != nil
	dummy := g.Vault.dummyKey(id)
	read := func() *core.Key { return cmp.Or(e.Key(id), dummy) }
	var seen *core.Key
	for {
		seq := e.Seq()
		if now := read(); now != seen { // else the answer is as before
			key, secret, opened := g.Vault.secretOf(read)
			valid := hmac.Equal(tokenMAC(secret, kind, head), mac)
			if valid && opened && !key.Revoked && key.Grant != nil && number <= uint64(key.Grant.Generation) {
				return key, number, true
			}
			seen = now
		}
		if !several || e.WaitApplied(ctx, seq+1) != nil {
			return nil, 0, false
		}
	}
}

// findBearer takes the bearer token of a request to the agent lane. found is false if the request has none, or
// if this path takes none.
func (g *Gate) findBearer(r *http.Request, c *Call) (found bool, err error) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if g.OAuth == nil || path != g.OAuth.Path || !hasBearer(r.Header) {
		return false, nil
	}
	if !hasNoCredentials(r.Header) {
		return true, &schemas.Fault{Code: "schema_violation", Field: "Authorization", Limit: "a bearer token or the three headers of a signature, not both"}
	}
	c.isBearer = true
	if token, ok := bearerOf(r.Header); ok && g.sealsTransport(r) {
		c.bearer = token
	}
	return true, nil
}

// hasBearer reports whether a request has a bearer token, in whatever form.
func hasBearer(h http.Header) bool {
	return slices.ContainsFunc(h["Authorization"], func(value string) bool {
		scheme, _, _ := strings.Cut(value, " ")
		return strings.EqualFold(scheme, "Bearer")
	})
}

// sealsTransport reports whether a token of the request was not seen on the way: TLS, a trusted proxy, which
// ends TLS, or this machine.
func (g *Gate) sealsTransport(r *http.Request) bool {
	peer := peerAddr(r)
	return r.TLS != nil || g.trusted(peer) || peer.IsLoopback()
}

// authenticateBearer sets the key of a call with a bearer token, or returns unauthorized.
func (g *Gate) authenticateBearer(r *http.Request, c *Call) error {
	ctx, cancel := context.WithTimeout(r.Context(), g.Budget())
	defer cancel()
	now := g.Venue.Config.Wall()
	if k, generation, ok := g.OpenToken(ctx, AccessToken, c.bearer); ok && generation <= 1<<32-1 && int64(now) < k.Grant.AccessEnds(uint32(generation)) {
		c.Key, c.generation = k, uint32(generation)
		return nil
	}
	if err := g.Behind(); err != nil {
		return err
	}
	id, _, _, _, _ := parseToken(AccessToken, c.bearer)
	if !g.Unlimited {
		if err := g.keyFailures.fail(id, now.Time()); err != nil {
			return err
		}
	}
	return tools.NewError("unauthorized")
}

// challenge returns the WWW-Authenticate header of an answer, "" if it has none (RFC 6750, RFC 9728).
func (g *Gate) challenge(r *http.Request, c *Call, status int, code string) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if g.OAuth == nil || path != g.OAuth.Path {
		return ""
	}
	text := `Bearer resource_metadata="` + g.OAuth.API + resourceMetadata + g.OAuth.Path + `", scope="read trade"`
	switch {
	case status == http.StatusUnauthorized && c.isBearer:
		return text + `, error="invalid_token"`
	case status == http.StatusUnauthorized && hasNoCredentials(r.Header):
		return text
	case status == http.StatusForbidden && c.isBearer && code == "missing_scope":
		return text + `, error="insufficient_scope"`
	}
	return ""
}

// StillValid reports whether the key of a call is still valid, and its access token if it has one: a
// stream outlives neither.
func (g *Gate) StillValid(c *Call) bool {
	k := g.Venue.Engine.Key(c.Key.ID)
	return k != nil && !k.Revoked && (!c.isBearer || int64(g.Venue.Config.Wall()) < k.Grant.AccessEnds(c.generation))
}

// Bearer reports whether the call has a bearer token in place of a signature.
func (c *Call) Bearer() bool { return c.isBearer }
