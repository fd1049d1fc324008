package bridge

import (
	"net"
	"net/http"
	"time"

	"duplex/client"
	"duplex/internal/timeouts"
)

const (
	// responseHeaderTimeout is above the longest wait of a tool, which is 25 s plus the venue's budget.
	responseHeaderTimeout = 45 * time.Second
	// writeTimeout is above the venue's budget of 2 s. An agent that waits longer for a lost answer trades
	// without knowing its orders.
	writeTimeout = 5 * time.Second
)

// NewHTTPClient returns the HTTP client of a bridge. It bounds only the time until the
// response header, because a stream has no end. It does not follow redirects, because a
// signature covers one target.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: timeouts.Of(2 * time.Second)}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			ResponseHeaderTimeout: client.Timeout(responseHeaderTimeout), MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
