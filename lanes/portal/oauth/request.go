package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"duplex/core"
)

// Server is what clients know of the venue.
type Server struct {
	Issuer   string // the base URL of the portal, without a slash at its end
	Resource string // the URL of the agent lane
	Clients  *Clients
}

// Request is the request of an authorization (docs/rules/oauth.md#authorize).
type Request struct {
	Client    Client
	Redirect  string
	State     string
	Challenge [32]byte
	Scopes    core.Scopes
}

// grantable are the scopes that a grant can have.
const grantable = core.ScopeRead | core.ScopeTrade

// maxQueryBytes bounds the query of an authorization (docs/rules/limits.md#figures).
const maxQueryBytes = 8 << 10

// Parse reads the query of an authorization, for a person of a network. A fault of the client or of its redirect is to be shown, any
// other goes to the redirect.
func (s *Server) Parse(ctx context.Context, from netip.Prefix, query string) (r Request, fault *Fault) {
	q, err := url.ParseQuery(query)
	if err != nil || len(query) > maxQueryBytes {
		return r, &Fault{Code: InvalidRequest, Description: fmt.Sprintf("the query is malformed, or has over %d KiB", maxQueryBytes>>10)}
	}
	if list := q["client_id"]; len(list) != 1 {
		return r, &Fault{Code: InvalidRequest, Description: "client_id must be there once"}
	}
	if list := q["redirect_uri"]; len(list) != 1 {
		return r, &Fault{Code: InvalidRequest, Description: "redirect_uri must be there once"}
	}
	if r.Client, fault = s.Clients.Find(ctx, from, q.Get("client_id")); fault != nil {
		return r, fault
	}
	r.Redirect = q.Get("redirect_uri")
	if !slices.ContainsFunc(r.Client.Redirects, func(known string) bool { return matchesRedirect(known, r.Redirect) }) {
		return r, &Fault{Code: InvalidRequest, Description: "redirect_uri is none of those that the application has registered"}
	}
	if len(q["state"]) == 1 {
		r.State = q.Get("state")
	}
	return r, s.parseRest(q, &r)
}

// parseRest reads the parameters whose faults go to the redirect.
func (s *Server) parseRest(q url.Values, r *Request) *Fault {
	refuse := func(code, description string) *Fault {
		return &Fault{Code: code, Description: description, Redirect: s.Refused(r, code, description)}
	}
	for name, list := range q {
		if len(list) > 1 {
			return refuse(InvalidRequest, name+" must be there once")
		}
	}
	challenge, err := base64.RawURLEncoding.Strict().DecodeString(q.Get("code_challenge"))
	switch {
	case q.Get("response_type") == "":
		return refuse(InvalidRequest, "response_type is missing")
	case q.Get("response_type") != "code":
		return refuse(UnsupportedResponseType, "response_type must be code")
	case q.Get("code_challenge_method") != "S256":
		return refuse(InvalidRequest, "code_challenge_method must be S256")
	case err != nil || len(challenge) != len(r.Challenge):
		return refuse(InvalidRequest, "code_challenge must be the base64url of a SHA-256")
	case q.Has("resource") && q.Get("resource") != s.Resource:
		return refuse(InvalidTarget, "resource must be "+s.Resource)
	}
	copy(r.Challenge[:], challenge)
	for _, name := range strings.Fields(q.Get("scope")) {
		if scope, ok := core.ScopeOf(name); ok && grantable.Has(scope) {
			r.Scopes |= scope
		}
	}
	if r.Scopes == 0 {
		r.Scopes = grantable
	}
	return nil
}

// Refused is the redirect with an error.
func (s *Server) Refused(r *Request, code, description string) string {
	return withQuery(r.Redirect, [2]string{"error", code}, [2]string{"error_description", description}, [2]string{"state", r.State}, [2]string{"iss", s.Issuer})
}

// Allowed is the redirect with a code.
func (s *Server) Allowed(r *Request, code string) string {
	return withQuery(r.Redirect, [2]string{"code", code}, [2]string{"state", r.State}, [2]string{"iss", s.Issuer})
}

// Verifies reports whether a code verifier is the one of a challenge (RFC 7636, section 4.6).
func Verifies(verifier string, challenge [32]byte) bool {
	sum := sha256.Sum256([]byte(verifier))
	return len(verifier) >= 43 && len(verifier) <= 128 && subtle.ConstantTimeCompare(sum[:], challenge[:]) == 1
}

// Form reads a form in which no parameter is repeated.
func Form(body []byte) (url.Values, *Fault) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, &Fault{Code: InvalidRequest, Description: "the body is not a form"}
	}
	for name, list := range form {
		if len(list) > 1 {
			return nil, &Fault{Code: InvalidRequest, Description: name + " must be there once"}
		}
	}
	return form, nil
}
