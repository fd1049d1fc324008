package client

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Client speaks to one venue with one key. Many goroutines may use it.
type Client struct {
	base   string
	key    string
	secret []byte
	http   *http.Client
	offset atomic.Int64 // the venue's clock less ours, ns

	tries      int  // of what may go again, in all
	patient    bool // waits for tokens
	placeAgain bool // sends placements of unknown outcome again
}

// Option changes how a client behaves.
type Option func(*Client)

// WaitForTokens makes a rate-limited request wait as long as the venue says and go
// again, until its context ends. Without it 429 is an error like any other.
func WaitForTokens() Option { return func(c *Client) { c.patient = true } }

// RepeatPlacements sends a placement whose outcome is unknown again, with the same
// client_order_id, and answers with the first if that turns out to stand.
func RepeatPlacements() Option { return func(c *Client) { c.placeAgain = true } }

// Tries is how often a request that surely was not done is sent in all; 4 by
// default, 1 never sends again.
func Tries(n int) Option { return func(c *Client) { c.tries = max(1, n) } }

// HTTP sends through h. It must not follow redirects: a signature covers one target.
func HTTP(h *http.Client) Option { return func(c *Client) { c.http = h } }

// New makes a client of the API listener at base. The secret is 32 bytes; Secret of
// package schemas reads the hex in which it is shown.
func New(base, key string, secret []byte, opts ...Option) *Client {
	c := &Client{base: strings.TrimRight(base, "/"), key: key, secret: secret, tries: 4}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = newHTTP()
	}
	return c
}

// answerTime is well past the venue's own budget, so that it ends only what hangs.
const answerTime = 15 * time.Second

// newHTTP keeps as many connections open as requests were ever in flight, up to 64:
// on loopback a handshake costs more than the request. They are let go before the
// venue's idle limit of 120 s, so that no request meets a closing one.
func newHTTP() *http.Client {
	return &http.Client{
		Timeout: answerTime,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
