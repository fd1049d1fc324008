package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"duplex/core"
)

// TestAuthorizeRequests tests what the query of an authorization may be, and where its faults go.
func TestAuthorizeRequests(t *testing.T) {
	s := &Server{Issuer: "https://venue.example", Resource: "https://api.venue.example/v1/mcp", Clients: testClients(false)}
	client, fault := s.Clients.Register(&Metadata{Redirects: []string{"https://host.example/back", "https://host.example/back?x=1", "http://127.0.0.1/cb"}})
	if fault != nil {
		t.Fatal(fault)
	}
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	good := url.Values{
		"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {"https://host.example/back"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	const read, trade = core.ScopeRead, core.ScopeTrade
	for name, x := range map[string]struct {
		change url.Values
		scopes core.Scopes
		back   string // where a fault goes; "" and no scopes: it is shown
	}{
		"as it should be":         {nil, read | trade, ""},
		"with a state":            {url.Values{"state": {"a&b"}}, read | trade, ""},
		"with our resource":       {url.Values{"resource": {s.Resource}}, read | trade, ""},
		"to read":                 {url.Values{"scope": {"read"}}, read, ""},
		"unknown scopes":          {url.Values{"scope": {"openid trade withdraw"}}, trade, ""},
		"none of ours":            {url.Values{"scope": {"withdraw"}}, read | trade, ""},
		"unknown parameters":      {url.Values{"nonce": {"1"}, "prompt": {"login"}}, read | trade, ""},
		"a loopback port":         {url.Values{"redirect_uri": {"http://127.0.0.1:5123/cb"}}, read | trade, ""},
		"no redirect":             {url.Values{"redirect_uri": nil}, 0, ""},
		"another redirect":        {url.Values{"redirect_uri": {"https://host.example/other"}}, 0, ""},
		"no client":               {url.Values{"client_id": nil}, 0, ""},
		"two clients":             {url.Values{"client_id": {client.ID, client.ID}}, 0, ""},
		"no response_type":        {url.Values{"response_type": nil}, 0, "https://host.example/back?error=invalid_request&error_description=response_type+is+missing&iss=https%3A%2F%2Fvenue.example"},
		"another response_type":   {url.Values{"response_type": {"token"}, "state": {"s"}}, 0, "https://host.example/back?error=unsupported_response_type&error_description=response_type+must+be+code&state=s&iss=https%3A%2F%2Fvenue.example"},
		"a redirect with a query": {url.Values{"redirect_uri": {"https://host.example/back?x=1"}, "resource": {"x"}}, 0, "https://host.example/back?x=1&error=invalid_target&error_description=resource+must+be+https%3A%2F%2Fapi.venue.example%2Fv1%2Fmcp&iss=https%3A%2F%2Fvenue.example"},
		"two states":              {url.Values{"state": {"s", "s"}}, 0, "https://host.example/back?error=invalid_request&error_description=state+must+be+there+once&iss=https%3A%2F%2Fvenue.example"},
	} {
		q := url.Values{}
		for name, list := range good {
			q[name] = list
		}
		for name, list := range x.change {
			q[name] = list
		}
		r, fault := s.Parse(t.Context(), anywhere, q.Encode())
		switch {
		case x.scopes != 0:
			if fault != nil || r.Scopes != x.scopes || r.Redirect != q.Get("redirect_uri") || r.State != q.Get("state") || !Verifies(verifier, r.Challenge) {
				t.Errorf("%s: %+v, %v", name, r, fault)
			}
		case fault == nil || fault.Redirect != x.back:
			t.Errorf("%s: %+v", name, fault)
		}
	}
	for _, query := range []string{"a=%zz", "a;b", "", good.Encode() + "&x=" + strings.Repeat("y", maxQueryBytes)} {
		if _, fault := s.Parse(t.Context(), anywhere, query); fault == nil || fault.Redirect != "" {
			t.Errorf("%q: %v", query, fault)
		}
	}
	for verifier, want := range map[string]bool{strings.Repeat("v", 43): true, strings.Repeat("v", 42): false, "": false, strings.Repeat("v", 129): false, strings.Repeat("w", 43): false} {
		if Verifies(verifier, sum) != want {
			t.Errorf("verifier %q: %t", verifier, !want)
		}
	}
	if got := withQuery("https://host.example/back?", [2]string{"code", "c"}); got != "https://host.example/back?code=c" {
		t.Errorf("an empty query: %s", got)
	}
}
