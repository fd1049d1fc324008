package portal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/lanes/portal/oauth"
	"duplex/schemas"
	"duplex/tools"
)

// Limits of what a stranger may ask: registrations and documents of clients (docs/rules/limits.md#figures).
const (
	clientsPerSecond = 5
	clientBurst      = 100
)

// grantSecs is the life of a grant if the owner names none: 30 days.
const grantSecs = 30 * 24 * 3600

// consentPage is the page of the dashboard on which an owner allows or denies.
const consentPage = "consent.html"

// registerOAuth registers the authorization server (docs/rules/oauth.md). A follower has none.
func (l *lane) registerOAuth(m *gate.Routes) {
	if l.OAuth == nil {
		return
	}
	m.Handle(oauth.MetadataPath, l.forAnyOrigin(http.MethodGet, "oauth_metadata", func(w http.ResponseWriter, _ *http.Request) {
		gate.WriteJSON(w, http.StatusOK, new(l.OAuth.Metadata()))
	}))
	m.Handle(oauth.RegisterPath, l.forAnyOrigin(http.MethodPost, "oauth_register", l.registerClient))
	m.Handle(oauth.TokenPath, l.forAnyOrigin(http.MethodPost, "oauth_token", l.issueTokens))
	m.Handle(oauth.RevokePath, l.forAnyOrigin(http.MethodPost, "oauth_revoke", l.revokeToken))
	m.HandleFunc("GET "+oauth.AuthorizePath, l.authorize)
	register(l, m, "consent", "POST "+oauth.ConsentPath, http.StatusOK, l.consent)
}

// forAnyOrigin binds a handler of one method that pages of every origin may call.
func (l *lane) forAnyOrigin(method, op string, do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		gate.CallOf(r.Context()).Op = "portal_" + op
		if !gate.AnyOrigin(w, r, method) {
			do(w, r)
		}
	}
}

// oauthError is the body of an error (RFC 6749, section 5.2).
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitzero"`
}

// writeFault writes an error of the protocol to a client.
func writeFault(w http.ResponseWriter, f *oauth.Fault) {
	status := http.StatusBadRequest
	switch f.Code {
	case oauth.SlowDown:
		status = http.StatusTooManyRequests
	case oauth.TemporarilyUnavailable:
		status = http.StatusServiceUnavailable
	case oauth.ServerError:
		status = http.StatusInternalServerError
	}
	gate.NoteErrorCode(w, f.Code)
	gate.WriteJSON(w, status, &oauthError{f.Code, f.Description})
}

// faultOf is the error of the protocol for an error of the venue.
func faultOf(w http.ResponseWriter, err error) *oauth.Fault {
	e := tools.ErrorOf(err)
	if ms, ok := e.RetryAfterMs(); ok {
		w.Header().Set("Retry-After", strconv.FormatInt((ms+999)/1000, 10))
	}
	switch {
	case e.HTTP() == http.StatusTooManyRequests:
		return &oauth.Fault{Code: oauth.SlowDown, Description: "too many requests: try again later"}
	case e.Code == "internal":
		return &oauth.Fault{Code: oauth.ServerError, Description: "the venue has failed"}
	}
	return &oauth.Fault{Code: oauth.TemporarilyUnavailable, Description: "the venue does not take commands now: " + e.Code}
}

// allowStranger bounds what a network may ask before anybody is known.
func (l *lane) allowStranger(r *http.Request) error {
	bucket := l.clients.Of(l.Gate.ClientAddr(r), func() *gate.TokenBucket { return gate.NewTokenBucket(clientsPerSecond, clientBurst) })
	return bucket.Take(l.now(), 1)
}

// registered is the response of a registration (RFC 7591, section 3.2.1). A client that asks for a secret is
// answered that it has none.
type registered struct {
	ClientID       string   `json:"client_id"`
	IssuedAt       int64    `json:"client_id_issued_at"`
	Name           string   `json:"client_name,omitzero"`
	Redirects      []string `json:"redirect_uris"`
	GrantTypes     []string `json:"grant_types"`
	ResponseTypes  []string `json:"response_types"`
	TokenEndpoint  string   `json:"token_endpoint_auth_method"`
	RequestedScope string   `json:"scope"`
}

// registerClient answers POST /oauth/register.
func (l *lane) registerClient(w http.ResponseWriter, r *http.Request) {
	if err := l.allowStranger(r); err != nil {
		writeFault(w, faultOf(w, err))
		return
	}
	var m oauth.Metadata
	if json.Unmarshal(gate.CallOf(r.Context()).Body, &m) != nil {
		writeFault(w, &oauth.Fault{Code: oauth.InvalidClientMetadata, Description: "the body is not JSON with the members of RFC 7591"})
		return
	}
	c, fault := l.OAuth.Clients.Register(&m)
	if fault != nil {
		writeFault(w, fault)
		return
	}
	meta := l.OAuth.Metadata()
	gate.WriteJSON(w, http.StatusCreated, &registered{
		c.ID, l.now().Unix(), m.Name, c.Redirects, meta.GrantTypes, meta.ResponseTypes, "none", strings.Join(meta.Scopes, " "),
	})
}

// consentRequest is what the page of consent shows.
type consentRequest struct {
	Request      string   `json:"request"`
	ClientID     string   `json:"client_id"`
	Name         string   `json:"name"`
	Document     string   `json:"document,omitzero"` // the host that vouches for the client
	RedirectHost string   `json:"redirect_host"`
	Loopback     bool     `json:"loopback"` // it runs on the person's own machine
	Scopes       []string `json:"scopes"`
}

// authorize answers GET /oauth/authorize: the page of consent, a redirect with an error, or a page that says
// what is wrong with the client.
func (l *lane) authorize(w http.ResponseWriter, r *http.Request) {
	gate.CallOf(r.Context()).Op = "portal_oauth_authorize"
	w.Header().Set("Cross-Origin-Opener-Policy", "unsafe-none") // a host waits behind its popup
	query := r.URL.RawQuery
	q, _ := url.ParseQuery(query) // Parse tells what is wrong
	if _, known := l.OAuth.Clients.Known(q.Get("client_id")); !known {
		if err := l.allowStranger(r); err != nil {
			l.showFault(w, http.StatusTooManyRequests, faultOf(w, err))
			return
		}
	}
	request, fault := l.OAuth.Parse(r.Context(), gate.ClientNetwork(l.Gate.ClientAddr(r)), query) // a document has its own time
	switch {
	case fault != nil && fault.Code == oauth.TemporarilyUnavailable:
		l.showFault(w, http.StatusServiceUnavailable, fault)
		return
	case fault != nil && fault.Redirect == "":
		l.showFault(w, http.StatusBadRequest, fault)
		return
	case fault != nil:
		gate.NoteErrorCode(w, fault.Code)
		w.Header().Set("Location", fault.Redirect)
		w.WriteHeader(http.StatusFound)
		return
	}
	shown, err := json.Marshal(consentRequest{
		Request: query, ClientID: request.Client.ID, Name: request.Client.Name, Document: request.Client.Document,
		RedirectHost: oauth.RedirectHost(request.Redirect), Loopback: request.IsLoopback(), Scopes: request.Scopes.Names(),
	})
	page, err2 := fs.ReadFile(l.Static, consentPage)
	if err != nil || err2 != nil {
		panic("the page of consent is part of the binary")
	}
	w.Header().Set("Content-Type", html)
	_, _ = w.Write(bytes.Replace(page, []byte(`name="request" content=""`), []byte(`name="request" content="`+template.HTMLEscapeString(string(shown))+`"`), 1))
}

// faultPage shows a fault of a client, which must not be redirected: the redirect may be an attacker's.
const faultPage = `{{define "title"}}Not connected{{end}}{{define "main"}}<h1>Not connected</h1>
<p>An application asked to be connected, and its request is not valid. Nothing has been allowed.</p>
<p><code>{{.Code}}</code>: {{.Description}}</p>
<p>Close this page, and connect again from the application. If that does not help, tell its author what is written here.</p>{{end}}`

func (l *lane) showFault(w http.ResponseWriter, status int, f *oauth.Fault) {
	gate.NoteErrorCode(w, f.Code)
	w.Header().Set("Content-Type", html)
	w.WriteHeader(status)
	_, _ = w.Write(renderPage(faultPage, f))
}

// consent answers POST /oauth/consent. The owner's account token is its authentication, so no page of another
// site can send it.
func (l *lane) consent(ctx context.Context, u core.UserID, in *schemas.Consent) (out schemas.Consented, err error) {
	request, fault := l.OAuth.Parse(ctx, netip.Prefix{}, in.Request)
	if fault != nil {
		return out, &schemas.Fault{Code: "schema_violation", Field: "request", Limit: "the query of a valid authorization: " + fault.Description}
	}
	if !in.Allow {
		return schemas.Consented{Redirect: l.OAuth.Refused(&request, oauth.AccessDenied, "the owner denied it")}, nil
	}
	agent, bad := in.DecodeAgent()
	if bad != nil {
		return out, bad
	}
	if in.Fund > 0 && in.ClientTransferID == "" && agent.UserID != 0 {
		return out, &schemas.Fault{Code: "schema_violation", Field: "client_transfer_id", Limit: "the owner's own id of the money, 1 to 64 of A-Z a-z 0-9 _ -"}
	}
	expires := int64(l.Venue.Config.Wall()) + cmp.Or(int64(in.ExpiresInSecs), grantSecs)*core.NsPerSec
	mandate, bad := schemas.DecodeMandate(agent.Mandate)
	if bad != nil {
		bad.Field = "agent." + bad.Field
		return out, bad
	}
	if !mandate.Has(core.RuleExpires) || mandate.Expires > expires { // of a new agent: it ends with the grant, or before
		mandate.Bound(core.RuleExpires)
		mandate.Expires = expires
	}
	if err := l.checkConsent(u, &agent, in); err != nil {
		return out, err
	}
	id := core.UserID(agent.UserID)
	var code string
	err = l.withNewKey(ctx, u, id, func() error {
		if id == 0 {
			atOnce := in.Fund // without an id nobody can say whether money has moved already
			if in.ClientTransferID != "" {
				atOnce = 0
			}
			made, err := l.newAgent(ctx, u, agent.Name, atOnce, mandate)
			if err != nil {
				return err
			}
			id = core.UserID(made.UserID)
		}
		if in.Fund > 0 && in.ClientTransferID != "" {
			if _, err := l.transfer(ctx, &core.Transfer{Owner: u, From: u, To: id}, &schemas.Transfer{ClientTransferID: in.ClientTransferID, Amount: in.Fund}); err != nil {
				return err
			}
		}
		grant := core.Grant{Client: request.Client.ID, Redirect: request.Redirect, Challenge: request.Challenge, Expires: expires}
		code, err = l.Gate.IssueGrant(ctx, id, request.Client.Name, request.Scopes, grant, accountAudit("allowed"))
		return err
	})
	if err != nil {
		return out, err
	}
	return schemas.Consented{Redirect: l.OAuth.Allowed(&request, code)}, nil
}

// checkConsent refuses what cannot be done before anything is: an agent that is there must be active and have the
// mandate that the owner has seen, a new one needs a name and a place, and the money must be there. Money whose
// answer was lost moves once: its id belongs to the agent that got it.
func (l *lane) checkConsent(u core.UserID, agent *schemas.ConsentAgent, in *schemas.Consent) (err error) {
	l.Venue.Engine.Read(func(v *venue.Venue, _ *view.View) {
		id := core.UserID(agent.UserID)
		moved, again := v.ClientTransfer(u, in.ClientTransferID)
		cash, _ := v.Balance(u)
		a, mine := v.Agent(u, id)
		switch {
		case id != 0 && !mine:
			err = core.UnknownAgent
		case id != 0 && v.State(id) != core.AgentActive:
			err = core.InvalidTransition
		case id != 0 && agent.IfRev != 0 && uint32(agent.IfRev) != a.Agent.Rev:
			err = core.StaleMandate
		case in.Fund > 0 && again && (id == 0 || moved.To != id):
			err = core.DuplicateTransferID
		case in.Fund > 0 && !again && int64(in.Fund) > int64(cash):
			err = core.InsufficientBalance
		}
	})
	return err
}

// tokens is the response of the token endpoint (RFC 6749, section 5.1).
type tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// form reads the form of a request, or writes what is wrong with it.
func (l *lane) form(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	form, fault := oauth.Form(gate.CallOf(r.Context()).Body)
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		fault = &oauth.Fault{Code: oauth.InvalidRequest, Description: "the content type must be application/x-www-form-urlencoded"}
	}
	if fault != nil {
		writeFault(w, fault)
	}
	return form, fault == nil
}

// issueTokens answers POST /oauth/token: it exchanges a code or a refresh token for the next pair of tokens
// (docs/rules/oauth.md#tokens).
func (l *lane) issueTokens(w http.ResponseWriter, r *http.Request) {
	form, ok := l.form(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), l.Gate.Budget())
	defer cancel()
	out, fault := l.exchange(ctx, w, r, form)
	if fault != nil {
		writeFault(w, fault)
		return
	}
	gate.WriteJSON(w, http.StatusOK, &out)
}

func (l *lane) exchange(ctx context.Context, w http.ResponseWriter, r *http.Request, form url.Values) (out tokens, fault *oauth.Fault) {
	refuse := func(code, why string) (tokens, *oauth.Fault) { return out, &oauth.Fault{Code: code, Description: why} }
	kind, text := gate.CodeToken, form.Get("code")
	switch form.Get("grant_type") {
	case "authorization_code":
	case "refresh_token":
		kind, text = gate.RefreshToken, form.Get("refresh_token")
	case "":
		return refuse(oauth.InvalidRequest, "grant_type is missing")
	default:
		return refuse(oauth.UnsupportedGrantType, "grant_type must be authorization_code or refresh_token")
	}
	needs := []string{"client_id", "refresh_token"}
	if kind == gate.CodeToken {
		needs = []string{"client_id", "code", "code_verifier"}
	}
	for _, name := range needs {
		if form.Get(name) == "" {
			return refuse(oauth.InvalidRequest, name+" is missing")
		}
	}
	if form.Has("resource") && form.Get("resource") != l.OAuth.Resource {
		return refuse(oauth.InvalidTarget, "resource must be "+l.OAuth.Resource)
	}
	k, number, ok := l.Gate.OpenToken(ctx, kind, text)
	if !ok {
		if err := l.Gate.Behind(); err != nil {
			return out, faultOf(w, err)
		}
		if err := l.authFailures.Fail(l.Gate.ClientAddr(r), l.now()); err != nil {
			return out, faultOf(w, err)
		}
		return refuse(oauth.InvalidGrant, "it is unknown, or has ended")
	}
	if form.Get("client_id") != k.Grant.Client {
		return refuse(oauth.InvalidGrant, "it is another client's")
	}
	generation := uint32(number)
	if kind == gate.CodeToken {
		switch {
		case form.Has("redirect_uri") && form.Get("redirect_uri") != k.Grant.Redirect:
			return refuse(oauth.InvalidGrant, "redirect_uri is not that of the authorization")
		case !oauth.Verifies(form.Get("code_verifier"), k.Grant.Challenge):
			return refuse(oauth.InvalidGrant, "code_verifier is not that of the authorization")
		}
	}
	if !k.Grant.Repeats(generation, int64(l.Venue.Config.Wall())) { // which changes nothing
		if err := l.Gate.Charge(&gate.Call{Key: k}, tools.Write, 1); err != nil {
			return out, faultOf(w, err)
		}
	}
	return l.renew(ctx, w, k, generation)
}

// renew begins the next generation of a grant's tokens and returns its pair.
func (l *lane) renew(ctx context.Context, w http.ResponseWriter, k *core.Key, generation uint32) (out tokens, fault *oauth.Fault) {
	ended := &oauth.Fault{Code: oauth.InvalidGrant, Description: "it has been used before, or has ended"}
	if err := l.Gate.ReadOnly(); err != nil {
		return out, faultOf(w, err)
	}
	r, err := l.Venue.Engine.Submit(ctx, &core.RenewGrant{User: k.User, Key: k.ID, Generation: generation})
	if err != nil {
		return out, faultOf(w, err)
	}
	now := l.Venue.Engine.Key(k.ID)
	if r.Reject != core.OK || now == nil || now.Grant == nil {
		return out, ended
	}
	out.TokenType, out.Scope = "Bearer", strings.Join(now.Scopes.Names(), " ")
	if out.ExpiresIn = (now.Grant.AccessEnds(generation+1) - int64(l.Venue.Config.Wall())) / core.NsPerSec; out.ExpiresIn <= 0 {
		return out, ended
	}
	if out.AccessToken, err = l.Gate.Vault.Token(gate.AccessToken, now, uint64(generation)+1); err == nil {
		out.RefreshToken, err = l.Gate.Vault.Token(gate.RefreshToken, now, uint64(generation)+1)
	}
	if err != nil {
		return out, faultOf(w, err)
	}
	return out, nil
}

// revokeToken answers POST /oauth/revoke (RFC 7009): either token ends the grant. A token that is unknown or
// has ended is revoked already.
func (l *lane) revokeToken(w http.ResponseWriter, r *http.Request) {
	form, ok := l.form(w, r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), l.Gate.Budget())
	defer cancel()
	for _, name := range []string{"token", "client_id"} {
		if form.Get(name) == "" {
			writeFault(w, &oauth.Fault{Code: oauth.InvalidRequest, Description: name + " is missing"})
			return
		}
	}
	for _, kind := range []gate.TokenKind{gate.RefreshToken, gate.AccessToken} {
		k, _, ok := l.Gate.OpenToken(ctx, kind, form.Get("token"))
		switch {
		case !ok:
			continue
		case form.Get("client_id") != k.Grant.Client:
			writeFault(w, &oauth.Fault{Code: oauth.InvalidGrant, Description: "it is another client's"})
			return
		}
		err := l.Gate.ReadOnly()
		if err == nil {
			_, err = l.submit(ctx, &core.RevokeKey{User: k.User, Key: k.ID, Audit: accountAudit("revoked by its client")})
		}
		if err != nil {
			writeFault(w, faultOf(w, err))
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}
