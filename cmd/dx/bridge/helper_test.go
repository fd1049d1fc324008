package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/internal/logbuffer"
	"duplex/lanes/lanetest"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
)

const testTimeout = 3 * time.Minute

// StreamTimeout is for TestThrough, which is in another package.
var StreamTimeout = &streamTimeout

// testVenue is a venue with REST and the agent lane, behind a proxy that can drop
// responses.
type testVenue struct {
	*lanetest.Server
	url   string
	key   lanetest.Key
	front atomic.Pointer[proxyFunc] // nil: straight through
	left  chan string               // bodies of requests the venue is done with
}

// proxyFunc handles a request in front of the venue.
type proxyFunc func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler)

func open(t *testing.T) *testVenue {
	t.Helper()
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	lane := mcp.Mount(h.Routes, h.Gate, "test")
	t.Cleanup(lane.Close)
	d := &testVenue{Server: h, key: h.NewKey(1, core.ScopeRead|core.ScopeTrade), left: make(chan string, 1000)}
	venue := h.Gate.Edge(h.Routes)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		w.Header().Set("Date", time.Unix(0, h.Now()).UTC().Format(http.TimeFormat))
		if f := d.front.Load(); f != nil {
			(*f)(w, r, string(body), venue)
		} else {
			venue.ServeHTTP(w, r)
		}
		d.left <- string(body)
	}))
	t.Cleanup(s.Close)
	d.url, h.URL = s.URL, s.URL
	return d
}

// client returns a client with the local clock, which differs from the venue's.
func (d *testVenue) client() *client.Client {
	return client.Must(client.New(d.url, d.key.ID, d.key.Secret, client.WithHTTPClient(NewHTTPClient())))
}

func (d *testVenue) put(f proxyFunc) { d.front.Store(&f) }

// tools returns the names of the venue's tools.
func (d *testVenue) tools(which func(toolInfo) bool) (names []string) {
	d.T.Helper()
	l, err := (&toolCatalog{client: d.client()}).fetch(d.T.Context())
	if err != nil {
		d.T.Fatal(err)
	}
	for _, v := range l.Tools {
		if a := parseToolInfo(v); which(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// dropConnection closes the connection of a request before the response.
func dropConnection(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		c.Close()
	}
}

// mcpHost is a host that runs the bridge over pipes.
type mcpHost struct {
	t    *testing.T
	in   *io.PipeWriter
	said chan string
	done chan error
	logs *logbuffer.Buffer
}

func start(t *testing.T, c *client.Client, n ToolFilter) *mcpHost {
	t.Helper()
	return startUnder(t, t.Context(), c, n)
}

func startUnder(t *testing.T, ctx context.Context, c *client.Client, n ToolFilter) *mcpHost {
	t.Helper()
	logs := &logbuffer.Buffer{}
	h := startBridge(ctx, t, New(c, n, Commands{}, slog.New(slog.NewTextHandler(logs, nil))))
	h.logs = logs
	return h
}

// startBridge runs a bridge over pipes.
func startBridge(ctx context.Context, t *testing.T, b *Bridge) *mcpHost {
	t.Helper()
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	h := &mcpHost{t: t, in: in, said: make(chan string, 100), done: make(chan error, 1), logs: &logbuffer.Buffer{}}
	go func() {
		err := b.Run(ctx, fromHost, toHost)
		toHost.Close()
		h.done <- err
	}()
	go func() {
		defer close(h.said)
		for s := bufio.NewScanner(out); s.Scan(); {
			h.said <- s.Text()
		}
	}()
	t.Cleanup(func() { in.Close(); out.Close() })
	return h
}

// send writes a line to the bridge.
func (h *mcpHost) send(format string, args ...any) {
	h.t.Helper()
	if _, err := fmt.Fprintf(h.in, format+"\n", args...); err != nil {
		h.t.Fatal(err)
	}
}

// receive reads the next message of the bridge.
func (h *mcpHost) receive() string {
	h.t.Helper()
	select {
	case s, ok := <-h.said:
		if !ok {
			h.t.Fatalf("the bridge ended\n%s", h.logs)
		}
		return s
	case <-time.After(testTimeout):
		h.t.Fatalf("no message from the bridge\n%s", h.logs)
		return ""
	}
}

// ask sends a request and returns its response.
func (h *mcpHost) ask(format string, args ...any) string {
	h.t.Helper()
	h.send(format, args...)
	return h.receive()
}

// end closes the bridge's input, requires that Run returns nil, and returns the remaining
// messages.
func (h *mcpHost) end() (said []string) {
	h.t.Helper()
	h.in.Close()
	select {
	case err := <-h.done:
		if err != nil {
			h.t.Errorf("the bridge ended with %v", err)
		}
	case <-time.After(testTimeout):
		h.t.Fatal("the bridge does not end")
	}
	for s := range h.said {
		said = append(said, s)
	}
	return said
}

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	meta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

// call returns a tools/call of the modern revision.
func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool, arguments, meta)
}

// order returns the arguments of a buy that rests.
func order(id int) string {
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":5000,"qty":10}`, id)
}

// at returns a nested member of JSON.
func at(t *testing.T, body string, path ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("not JSON: %v: %s", err, body)
	}
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// holds requires members of a message, as pairs of a dotted path and a value.
func holds(t *testing.T, body string, pairs ...any) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := at(t, body, strings.Split(pairs[i].(string), ".")...); got != pairs[i+1] {
			t.Errorf("%s is %v, not %v, in %s", pairs[i], got, pairs[i+1], body)
		}
	}
}

var errBroken = errors.New("broken")
