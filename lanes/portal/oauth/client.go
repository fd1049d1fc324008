package oauth

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// Client is a public client: it has no secret (docs/rules/oauth.md#clients).
type Client struct {
	ID        string
	Name      string // as the client calls itself
	Redirects []string
	Document  string // the host of its document, which vouches for it; "" of a registered client
}

// Limits of clients (docs/rules/limits.md#figures).
const (
	maxRedirects     = 10
	maxNameRunes     = 64
	maxClientIDBytes = 1 << 10
	maxDocumentBytes = 32 << 10
	documentTimeout  = 5 * time.Second
	documentLife     = time.Hour
	maxDocuments     = 1024
	maxFetches       = 64 // at once
	maxFetchesOfOne  = 4  // of one network
)

const registeredPrefix = "dxc_"

// Clients finds clients. It is safe for concurrent use.
type Clients struct {
	keys     func() [][]byte // that sign registrations, the newest first
	loopback bool            // documents of this machine by http count too, on a venue of play money
	now      func() time.Time
	http     http.Client

	mu        sync.Mutex
	documents map[string]document
	fetching  map[netip.Prefix]int // documents that are being read, by the network that asks
	fetches   int
}

type document struct {
	client Client
	until  time.Time
}

// NewClients returns a finder of clients. keys are the keys that sign registrations, the newest first. With
// loopback the documents of this machine count too.
func NewClients(keys func() [][]byte, loopback bool, now func() time.Time) *Clients {
	c := &Clients{keys: keys, loopback: loopback, now: now, documents: map[string]document{}, fetching: map[netip.Prefix]int{}}
	// Control sees the address that is dialled, so that no name leads into the operator's network, whatever
	// it resolved to before.
	dialer := &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !public(to.Addr()) && !(loopback && to.Addr().Unmap().IsLoopback()) {
			return errors.New("the address is not a public one")
		}
		return nil
	}}
	c.http = http.Client{
		Timeout:       documentTimeout,
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxResponseHeaderBytes: maxDocumentBytes, DisableKeepAlives: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Metadata is what a client says about itself in a registration (RFC 7591) or in its document.
type Metadata struct {
	ClientID                          string   `json:"client_id"`
	Name                              string   `json:"client_name"`
	Redirects                         []string `json:"redirect_uris"`
	TokenEndpointAuthMethodsSupported []string `json:"token_endpoint_auth_methods_supported"`
}

// registration is what a registered client_id holds.
type registration struct {
	Redirects []string `json:"r"`
	Name      string   `json:"n,omitempty"`
}

// Register returns the client of a registration. The venue stores nothing: the client_id holds the
// registration and a signature, so that no flood fills anything, and every member of a cluster knows it.
func (c *Clients) Register(m *Metadata) (Client, *Fault) {
	if err := checkName(m.Name); err != nil {
		return Client{}, &Fault{Code: InvalidClientMetadata, Description: err.Error()}
	}
	if err := checkRedirects(m.Redirects); err != nil {
		return Client{}, &Fault{Code: InvalidRedirectURI, Description: err.Error()}
	}
	held, err := json.Marshal(registration{m.Redirects, m.Name})
	if err != nil {
		panic(err) // two strings and a list
	}
	id := registeredPrefix + base64.RawURLEncoding.EncodeToString(append(sign(c.keys()[0], held), held...))
	if len(id) > maxClientIDBytes {
		return Client{}, &Fault{Code: InvalidClientMetadata, Description: fmt.Sprintf("name and redirect URIs are too long: a client_id has at most %d characters", maxClientIDBytes)}
	}
	return Client{ID: id, Name: m.Name, Redirects: m.Redirects}, nil
}

func sign(key, held []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(held)
	return m.Sum(nil)
}

func checkName(name string) error {
	if utf8.RuneCountInString(name) > maxNameRunes || !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("client_name has at most %d characters, and none that is not seen", maxNameRunes)
	}
	marks, blank := 0, name != "" // marks in a row: many of them cover what is above and below
	for _, r := range name {
		if marks++; !unicode.IsMark(r) {
			marks = 0
		}
		if marks > 2 {
			return errors.New("client_name has too many marks on a letter")
		}
		blank = blank && !unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S)
	}
	if blank {
		return errors.New("client_name is blank")
	}
	return nil
}

// brailleBlank is a symbol without a dot.
const brailleBlank = '\u2800'

// hidden reports whether a character is not seen, or changes how others are seen.
func hidden(r rune) bool {
	return !unicode.IsGraphic(r) || r == brailleBlank || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func checkRedirects(list []string) error {
	if len(list) == 0 || len(list) > maxRedirects {
		return fmt.Errorf("redirect_uris has 1 to %d URIs", maxRedirects)
	}
	for _, r := range list {
		if err := checkRedirect(r); err != nil {
			return err
		}
	}
	return nil
}

// Find returns the client of a client_id, for a person of a network. The fault is shown to the person.
func (c *Clients) Find(ctx context.Context, from netip.Prefix, id string) (Client, *Fault) {
	if strings.HasPrefix(id, registeredPrefix) {
		if client, ok := c.registered(id); ok {
			return client, nil
		}
		return Client{}, &Fault{Code: InvalidClient, Description: "the venue does not know this client_id: the application must register again"}
	}
	if err := c.checkDocumentURL(id); err != nil {
		return Client{}, &Fault{Code: InvalidClient, Description: err.Error()}
	}
	if client, ok := c.Known(id); ok {
		return client, nil
	}
	if !c.begin(from) {
		return Client{}, &Fault{Code: TemporarilyUnavailable, Description: "too many documents of applications are being read: try again in a moment"}
	}
	defer c.end(from)
	client, err := c.fetch(ctx, id)
	if err != nil {
		return Client{}, &Fault{Code: InvalidClient, Description: "the document of the application, which is its client_id, does not count: " + err.Error()}
	}
	c.keep(client)
	return client, nil
}

// begin counts a document that is read for a network, unless there are too many.
func (c *Clients) begin(from netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetches >= maxFetches || c.fetching[from] >= maxFetchesOfOne {
		return false
	}
	c.fetches++
	c.fetching[from]++
	return true
}

func (c *Clients) end(from netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetches--
	if c.fetching[from]--; c.fetching[from] == 0 {
		delete(c.fetching, from)
	}
}

// Known returns the client of a client_id if no document must be fetched for it.
func (c *Clients) Known(id string) (Client, bool) {
	if strings.HasPrefix(id, registeredPrefix) {
		return c.registered(id)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.documents[id]
	return d.client, ok && c.now().Before(d.until)
}

// registered returns the client that a client_id holds.
func (c *Clients) registered(id string) (Client, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimPrefix(id, registeredPrefix))
	if err != nil || len(id) > maxClientIDBytes || len(raw) < sha256.Size {
		return Client{}, false
	}
	signature, held := raw[:sha256.Size], raw[sha256.Size:]
	if !slices.ContainsFunc(c.keys(), func(key []byte) bool { return hmac.Equal(sign(key, held), signature) }) {
		return Client{}, false
	}
	var r registration
	if json.Unmarshal(held, &r) != nil || len(r.Redirects) == 0 {
		return Client{}, false
	}
	return Client{ID: id, Name: cmp.Or(r.Name, RedirectHost(r.Redirects[0])), Redirects: r.Redirects}, true
}

// checkDocumentURL returns an error unless a client_id is the address of a document: https with a path, which
// is written in one way only.
func (c *Clients) checkDocumentURL(id string) error {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxClientIDBytes || u.Host == "" || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' }):
		return errors.New("client_id is neither one that the venue has given nor the address of a document")
	case u.Scheme != "https" && !(c.loopback && u.Scheme == "http" && loopbackHost(u.Hostname())):
		return errors.New("client_id must be an https address")
	case u.User != nil || strings.Contains(id, "#"):
		return errors.New("client_id must have no user and no fragment")
	case u.Path == "" || u.Path == "/":
		return errors.New("client_id must have a path")
	case slices.ContainsFunc(strings.Split(u.Path, "/"), func(s string) bool { return s == "." || s == ".." }):
		return errors.New("client_id must have no dot segments")
	}
	return nil
}

// fetch reads the document of a client.
func (c *Clients) fetch(ctx context.Context, id string) (client Client, err error) {
	ctx, cancel := context.WithTimeout(ctx, documentTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return client, err
	}
	r.Header.Set("Accept", "application/json")
	res, err := c.http.Do(r)
	if err != nil {
		return client, errors.New("it cannot be read within the time for it") // what it was would tell of the operator's network
	}
	defer func() { _ = res.Body.Close() }() // nothing is written
	if res.StatusCode != http.StatusOK {
		return client, fmt.Errorf("its status is %d, not 200", res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocumentBytes+1))
	var m Metadata
	switch {
	case err != nil:
		return client, errors.New("it cannot be read within the time for it")
	case len(body) > maxDocumentBytes:
		return client, fmt.Errorf("it has over %d KiB", maxDocumentBytes>>10)
	case json.Unmarshal(body, &m) != nil:
		return client, errors.New("it is not JSON with the members of RFC 7591")
	case m.ClientID != id:
		return client, errors.New("its client_id is not its address")
	case m.TokenEndpointAuthMethodsSupported != nil && !slices.Contains(m.TokenEndpointAuthMethodsSupported, "none"):
		return client, errors.New("it excludes clients without a secret (token_endpoint_auth_methods_supported)")
	}
	if err := checkRedirects(m.Redirects); err != nil {
		return client, err
	}
	host := r.URL.Host
	if err := checkName(m.Name); err != nil {
		return client, err
	}
	return Client{ID: id, Name: cmp.Or(m.Name, host), Redirects: m.Redirects, Document: host}, nil
}

// keep keeps a document for an hour. Beyond the bound it drops the one that ends first.
func (c *Clients) keep(client Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.documents) >= maxDocuments {
		var first string
		for id, d := range c.documents {
			if first == "" || d.until.Before(c.documents[first].until) {
				first = id
			}
		}
		delete(c.documents, first)
	}
	c.documents[client.ID] = document{client, c.now().Add(documentLife)}
}
