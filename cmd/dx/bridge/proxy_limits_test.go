package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/client"
	"duplex/cmd/dx/bridge"
	"duplex/internal/proxytest"
	"duplex/server"
	"duplex/server/servertest"
)

// perClient is how many connections the recipes allow from one address.
const perClient = 256

// limitedProxies are the proxies whose recipe bounds the connections of an address: what a further connection
// gets. Caddy has no such limit.
var limitedProxies = map[string]int{
	"nginx":   http.StatusServiceUnavailable,
	"haproxy": 0, // closed before the TLS handshake
}

// TestProxiesLimitConnections holds as many requests from one address as a recipe allows. A further connection
// from it is rejected, and another address is served meanwhile. Once the requests have ended, the first address
// is served again.
func TestProxiesLimitConnections(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	for name, rejection := range limitedProxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, release := make(chan struct{}, perClient), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/held" {
					arrived <- struct{}{}
					<-release
				}
			}))
			defer s.Close()
			unblock := sync.OnceFunc(func() { close(release) })
			defer unblock()
			p := proxytest.Start(t, name, []string{s.URL}, []string{s.URL})
			get := func(from, path string) (int, error) { // on a connection of its own
				h := p.HTTPClient(from)
				h.Transport.(*http.Transport).DisableKeepAlives = true
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+proxytest.Host+path, nil)
				if err != nil {
					return 0, err
				}
				resp, err := h.Do(r)
				if err != nil {
					return 0, err
				}
				return resp.StatusCode, resp.Body.Close()
			}
			held := make(chan error, perClient)
			for n := range perClient {
				go func() {
					status, err := get("127.0.0.2", "/held")
					if err == nil && status != http.StatusOK {
						err = fmt.Errorf("status %d", status)
					}
					held <- err
				}()
				select {
				case <-arrived:
				case err := <-held:
					t.Fatalf("connection %d: %v", n, err)
				}
			}
			if status, err := get("127.0.0.2", "/"); status != rejection || (err == nil) != (rejection != 0) {
				t.Errorf("connection %d from one address: %d %v", perClient+1, status, err)
			}
			if status, err := get("127.0.0.1", "/"); status != http.StatusOK || err != nil {
				t.Errorf("another address: %d %v", status, err)
			}
			unblock()
			for range perClient {
				if err := <-held; err != nil {
					t.Error(err)
				}
			}
			// The proxy notices the end of a connection in its own time, and gives no sign of it: ask again.
			end := time.Now().Add(3 * time.Minute)
			status, err := get("127.0.0.2", "/")
			for ; status != http.StatusOK && time.Now().Before(end); status, err = get("127.0.0.2", "/") {
				time.Sleep(20 * time.Millisecond)
			}
			if status != http.StatusOK {
				t.Errorf("after the requests have ended: %d %v", status, err)
			}
		})
	}
}

// TestProxiesEndSlowHeads sends half a request. The proxy ends the connection, and before one that is idle
// after an answer, which stays for 60 s. A WebSocket and a stream of the agent lane that opened before both
// are there after that, until the first comment on the quiet stream.
func TestProxiesEndSlowHeads(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	v := servertest.Open(t, server.Options{
		Data: t.TempDir(), PublicURL: "https://" + proxytest.Host, PublicPortalURL: "https://" + proxytest.PortalHost,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Accounts: []server.Account{{Name: "alice"}},
	})
	alice := v.Account("alice")
	for _, name := range proxytest.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := proxytest.Start(t, name, []string{v.APIURL()}, []string{v.PortalURL()})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			comment := make(chan error, 1)
			go func() { comment <- readComments(ctx, proxyClient(p, alice), 1) }()
			opened, closed := make(chan struct{}, 100), make(chan error, 100)
			socket := proxyClient(p, alice).Stream(client.StreamOptions{
				Channels:     []string{"user"},
				OnEvent:      func(client.StreamEvent) { opened <- struct{}{} },
				OnDisconnect: func(err error, _ time.Time) { closed <- err },
			})
			ended := make(chan error, 1)
			go func() { ended <- socket.Run(ctx) }()
			select {
			case <-opened:
			case err := <-closed:
				t.Fatalf("socket: %v", err)
			case err := <-ended:
				t.Fatalf("socket: %v", err)
			}
			connect := func() *tls.Conn {
				c, err := p.Dial(ctx, "127.0.0.1")
				if err != nil {
					t.Fatal(err)
				}
				s := tls.Client(c, &tls.Config{RootCAs: p.Roots, ServerName: proxytest.PortalHost})
				t.Cleanup(func() { _ = s.Close() })
				if err := s.SetDeadline(time.Now().Add(3 * time.Minute)); err != nil {
					t.Fatal(err)
				}
				return s
			}
			idle := connect()
			answers := bufio.NewReader(idle)
			get := func() {
				t.Helper()
				if _, err := io.WriteString(idle, "GET /venue.json HTTP/1.1\r\nHost: "+proxytest.PortalHost+"\r\n\r\n"); err != nil {
					t.Fatalf("the idle connection: %v", err)
				}
				resp, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatalf("the idle connection: %v", err)
				}
				defer resp.Body.Close()
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					t.Fatalf("the idle connection: %d %v", resp.StatusCode, err)
				}
			}
			get()
			slow := connect()
			begin := time.Now()
			if _, err := io.WriteString(slow, "GET /venue.json HTTP/1.1\r\nHost: "+proxytest.PortalHost+"\r\n"); err != nil {
				t.Fatal(err)
			}
			// An error other than that of the deadline is the end too: the proxy may reset the connection.
			if _, err := io.Copy(io.Discard, slow); ctx.Err() != nil {
				t.Fatalf("half a head does not end: %v", err)
			}
			t.Logf("half a head ended after %s", time.Since(begin).Round(time.Millisecond))
			get()
			if err := <-comment; err != nil {
				t.Errorf("stream of the agent lane: %v", err)
			}
			select {
			case err := <-closed:
				t.Errorf("the socket was closed: %v", err)
			case err := <-ended:
				t.Errorf("the socket was closed: %v", err)
			default:
			}
		})
	}
}

// agentHeaders are those of a request to the agent lane.
func agentHeaders(method string) http.Header {
	return http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {bridge.Revisions[0]}, "Mcp-Method": {method},
	}
}

// agentRequest is the body of a request to the agent lane.
func agentRequest(method, params string) []byte {
	return []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params, bridge.Revisions[0]))
}

// readComments opens a stream of the agent lane and reads until it has had so many comments.
func readComments(ctx context.Context, c *client.Client, most int) error {
	const method = "subscriptions/listen"
	resp, err := c.Open(ctx, http.MethodPost, bridge.Path, agentHeaders(method), agentRequest(method, `"notifications":{"resourceSubscriptions":["dx://account"]},`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for n := 0; lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			if n++; n == most {
				return nil
			}
		}
	}
	return fmt.Errorf("status %d, and the stream has ended: %v", resp.StatusCode, lines.Err())
}

// TestProxiesPassLargeAnswers sends POSTs with answers that are larger than any buffer of a proxy, over HTTP/1.1
// and HTTP/2. Each must arrive whole.
func TestProxiesPassLargeAnswers(t *testing.T) {
	proxytest.SkipUnlessRequired(t)
	const posts, parallel, size = 2000, 8, 150_000
	answer := bytes.Repeat([]byte("0123456789"), size/10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			_, _ = w.Write(answer)
		}
	}))
	defer s.Close()
	for _, name := range proxytest.Names {
		t.Run(name, func(t *testing.T) {
			if name == "caddy" && proxytest.UsesOldBufferOptions(t) {
				t.Skip("Caddy before 2.6.4 sometimes cuts a large answer by itself, also with buffers, as the recipe says")
			}
			p := proxytest.Start(t, name, []string{s.URL}, []string{s.URL})
			protocols := []string{"HTTP/1.1", "HTTP/2.0"}
			if name == "haproxy" {
				protocols = protocols[:1] // its file has no h2
			}
			for _, protocol := range protocols {
				next := make(chan int, posts/len(protocols))
				for n := range posts / len(protocols) {
					next <- n
				}
				close(next)
				var wg sync.WaitGroup
				for range parallel {
					wg.Go(func() {
						h := p.HTTPClient("127.0.0.1")
						h.Transport.(*http.Transport).ForceAttemptHTTP2 = protocol == "HTTP/2.0"
						for n := range next {
							r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+proxytest.Host+"/", strings.NewReader(`{"id":1}`))
							if err != nil {
								t.Error(err)
								return
							}
							resp, err := h.Do(r)
							if err != nil {
								t.Errorf("%s: POST %d: %v", protocol, n, err)
								continue
							}
							b, err := io.ReadAll(resp.Body)
							_ = resp.Body.Close()
							if err != nil || resp.StatusCode != http.StatusOK || resp.Proto != protocol || !bytes.Equal(b, answer) {
								t.Errorf("%s: POST %d: status %d over %s, %d of %d bytes, %v", protocol, n, resp.StatusCode, resp.Proto, len(b), len(answer), err)
							}
						}
					})
				}
				wg.Wait()
			}
		})
	}
}
