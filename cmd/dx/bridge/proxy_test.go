package bridge

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
)

// post sends a request to the proxy. header has pairs of name and value.
func post(t *testing.T, ctx context.Context, url, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func whole(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func proxied(t *testing.T) (*testVenue, *httptest.Server) {
	d := open(t)
	p := httptest.NewServer(Proxy(d.client(), false, Commands{}, slog.New(slog.DiscardHandler)))
	t.Cleanup(p.Close)
	return d, p
}

// A request to any path reaches the venue signed, with the headers of the protocol and
// without headers that name another key.
func TestProxySigns(t *testing.T) {
	_, p := proxied(t)
	for _, path := range []string{"/", "/mcp", "/v1/mcp", "/a//b?x=1"} {
		resp := post(t, t.Context(), p.URL+path, call("1", "get_balance", "{}"), "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "get_balance",
			"DX-ACCESS-KEY", "another", "Authorization", "Bearer x", "Cookie", "a=b", "Origin", "http://localhost:5173")
		body := whole(t, resp)
		holds(t, body, "result.structuredContent.cash", "100000000")
		if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("get_balance at %s: %d %s, want 200 and a request id", path, resp.StatusCode, body)
		}
	}
	resp := post(t, t.Context(), p.URL, call("1", "get_balance", "{}"), "MCP-Protocol-Version", modern, "Mcp-Method", "tools/list")
	holds(t, whole(t, resp), "error.code", -32020.0)
	resp, err := http.Get(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if holds(t, whole(t, resp), "error.code", 405.0); resp.StatusCode != 405 {
		t.Error(resp.Status)
	}
}

// Only requests whose Host and Origin name this machine pass.
func TestProxyChecksHostAndOrigin(t *testing.T) {
	_, p := proxied(t)
	port := p.URL[strings.LastIndex(p.URL, ":"):]
	for _, x := range []struct {
		name, value string
		status      int
	}{
		{"Host", "localhost" + port, 200},
		{"Host", "127.0.0.1" + port, 200},
		{"Host", "[::1]" + port, 200},
		{"Host", "evil.example", 403},
		{"Host", "evil.example" + port, 403},
		{"Host", "localhost.evil.example" + port, 403},
		{"Host", "localhost", 403},
		{"Host", "localhost:1", 403},
		{"Origin", "http://127.0.0.1:3000", 200},
		{"Origin", "https://localhost", 200},
		{"Origin", "http://evil.example", 403},
		{"Origin", "http://127.0.0.1.evil.example", 403},
		{"Origin", "null", 403},
		{"Origin", "file://localhost", 403},
	} {
		resp := post(t, t.Context(), p.URL+"/mcp", initialize, x.name, x.value)
		body := whole(t, resp)
		if resp.StatusCode != x.status {
			t.Errorf("a request with %s %q: %d %s, want %d", x.name, x.value, resp.StatusCode, body, x.status)
		}
		if x.status == 403 {
			holds(t, body, "jsonrpc", "2.0", "error.code", 403.0, "error.data.code", "forbidden_origin", "id", nil)
		}
	}
}

// An event stream is forwarded as it is written, and ends at the venue when the caller
// disconnects.
func TestProxyStreams(t *testing.T) {
	d, p := proxied(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://account"]},` + meta + `}}`
	resp := post(t, ctx, p.URL, listen, "MCP-Protocol-Version", modern, "Mcp-Method", "subscriptions/listen")
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "acknowledged") {
	}
	whole(t, post(t, t.Context(), p.URL, call("1", "place_order", order(1)), "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "place_order"))
	for lines.Scan() && !strings.Contains(lines.Text(), "resources/updated") {
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	leave()
	late := time.After(testTimeout)
	for {
		select {
		case body := <-d.left:
			if body == listen {
				return
			}
		case <-late:
			t.Fatal("the stream at the venue did not end")
		}
	}
}

// A lost response has the same result as with the bridge.
func TestProxyLosesAnswers(t *testing.T) {
	d, p := proxied(t)
	headers := func(tool string) []string {
		return []string{"MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool}
	}
	whole(t, post(t, t.Context(), p.URL, call("1", "get_balance", "{}"), headers("get_balance")...))
	d.put(func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) { dropConnection(w) })
	resp := post(t, t.Context(), p.URL, call("1", "place_order", order(3)), headers("place_order")...)
	holds(t, whole(t, resp), "id", 1.0, "result.structuredContent.outcome", "unknown", "result.structuredContent.next.arguments.client_order_id", "3")
	resp = post(t, t.Context(), p.URL, call("2", "get_balance", "{}"), headers("get_balance")...)
	if holds(t, whole(t, resp), "id", 2.0, "result.structuredContent.error.code", "draining", "result.structuredContent.next.tool", "get_balance"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	var sent atomic.Int64
	d.put(func(w http.ResponseWriter, r *http.Request, _ string, venue http.Handler) {
		if sent.Add(1) == 1 {
			dropConnection(w)
			return
		}
		venue.ServeHTTP(w, r)
	})
	resp = post(t, t.Context(), p.URL, call("3", "get_balance", "{}"), headers("get_balance")...)
	holds(t, whole(t, resp), "id", 3.0, "result.structuredContent.cash", "100000000")
	d.put(func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>bad gateway</html>")
	})
	resp = post(t, t.Context(), p.URL, call("4", "place_order", order(4)), headers("place_order")...)
	if holds(t, whole(t, resp), "id", 4.0, "result.structuredContent.outcome", "unknown"); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	resp = post(t, t.Context(), p.URL, strings.Repeat("x", maxBodyBytes+1))
	if holds(t, whole(t, resp), "error.code", 413.0); resp.StatusCode != 413 {
		t.Error(resp.Status)
	}
}

// Without a venue a write returns a result with not_done, and a read status 503.
func TestProxyWithoutAVenue(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	p := httptest.NewServer(Proxy(client.Must(client.New(s.URL, "k", make([]byte, 32), client.WithHTTPClient(NewHTTPClient()))), false, Commands{}, slog.New(slog.DiscardHandler)))
	t.Cleanup(p.Close)
	resp := post(t, t.Context(), p.URL, call("1", "place_order", order(3)))
	if holds(t, whole(t, resp), "id", 1.0, "result.isError", true, "result.structuredContent.outcome", "not_done", "result.structuredContent.retryable", true); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
	resp = post(t, t.Context(), p.URL, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if holds(t, whole(t, resp), "id", 2.0, "error.code", 503.0); resp.StatusCode != 503 {
		t.Error(resp.Status)
	}
}
