package client

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Client sends requests to one venue with one key. It is safe for concurrent use.
type Client struct {
	base   string
	key    string
	secret []byte
	http   *http.Client
	offset atomic.Int64 // the venue's clock minus the local clock, ns

	maxAttempts      int // of one request
	waitForTokens    bool
	repeatPlacements bool
}

// Option configures a Client.
type Option func(*Client)

// WaitForTokens makes a rate-limited request wait for the time that the venue names and
// then repeat, until its context ends. Without it, rate_limited is returned as an error.
func WaitForTokens() Option { return func(c *Client) { c.waitForTokens = true } }

// RepeatPlacements repeats a placement whose outcome is unknown, with the same
// client_order_id. If the first attempt was executed, its outcome is returned
// (docs/rules/orders.md#client-order-id).
func RepeatPlacements() Option { return func(c *Client) { c.repeatPlacements = true } }

// MaxAttempts sets how many times a request that was not executed is sent. The default
// is 4; 1 never repeats.
func MaxAttempts(n int) Option { return func(c *Client) { c.maxAttempts = max(1, n) } }

// WithHTTPClient sends through h. It must not follow redirects, because a signature
// covers one target.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// New returns a client of the API listener at base. The secret is 32 bytes;
// schemas.ParseSecret decodes its hex form.
func New(base, key string, secret []byte, opts ...Option) *Client {
	c := &Client{base: strings.TrimRight(base, "/"), key: key, secret: secret, maxAttempts: 4}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = newHTTP()
	}
	return c
}

// responseTimeout is well above the venue's own budget of 2 s.
const responseTimeout = 15 * time.Second

// newHTTP returns a client that keeps up to 64 idle connections: on loopback a handshake
// costs more than a request. It closes them before the venue's idle limit of 120 s, so
// that no request uses a connection that the venue is closing.
func newHTTP() *http.Client {
	return &http.Client{
		Timeout: responseTimeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
