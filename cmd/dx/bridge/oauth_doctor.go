package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"duplex/internal/timeouts"
)

// consentTimeout is how long OAuthDoctor waits for a person.
const consentTimeout = 5 * time.Minute

// OAuthDoctor connects to the agent lane at resource as a hosted agent does, from the challenge to the list of
// tools, refreshes its token once and ends its grant (docs/rules/oauth.md). ask shows a person the address of the
// page of consent. It stops at the first step that fails, and calls done after each. A transport that is nil is
// that of net/http.
func OAuthDoctor(ctx context.Context, transport http.RoundTripper, resource string, ask func(page string), done func(Finding)) {
	d := &oauthChecker{resource: resource, ask: ask, http: &http.Client{
		Transport: transport, Timeout: timeouts.Of(checkTimeout), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	d.ctx = context.WithValue(ctx, oauth2.HTTPClient, d.http)
	for _, step := range []struct {
		name string
		do   func() (string, error)
		fix  string
	}{
		{"challenge", d.challenge, "Give the address of the agent lane, such as https://api.venue.example/v1/mcp, of a venue with --oauth."},
		{"resource", d.resourceMetadata, "Set --public-url to the address by which clients reach the API."},
		{"issuer", d.serverMetadata, "Set --public-portal-url to the address by which browsers reach the portal, and let a proxy pass all its paths."},
		{"registration", d.register, "Let a proxy pass POST /oauth/register of the portal."},
		{"consent", d.consent, "Open the page, sign in with the account token and press Allow."},
		{"token", d.exchange, "Let a proxy pass POST /oauth/token of the portal."},
		{"tools", d.tools, "Let a proxy pass the header Authorization of /v1/mcp."},
		{"refresh", d.refresh, "Let a proxy pass POST /oauth/token of the portal."},
		{"revocation", d.revoke, "End the grant on the page Agents of the portal."},
	} {
		detail, err := step.do()
		if err != nil {
			done(Finding{step.name, false, err.Error(), step.fix})
			return
		}
		done(ok(step.name, "%s", detail))
	}
}

type oauthChecker struct {
	ctx      context.Context
	resource string
	ask      func(page string)
	http     *http.Client

	metadata               string // URL of the resource's metadata
	issuer                 string
	registerURL, revokeURL string
	config                 oauth2.Config
	verifier               string
	code                   string
	token                  *oauth2.Token
}

// send sends a request and decodes a JSON answer into out, unless it is nil.
func (d *oauthChecker) send(method, to, kind, body string, header http.Header, out any) (*http.Response, error) {
	r, err := http.NewRequestWithContext(d.ctx, method, to, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	resp, err := d.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	if out != nil {
		if resp.StatusCode >= http.StatusMultipleChoices {
			return nil, fmt.Errorf("%s %s: status %d: %.200s", method, to, resp.StatusCode, bytes.TrimSpace(b))
		}
		if json.Unmarshal(b, out) != nil {
			return nil, fmt.Errorf("%s %s is not JSON: %.80q", method, to, b)
		}
	}
	return resp, nil
}

var metadataParameter = regexp.MustCompile(`resource_metadata="([^"]+)"`)

func (d *oauthChecker) challenge() (string, error) {
	resp, err := d.send(http.MethodPost, d.resource, "application/json", "{}", nil, nil)
	if err != nil {
		return "", err
	}
	text := resp.Header.Get("WWW-Authenticate")
	m := metadataParameter.FindStringSubmatch(text)
	if resp.StatusCode != http.StatusUnauthorized || m == nil {
		return "", fmt.Errorf("status %d with WWW-Authenticate %q, not 401 with resource_metadata", resp.StatusCode, text)
	}
	d.metadata = m[1]
	return d.metadata, nil
}

func (d *oauthChecker) resourceMetadata() (string, error) {
	var m struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
	}
	if _, err := d.send(http.MethodGet, d.metadata, "", "", nil, &m); err != nil {
		return "", err
	}
	switch {
	case m.Resource != d.resource:
		return "", fmt.Errorf("the venue calls itself %s, not %s", m.Resource, d.resource)
	case len(m.Servers) != 1:
		return "", fmt.Errorf("%d authorization servers", len(m.Servers))
	}
	d.issuer = m.Servers[0]
	return "authorized by " + d.issuer, nil
}

func (d *oauthChecker) serverMetadata() (string, error) {
	var m struct {
		Issuer     string   `json:"issuer"`
		Authorize  string   `json:"authorization_endpoint"`
		Token      string   `json:"token_endpoint"`
		Register   string   `json:"registration_endpoint"`
		Revoke     string   `json:"revocation_endpoint"`
		Challenges []string `json:"code_challenge_methods_supported"`
	}
	if _, err := d.send(http.MethodGet, d.issuer+"/.well-known/oauth-authorization-server", "", "", nil, &m); err != nil {
		return "", err
	}
	switch {
	case m.Issuer != d.issuer:
		return "", fmt.Errorf("the portal calls itself %s, not %s", m.Issuer, d.issuer)
	case !slices.Contains(m.Challenges, "S256"):
		return "", errors.New("no code challenges by S256")
	}
	for _, text := range []string{d.resource, m.Authorize, m.Token, m.Register, m.Revoke} {
		if u, err := url.Parse(text); err != nil || u.Scheme != "https" && !loopbackHost(u.Hostname()) {
			return "", fmt.Errorf("%q is not an https address: hosts refuse it", text)
		}
	}
	d.registerURL, d.revokeURL = m.Register, m.Revoke
	d.config.Endpoint = oauth2.Endpoint{AuthURL: m.Authorize, TokenURL: m.Token, AuthStyle: oauth2.AuthStyleInParams}
	return "its documents name " + m.Authorize, nil
}

func (d *oauthChecker) register() (string, error) {
	var m struct {
		ClientID string `json:"client_id"`
	}
	const body = `{"client_name":"dx mcp doctor","redirect_uris":["http://127.0.0.1/"],"token_endpoint_auth_method":"none"}`
	if _, err := d.send(http.MethodPost, d.registerURL, "application/json", body, nil, &m); err != nil {
		return "", err
	}
	d.config.ClientID, d.config.Scopes = m.ClientID, []string{"read", "trade"}
	return "a client of this machine", nil
}

// consent waits at a loopback redirect for what a person decides.
func (d *oauthChecker) consent() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	state := rand.Text()
	d.config.RedirectURL = "http://" + listener.Addr().String() + "/"
	d.verifier = oauth2.GenerateVerifier()
	answers := make(chan url.Values, 1)
	server := &http.Server{ReadHeaderTimeout: timeouts.Of(checkTimeout), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/" || q.Get("state") != state { // another page of the browser
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "The doctor has what it needs. You can close this page.\n") // the browser may have left
		select {
		case answers <- q:
		default: // it was loaded again
		}
	})}
	go func() { _ = server.Serve(listener) }() // ends with Shutdown
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // the page is written
	}()
	d.ask(d.config.AuthCodeURL(state, oauth2.S256ChallengeOption(d.verifier), oauth2.SetAuthURLParam("resource", d.resource)))
	select {
	case q := <-answers:
		switch {
		case q.Get("iss") != d.issuer:
			return "", fmt.Errorf("the answer is from %q, not from %s", q.Get("iss"), d.issuer)
		case q.Get("error") != "":
			return "", fmt.Errorf("%s: %s", q.Get("error"), q.Get("error_description"))
		}
		d.code = q.Get("code")
		return "allowed", nil
	case <-time.After(consentTimeout):
		return "", fmt.Errorf("nobody has decided within %v", consentTimeout)
	case <-d.ctx.Done():
		return "", d.ctx.Err()
	}
}

func (d *oauthChecker) exchange() (string, error) {
	token, err := d.config.Exchange(d.ctx, d.code, oauth2.VerifierOption(d.verifier), oauth2.SetAuthURLParam("resource", d.resource))
	if err != nil {
		return "", err
	}
	d.token = token
	return fmt.Sprintf("an access token for %s", time.Until(token.Expiry).Round(time.Minute)), nil
}

func (d *oauthChecker) tools() (string, error) {
	var list struct {
		Result struct {
			Tools []struct{} `json:"tools"`
		} `json:"result"`
	}
	header := http.Header{"Authorization": {"Bearer " + d.token.AccessToken}, "Mcp-Protocol-Version": {legacy}}
	if _, err := d.send(http.MethodPost, d.resource, "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, header, &list); err != nil {
		return "", err
	}
	if len(list.Result.Tools) == 0 {
		return "", errors.New("the list is empty")
	}
	return fmt.Sprint(len(list.Result.Tools)), nil
}

func (d *oauthChecker) refresh() (string, error) {
	next, err := d.config.TokenSource(d.ctx, &oauth2.Token{RefreshToken: d.token.RefreshToken}).Token()
	if err != nil {
		return "", err
	}
	d.token = next
	if _, err := d.tools(); err != nil {
		return "", err
	}
	return "the next access token works", nil
}

// revoke ends the grant, and checks that the lane knows it.
func (d *oauthChecker) revoke() (string, error) {
	form := url.Values{"token": {d.token.RefreshToken}, "client_id": {d.config.ClientID}}
	resp, err := d.send(http.MethodPost, d.revokeURL, "application/x-www-form-urlencoded", form.Encode(), nil, nil)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d", resp.StatusCode)
	}
	if _, err := d.tools(); err == nil || !strings.Contains(err.Error(), "status 401") {
		return "", fmt.Errorf("the token is not refused after that: %v", err)
	}
	return "the grant has ended; its agent is still there", nil
}
