package bridge

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"duplex/client"
	"duplex/internal/address"
	"duplex/internal/timeouts"
	"duplex/lanes/gate"
)

// Through checks what a proxy between a client and the venue can break: TLS, the body of a
// DELETE, a long query, the largest body, a WebSocket, and a stream of the agent lane. base is
// the address of c. It changes nothing at the venue.
func Through(ctx context.Context, c *client.Client, base string) []Finding {
	d := checker{ctx, c}
	return []Finding{d.encryption(base), d.deleteBody(), d.longQuery(), d.largestBody(), d.webSocket(), d.stream()}
}

// encryption checks the certificate, as a client does that trusts this machine's authorities.
func (d checker) encryption(base string) Finding {
	const check = "tls"
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return Finding{check, false, address.RedactError(err), "Give the address of the API, such as https://api.venue.example."}
	case u.Scheme != "https" && loopbackHost(u.Hostname()):
		return ok(check, "none, and none is needed on this machine")
	case u.Scheme != "https":
		return Finding{check, false, "none: everyone on the way reads the requests and their responses", "Give the venue a certificate (--tls-cert or --acme-domain), or put a proxy with TLS in front of it."}
	}
	ctx, cancel := context.WithTimeout(d.ctx, timeouts.Of(checkTimeout))
	defer cancel()
	resp, err := d.client.Open(ctx, http.MethodGet, limitsPath, nil, nil)
	if err != nil {
		return Finding{check, false, err.Error(), "Check the certificate, its chain and its names."}
	}
	defer resp.Body.Close()
	leaf := resp.TLS.PeerCertificates[0]
	end := leaf.NotAfter.UTC().Format(time.DateTime)
	if time.Until(leaf.NotAfter) < leaf.NotAfter.Sub(leaf.NotBefore)/5 { // it should have been renewed at a third
		return Finding{check, false, "the certificate ends at " + end + " UTC", "Replace the certificate."}
	}
	return ok(check, "%s, %s; the certificate ends at %s UTC", tls.VersionName(resp.TLS.Version), resp.Proto, end)
}

func loopbackHost(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// deleteBody cancels no orders: it sends an empty list in the body of a DELETE.
func (d checker) deleteBody() Finding {
	return d.passes("body of a DELETE", http.MethodDelete, "/v1/portfolio/orders/batch", []byte(`{"order_ids":[]}`), "Let the proxy pass on the body of a DELETE unchanged.")
}

// longQuery sends a query of 8 KiB, which the venue rejects as a cursor of nothing.
func (d checker) longQuery() Finding {
	target := "/v1/portfolio/orders?cursor=" + strings.Repeat("a", 8<<10)
	return d.passes("query of 8 KiB", http.MethodGet, target, nil, "Raise the proxy's limit of a request line to 16 KiB.")
}

// largestBody previews an order in a body of the largest size, most of it spaces.
func (d checker) largestBody() Finding {
	body := append([]byte(`{`), bytes.Repeat([]byte(" "), gate.MaxBodyBytes-2)...)
	return d.passes("body of 64 KiB", http.MethodPost, "/v1/portfolio/orders/preview", append(body, '}'), "Raise the proxy's limit of a body to 64 KiB.")
}

// passes sends a signed request. Any response of the venue but a wrong signature shows that
// the request arrived as it was sent.
func (d checker) passes(check, method, target string, body []byte, fix string) Finding {
	ctx, cancel := context.WithTimeout(d.ctx, timeouts.Of(checkTimeout))
	defer cancel()
	resp, err := d.client.Open(ctx, method, target, nil, body)
	if err != nil {
		return Finding{check, false, err.Error(), fix}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return Finding{check, false, err.Error(), fix}
	case resp.Header.Get("X-Request-Id") == "":
		return Finding{check, false, fmt.Sprintf("status %d, and not from the venue", resp.StatusCode), fix}
	case resp.StatusCode == http.StatusUnauthorized:
		return Finding{check, false, "it arrives changed, so that its signature is wrong", fix}
	case resp.StatusCode >= http.StatusInternalServerError:
		return Finding{check, false, fmt.Sprintf("status %d: %.200s", resp.StatusCode, b), "Look at the venue: it does not serve."}
	}
	return ok(check, "arrives")
}

// webSocket opens a connection and waits for the response to a ping.
func (d checker) webSocket() Finding {
	const check, fix = "websocket", "Let the proxy pass on upgrades to WebSocket on /v1/ws, over HTTP/1.1 to the venue."
	ctx, cancel := context.WithTimeout(d.ctx, timeouts.Of(checkTimeout))
	defer cancel()
	connected, failed := make(chan struct{}, 1), make(chan error, 1)
	s := d.client.Stream(client.StreamOptions{
		Channels: []string{"user"}, // answered with a snapshot
		OnEvent: func(client.StreamEvent) {
			select {
			case connected <- struct{}{}:
			default:
			}
		},
		Log: slog.New(slog.DiscardHandler), // the findings say it
		OnDisconnect: func(err error, _ time.Time) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	var err error
	select {
	case <-connected:
	case err = <-failed:
	case err = <-ended:
	}
	cancel()
	if err != nil {
		if closed, ok := errors.AsType[websocket.CloseError](err); ok {
			err = fmt.Errorf("closed with %d", closed.Code)
		}
		return Finding{check, false, err.Error(), fix}
	}
	return ok(check, "opens, and a subscription is answered")
}

var streamTimeout = checkTimeout / 3 // the venue sends the first message of a stream at once

// stream opens a stream of the agent lane. The acknowledgment must arrive while the stream is
// open: a proxy that collects responses holds it back.
func (d checker) stream() Finding {
	const check, fix = "stream of the agent lane", "Switch off the proxy's buffering of responses."
	ctx, cancel := context.WithTimeout(d.ctx, timeouts.Of(streamTimeout))
	defer cancel()
	m, _ := parse([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://account"]},"_meta":{%q:%q,%q:{}}}}`, metaVersion, modern, metaCapabilities)))
	resp, err := d.client.Open(ctx, http.MethodPost, Path, m.headers(modern), m.raw)
	if err != nil {
		return Finding{check, false, err.Error(), fix}
	}
	defer resp.Body.Close()
	begin := time.Now()
	arrived := errors.New("arrived")
	err = readEvents(resp.Body, func([]byte) error { return arrived })
	if !errors.Is(err, arrived) {
		return Finding{check, false, fmt.Sprintf("status %d, and nothing for %s: %v", resp.StatusCode, time.Since(begin).Round(time.Second), err), fix}
	}
	return ok(check, "opens, and its first message arrives at once")
}
