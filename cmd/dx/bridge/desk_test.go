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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/mcp"
	"duplex/lanes/rest"
)

const patience = 30 * time.Second

// desk is a venue with REST and the agent lane, behind a front that tests can make
// lose answers.
type desk struct {
	*lanetest.House
	url   string
	key   lanetest.Key
	front atomic.Pointer[front] // nil: straight through
	left  chan string           // bodies of requests the venue is done with
}

// front stands between a caller and the venue.
type front func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler)

func open(t *testing.T) *desk {
	t.Helper()
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	lane := mcp.Mount(h.Routes, h.Gate, "test")
	t.Cleanup(lane.Close)
	d := &desk{House: h, key: h.Key(1, core.ScopeRead|core.ScopeTrade), left: make(chan string, 1000)}
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

// client has the clock of this machine, which is not the venue's.
func (d *desk) client() *client.Client {
	return client.New(d.url, d.key.ID, d.key.Secret, client.HTTP(HTTP()))
}

func (d *desk) put(f front) { d.front.Store(&f) }

// tools are the names in the venue's own list.
func (d *desk) tools(which func(about) bool) (names []string) {
	d.T.Helper()
	l, err := (&catalog{client: d.client()}).fetch(d.T.Context())
	if err != nil {
		d.T.Fatal(err)
	}
	for _, v := range l.Tools {
		if a := tool(v); which(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// lose closes the connection of a request under the answer's nose.
func lose(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		c.Close()
	}
}

// host is a program that started the bridge and speaks to it over pipes.
type host struct {
	t    *testing.T
	in   *io.PipeWriter
	said chan string
	done chan error
	logs *logs
}

type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, c *client.Client, n Narrow) *host {
	t.Helper()
	return startUnder(t, t.Context(), c, n)
}

func startUnder(t *testing.T, ctx context.Context, c *client.Client, n Narrow) *host {
	t.Helper()
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	h := &host{t: t, in: in, said: make(chan string, 100), done: make(chan error, 1), logs: &logs{}}
	b := New(c, n, slog.New(slog.NewTextHandler(h.logs, nil)))
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

// say writes a line to the bridge.
func (h *host) say(format string, args ...any) {
	h.t.Helper()
	if _, err := fmt.Fprintf(h.in, format+"\n", args...); err != nil {
		h.t.Fatal(err)
	}
}

// hear reads the next message of the bridge.
func (h *host) hear() string {
	h.t.Helper()
	select {
	case s, ok := <-h.said:
		if !ok {
			h.t.Fatalf("the bridge ended\n%s", h.logs)
		}
		return s
	case <-time.After(patience):
		h.t.Fatalf("the bridge says nothing\n%s", h.logs)
		return ""
	}
}

// ask says a request and hears its answer.
func (h *host) ask(format string, args ...any) string {
	h.t.Helper()
	h.say(format, args...)
	return h.hear()
}

// end closes the bridge's input, and wants it to end well. It gives what was said
// until then.
func (h *host) end() (said []string) {
	h.t.Helper()
	h.in.Close()
	select {
	case err := <-h.done:
		if err != nil {
			h.t.Errorf("the bridge ended with %v", err)
		}
	case <-time.After(patience):
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

// call is a tools/call of the modern revision.
func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, tool, arguments, meta)
}

// order is the arguments of a buy that rests.
func order(id int) string {
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":10}`, id)
}

// at digs a member out of JSON by names.
func at(t *testing.T, body string, path ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// holds wants members of a message, as pairs of a dotted path and a value.
func holds(t *testing.T, body string, pairs ...any) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := at(t, body, strings.Split(pairs[i].(string), ".")...); got != pairs[i+1] {
			t.Errorf("%s is %v, not %v, in %s", pairs[i], got, pairs[i+1], body)
		}
	}
}

var errBroken = errors.New("broken")
