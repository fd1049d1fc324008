package bridge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/schemas"
	"duplex/tools"
)

// A host of an older revision performs the handshake and then uses the agreed version.
func TestHandshake(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	holds(t, h.ask(initialize), "id", 0.0, "result.protocolVersion", "2025-11-25")
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	holds(t, h.ask(`{"jsonrpc":"2.0","id":"ä","method":"ping"}`), "id", "ä", "error", nil)
	list := h.ask(`{"jsonrpc":"2.0","id":-7,"method":"tools/list"}`)
	if tools, _ := at(t, list, "result", "tools").([]any); len(tools) < 20 || len(tools) != len(d.tools(func(toolInfo) bool { return true })) {
		t.Errorf("%d tools in %.300s", len(tools), list)
	}
	holds(t, h.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":%s}}`, order(1)), "result.structuredContent.status", "resting")
	if rest := h.end(); len(rest) > 0 {
		t.Errorf("unexpected messages: %q", rest)
	}
	if status, body := d.Call(d.key, "GET", "/v1/portfolio/orders?client_order_id=1", ""); status != 200 || !strings.Contains(body, `"status":"resting"`) {
		t.Errorf("the order of the host: %d %s, want 200 and resting", status, body)
	}
}

// For a host of the modern revision every header is made from the body, also for names
// that need encoding.
func TestModernHeaders(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	holds(t, h.ask(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, meta), "result.resultType", "complete")
	holds(t, h.ask(call("2", "get_balance", "{}")), "result.structuredContent.cash", "100000000")
	for i, name := range []string{"größe", " x", "a\\nb", "=?base64?eA==?=", "", "漢"} {
		answer := h.ask(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{},%s}}`, i, name, meta)
		holds(t, answer, "id", float64(i), "error.code", -32602.0)
		if !strings.Contains(answer, "unknown tool") {
			t.Errorf("a tool named %q: %s, want unknown tool", name, answer)
		}
	}
	holds(t, h.ask(`{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"dx://märkte",%s}}`, meta), "error.message", "Resource not found")
	holds(t, h.ask(`{"jsonrpc":"2.0","id":9,"method":"ünknown","params":{%s}}`, meta), "id", 9.0, "error.data.code", "schema_violation")
	holds(t, h.ask(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`), "id", 9.0, "error.code", -32020.0)
}

// Invalid input gets an error, and the bridge continues.
func TestBadInput(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	for _, x := range []struct {
		line string
		code float64
		id   any
	}{
		{"{", -32700, nil},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, -32700, nil},
		{"\xff", -32700, nil},
		{`[]`, -32600, nil},
		{`"x"`, -32600, nil},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, nil},
		{`{"jsonrpc":"1.0","id":3,"method":"ping"}`, -32600, 3.0},
		{strings.Repeat(" ", 10) + strings.Repeat("x", maxLineBytes+1), -32600, nil},
		{`{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":"` + strings.Repeat("x", 65<<10) + `"}}`, 413, 4.0},
	} {
		holds(t, h.ask("%s", x.line), "error.code", x.code, "id", x.id)
	}
	h.send("")
	h.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	holds(t, h.ask(call("5", "get_balance", "{}")), "id", 5.0, "result.structuredContent.cash", "100000000")
	if rest := h.end(); len(rest) > 0 {
		t.Errorf("unexpected messages: %q", rest)
	}
}

// A write whose response is lost is sent once, and the suggested call finds it.
func TestLostWriteIsNeverSentAgain(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	holds(t, h.ask(call("0", "get_balance", "{}")), "error", nil) // the clock is right from here on
	var sent atomic.Int64
	d.put(func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler) {
		if !strings.Contains(body, "place_order") && !strings.Contains(body, "cancel_order") && !strings.Contains(body, "arm_deadman") && !strings.Contains(body, "submit_forecast") {
			venue.ServeHTTP(w, r)
			return
		}
		sent.Add(1)
		venue.ServeHTTP(httptest.NewRecorder(), r)
		dropConnection(w)
	})
	answer := h.ask(call("1", "place_order", order(7)))
	holds(t, answer, "id", 1.0, "result.isError", true, "result.resultType", "complete", "result.structuredContent.outcome", "unknown", "result.structuredContent.retryable", false,
		"result.structuredContent.error.code", "sequencing_timeout", "result.structuredContent.error.message", "sequencing_timeout",
		"result.structuredContent.next.tool", "list_orders", "result.structuredContent.next.arguments.client_order_id", "7")
	if hint, _ := at(t, answer, "result", "structuredContent", "hint").(string); !strings.HasSuffix(hint, " An order that is not there may wait for your owner: list_approvals shows those.") {
		t.Errorf("the hint after a lost placement is %q, want it to name list_approvals", hint)
	}
	if sent.Load() != 1 {
		t.Errorf("sent %d times", sent.Load())
	}
	rows, _ := at(t, h.ask(call("2", "list_orders", `{"client_order_id":"7"}`)), "result", "structuredContent", "orders").([]any)
	if len(rows) != 1 {
		t.Fatalf("list_orders of the lost order: %v, want one row", rows)
	}
	id, _ := rows[0].(map[string]any)["order_id"].(string)
	answer = h.ask(call("3", "cancel_order", fmt.Sprintf(`{"order_id":%q}`, id)))
	holds(t, answer, "result.structuredContent.outcome", "unknown", "result.structuredContent.next.tool", "list_orders", "result.structuredContent.next.arguments.order_id", id)
	holds(t, h.ask(call("4", "get_order", fmt.Sprintf(`{"order_id":%q}`, id))), "result.structuredContent.status", "canceled")
	holds(t, h.ask(call("5", "arm_deadman", `{"timeout_ms":60000}`)), "result.structuredContent.outcome", "unknown", "result.structuredContent.next.tool", "list_orders")
	holds(t, h.ask(call("6", "cancel_order", `{"client_order_id":"7"}`)), "result.structuredContent.outcome", "unknown", "result.structuredContent.next.arguments.client_order_id", "7")
	holds(t, h.ask(call("7", "submit_forecast", `{"market_id":1,"generation":1,"p":5000}`)), "result.structuredContent.outcome", "unknown", "result.structuredContent.next.tool", "submit_forecast", "result.structuredContent.next.arguments.p", 5000.0)
	if sent.Load() != 5 {
		t.Errorf("sent %d times", sent.Load())
	}
	for _, tool := range tools.CoreToolset {
		m, _ := parse([]byte(call("1", tool, "{}")))
		if next := lookupCall(&m); !slices.Contains(tools.CoreToolset, next.Tool) {
			t.Errorf("the outcome of %s, a tool of the toolset core, is shown by %s, which is not", tool, next.Tool)
		}
	}
}

// A read whose response is lost is sent exactly once more.
func TestLostReadIsSentOnceMore(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	holds(t, h.ask(call("0", "get_balance", "{}")), "id", 0.0, "error", nil)
	var sent atomic.Int64
	var losing atomic.Int64
	losing.Store(1)
	d.put(func(w http.ResponseWriter, r *http.Request, _ string, venue http.Handler) {
		if sent.Add(1) <= losing.Load() {
			dropConnection(w)
			return
		}
		venue.ServeHTTP(w, r)
	})
	holds(t, h.ask(call("1", "get_balance", "{}")), "id", 1.0, "result.structuredContent.cash", "100000000")
	if sent.Load() != 2 {
		t.Errorf("sent %d times", sent.Load())
	}
	losing.Store(100)
	holds(t, h.ask(call("2", "get_balance", "{}")), "id", 2.0, "result.isError", true, "result.structuredContent.error.code", "draining", "result.structuredContent.retryable", true, "result.structuredContent.next.tool", "get_balance")
	if sent.Load() != 4 {
		t.Errorf("sent %d times", sent.Load())
	}
}

// Responses that are not the venue's: only a 3xx or 4xx means that a write was not done.
func TestForeignAnswers(t *testing.T) {
	var status atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, "<html>no such thing</html>")
	}))
	defer s.Close()
	h := start(t, client.Must(client.New(s.URL, "k", make([]byte, 32), client.WithHTTPClient(NewHTTPClient()))), ToolFilter{})
	for code, outcome := range map[int64]string{200: "unknown", 302: "not_done", 404: "not_done", 401: "not_done", 502: "unknown", 503: "unknown"} {
		status.Store(code)
		answer := h.ask(call("1", "place_order", order(1)))
		holds(t, answer, "id", 1.0, "result.isError", true, "result.structuredContent.outcome", outcome, "result.structuredContent.retryable", false)
	}
}

// Without a venue a request gets an error with its id, and a write a result with
// not_done.
func TestVenueIsDown(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	h := start(t, client.Must(client.New(s.URL, "k", make([]byte, 32), client.WithHTTPClient(NewHTTPClient()))), ToolFilter{})
	for _, m := range []string{initialize, `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`} {
		holds(t, h.ask("%s", m), "id", 0.0, "error.code", 503.0)
	}
	answer := h.ask("%s", call("0", "place_order", order(1)))
	holds(t, answer, "id", 0.0, "error", nil, "result.isError", true, "result.resultType", "complete", "result.structuredContent.error.code", "draining",
		"result.structuredContent.outcome", "not_done", "result.structuredContent.retryable", true, "result.structuredContent.next.tool", "place_order", "result.structuredContent.next.arguments.client_order_id", "1")
	if hint, _ := at(t, answer, "result", "structuredContent", "hint").(string); !strings.Contains(hint, "refused") || !strings.Contains(hint, "not done") {
		t.Errorf("an order while the venue is down: %s, want a hint that it was refused and not done", answer)
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if rest := h.end(); len(rest) > 0 {
		t.Errorf("unexpected messages: %q", rest)
	}
}

// A venue's error for a write outside a tool result becomes a result for the host, with
// the outcome not_done or unknown.
func TestVenueRefusesTheRequestOfAWrite(t *testing.T) {
	var body atomic.Pointer[string]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, *body.Load())
	}))
	defer s.Close()
	h := start(t, client.Must(client.New(s.URL, "k", make([]byte, 32), client.WithHTTPClient(NewHTTPClient()))), ToolFilter{})
	draining := `{"code":"draining","num":null,"origin":"gateway","message":"draining","details":null}`
	limited := `{"code":"rate_limited","num":null,"origin":"gateway","message":"rate limited","details":{"retry_after_ms":"12"}}`
	for _, x := range []struct {
		body, code, outcome string
		retryable           bool
	}{
		{`{"jsonrpc":"2.0","error":{"code":503,"message":"draining","data":` + draining + `}}`, "draining", "not_done", true},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":503,"message":"draining","data":` + draining + `}}`, "draining", "not_done", true},
		{`{"error":` + draining + `}`, "draining", "not_done", true}, // of REST, by a venue that is starting
		{`{"jsonrpc":"2.0","error":{"code":429,"message":"rate limited","data":` + limited + `}}`, "rate_limited", "not_done", true},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":500,"message":"internal","data":{"code":"internal","num":null,"origin":"gateway","message":"internal","details":null}}}`, "internal", "unknown", false},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":504,"message":"sequencing_timeout","data":{"code":"sequencing_timeout","num":null,"origin":"gateway","message":"sequencing_timeout","details":null}}}`, "sequencing_timeout", "unknown", false},
	} {
		body.Store(&x.body)
		answer := h.ask("%s", call("1", "place_order", order(7)))
		holds(t, answer, "id", 1.0, "error", nil, "result.isError", true, "result.structuredContent.error.code", x.code, "result.structuredContent.outcome", x.outcome, "result.structuredContent.retryable", x.retryable)
		if next := at(t, answer, "result", "structuredContent", "next", "arguments", "client_order_id"); (next == "7") != (x.outcome == "unknown") {
			t.Errorf("an order refused with %s: %s, want next with its client_order_id if the outcome is unknown", x.code, answer)
		}
	}
	body.Store(schemas.Ptr(`{"error":` + draining + `}`))
	holds(t, h.ask(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), "id", 2.0, "error.code", 503.0, "error.data.code", "draining")
	body.Store(schemas.Ptr(`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Invalid params: unknown tool place_order","data":{"code":"schema_violation","num":null,"origin":"gateway","message":"schema_violation","details":null}}}`))
	holds(t, h.ask("%s", call("3", "place_order", order(7))), "id", 3.0, "error.code", -32602.0)
}

// An error of the gate has no id; the host gets its own id.
func TestDoorRefusalsHaveTheID(t *testing.T) {
	d := open(t)
	h := start(t, client.Must(client.New(d.url, d.key.ID, make([]byte, 32), client.WithHTTPClient(NewHTTPClient()))), ToolFilter{})
	holds(t, h.ask(`{"jsonrpc":"2.0","id":"a b","method":"ping"}`), "id", "a b", "error.code", 401.0, "error.data.code", "unauthorized")
	if hint, _ := at(t, h.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`), "error", "data", "hint").(string); !strings.Contains(hint, "signature") {
		t.Errorf("the hint of the venue is %q", hint)
	}
}

// Concurrent requests all succeed although the venue's clock differs from the local one,
// whichever of them corrects the clock.
func TestClockIsSetRight(t *testing.T) {
	d := open(t)
	d.AdvanceClock(time.Hour)
	h := start(t, d.client(), ToolFilter{})
	const n = 16
	for i := range n {
		h.send("%s", call(fmt.Sprint(i), "get_balance", "{}"))
	}
	for range n {
		holds(t, h.receive(), "result.structuredContent.cash", "100000000")
	}
}

// Concurrent calls fetch the venue's list of tools once.
func TestListIsFetchedOnce(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	holds(t, h.ask(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{%s}}`, meta), "error", nil) // the clock is right from here on
	const n = 8
	var lists atomic.Int64
	begun := make(chan struct{}, n)
	d.put(func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler) {
		if strings.Contains(body, "tools/list") {
			lists.Add(1)
			begun <- struct{}{}
		}
		venue.ServeHTTP(w, r)
	})
	h.send("%s", call("0", "get_balance", "{}"))
	<-begun
	for i := range n {
		h.send("%s", call(fmt.Sprint(i+1), "get_balance", "{}"))
	}
	for range n + 1 {
		holds(t, h.receive(), "result.structuredContent.cash", "100000000")
	}
	if lists.Load() != 1 {
		t.Errorf("fetched %d times", lists.Load())
	}
}

// A long poll does not delay other calls, and gets its response after the end of input.
func TestRequestsRunAtOnce(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	seq, _ := at(t, h.ask(call("0", "get_balance", "{}")), "result", "structuredContent", "as_of_seq").(string)
	h.send("%s", call("1", "wait_for_event", `{"after_seq":"`+seq+`","kinds":["order"],"timeout_ms":25000}`))
	holds(t, h.ask(call("2", "get_balance", "{}")), "id", 2.0)
	h.send("%s", call("3", "place_order", order(1)))
	h.send("%s", strings.TrimSuffix(call("4", "get_venue", "{}"), "\n"))
	var ids []any
	for _, s := range h.end() {
		ids = append(ids, at(t, s, "id"))
		if at(t, s, "error") != nil {
			t.Error(s)
		}
	}
	if len(ids) != 3 || !slices.Contains(ids, 1.0) || !slices.Contains(ids, 3.0) || !slices.Contains(ids, 4.0) {
		t.Errorf("the answered ids are %v, want 1, 3 and 4", ids)
	}
}

// A bridge whose context ends returns at once, with responses for the requests in flight.
func TestEnd(t *testing.T) {
	d := open(t)
	ctx, end := context.WithCancel(t.Context())
	h := startUnder(t, ctx, d.client(), ToolFilter{})
	holds(t, h.ask(call("0", "get_balance", "{}")), "id", 0.0)
	inside := make(chan struct{})
	d.put(func(_ http.ResponseWriter, r *http.Request, _ string, _ http.Handler) {
		close(inside)
		<-r.Context().Done()
	})
	h.send("%s", call("1", "place_order", order(1)))
	<-inside
	end()
	holds(t, h.receive(), "id", 1.0, "result.structuredContent.outcome", "unknown")
	if err := <-h.done; err != nil {
		t.Error(err)
	}
}

// The last line may lack its line break.
func TestLastLine(t *testing.T) {
	d := open(t)
	var out bytes.Buffer
	if err := New(d.client(), ToolFilter{}, Commands{}, slog.New(slog.DiscardHandler)).Run(t.Context(), strings.NewReader(initialize+"\n"+`{"jsonrpc":"2.0","id":1,"method":"ping"}`), &out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 3 || !strings.Contains(lines[1], `"id":1,"result"`) {
		t.Errorf("the output is %q, want two lines, the second the answer to the ping", lines)
	}
}

// A canceled request ends at the venue, on every revision, and gets no response.
func TestCancel(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	seq, _ := at(t, h.ask(call("0", "get_balance", "{}")), "result", "structuredContent", "as_of_seq").(string)
	holds(t, h.ask(initialize), "id", 0.0)
	arguments := `{"after_seq":"` + seq + `","kinds":["deposit"],"timeout_ms":25000}`
	for id, m := range map[string]string{
		`"old"`:    `{"jsonrpc":"2.0","id":"old","method":"tools/call","params":{"name":"wait_for_event","arguments":` + arguments + `}}`,
		`"modern"`: call(`"modern"`, "wait_for_event", arguments),
	} {
		inside := make(chan struct{})
		d.put(func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler) {
			if body == m {
				close(inside)
			}
			venue.ServeHTTP(w, r)
		})
		h.send("%s", m)
		<-inside
		// The venue may not have entered it yet: a cancellation that comes too early has
		// no effect there, and the next has.
		for gone := false; !gone; {
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
			for taken := false; !taken && !gone; {
				body := <-d.left
				gone = body == m
				taken = strings.Contains(body, "cancelled")
			}
		}
	}
	holds(t, h.ask(call("9", "get_balance", "{}")), "id", 9.0)
	if rest := h.end(); len(rest) > 0 {
		t.Errorf("unexpected messages: %q", rest)
	}
}

// An event stream is forwarded message by message, and ends in an orderly way with the
// host's input.
func TestEventStream(t *testing.T) {
	d := open(t)
	h := start(t, d.client(), ToolFilter{})
	holds(t, h.ask(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://account"]},%s}}`, meta), "method", "notifications/subscriptions/acknowledged")
	h.send("%s", call("1", "place_order", order(1)))
	for heard := ""; !strings.Contains(heard, `"notifications/resources/updated"`) || !strings.Contains(heard, `"id":1`); {
		heard += h.receive()
	}
	rest := h.end()
	if len(rest) == 0 {
		t.Fatal("the stream does not end")
	}
	holds(t, rest[len(rest)-1], "id", "s", "result.resultType", "complete")
}

// A filter only removes tools that the key may call.
func TestNarrowing(t *testing.T) {
	d := open(t)
	names := func(h *mcpHost) (names []string) {
		list, _ := at(t, h.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}`, meta), "result", "tools").([]any)
		for _, v := range list {
			names = append(names, v.(map[string]any)["name"].(string))
		}
		return names
	}
	for _, x := range []struct {
		name     string
		narrow   ToolFilter
		list     []string
		yes, not string
	}{
		{"read only", ToolFilter{ReadOnly: true}, d.tools(func(a toolInfo) bool { return a.Annotations.ReadOnly }), "get_balance", "place_order"},
		{"two tools", ToolFilter{Tools: []string{"place_order", "get_venue"}}, []string{"get_venue", "place_order"}, "place_order", "get_balance"},
		{"both", ToolFilter{ReadOnly: true, Tools: []string{"place_order", "get_venue"}}, []string{"get_venue"}, "get_venue", "place_order"},
		{"core", ToolFilter{Core: true}, d.tools(func(a toolInfo) bool { return slices.Contains(tools.CoreToolset, a.Name) }), "list_series", "get_round"},
		{"core and two tools", ToolFilter{Core: true, Tools: []string{"get_round", "get_venue"}}, []string{"get_venue"}, "get_venue", "get_round"},
		{"nothing that there is", ToolFilter{Tools: []string{"rm"}}, nil, "rm", "get_venue"},
	} {
		h := start(t, d.client(), x.narrow)
		refused := h.ask(call("1", x.not, order(1))) // before any list came by
		holds(t, refused, "result.isError", true, "result.structuredContent.error.code", "missing_scope", "result.structuredContent.outcome", "not_done")
		if got := names(h); !slices.Equal(got, x.list) {
			t.Errorf("%s: the list is %q, want %q", x.name, got, x.list)
		}
		if answer := h.ask(call("2", x.yes, "{}")); strings.Contains(answer, "missing_scope") {
			t.Errorf("%s: %s: %s, want it to be sent", x.name, x.yes, answer)
		}
		h.end()
	}
	list := start(t, d.client(), ToolFilter{ReadOnly: true}).ask(`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{%s}}`, meta)
	holds(t, list, "id", "x", "result.resultType", "complete", "result.cacheScope", "private")
}

// A read-only bridge without a list of tools rejects every call.
func TestReadOnlyWithoutAList(t *testing.T) {
	d := open(t)
	d.put(func(w http.ResponseWriter, r *http.Request, body string, venue http.Handler) {
		if strings.Contains(body, "tools/list") {
			dropConnection(w)
			return
		}
		t.Errorf("sent: %s", body)
	})
	h := start(t, d.client(), ToolFilter{ReadOnly: true})
	holds(t, h.ask(call("1", "get_balance", "{}")), "id", 1.0, "result.structuredContent.error.code", "draining")
}

// A message of several lines becomes one line.
func TestOneMessageALine(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{\r\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"result\": {}\n}\n")
	}))
	defer s.Close()
	h := start(t, client.Must(client.New(s.URL, "k", make([]byte, 32), client.WithHTTPClient(NewHTTPClient()))), ToolFilter{})
	if got := h.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(got)
	}
}

// The bridge ends when the host stops reading.
func TestBrokenOutput(t *testing.T) {
	d := open(t)
	in, say := io.Pipe()
	defer say.Close()
	out, tell := io.Pipe()
	out.CloseWithError(errBroken)
	done := make(chan error, 1)
	go func() {
		done <- New(d.client(), ToolFilter{}, Commands{}, slog.New(slog.DiscardHandler)).Run(t.Context(), in, tell)
	}()
	if _, err := io.WriteString(say, initialize+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "standard output: broken") {
		t.Error(err)
	}
}

func TestLogsAreMasked(t *testing.T) {
	var to bytes.Buffer
	log, add := RedactSecrets(slog.New(slog.NewTextHandler(&to, nil)), "s3cret", "")
	add("k3y")
	log.With("a", "xs3cretx").WithGroup("g").Warn("of k3y", "err", fmt.Errorf("with s3cret"), "n", 7)
	if got := to.String(); strings.Contains(got, "s3cret") || strings.Contains(got, "k3y") || !strings.Contains(got, "***") || !strings.Contains(got, "g.n=7") {
		t.Error(got)
	}
}

// TestHintsHaveNoSecret checks that what a model reads of a venue that is not reached has the address without its
// user part and query.
func TestHintsHaveNoSecret(t *testing.T) {
	err := fmt.Errorf("GET /v1/time: %w", &url.Error{Op: "Get", URL: "http://u:hunter2@h.example/v1/time?key=hunter2", Err: errBroken})
	for _, method := range []string{"tools/call", "tools/list"} {
		for _, writes := range []bool{false, true} {
			answer := string(Commands{}.noAnswerResponse(&message{id: []byte("1"), method: method}, writes, err))
			if strings.Contains(answer, "hunter2") || !strings.Contains(answer, "http://h.example/v1/time") || !strings.Contains(answer, "broken") {
				t.Errorf("the error of %s, writes %v: %s, want the address without user and query, and the cause", method, writes, answer)
			}
		}
	}
}

// TestErrorsNameCommands tests that errors name the commands with the flags that they got.
func TestErrorsNameCommands(t *testing.T) {
	x := Commands{Doctor: "/bin/dx mcp doctor --dev-file 'a b.json'", NewKey: "/bin/dx agent key NAME --dev-file 'a b.json'"}
	m := mustParse(t, call("1", "place_order", order(1)))
	for what, answer := range map[string][]byte{
		"a read":              x.noAnswerResponse(m, false, errBroken),
		"an unreached write":  x.notExecutedResponse(m, errBroken),
		"an unauthorized one": (&inFlightRequest{message: m}).failed(x, nil, mustEncode(schemas.ErrorOf("unauthorized")), true),
	} {
		if !strings.Contains(string(answer), x.Doctor) || what == "an unauthorized one" && !strings.Contains(string(answer), x.NewKey) {
			t.Errorf("%s: %s", what, answer)
		}
	}
}
