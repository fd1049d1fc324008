package bridge

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// post sends to the proxy; header are pairs.
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

func proxied(t *testing.T) (*desk, *httptest.Server) {
	d := open(t)
	p := httptest.NewServer(Proxy(d.client(), slog.New(slog.DiscardHandler)))
	t.Cleanup(p.Close)
	return d, p
}

// Whatever the path, a request gets to the venue signed, with the headers of the
// protocol and none by which a caller could name another key.
func TestProxySigns(t *testing.T) {
	_, p := proxied(t)
	for _, path := range []string{"/", "/mcp", "/v1/mcp", "/a//b?x=1"} {
		resp := post(t, t.Context(), p.URL+path, call("1", "get_balance", "{}"), "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "get_balance",
			"DX-ACCESS-KEY", "another", "Authorization", "Bearer x", "Cookie", "a=b", "Origin", "http://localhost:5173")
		body := whole(t, resp)
		holds(t, body, "result.structuredContent.cash", "100000000")
		if resp.StatusCode != 200 || resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
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

// Only what was meant for this machine passes.
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
			t.Errorf("%s %s: %d %s", x.name, x.value, resp.StatusCode, body)
		}
		if x.status == 403 {
			holds(t, body, "jsonrpc", "2.0", "error.code", 403.0, "error.data.code", "forbidden_origin", "id", nil)
		}
	}
}

// An event stream comes through as it is written, and ends at the venue when the
// caller goes.
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
	late := time.After(patience)
	for {
		select {
		case body := <-d.left:
			if body == listen {
				return
			}
		case <-late:
			t.Fatal("the stream goes on at the venue")
		}
	}
}

// Where the answer is lost the proxy says the same as the bridge.
func TestProxyLosesAnswers(t *testing.T) {
	d, p := proxied(t)
	headers := func(tool string) []string {
		return []string{"MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool}
	}
	whole(t, post(t, t.Context(), p.URL, call("1", "get_balance", "{}"), headers("get_balance")...))
	d.put(func(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) { lose(w) })
	resp := post(t, t.Context(), p.URL, call("1", "place_order", order(3)), headers("place_order")...)
	holds(t, whole(t, resp), "id", 1.0, "result.structuredContent.outcome", "unknown", "result.structuredContent.next.arguments.client_order_id", "3")
	resp = post(t, t.Context(), p.URL, call("2", "get_balance", "{}"), headers("get_balance")...)
	if holds(t, whole(t, resp), "id", 2.0, "error.code", 503.0); resp.StatusCode != 503 {
		t.Error(resp.Status)
	}
	resp = post(t, t.Context(), p.URL, strings.Repeat("x", bodyMax+1))
	if holds(t, whole(t, resp), "error.code", 413.0); resp.StatusCode != 413 {
		t.Error(resp.Status)
	}
}
