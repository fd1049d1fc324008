package bridge

import (
	"net"
	"net/http"
	"time"
)

// headerTime is past the longest a tool may wait before it answers, which is 25 s and
// the venue's own budget.
const headerTime = 45 * time.Second

// HTTP makes the client that requests go out by. An answer that streams has no end,
// so only its beginning is bounded. Redirects are not followed: a signature covers
// one target.
func HTTP() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, TLSHandshakeTimeout: 5 * time.Second,
			ResponseHeaderTimeout: headerTime, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, DisableCompression: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
