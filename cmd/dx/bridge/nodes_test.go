package bridge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/client"
	"duplex/schemas"
)

// frontNode is an address of a venue. handle can answer in its place.
type frontNode struct {
	url    string
	server *httptest.Server
	mu     sync.Mutex
	got    []string // targets and bodies
	handle func(w http.ResponseWriter, body string, venue func(http.ResponseWriter)) bool
}

func (n *frontNode) count(part string) (found int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.got {
		if strings.Contains(g, part) {
			found++
		}
	}
	return found
}

// newFront returns another address of the venue.
func (d *testVenue) newFront(handle func(w http.ResponseWriter, body string, venue func(http.ResponseWriter)) bool) *frontNode {
	to, err := url.Parse(d.url)
	if err != nil {
		d.T.Fatal(err)
	}
	n, p := &frontNode{handle: handle}, httputil.NewSingleHostReverseProxy(to)
	p.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	n.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		n.mu.Lock()
		n.got = append(n.got, r.RequestURI+" "+string(body))
		n.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		venue := func(w http.ResponseWriter) { p.ServeHTTP(w, r) }
		if n.handle == nil || !n.handle(w, string(body), venue) {
			venue(w)
		}
	}))
	d.T.Cleanup(n.server.Close)
	n.url = n.server.URL
	return n
}

// asker sends a tool call through a bridge or a proxy, and returns the response.
type asker func(id, tool, arguments string) string

// eachBridge runs a test with the bridge over pipes and with the proxy, as a client of several addresses.
func eachBridge(t *testing.T, test func(t *testing.T, d *testVenue, of func(...*frontNode) asker)) {
	t.Run("stdio", func(t *testing.T) {
		d := open(t) // one at a time
		t.Parallel()
		test(t, d, func(nodes ...*frontNode) asker {
			h := start(t, d.clientOf(nodes), ToolFilter{})
			return func(id, tool, arguments string) string { return h.ask("%s", call(id, tool, arguments)) }
		})
	})
	t.Run("proxy", func(t *testing.T) {
		d := open(t) // one at a time
		t.Parallel()
		test(t, d, func(nodes ...*frontNode) asker {
			p := httptest.NewServer(Proxy(d.clientOf(nodes), false, Commands{}, slog.New(slog.DiscardHandler)))
			t.Cleanup(p.Close)
			return func(id, tool, arguments string) string {
				return whole(t, post(t, t.Context(), p.URL, call(id, tool, arguments), "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool))
			}
		})
	})
}

func (d *testVenue) clientOf(nodes []*frontNode) *client.Client {
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.url)
	}
	return client.Must(client.New(strings.Join(urls, ","), d.key.ID, d.key.Secret, client.WithHTTPClient(NewHTTPClient())))
}

// loses lets the venue execute the calls of a tool and drops the response.
func loses(tool string) func(w http.ResponseWriter, body string, venue func(http.ResponseWriter)) bool {
	return func(w http.ResponseWriter, body string, venue func(http.ResponseWriter)) bool {
		if !strings.Contains(body, tool) {
			return false
		}
		venue(httptest.NewRecorder())
		dropConnection(w)
		return true
	}
}

// refuses answers the calls of a tool with an error.
func refuses(tool, code string) func(w http.ResponseWriter, body string, venue func(http.ResponseWriter)) bool {
	return func(w http.ResponseWriter, body string, _ func(http.ResponseWriter)) bool {
		m, ok := parse([]byte(body))
		if !ok || m.tool() != tool {
			return false
		}
		r := schemas.ToolErrorOf(schemas.ErrorOf(code))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(toolErrorResponse(&m, &r))
		return true
	}
}

// TestLostOrderIsSettled tests that an order whose response was lost is sent to the next node, and that the host
// gets the outcome of the first attempt; and that reads of that node wait for what was written before.
func TestLostOrderIsSettled(t *testing.T) {
	eachBridge(t, func(t *testing.T, d *testVenue, of func(...*frontNode) asker) {
		a, b := d.newFront(loses("place_order")), d.newFront(nil)
		ask := of(a, b)
		holds(t, ask("0", "get_balance", "{}"), "error", nil)
		holds(t, ask("1", "place_order", order(7)), "id", 1.0, "result.isError", nil, "result.resultType", "complete", "result.structuredContent.status", "resting",
			"result.structuredContent.client_order_id", "7", "result.structuredContent.resting_qty", 10.0)
		if n, m := a.count(`"place_order"`), b.count(`"place_order"`); n != 1 || m != 1 {
			t.Errorf("sent %d and %d times", n, m)
		}
		if status, body := d.Call(d.key, "GET", "/v1/portfolio/orders", ""); status != 200 || strings.Count(body, `"order_id"`) != 1 {
			t.Errorf("GET /v1/portfolio/orders: %d %s, want 200 and one order", status, body)
		}
		holds(t, ask("2", "place_order", strings.Replace(order(7), `"qty":10`, `"qty":11`, 1)), "result.isError", true, "result.structuredContent.error.code", "duplicate_client_order_id")
		holds(t, ask("3", "place_order", strings.Replace(order(8), `"qty":10`, `"qty":1000000`, 1)), "result.isError", true, "result.structuredContent.error.code", "per_market_limit", "result.structuredContent.outcome", "not_done")
		// A first attempt that the core rejected: the loss hides a rejection and not an order.
		ask = of(a, b)
		holds(t, ask("4", "place_order", strings.Replace(order(9), `"qty":10`, `"qty":1000000`, 1)), "result.isError", true, "result.structuredContent.error.code", "per_market_limit", "result.structuredContent.outcome", "not_done")
		if n, m := a.count(`"client_order_id":"9"`), b.count(`"client_order_id":"9"`); n != 1 || m != 1 {
			t.Errorf("sent %d and %d times", n, m)
		}
	})
}

// TestBridgeFailsOver tests a follower first in the list, a node that dies, and all of them down.
func TestBridgeFailsOver(t *testing.T) {
	eachBridge(t, func(t *testing.T, d *testVenue, of func(...*frontNode) asker) {
		follower := d.newFront(refuses("place_order", "read_only_node"))
		b, c := d.newFront(nil), d.newFront(nil)
		ask := of(follower, b, c)
		for id := 1; id <= 2; id++ {
			holds(t, ask("1", "place_order", order(id)), "result.structuredContent.status", "resting")
		}
		if n := follower.count(`"place_order"`); n != 1 {
			t.Errorf("%d orders to a known follower", n)
		}
		b.server.CloseClientConnections()
		b.server.Close()
		holds(t, ask("2", "get_balance", "{}"), "result.structuredContent.reserved", fmt.Sprint(2*10*5000))
		if n := c.count("/v1/exchange/status?min_seq="); n != 1 {
			t.Errorf("the read did not wait for the order: %q", c.got)
		}
		holds(t, ask("3", "place_order", order(3)), "result.structuredContent.status", "resting")
		c.server.CloseClientConnections()
		c.server.Close()
		follower.server.CloseClientConnections()
		follower.server.Close()
		answer := of(follower, b, c)("4", "place_order", order(4)) // without a connection that breaks under it
		holds(t, answer, "result.isError", true, "result.structuredContent.outcome", "not_done")
		for _, n := range []*frontNode{follower, b, c} {
			if !strings.Contains(answer, n.url) {
				t.Errorf("%s is not in %s", n.url, answer)
			}
		}
	})
}

// TestRefusedRepeatIsNoOutcome tests that an order whose outcome one node does not know stays unknown when another
// node refuses the repeat, which says nothing about the first attempt.
func TestRefusedRepeatIsNoOutcome(t *testing.T) {
	d := open(t)
	for _, code := range []string{"shed", "rate_limited", "unauthorized"} {
		for name, ask := range map[string]func(ctx context.Context, c *client.Client, line string) string{
			"stdio": func(ctx context.Context, c *client.Client, line string) string {
				return startUnder(t, ctx, c, ToolFilter{}).ask("%s", line)
			},
			"proxy": func(ctx context.Context, c *client.Client, line string) string {
				s := newSigningTransport(c, false, Commands{}, slog.New(slog.DiscardHandler))
				resp, err := s.RoundTrip(httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(line)))
				if err != nil {
					return err.Error()
				}
				return whole(t, resp)
			},
		} {
			ctx, stop := context.WithCancel(t.Context())
			refuse := refuses("place_order", code)
			nodes := []*frontNode{d.newFront(refuses("place_order", "sequencing_timeout")), d.newFront(func(w http.ResponseWriter, body string, venue func(http.ResponseWriter)) bool {
				time.AfterFunc(200*time.Millisecond, stop) // the attempts to settle
				return refuse(w, body, venue)
			})}
			answer := ask(ctx, d.clientOf(nodes), call("1", "place_order", order(7)))
			holds(t, answer, "id", 1.0, "result.isError", true, "result.structuredContent.error.code", "sequencing_timeout", "result.structuredContent.outcome", "unknown")
			if nodes[1].count(`"place_order"`) == 0 {
				t.Errorf("%s, %s: the order was not sent to the other node", name, code)
			}
		}
	}
}

// TestOtherLostWritesAreNotSentToAnotherNode tests that a cancel of unknown outcome stays unknown.
func TestOtherLostWritesAreNotSentToAnotherNode(t *testing.T) {
	eachBridge(t, func(t *testing.T, d *testVenue, of func(...*frontNode) asker) {
		a, b := d.newFront(loses("cancel_order")), d.newFront(nil)
		ask := of(a, b)
		id, _ := at(t, ask("1", "place_order", order(1)), "result", "structuredContent", "order_id").(string)
		holds(t, ask("2", "cancel_order", fmt.Sprintf(`{"order_id":%q}`, id)), "result.structuredContent.outcome", "unknown", "result.structuredContent.next.tool", "list_orders")
		holds(t, ask("3", "get_order", fmt.Sprintf(`{"order_id":%q}`, id)), "result.structuredContent.status", "canceled")
		if n := b.count("cancel_order"); n != 0 {
			t.Errorf("sent %d times", n)
		}
	})
}

// TestSeqOfResults tests which seq a later read at another node waits for: of a batch the newest one.
func TestSeqOfResults(t *testing.T) {
	for result, want := range map[string]schemas.U64{
		`{"seq":"9"}`: 9, `{"results":[{"order_id":"3","seq":"3"},{"error":{"code":"bad_qty"}},{"order_id":"7","seq":"7"}]}`: 7, `{"orders":[]}`: 0,
	} {
		if got := seqOf(jsontext.Value(`{"structuredContent":` + result + `}`)); got != want {
			t.Errorf("%s: %d, want %d", result, got, want)
		}
	}
}
