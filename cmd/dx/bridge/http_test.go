package bridge

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"duplex/client"
	"duplex/internal/timeouts"
)

// TestTimeout tests that the bridge waits for an answer for as long as DX_TIMEOUT says, to a write as to a read.
func TestTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": responseHeaderTimeout, "86400": 24 * time.Hour} {
		t.Setenv("DX_TIMEOUT", value)
		if got := NewHTTPClient().Transport.(*http.Transport).ResponseHeaderTimeout; got != want {
			t.Errorf("DX_TIMEOUT=%q: a read waits %v, want %v", value, got, want)
		}
		if value == "" {
			want = timeouts.Of(writeTimeout)
		}
		log := slog.New(slog.DiscardHandler)
		if stdio, proxy := New(nil, ToolFilter{}, Commands{}, log).writeTimeout, newSigningTransport(nil, false, Commands{}, log).writeTimeout; stdio != want || proxy != want {
			t.Errorf("DX_TIMEOUT=%q: a write waits %v, and in the proxy %v, want %v", value, stdio, proxy, want)
		}
	}
}

// TestWriteTimesOut tests that a write without an answer ends with an unknown outcome and the call that shows it, and
// that with several nodes an order is settled at the next one.
func TestWriteTimesOut(t *testing.T) {
	const short = 50 * time.Millisecond
	for name, bridgeTo := range map[string]func(t *testing.T, c *client.Client) asker{
		"stdio": func(t *testing.T, c *client.Client) asker {
			b := New(c, ToolFilter{}, Commands{}, slog.New(slog.DiscardHandler))
			b.writeTimeout = short
			h := startBridge(t.Context(), t, b)
			return func(id, tool, arguments string) string { return h.ask("%s", call(id, tool, arguments)) }
		},
		"proxy": func(t *testing.T, c *client.Client) asker {
			s := newSigningTransport(c, false, Commands{}, slog.New(slog.DiscardHandler))
			s.writeTimeout = short
			return func(id, tool, arguments string) string {
				line := call(id, tool, arguments)
				r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(line))
				r.Header = mustParse(t, line).headers("")
				resp, err := s.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				return whole(t, resp)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			silent := d.newFront(nil)
			answer := make(chan struct{})
			t.Cleanup(func() { close(answer) }) // before the server closes
			silent.handle = func(_ http.ResponseWriter, body string, _ func(http.ResponseWriter)) bool {
				if strings.Contains(body, `"tools/call"`) && strings.Contains(body, "_order") {
					<-answer
					return true
				}
				return false
			}
			ask := bridgeTo(t, d.clientOf([]*frontNode{silent}))
			holds(t, ask("0", "get_balance", "{}"), "error", nil) // the clock is right from here on
			got := ask("1", "place_order", order(7))
			holds(t, got, "id", 1.0, "result.isError", true, "result.structuredContent.outcome", "unknown", "result.structuredContent.retryable", false,
				"result.structuredContent.next.tool", "list_orders", "result.structuredContent.next.arguments.client_order_id", "7")
			if !strings.Contains(got, "no response within "+short.String()) {
				t.Errorf("no time in %s", got)
			}
			holds(t, ask("2", "cancel_order", `{"order_id":"9"}`), "result.structuredContent.outcome", "unknown", "result.structuredContent.next.arguments.order_id", "9")
			if n := silent.count(`"tools/call"`); n != 3 {
				t.Errorf("%d calls, want 3: nothing is sent again", n)
			}
			holds(t, bridgeTo(t, d.clientOf([]*frontNode{silent, d.newFront(nil)}))("3", "place_order", order(8)), "result.structuredContent.status", "resting")
		})
	}
}

// TestResponseLimit tests which requests the bridge itself bounds in time: a read of the only node has the time of the
// HTTP client, and so have tools that wait.
func TestResponseLimit(t *testing.T) {
	one, several := client.Must(client.New("http://a", "k", nil)), client.Must(client.New("http://a,http://b", "k", nil))
	const long = time.Hour
	for _, x := range []struct {
		name, tool   string
		client       *client.Client
		readOnly     bool
		writeTimeout time.Duration
		want         time.Duration
	}{
		{"a write", "place_order", one, false, time.Second, time.Second},
		{"a read", "list_orders", one, true, time.Second, 0},
		{"a tool that waits", "wait_for_event", one, true, time.Second, 0},
		{"a write that waits", "advance_clock", one, false, time.Second, 0},
		{"a tool that waits, of several nodes", "wait_for_event", several, true, time.Second, 0},
		{"a read of several nodes", "list_orders", several, true, time.Second, timeouts.Of(headerTimeout)},
		{"a write to several nodes", "place_order", several, false, time.Second, time.Second},
		{"a write to several nodes, with a long DX_TIMEOUT", "place_order", several, false, long, timeouts.Of(headerTimeout)},
	} {
		if got := responseLimit(x.client, mustParse(t, call("1", x.tool, "{}")), x.readOnly, x.writeTimeout); got != x.want {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}
