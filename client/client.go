package client

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"duplex/internal/backoff"
	"duplex/internal/timeouts"
)

// Client sends requests to one venue with one key. It is safe for concurrent use.
type Client struct {
	nodes       nodes
	credentials atomic.Pointer[credentials]
	reload      func() (key string, secret []byte, ok bool)
	reloading   sync.Mutex
	http        *http.Client
	clock       atomic.Pointer[moment]

	maxAttempts      int // of one request; 0: as many as its time allows
	waitForTokens    bool
	repeatPlacements bool
	traced           bool          // the transport tells when a request has a connection
	sameBytes        time.Duration // how long signed bytes are sent again
	jitter           func(time.Duration) time.Duration
}

// Option configures a Client.
type Option func(*Client)

// WaitForTokens makes a rate-limited request wait for the time that the venue names and
// then repeat, within the time of a call. Without it, rate_limited is returned as an error.
func WaitForTokens() Option { return func(c *Client) { c.waitForTokens = true } }

// RepeatPlacements repeats a placement whose outcome is unknown, with the same
// client_order_id. If the first attempt was executed, its outcome is returned
// (docs/rules/orders.md#client-order-id).
func RepeatPlacements() Option { return func(c *Client) { c.repeatPlacements = true } }

// MaxAttempts bounds how many times a request that was not executed is sent, to each node if there are several; 1
// repeats no request at all. The default is as often as the time of a call allows.
func MaxAttempts(n int) Option { return func(c *Client) { c.maxAttempts = max(1, n) } }

// WithHTTPClient sends through h. It must not follow redirects, because a signature
// covers one target.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// Reload makes a client whose key the venue does not accept (401) ask for it once more, before the request or
// the stream fails. f reads key and secret where they come from, such as a profile; ok is false if it cannot.
// If they have changed, the client uses them from then on and sends the request again: one with status 401
// was not executed. f must be safe for concurrent use.
func Reload(f func() (key string, secret []byte, ok bool)) Option {
	return func(c *Client) { c.reload = f }
}

// credentials are a key and its secret.
type credentials struct {
	key    string
	secret []byte
}

// renew reloads the credentials after a 401 to a request with used. It reports whether there are others now.
func (c *Client) renew(used *credentials) bool {
	if c.reload == nil {
		return false
	}
	c.reloading.Lock()
	defer c.reloading.Unlock()
	if c.credentials.Load() != used { // another request was faster
		return true
	}
	key, secret, ok := c.reload()
	if !ok || key == used.key && bytes.Equal(secret, used.secret) {
		return false
	}
	c.credentials.Store(&credentials{key, secret})
	return true
}

// New returns a client of the API listener at base, a scheme, a host and perhaps a port. Another form, and a
// DX_TIMEOUT that is no such time (see CheckTimeout), are the only errors. The secret is 32 bytes; schemas.ParseSecret decodes its hex form.
//
// A call takes 30 s at most, or DX_TIMEOUT if that is more, and one of its attempts 5 s, or DX_TIMEOUT (see Timeout).
// Within that time it is repeated, as schemas/vectors/retries.json says, which the clients in other languages share.
//
// base can be a list of nodes of one cluster, separated by commas and in the order of preference. The
// client then uses the first one that answers, and fails over (docs/rules/operation.md#callers).
func New(base, key string, secret []byte, opts ...Option) (*Client, error) {
	c := &Client{jitter: backoff.Jitter, sameBytes: timeouts.Of(markedTime)}
	c.credentials.Store(&credentials{key, secret})
	c.SetClock(0)
	if err := c.setNodes(base); err != nil {
		return nil, err
	}
	if err := CheckTimeout(os.Getenv("DX_TIMEOUT")); err != nil {
		return nil, fmt.Errorf("client: DX_TIMEOUT %w", err)
	}
	for _, o := range opts {
		o(c)
	}
	if c.http == nil {
		c.http = newHTTP(c.nodes.several())
	}
	_, c.traced = c.http.Transport.(*http.Transport)
	return c, nil
}

// Must returns the client of a call of New whose base is known to be right. It panics on an error.
func Must(c *Client, err error) *Client {
	if err != nil {
		panic(err)
	}
	return c
}

const (
	responseTimeout = 15 * time.Second // of Open, whose responses may stream
	attemptTimeout  = 5 * time.Second  // well above the venue's own budget of 2 s
	callTimeout     = 30 * time.Second // longer than a restart takes
)

// longestTimeout is what an arena sets for its agents.
const longestTimeout = 24 * time.Hour

var seconds = regexp.MustCompile(`^[0-9]{1,9}(\.[0-9]{1,9})?$`)

// parseTimeout parses a value of DX_TIMEOUT. 0 is none.
func parseTimeout(text string) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	d := time.Duration(n * float64(time.Second))
	if err != nil || !seconds.MatchString(text) || d > longestTimeout {
		return 0
	}
	return d
}

// CheckTimeout returns an error unless text is empty or a value of DX_TIMEOUT: seconds as decimal digits, perhaps with
// a fraction, above 0 and at most a day (schemas/vectors/timeouts.json).
func CheckTimeout(text string) error {
	if text != "" && parseTimeout(text) <= 0 {
		return fmt.Errorf("must be seconds, above 0 and at most %.0f", longestTimeout.Seconds())
	}
	return nil
}

// Timeout returns the time that a request to one node may take: DX_TIMEOUT, or otherwise if that is no such time. An
// arena sets it for its agents, because a request there waits until the turns of the other seats have ended, and until
// venue time has passed (docs/guides/arena.md#seat-an-agent).
func Timeout(otherwise time.Duration) time.Duration {
	return cmp.Or(parseTimeout(os.Getenv("DX_TIMEOUT")), otherwise)
}

// newHTTP returns a client that keeps up to 64 idle connections: on loopback a handshake
// costs more than a request. It closes them before the venue's idle limit of 120 s, so
// that no request uses a connection that the venue is closing. With several nodes, a connection
// is given up before the attempt is, so that a request that did not reach a node is known as such.
func newHTTP(several bool) *http.Client {
	dial := 5 * time.Second
	if several {
		dial = timeouts.Of(nodeTimeout / 2)
	}
	return &http.Client{
		Timeout: Timeout(responseTimeout),
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: dial}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
