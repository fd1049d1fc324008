package server_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/logbuffer"
	"duplex/schemas"
	"duplex/server"
	"duplex/server/servertest"
)

// oauthHost is an OAuth client of a venue, and the owner who answers its requests.
type oauthHost struct {
	t        *testing.T
	v        *servertest.Venue
	id       string
	verifier string
	account  string // account token of the owner
}

const redirect = "https://host.example/back?x=1"

// newOAuthHost opens a venue and registers a client.
func newOAuthHost(t *testing.T) *oauthHost {
	t.Helper()
	v := servertest.New(t, func(o *server.Options) { o.OAuth = true })
	h := &oauthHost{t: t, v: v, account: v.Account("alice").AccountToken}
	h.id = h.register(redirect)
	return h
}

func (h *oauthHost) register(redirects ...string) string {
	h.t.Helper()
	body := must(json.Marshal(map[string]any{"client_name": "Host", "redirect_uris": redirects}))
	var out struct {
		ClientID string `json:"client_id"`
		Secret   *string
	}
	h.json(http.StatusCreated, &out, "POST", h.v.PortalURL()+"/oauth/register", string(body), "Content-Type", "application/json")
	return out.ClientID
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// json sends a request, wants a status and decodes the answer.
func (h *oauthHost) json(status int, out any, method, url, body string, header ...string) {
	h.t.Helper()
	got, _, answer := request(h.t, method, url, body, header...)
	if err := json.Unmarshal([]byte(answer), out); got != status || err != nil {
		h.t.Fatalf("%s %s %s: %d %s, want %d", method, url, body, got, answer, status)
	}
}

// query is the query of an authorization. change may set parameters, or remove them with "".
func (h *oauthHost) query(change map[string]string) string {
	var raw [32]byte
	_, _ = rand.Read(raw[:])
	h.verifier = base64.RawURLEncoding.EncodeToString(raw[:])
	sum := sha256.Sum256([]byte(h.verifier))
	p := map[string]string{
		"response_type": "code", "client_id": h.id, "redirect_uri": redirect, "code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]),
		"code_challenge_method": "S256", "state": "a state", "resource": h.v.APIURL() + "/v1/mcp",
	}
	maps.Copy(p, change)
	q := url.Values{}
	for name, value := range p {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

// consent answers a request of an authorization as the owner, and returns status, body and redirect.
func (h *oauthHost) consent(query string, more map[string]any, header ...string) (int, string, url.Values) {
	h.t.Helper()
	body := map[string]any{"request": query, "allow": true}
	maps.Copy(body, more)
	header = append([]string{"Content-Type", "application/json", "Origin", h.v.PublicPortalURL(), "Authorization", "Bearer " + h.account}, header...)
	status, _, answer := request(h.t, "POST", h.v.PortalURL()+"/oauth/consent", string(must(json.Marshal(body))), header...)
	var out struct{ Redirect string }
	_ = json.Unmarshal([]byte(answer), &out) // an error has none
	u, err := url.Parse(out.Redirect)
	if err != nil {
		h.t.Fatal(err)
	}
	return status, answer, u.Query()
}

// allow creates an agent and returns the code of its grant.
func (h *oauthHost) allow(name string, more map[string]any) (code string) {
	h.t.Helper()
	body := map[string]any{"agent": map[string]any{"name": name}}
	maps.Copy(body, more)
	status, answer, q := h.consent(h.query(nil), body)
	if status != http.StatusOK || q.Get("code") == "" || q.Get("state") != "a state" || q.Get("iss") != h.v.PublicPortalURL() || q.Get("x") != "1" {
		h.t.Fatalf("consent: %d %s", status, answer)
	}
	return q.Get("code")
}

type oauthTokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Type    string `json:"token_type"`
	Seconds int    `json:"expires_in"`
	Scope   string `json:"scope"`
	Error   string `json:"error"`
}

func (h *oauthHost) token(form url.Values) (status int, out oauthTokens) {
	h.t.Helper()
	status, header, answer := request(h.t, "POST", h.v.PortalURL()+"/oauth/token", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	if err := json.Unmarshal([]byte(answer), &out); err != nil || header.Get("Cache-Control") != "no-store" || header.Get("Access-Control-Allow-Origin") != "*" {
		h.t.Fatalf("%v in %s %v", err, answer, header)
	}
	return status, out
}

func (h *oauthHost) exchange(code string) url.Values {
	return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {h.id}, "redirect_uri": {redirect}, "code_verifier": {h.verifier}}
}

func (h *oauthHost) refresh(token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {h.id}}
}

// connect allows a new agent and exchanges its code.
func (h *oauthHost) connect(name string) oauthTokens {
	h.t.Helper()
	status, tokens := h.token(h.exchange(h.allow(name, nil)))
	if status != http.StatusOK || tokens.Type != "Bearer" || tokens.Seconds < 3590 || tokens.Seconds > 3600 || tokens.Scope != "read trade" {
		h.t.Fatalf("%d %+v", status, tokens)
	}
	return tokens
}

// call calls a tool with a token and returns status, challenge and body.
func (h *oauthHost) call(token, tool, arguments string, header ...string) (status int, challenge, body string) {
	h.t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	header = append([]string{"Content-Type", "application/json", "MCP-Protocol-Version", "2025-11-25", "Authorization", "Bearer " + token}, header...)
	status, got, body := request(h.t, "POST", h.v.APIURL()+"/v1/mcp", message, header...)
	return status, got.Get("WWW-Authenticate"), body
}

// works reports whether a token works.
func (h *oauthHost) works(token string) bool {
	h.t.Helper()
	status, challenge, body := h.call(token, "get_account", "{}")
	if status == http.StatusUnauthorized && strings.HasSuffix(challenge, `error="invalid_token"`) {
		return false
	}
	if status != http.StatusOK || strings.Contains(body, `"isError":true`) {
		h.t.Fatalf("get_account: %d %s %s", status, challenge, body)
	}
	return true
}

// agents returns the owner's agents.
func (h *oauthHost) agents() (list schemas.AgentList) {
	h.t.Helper()
	h.json(http.StatusOK, &list, "GET", h.v.PortalURL()+"/agents", "", "Authorization", "Bearer "+h.account)
	return list
}

func (h *oauthHost) keys(agent uint32) (list schemas.KeyList) {
	h.t.Helper()
	h.json(http.StatusOK, &list, "GET", fmt.Sprintf("%s/agents/%d/keys", h.v.PortalURL(), agent), "", "Authorization", "Bearer "+h.account)
	return list
}

// TestOAuthDocuments tests both documents, which members they have, and that they are there only with OAuth.
func TestOAuthDocuments(t *testing.T) {
	h := newOAuthHost(t)
	api, portal := h.v.APIURL(), h.v.PortalURL()
	resource := fmt.Sprintf(`{"resource":"%s/v1/mcp","authorization_servers":["%s"],"scopes_supported":["read","trade"],"bearer_methods_supported":["header"],"resource_name":"Duplex"}`, api, portal)
	issuer := fmt.Sprintf(`{"issuer":"%[1]s","authorization_endpoint":"%[1]s/oauth/authorize","token_endpoint":"%[1]s/oauth/token","registration_endpoint":"%[1]s/oauth/register","revocation_endpoint":"%[1]s/oauth/revoke",`+
		`"response_types_supported":["code"],"scopes_supported":["read","trade"],"code_challenge_methods_supported":["S256"],"grant_types_supported":["authorization_code","refresh_token"],`+
		`"token_endpoint_auth_methods_supported":["none"],"revocation_endpoint_auth_methods_supported":["none"],"client_id_metadata_document_supported":true,"authorization_response_iss_parameter_supported":true}`, portal)
	without := servertest.New(t)
	for _, x := range []struct{ url, want, without string }{
		{api + "/.well-known/oauth-protected-resource/v1/mcp", resource, without.APIURL() + "/.well-known/oauth-protected-resource/v1/mcp"},
		{api + "/.well-known/oauth-protected-resource", resource, without.APIURL() + "/.well-known/oauth-protected-resource"},
		{portal + "/.well-known/oauth-authorization-server", issuer, without.PortalURL() + "/.well-known/oauth-authorization-server"},
	} {
		if status, header, body := request(t, "GET", x.url, "", "Origin", "https://host.example"); status != 200 || body != x.want || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %s", x.url, status, body)
		}
		if status, header, _ := request(t, "OPTIONS", x.url, "", "Origin", "https://host.example", "Access-Control-Request-Method", "GET"); status != 204 || header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("OPTIONS %s: %d", x.url, status)
		}
		if status, _, body := request(t, "GET", x.without, ""); status != 401 && status != 404 {
			t.Errorf("%s without OAuth: %d %s", x.without, status, body)
		}
	}
	if status, header, _ := request(t, "POST", without.APIURL()+"/v1/mcp", "{}", "Authorization", "Bearer dxt_x"); status != 401 || header.Get("WWW-Authenticate") != "" {
		t.Errorf("the lane without OAuth: %d %v", status, header)
	}
	for _, path := range []string{"/oauth/token", "/oauth/consent", "/oauth/register", "/oauth/revoke", "/oauth/xyz"} {
		if status, _, _ := request(t, "POST", without.PortalURL()+path, ""); status != 404 {
			t.Errorf("%s without OAuth: %d", path, status)
		}
	}
}

// TestConsent tests what an owner can allow, and what becomes of it.
func TestConsent(t *testing.T) {
	h := newOAuthHost(t)
	if status, _, q := h.consent(h.query(nil), map[string]any{"allow": false}); status != 200 || q.Get("error") != "access_denied" || q.Get("state") != "a state" || q.Get("iss") == "" {
		t.Errorf("deny: %d %v", status, q)
	}
	if list := h.agents(); len(list.Agents) != 0 {
		t.Fatalf("agents after a deny: %+v", list)
	}
	code := h.allow("scout", map[string]any{"agent": map[string]any{"name": "scout", "mandate": map[string]any{"max_daily_loss": "500000"}}, "fund": "70000", "client_transfer_id": "first", "expires_in_secs": 7200})
	_, tokens := h.token(h.exchange(code))
	list := h.agents()
	scout := list.Agents[0]
	if len(list.Agents) != 1 || scout.Name != "scout" || scout.Client != h.id || scout.Equity != 70_000 {
		t.Fatalf("agents %+v", list)
	}
	keys := h.keys(scout.UserID).Keys
	if len(keys) != 1 || keys[0].Kind != "oauth" || keys[0].Client != h.id || keys[0].Label != "Host" || strings.Join(keys[0].Scopes, " ") != "read trade" {
		t.Fatalf("keys %+v", keys)
	}
	var mandate schemas.AgentMandate
	h.json(http.StatusOK, &mandate, "GET", fmt.Sprintf("%s/agents/%d/mandate", h.v.PortalURL(), scout.UserID), "", "Authorization", "Bearer "+h.account)
	if m := mandate.Mandate; m.ExpiresTs == nil || *m.ExpiresTs != keys[0].ExpiresTs || m.MaxDailyLoss == nil || *m.MaxDailyLoss != 500_000 {
		t.Errorf("the mandate does not end with the grant: %+v, %v", m, keys[0].ExpiresTs)
	}

	h.allow("other", map[string]any{"fund": "300"}) // without an id it moves as it is created
	if got := h.agents().Agents[0]; got.Name != "other" || got.Equity != 300 {
		t.Errorf("a new agent with money and no id: %+v", got)
	}

	// An order in the name of the agent, inside its mandate.
	status, _, body := h.call(tokens.Access, "place_order", `{"client_order_id":"1","market_id":1,"generation":1,"outcome":"yes","side":"buy","tick":5000,"qty":1}`)
	if status != 200 || !strings.Contains(body, `\"status\":\"resting\"`) {
		t.Fatalf("an order: %d %s", status, body)
	}

	// The agent that is there: its mandate stays, money moves once however often the answer is lost.
	again := map[string]any{"agent": map[string]any{"user_id": scout.UserID, "if_rev": 1}, "fund": "5000", "client_transfer_id": "t"}
	for range 2 {
		if status, answer, _ := h.consent(h.query(nil), again); status != 200 {
			t.Fatalf("the same agent: %d %s", status, answer)
		}
	}
	if got := h.agents().Agents[1]; got.Equity != 75_000 || got.Rev != 1 {
		t.Errorf("after a second consent %+v", got)
	}
}

// TestHosts tests that clients which ask for what the venue does not give still connect: one registers an
// application's own scheme beside https, one asks for a secret, and the document of one prefers a private key.
func TestHosts(t *testing.T) {
	h := newOAuthHost(t)
	register := func(body string) string {
		t.Helper()
		var out map[string]any
		h.json(http.StatusCreated, &out, "POST", h.v.PortalURL()+"/oauth/register", body, "Content-Type", "application/json")
		if out["token_endpoint_auth_method"] != "none" || out["client_secret"] != nil {
			t.Errorf("%s: %v", body, out)
		}
		return out["client_id"].(string)
	}
	var document string
	documents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"client_id":%q,"client_name":"Chat","redirect_uris":["https://chat.example/connector/oauth"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],`+
			`"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["private_key_jwt","none"],"jwks_uri":"https://chat.example/jwks.json"}`, document) // a client that left does not read it
	}))
	defer documents.Close()
	document = documents.URL + "/oauth/client.json"
	for name, x := range map[string]struct{ id, redirect string }{
		"own scheme": {register(`{"client_name":"Editor","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","https://www.editor.example/agents/mcp/oauth/callback","http://localhost:8787/callback"],` +
			`"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native"}`), "cursor://anysphere.cursor-mcp/oauth/callback"},
		"a secret": {register(`{"client_name":"Assistant","redirect_uris":["https://assistant.example/api/mcp/auth_callback"],"grant_types":["authorization_code","refresh_token"],"response_types":["code"],` +
			`"token_endpoint_auth_method":"client_secret_post","scope":"read trade"}`), "https://assistant.example/api/mcp/auth_callback"},
		"a private key": {document, "https://chat.example/connector/oauth"},
	} {
		h.id = x.id
		query := h.query(map[string]string{"redirect_uri": x.redirect})
		status, answer, back := h.consent(query, map[string]any{"agent": map[string]any{"name": strings.ReplaceAll(name, " ", "-")}})
		form := h.exchange(back.Get("code"))
		form.Set("redirect_uri", x.redirect)
		if _, tokens := h.token(form); status != 200 || !h.works(tokens.Access) {
			t.Errorf("%s: %d %s, %+v", name, status, answer, tokens)
		}
	}
}

// TestConsentBounds tests what an owner cannot allow. None of it changes anything.
func TestConsentBounds(t *testing.T) {
	h := newOAuthHost(t)
	h.allow("scout", map[string]any{"fund": "1", "client_transfer_id": "moved"})
	id := h.agents().Agents[0].UserID
	before := countsOf(t, h.v)
	for name, x := range map[string]struct {
		more   map[string]any
		header []string
		status int
		code   string
	}{
		"no agent":                    {nil, nil, 400, "schema_violation"},
		"two agents":                  {map[string]any{"agent": map[string]any{"user_id": id, "name": "x"}}, nil, 400, "schema_violation"},
		"a mandate for one there":     {map[string]any{"agent": map[string]any{"user_id": id, "mandate": map[string]any{}}}, nil, 400, "schema_violation"},
		"an agent that is not mine":   {map[string]any{"agent": map[string]any{"user_id": 2}}, nil, 404, "unknown_agent"},
		"myself":                      {map[string]any{"agent": map[string]any{"user_id": 1}}, nil, 404, "unknown_agent"},
		"a name that is taken":        {map[string]any{"agent": map[string]any{"name": "scout"}}, nil, 409, "duplicate_agent_name"},
		"more money than there is":    {map[string]any{"agent": map[string]any{"name": "x"}, "fund": "99999999999999", "client_transfer_id": "x"}, nil, 403, "insufficient_balance"},
		"money without an id":         {map[string]any{"agent": map[string]any{"user_id": id}, "fund": "1"}, nil, 400, "schema_violation"},
		"money that has moved":        {map[string]any{"agent": map[string]any{"name": "x"}, "fund": "1", "client_transfer_id": "moved"}, nil, 409, "duplicate_client_transfer_id"},
		"too much for a new one":      {map[string]any{"agent": map[string]any{"name": "x"}, "fund": "99999999999999"}, nil, 403, "insufficient_balance"},
		"a mandate that has changed":  {map[string]any{"agent": map[string]any{"user_id": id, "if_rev": 7}}, nil, 409, "stale_mandate"},
		"a rev of a new one":          {map[string]any{"agent": map[string]any{"name": "x", "if_rev": 1}}, nil, 400, "schema_violation"},
		"a bound that there is not":   {map[string]any{"agent": map[string]any{"name": "x", "mandate": map[string]any{"max_joy": "1"}}}, nil, 400, "bad_mandate"},
		"under an hour":               {map[string]any{"agent": map[string]any{"name": "x"}, "expires_in_secs": 3599}, nil, 400, "schema_violation"},
		"over 90 days":                {map[string]any{"agent": map[string]any{"name": "x"}, "expires_in_secs": 90*86400 + 1}, nil, 400, "schema_violation"},
		"a page of another origin":    {map[string]any{"agent": map[string]any{"name": "x"}}, []string{"Origin", "https://evil.example"}, 403, "forbidden_origin"},
		"no account":                  {map[string]any{"agent": map[string]any{"name": "x"}}, []string{"Authorization", "Bearer dxa_nobody"}, 401, "unauthorized"},
		"an API's key is no account":  {map[string]any{"agent": map[string]any{"name": "x"}}, []string{"Authorization", "Bearer " + h.v.Account("alice").APIKey}, 401, "unauthorized"},
		"somebody else's request":     {map[string]any{"request": "client_id=x", "agent": map[string]any{"name": "x"}}, nil, 400, "schema_violation"},
		"a withdrawal by the mandate": {map[string]any{"agent": map[string]any{"name": "x", "mandate": map[string]any{"scopes": "withdraw"}}}, nil, 400, "bad_mandate"},
	} {
		status, answer, q := h.consent(h.query(nil), x.more, x.header...)
		if status != x.status || !strings.Contains(answer, `"code":"`+x.code+`"`) || q.Get("code") != "" {
			t.Errorf("%s: %d %s, want %d %s", name, status, answer, x.status, x.code)
		}
	}
	h.v.Submit(&core.HaltAgent{Owner: 1, Agent: core.UserID(id)})
	if status, answer, _ := h.consent(h.query(nil), map[string]any{"agent": map[string]any{"user_id": id}}); status != 409 {
		t.Errorf("a halted agent: %d %s", status, answer)
	}
	if after := countsOf(t, h.v); after.accounts != before.accounts || after.keys != before.keys {
		t.Errorf("%+v, was %+v", after, before)
	}
}

type counts struct{ accounts, keys int }

func countsOf(t *testing.T, v *servertest.Venue) (c counts) {
	t.Helper()
	v.Engine().Read(func(s *venue.Venue, _ *view.View) {
		for range s.Users() {
			c.accounts++
		}
		for range s.Keys() {
			c.keys++
		}
	})
	return c
}

// TestOAuthAttacks tests that each attack has no effect but the one it must have: that the grant ends.
func TestOAuthAttacks(t *testing.T) {
	h := newOAuthHost(t)
	other := h.register("https://other.example/back")

	// The request of an authorization. What must not be redirected is shown.
	for name, x := range map[string]struct {
		change map[string]string
		more   string // of the query
		want   string // the error that goes back; "" if it is shown
	}{
		"a redirect of another host":        {map[string]string{"redirect_uri": "https://evil.example/back?x=1"}, "", ""},
		"a redirect by prefix":              {map[string]string{"redirect_uri": redirect + "&y=2"}, "", ""},
		"a redirect below":                  {map[string]string{"redirect_uri": "https://host.example/back/../evil?x=1"}, "", ""},
		"a redirect with a user":            {map[string]string{"redirect_uri": "https://host.example@evil.example/back?x=1"}, "", ""},
		"another client's redirect":         {map[string]string{"client_id": other}, "", ""},
		"an unknown client":                 {map[string]string{"client_id": "dxc_AAAA"}, "", ""},
		"a forged registration":             {map[string]string{"client_id": h.id[:len(h.id)-1] + "A"}, "", ""},
		"no client":                         {map[string]string{"client_id": ""}, "", ""},
		"client_id twice":                   {nil, "&client_id=x", ""},
		"redirect_uri twice":                {nil, "&redirect_uri=https://evil.example", ""},
		"a document at a private address":   {map[string]string{"client_id": "https://10.0.0.1/client"}, "", ""},
		"a document of this machine":        {map[string]string{"client_id": "https://localhost/client"}, "", ""},
		"state twice":                       {nil, "&state=evil", "invalid_request"},
		"an unknown parameter twice":        {nil, "&a=1&a=2", "invalid_request"},
		"a plain challenge":                 {map[string]string{"code_challenge_method": "plain"}, "", "invalid_request"},
		"no method of the challenge":        {map[string]string{"code_challenge_method": ""}, "", "invalid_request"},
		"no challenge":                      {map[string]string{"code_challenge": ""}, "", "invalid_request"},
		"a short challenge":                 {map[string]string{"code_challenge": "AAAA"}, "", "invalid_request"},
		"a token in place of a code":        {map[string]string{"response_type": "token"}, "", "unsupported_response_type"},
		"another resource":                  {map[string]string{"resource": "https://evil.example/v1/mcp"}, "", "invalid_target"},
		"the resource with more in its end": {map[string]string{"resource": h.v.APIURL() + "/v1/mcp/"}, "", "invalid_target"},
	} {
		query := h.query(x.change) + x.more
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		res, err := client.Get(h.v.PortalURL() + "/oauth/authorize?" + query)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		to := must(url.Parse(res.Header.Get("Location")))
		switch {
		case x.want == "" && (res.StatusCode != 400 || to.String() != ""):
			t.Errorf("%s: %d, redirected to %s", name, res.StatusCode, to)
		case x.want != "" && (res.StatusCode != 302 || to.Host != "host.example" || to.Query().Get("error") != x.want || to.Query().Get("iss") != h.v.PublicPortalURL()):
			t.Errorf("%s: %d, redirected to %s", name, res.StatusCode, to)
		}
		if status, answer, q := h.consent(query, map[string]any{"agent": map[string]any{"name": "victim"}}); status != 400 || q.Get("code") != "" {
			t.Errorf("%s is consented to: %d %s", name, status, answer)
		}
	}
	if list := h.agents(); len(list.Agents) != 0 {
		t.Fatalf("agents %+v", list)
	}

	// The code. Only its second use ends the grant.
	code := h.allow("scout", nil)
	for name, change := range map[string]url.Values{
		"another client":      {"client_id": {other}},
		"no code":             {"code": {""}},
		"no client":           {"client_id": {""}},
		"no verifier":         {"code_verifier": {""}},
		"another verifier":    {"code_verifier": {strings.Repeat("a", 43)}},
		"another redirect":    {"redirect_uri": {"https://other.example/back"}},
		"another resource":    {"resource": {"https://evil.example"}},
		"a parameter twice":   {"code": {code, code}},
		"a password":          {"grant_type": {"password"}},
		"a code of another":   {"code": {code[:len(code)-2] + "AA"}},
		"a refresh of a code": {"grant_type": {"refresh_token"}, "refresh_token": {strings.Replace(code, "dxg_", "dxr_", 1)}},
	} {
		form := h.exchange(code)
		maps.Copy(form, change)
		if status, out := h.token(form); status != 400 || out.Access != "" {
			t.Errorf("%s: %d %+v", name, status, out)
		}
	}
	status, first := h.token(h.exchange(code))
	if status != 200 || !h.works(first.Access) {
		t.Fatalf("after the attacks: %d %+v", status, first)
	}
	if status, out := h.token(h.exchange(code)); status != 400 || out.Error != "invalid_grant" || h.works(first.Access) {
		t.Errorf("a code twice: %d %+v, and its token still works: %t", status, out, h.works(first.Access))
	}

	// The refresh token. The one before gets the same successor; an older one ends the grant.
	first = h.connect("second")
	_, next := h.token(h.refresh(first.Refresh))
	if status, out := h.token(h.refresh(first.Refresh)); status != 200 || out.Access != next.Access || out.Refresh != next.Refresh {
		t.Errorf("a lost answer: %d %+v, want %+v", status, out, next)
	}
	if form := h.refresh(next.Refresh); true {
		form.Set("client_id", other)
		if status, out := h.token(form); status != 400 || out.Error != "invalid_grant" {
			t.Errorf("a refresh of another client: %d %+v", status, out)
		}
	}
	if !h.works(first.Access) || !h.works(next.Access) {
		t.Error("the tokens before and now")
	}
	h.v.Advance(31 * time.Second)
	if h.works(first.Access) || !h.works(next.Access) {
		t.Error("half a minute after a renewal the token before must have ended, and the newest not")
	}
	if status, _ := h.token(h.refresh(first.Refresh)); status != 400 || h.works(next.Access) {
		t.Errorf("an old refresh token: %d", status)
	}
	if status, _ := h.token(h.refresh(next.Refresh)); status != 400 {
		t.Errorf("a refresh after the end: %d", status)
	}
}

// TestBearerIsForTheLane tests that tokens work on the agent lane alone, and their kinds for what they are.
func TestBearerIsForTheLane(t *testing.T) {
	h := newOAuthHost(t)
	tokens := h.connect("scout")
	for _, target := range []string{"/v1/portfolio/balance", "/v1/ws", "/v1/time", "/v1/mcp/", "/v1//mcp"} {
		if status, header, body := request(t, "GET", h.v.APIURL()+target, "", "Authorization", "Bearer "+tokens.Access); status != 401 || header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	for _, target := range []string{"/agents", "/keys", "/balance"} {
		if status, _, body := request(t, "GET", h.v.PortalURL()+target, "", "Authorization", "Bearer "+tokens.Access); status != 401 {
			t.Errorf("%s of the portal: %d %s", target, status, body)
		}
	}
	for name, token := range map[string]string{
		"a refresh token": tokens.Refresh, "a refresh token as an access token": strings.Replace(tokens.Refresh, "dxr_", "dxt_", 1), "an account token": h.account, "nothing": "", "a key": h.v.Account("alice").APIKey,
		"a changed token": tokens.Access[:len(tokens.Access)-2] + "AA",
	} {
		if token != "" && h.works(token) {
			t.Errorf("%s works", name)
		}
	}
	key := h.v.Account("alice")
	if status, _, body := h.call(tokens.Access, "get_account", "{}", schemas.HeaderKey, key.APIKey); status != 400 || !strings.Contains(body, "schema_violation") {
		t.Errorf("a token and a header of a signature: %d %s", status, body)
	}

	// Two calls are two calls: there is no signature that would make them one.
	order := `{"client_order_id":"7","market_id":1,"generation":1,"outcome":"yes","side":"buy","tick":5000,"qty":1}`
	h.v.Submit(&core.Transfer{Owner: 1, ClientID: "t", From: 1, To: core.UserID(h.agents().Agents[0].UserID), Amount: 100_000})
	if _, _, body := h.call(tokens.Access, "place_order", order); !strings.Contains(body, "resting") {
		t.Errorf("an order: %s", body)
	}
	if _, _, body := h.call(tokens.Access, "place_order", order); !strings.Contains(body, "duplicate_client_order_id") {
		t.Errorf("the same order again: %s", body)
	}

	// A scope that a token lacks is an answer of the protocol.
	q := h.query(map[string]string{"scope": "read openid"})
	_, _, back := h.consent(q, map[string]any{"agent": map[string]any{"name": "reader"}})
	_, reader := h.token(h.exchange(back.Get("code")))
	if reader.Scope != "read" || !h.works(reader.Access) {
		t.Errorf("a token that reads: %+v", reader)
	}
	status, challenge, body := h.call(reader.Access, "place_order", order)
	if status != 403 || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(body, "missing_scope") {
		t.Errorf("an order of a token that reads: %d %s %s", status, challenge, body)
	}
}

// TestGrantEnds tests everything that ends a grant, at once on the lane and for its refresh token. A halt does
// not end it, and an agent that is halted cannot trade by it.
func TestGrantEnds(t *testing.T) {
	h := newOAuthHost(t)
	n := 0
	for name, end := range map[string]func(agent uint32, key string, tokens oauthTokens){
		"the owner revokes it": func(agent uint32, key string, _ oauthTokens) {
			status, _, body := request(t, "DELETE", fmt.Sprintf("%s/agents/%d/keys/%s", h.v.PortalURL(), agent, key), "", "Authorization", "Bearer "+h.account)
			if status != 200 {
				t.Error(status, body)
			}
		},
		"the owner closes the agent": func(agent uint32, _ string, _ oauthTokens) {
			h.v.Submit(&core.CloseAgent{Owner: 1, Agent: core.UserID(agent)})
		},
		"the client revokes it by its refresh token": func(_ uint32, _ string, x oauthTokens) { h.revoke(x.Refresh, h.id, 200) },
		"the client revokes it by its access token":  func(_ uint32, _ string, x oauthTokens) { h.revoke(x.Access, h.id, 200) },
		"the operator revokes it": func(agent uint32, key string, _ oauthTokens) {
			h.v.Submit(&core.RevokeKey{User: core.UserID(agent), Key: key})
		},
		"it has an end": func(uint32, string, oauthTokens) { h.v.Advance(31 * 24 * time.Hour) },
	} {
		n++
		tokens := h.connect(fmt.Sprint("agent-", n))
		agent := h.agents().Agents[0].UserID
		key := h.keys(agent).Keys[0].APIKey
		h.revoke(tokens.Refresh, "dxc_another", 400)
		h.v.Submit(&core.HaltAgent{Owner: 1, Agent: core.UserID(agent)})
		if !h.works(tokens.Access) {
			t.Errorf("%s: a halt ends it", name)
		}
		if _, _, body := h.call(tokens.Access, "place_order", `{"client_order_id":"1","market_id":1,"generation":1,"outcome":"yes","side":"buy","tick":5000,"qty":1}`); !strings.Contains(body, "mandate_violation") && !strings.Contains(body, "market_not_trading") {
			t.Errorf("%s: an order of a halted agent: %s", name, body)
		}
		end(agent, key, tokens)
		if h.works(tokens.Access) {
			t.Errorf("%s: its access token works", name)
		}
		if status, out := h.token(h.refresh(tokens.Refresh)); status != 400 || out.Error != "invalid_grant" {
			t.Errorf("%s: its refresh token: %d %+v", name, status, out)
		}
		h.revoke(tokens.Refresh, h.id, 200) // it is revoked already
	}
	code := h.allow("slow", nil)
	h.v.Advance(61 * time.Second)
	if status, out := h.token(h.exchange(code)); status != 400 || out.Error != "invalid_grant" {
		t.Errorf("a code after a minute: %d %+v", status, out)
	}
}

func (h *oauthHost) revoke(token, client string, want int) {
	h.t.Helper()
	form := url.Values{"token": {token}, "client_id": {client}, "token_type_hint": {"access_token"}}
	if status, _, body := request(h.t, "POST", h.v.PortalURL()+"/oauth/revoke", form.Encode(), "Content-Type", "application/x-www-form-urlencoded"); status != want {
		h.t.Errorf("revoke: %d %s, want %d", status, body, want)
	}
}

// TestStreamOfAToken tests that a stream of the lane ends with the access token that opened it.
func TestStreamOfAToken(t *testing.T) {
	h := newOAuthHost(t)
	first := h.connect("scout")
	const listen = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://markets/1/orderbook"]},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequest(http.MethodPost, h.v.APIURL()+"/v1/mcp", strings.NewReader(listen))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + first.Access}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
	stream, err := http.DefaultClient.Do(r)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatal(stream, err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() {
		t.Fatal("no acknowledgement")
	}
	h.token(h.refresh(first.Refresh))
	h.v.Advance(31 * time.Second)
	tick := schemas.Int(5000)
	if _, err := h.v.Client("bob").PlaceOrder(t.Context(), schemas.PlaceOrder{ClientOrderID: 1, MarketID: 1, Side: "buy", Outcome: "yes", Tick: &tick, Qty: 1}); err != nil {
		t.Fatal(err) // it changes the book
	}
	for lines.Scan() { // until the stream ends
	}
	if h.works(first.Access) {
		t.Error("the token works")
	}
}

// TestOAuthFlood tests that a flood of registrations and of clients' documents is bounded for each network, and
// that it keeps nobody from using a grant.
func TestOAuthFlood(t *testing.T) {
	h := newOAuthHost(t)
	tokens := h.connect("scout")
	var asked int
	var mu sync.Mutex
	documents := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
	}))
	defer documents.Close()
	h.v.Clock.Freeze() // the buckets do not fill
	var ok, limited int
	for i := range 150 {
		body := fmt.Sprintf(`{"redirect_uris":["https://host.example/%d"]}`, i)
		switch status, _, answer := request(t, "POST", h.v.PortalURL()+"/oauth/register", body, "Content-Type", "application/json"); {
		case status == 201:
			ok++
		case status == 429 && strings.Contains(answer, `"slow_down"`):
			limited++
		default:
			t.Fatalf("%d %s", status, answer)
		}
	}
	if ok > 105 || ok < 90 || limited < 45 {
		t.Errorf("%d registrations, %d were refused", ok, limited)
	}
	for i := range 20 {
		status, _, _ := request(t, "GET", h.v.PortalURL()+"/oauth/authorize?"+h.query(map[string]string{"client_id": fmt.Sprintf("%s/%d", documents.URL, i)}), "")
		if status != 429 {
			t.Errorf("a document in the flood: %d", status)
		}
	}
	if asked > 0 {
		t.Errorf("%d documents were asked for", asked)
	}
	if status, out := h.token(h.refresh(tokens.Refresh)); status != 200 || !h.works(out.Access) {
		t.Errorf("a refresh in the flood: %d", status)
	}
	if status, _, _ := request(t, "GET", h.v.PortalURL()+"/oauth/authorize?"+h.query(nil), ""); status != 200 {
		t.Errorf("the page of a client that is registered: %d", status)
	}
}

// TestChallenge tests which answers of the lane say how a client gets a token, and what they say.
func TestChallenge(t *testing.T) {
	h := newOAuthHost(t)
	lane, key := h.v.APIURL()+"/v1/mcp", h.v.Account("alice").APIKey
	plain := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/v1/mcp", scope="read trade"`, h.v.APIURL())
	invalid := plain + `, error="invalid_token"`
	for name, x := range map[string]struct {
		method, url string
		header      []string
		want        string
	}{
		"no credentials":            {"POST", lane, nil, plain},
		"no credentials of a GET":   {"GET", lane, nil, plain},
		"a query":                   {"POST", lane + "?x=1", nil, plain},
		"a bearer of another kind":  {"POST", lane, []string{"Authorization", "Bearer x"}, invalid},
		"no bearer":                 {"POST", lane, []string{"Authorization", "Basic eDp5"}, plain},
		"an empty bearer":           {"POST", lane, []string{"Authorization", "Bearer "}, invalid},
		"a part of a signature":     {"POST", lane, []string{schemas.HeaderKey, key}, ""},
		"another path":              {"POST", h.v.APIURL() + "/v1/orders", nil, ""},
		"a path below":              {"POST", lane + "/x", nil, ""},
		"the other door":            {"GET", h.v.APIURL() + "/v1/ws", nil, ""},
		"a bearer on another path":  {"GET", h.v.APIURL() + "/v1/time", []string{"Authorization", "Bearer x"}, ""},
		"a wrong key and signature": {"POST", lane, []string{schemas.HeaderKey, key, schemas.HeaderTimestamp, "1", schemas.HeaderSignature, "x"}, ""},
	} {
		status, header, body := request(t, x.method, x.url, "{}", x.header...)
		if status != http.StatusUnauthorized || header.Get("WWW-Authenticate") != x.want || !strings.Contains(body, `"code":"unauthorized"`) {
			t.Errorf("%s: %d %q %s, want %q", name, status, header.Get("WWW-Authenticate"), body, x.want)
		}
	}
}

// TestTokensSurviveRotation tests that a new master key ends no grant, and a restart neither. Nothing on disk or
// in the log has a token, a code or an account token.
func TestTokensSurviveRotation(t *testing.T) {
	data, logs := t.TempDir(), &logbuffer.Buffer{}
	live := func(o *server.Options) {
		o.OAuth, o.PublicURL, o.PublicPortalURL = true, "https://api.venue.example", "https://venue.example"
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		o.Log = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	v := servertest.OpenLive(t, data, live)
	h := &oauthHost{t: t, v: v}
	var user schemas.NewUser
	h.json(http.StatusCreated, &user, "POST", v.AdminURL()+"/admin/users", `{"name":"a","reason":"test"}`, "Authorization", "Bearer "+v.OperatorToken(), "Content-Type", "application/json")
	h.account = user.AccountToken
	h.id = h.register(redirect)
	_, _, q := h.consent(h.query(map[string]string{"resource": "https://api.venue.example/v1/mcp"}), map[string]any{"agent": map[string]any{"name": "scout"}})
	_, tokens := h.token(h.exchange(q.Get("code")))
	if !h.works(tokens.Access) {
		t.Fatal("the token does not work")
	}
	askOperator(t, v, "POST", "/admin/master-key/rotate", `{"reason":"test"}`)
	_, next := h.token(h.refresh(tokens.Refresh))
	if !h.works(tokens.Access) || !h.works(next.Access) {
		t.Error("after a new master key")
	}
	v.Close()
	h.v = servertest.OpenLive(t, data, live)
	if _, again := h.token(h.refresh(tokens.Refresh)); again.Access != next.Access || !h.works(next.Access) {
		t.Errorf("after a restart: %+v, was %+v", again, next)
	}
	h.v.Close()
	kept := map[string][]byte{"the log": []byte(logs.String())}
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			kept[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(kept) < 5 {
		t.Fatalf("%d files, %v", len(kept), err)
	}
	for _, secret := range []string{q.Get("code"), tokens.Access, tokens.Refresh, next.Access, next.Refresh, h.account} {
		for name, b := range kept {
			if _, tail, _ := strings.Cut(secret, "_"); bytes.Contains(b, []byte(tail)) {
				t.Errorf("%s has %s…", name, secret[:8])
			}
		}
	}
}
