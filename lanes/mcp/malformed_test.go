package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

// TestMalformedRequests tests every protocol error: its HTTP status, its JSON-RPC code, the
// venue's code in data, and the id (docs/rules/agents.md#protocol-errors).
func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	list := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list","params":{` + modernMeta + `}}`
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance","arguments":{},` + modernMeta + `}}`
	version, method := "MCP-Protocol-Version", "Mcp-Method"
	ok := []string{version, modern, method, "tools/list"}
	old := []string{version, legacy}
	for _, x := range []struct {
		name   string
		body   string
		header []string
		status int
		code   int
		venue  string
		id     string // "" if the response has none
	}{
		{"no JSON", `{`, ok, 400, -32700, "malformed_json", ""},
		{"nothing", ``, ok, 400, -32700, "malformed_json", ""},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", ok, 400, -32700, "malformed_json", ""},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`, ok, 400, -32700, "malformed_json", ""},
		{"NaN", `{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}`, ok, 400, -32700, "malformed_json", ""},
		{"too deep", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), ok, 400, -32700, "malformed_json", ""},
		{"a batch", `[` + list("1") + `]`, ok, 400, -32600, "malformed_json", ""},
		{"an empty batch", `[]`, ok, 400, -32600, "malformed_json", ""},
		{"a string", `"x"`, ok, 400, -32600, "malformed_json", ""},
		{"two messages", list("1") + list("2"), ok, 400, -32600, "malformed_json", ""},
		{"something behind it", list("1") + `x`, ok, 400, -32600, "malformed_json", ""},
		{"id null", list("null"), ok, 400, -32600, "malformed_json", ""},
		{"id fractional", list("1.5"), ok, 400, -32600, "malformed_json", ""},
		{"id with an exponent", list("1e3"), ok, 400, -32600, "malformed_json", ""},
		{"id an object", list("{}"), ok, 400, -32600, "malformed_json", ""},
		{"id true", list("true"), ok, 400, -32600, "malformed_json", ""},
		{"no jsonrpc", `{"id":1,"method":"tools/list"}`, ok, 400, -32600, "malformed_json", "1"},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`, ok, 400, -32600, "malformed_json", "1"},
		{"jsonrpc a number", `{"jsonrpc":2.0,"id":1,"method":"tools/list"}`, ok, 400, -32600, "malformed_json", "1"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, ok, 400, -32600, "malformed_json", "1"},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":7}`, ok, 400, -32600, "malformed_json", "1"},
		{"a response", `{"jsonrpc":"2.0","id":1,"result":{}}`, ok, 400, -32600, "malformed_json", "1"},
		{"params a list", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, ok, 400, -32602, "schema_violation", "1"},
		{"no _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, ok, 400, -32602, "schema_violation", "1"},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, ok, 400, -32602, "schema_violation", "1"},
		{"unknown method", strings.Replace(list("1"), "tools/list", "tools/burn", 1), []string{version, modern, method, "tools/burn"}, 404, -32601, "not_found", "1"},
		{"a method of the other revision", strings.Replace(list("1"), "tools/list", "ping", 1), []string{version, modern, method, "ping"}, 404, -32601, "not_found", "1"},
		{"no version at all", list("1"), nil, 400, -32020, "schema_violation", "1"},
		{"header and body disagree on the version", list("1"), []string{version, legacy, method, "tools/list"}, 400, -32020, "schema_violation", "1"},
		{"header and body disagree on the method", list("1"), []string{version, modern, method, "tools/call"}, 400, -32020, "schema_violation", "1"},
		{"no Mcp-Method", list("1"), []string{version, modern}, 400, -32020, "schema_violation", "1"},
		{"Mcp-Method twice", list("1"), append(ok, method, "tools/list"), 400, -32020, "schema_violation", "1"},
		{"no Mcp-Name", call, []string{version, modern, method, "tools/call"}, 400, -32020, "schema_violation", "1"},
		{"another Mcp-Name", call, []string{version, modern, method, "tools/call", "Mcp-Name", "place_order"}, 400, -32020, "schema_violation", "1"},
		{"version twice", list("1"), append(ok, version, modern), 400, -32020, "schema_violation", "1"},
		{"unknown version", strings.Replace(list("1"), modern, "2031-01-01", 1), []string{version, "2031-01-01", method, "tools/list"}, 400, -32022, "schema_violation", "1"},
		{"the version that is not offered", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{version, "2025-03-26"}, 400, -32022, "schema_violation", "1"},
		{"unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm","arguments":{}}}`, old, 200, -32602, "schema_violation", "1"},
		{"arguments a list", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance","arguments":[]}}`, old, 200, -32602, "schema_violation", "1"},
		{"arguments null of an unknown tool", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm","arguments":null}}`, old, 200, -32602, "schema_violation", "1"},
		{"unknown resource", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, old, 200, -32602, "schema_violation", "1"},
		{"a resource beside the slots", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/01"}}`, old, 200, -32602, "schema_violation", "1"},
		{"unknown prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`, old, 200, -32602, "schema_violation", "1"},
		{"a prompt's market that is text", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"trade_round","arguments":{"market_id":"1 and ignore the rest"}}}`, old, 200, -32602, "schema_violation", "1"},
		{"a cursor", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, old, 200, -32602, "schema_violation", "1"},
		{"params a list, on an older revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, old, 200, -32602, "schema_violation", "1"},
		{"_meta a list, on an older revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[]}}`, old, 200, -32602, "schema_violation", "1"},
		{"initialize without a version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil, 200, -32602, "schema_violation", "1"},
		{"initialize with params a list", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, nil, 200, -32602, "schema_violation", "1"},
		{"unknown method, on an older revision", `{"jsonrpc":"2.0","id":1,"method":"tools/burn"}`, old, 200, -32601, "not_found", "1"},
		{"unknown method, on the oldest revision", `{"jsonrpc":"2.0","id":1,"method":"tools/burn"}`, []string{version, oldest}, 200, -32601, "not_found", "1"},
		{"a method of the modern revision", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, old, 200, -32601, "not_found", "1"},
		{"a resource of a market that never opened", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/31"}}`, old, 200, -32602, "unknown_market", "1"},
		{"a reference to nothing", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"market_id","value":""}}}`, old, 200, -32602, "schema_violation", "1"},
		{"no JSON, on an older revision", `{`, old, 400, -32700, "malformed_json", ""},
		{"a batch, on an older revision", `[]`, old, 400, -32600, "malformed_json", ""},
		{"no jsonrpc, on an older revision", `{"id":1,"method":"tools/list"}`, old, 400, -32600, "malformed_json", "1"},
		{"a notification with params a list", `{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`, old, 400, -32602, "schema_violation", ""},
		{"unknown tool, on the modern revision", strings.Replace(call, "get_balance", "rm", 1), []string{version, modern, method, "tools/call", "Mcp-Name", "rm"}, 400, -32602, "schema_violation", "1"},
		{"unknown resource, on the modern revision", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://x",` + modernMeta + `}}`, []string{version, modern, method, "resources/read", "Mcp-Name", "dx://x"}, 400, -32602, "schema_violation", "1"},
		{"evil origin", list("1"), append(ok, "Origin", "http://evil.example"), 403, 403, "forbidden_origin", ""},
		{"origin null", list("1"), append(ok, "Origin", "null"), 403, 403, "forbidden_origin", ""},
	} {
		status, h, body := d.post(d.alice, x.body, x.header...)
		id := ""
		if i := strings.Index(body, `"id":`); i == len(`{"jsonrpc":"2.0",`) {
			id = body[i+5 : strings.Index(body, `,"error"`)]
		}
		if status != x.status || id != x.id || h.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s %s, want %d, id %q and JSON", x.name, status, h.Get("Content-Type"), body, x.status, x.id)
		}
		checkMembers(t, x.name, body, map[string]any{"error.code": float64(x.code), "error.data.code": x.venue})
	}
}

// TestGateErrorsAreJSONRPC tests that errors of the gate are JSON-RPC errors, with the
// HTTP status as the code.
func TestGateErrorsAreJSONRPC(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	refused := func(name string, r *http.Request, status int, code string) {
		t.Helper()
		got, _, text := d.Send(r)
		if got != status || at(t, text, "error", "code") != float64(status) || at(t, text, "error", "data", "code") != code || at(t, text, "id") != nil {
			t.Errorf("%s: %d %s, want %d with %q and no id", name, got, text, status, code)
		}
	}
	unsigned := d.SignedRequest(d.alice, "POST", Path, []byte(body))
	unsigned.Header.Del(schemas.HeaderSignature)
	refused("unsigned", unsigned, 401, "unauthorized")
	forged := d.SignedRequest(d.alice, "POST", Path, []byte(body))
	forged.Header.Set(schemas.HeaderSignature, schemas.Sign([]byte("x"), forged.Header.Get(schemas.HeaderTimestamp), "POST", Path, []byte(body)))
	refused("forged", forged, 401, "unauthorized")
	foreign := d.SignedRequest(d.alice, "POST", Path, []byte(body))
	foreign.Host = "evil.example"
	refused("by a foreign host", foreign, 403, "forbidden_origin")
	refused("GET", d.SignedRequest(d.alice, "GET", Path, nil), 405, "method_not_allowed")
	refused("DELETE", d.SignedRequest(d.alice, "DELETE", Path, nil), 405, "method_not_allowed")
	refused("PUT", d.SignedRequest(d.alice, "PUT", Path, []byte(body)), 405, "method_not_allowed")
	refused("10 MB", d.SignedRequest(d.alice, "POST", Path, bytes.Repeat([]byte(" "), 10<<20)), 413, "body_too_large")
	gzip := d.SignedRequest(d.alice, "POST", Path, []byte(body))
	gzip.Header.Set("Content-Encoding", "gzip")
	refused("gzip", gzip, 415, "unsupported_media_type")
	form := d.SignedRequest(d.alice, "POST", Path, []byte(body))
	form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	refused("a form", form, 415, "unsupported_media_type")
}

// TestMethodsCostARead tests that every method except tools/call costs a read token.
func TestMethodsCostARead(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.FreezeClock() // no token is refilled
	for n := range 1000 {
		status, body := d.ask(d.alice, "1", "tools/list", "")
		if status == 200 {
			continue
		}
		if n < 100 || status != 429 {
			t.Errorf("after %d calls: %d %s, want 429 after 100 or more", n, status, body)
		}
		checkMembers(t, "past the bucket", body, map[string]any{"error.code": 429.0, "error.data.code": "rate_limited", "id": 1.0})
		return
	}
	t.Error("1000 lists without a rate limit")
}

// TestOneOrderOf200 tests that 200 concurrent calls with one client_order_id place one
// order, and that 199 of them get its row.
func TestOneOrderOf200(t *testing.T) {
	t.Parallel()
	d := generous(t)
	results := make([]result, 200)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = d.callTool(d.alice, "place_order", order(5, "")) })
	}
	all.Wait()
	placed, id := 0, ""
	for _, r := range results {
		if !r.IsError {
			placed, id = placed+1, at(t, string(r.StructuredContent), "order_id").(string)
		}
	}
	if placed != 1 {
		t.Fatalf("%d orders", placed)
	}
	for _, r := range results {
		text := string(r.StructuredContent)
		if r.IsError {
			checkMembers(t, "the same order again", text, map[string]any{"error.code": "duplicate_client_order_id", "next.tool": "list_orders", "next.arguments.order_id": id})
			if !strings.Contains(text, "order "+id) {
				t.Fatalf("the same order again: %s, want a hint that names order %s", text, id)
			}
		}
	}
}

// TestManyStreams tests that each of 2,000 concurrent streams gets an update of the
// market, and that all watches end.
func TestManyStreams(t *testing.T) {
	d := generous(t)
	d.FreezeClock() // the market stays open
	const many = 2000
	before := runtime.NumGoroutine()
	client := &http.Client{Transport: &http.Transport{MaxIdleConns: many}}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	type reader struct {
		*http.Response
		lines *bufio.Scanner
	}
	readers := make([]reader, many)
	body := []byte(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://markets/1/orderbook","dx://nowhere"]},` + modernMeta + `}}`)
	keys := make([]lanetest.Key, 20) // each key has its own read tokens, and an account at most 1024 connections
	for i := range keys {
		keys[i] = d.NewKey(1+core.UserID(i%2), core.ScopeRead)
	}
	gate := make(chan struct{}, 32)
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			r := d.SignedRequest(keys[i%len(keys)], "POST", Path, body)
			r.Header.Set("MCP-Protocol-Version", modern)
			r.Header.Set("Mcp-Method", "subscriptions/listen")
			resp, err := client.Do(r.WithContext(ctx))
			if err != nil {
				t.Error(err)
				return
			}
			readers[i] = reader{resp, bufio.NewScanner(resp.Body)}
			if m := next(readers[i].lines); resp.StatusCode != 200 || !strings.Contains(m, "acknowledged") || strings.Contains(m, "nowhere") {
				t.Errorf("subscriptions/listen: %d %s, want 200 and an acknowledgement", resp.StatusCode, m)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	d.callTool(d.alice, "place_order", order(1, ""))
	for _, r := range readers {
		if m := next(r.lines); !strings.Contains(m, `"uri":"dx://markets/1/orderbook"`) || !strings.Contains(m, `"io.modelcontextprotocol/subscriptionId":"s"`) {
			t.Fatalf("the first message of a stream after an order: %s, want the order book of market 1 for subscription s", m)
		}
	}
	hangUp()
	client.CloseIdleConnections()
	eventually(t, "the streams", func() bool {
		d.lane.dispatcher.mu.Lock()
		defer d.lane.dispatcher.mu.Unlock()
		return len(d.lane.dispatcher.markets) == 0
	})
	eventually(t, "their goroutines", func() bool { return runtime.NumGoroutine() < before+50 })
}

// next returns the next event of a stream.
func next(lines *bufio.Scanner) string {
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return text
		}
	}
	return fmt.Sprint("the stream ended: ", lines.Err())
}

// TestRevocationEndsStreams tests that a stream ends when its key is revoked, and that it says nothing of
// what was before it: here the making of its key, which the dispatcher has not seen when the request comes.
func TestRevocationEndsStreams(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	follower := d.Venue.Engine.Follow()
	running, h := d.lane.dispatcher, newStoppedDispatcher(d.Venue.Engine)
	d.lane.dispatcher = h
	t.Cleanup(func() { d.lane.dispatcher = running })
	apply := func() {
		for h.seq < d.Venue.Engine.Seq() {
			b, err := follower.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			h.applyBatch(b)
		}
	}
	k := d.NewKey(1, core.ScopeRead)
	r := d.SignedRequest(k, "POST", Path, []byte(`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["dx://account"]},`+modernMeta+`}}`))
	r.Header.Set("MCP-Protocol-Version", modern)
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	responses := make(chan *http.Response, 1)
	go func() {
		resp, err := d.RoundTrip(r.WithContext(t.Context()))
		if err != nil {
			t.Error(err)
		}
		responses <- resp
	}()
	for waits := false; !waits && len(responses) == 0; runtime.Gosched() {
		h.mu.Lock()
		waits = h.advanced != nil
		h.mu.Unlock()
	}
	apply()
	resp := <-responses
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next(lines)
	d.Submit(&core.RevokeKey{User: 1, Key: k.ID})
	apply()
	if m := next(lines); !strings.Contains(m, `"id":4,"result":{"resultType":"complete"`) {
		t.Errorf("the first message after the key was revoked: %s, want the complete result of id 4", m)
	}
	if m := next(lines); m != "the stream ended: <nil>" {
		t.Errorf("after the complete result: %s, want the end of the stream", m)
	}
}

// TestPanicIsInternal tests that a panic in an operation is `internal` for its caller and
// does not affect the next call.
func TestPanicIsInternal(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.lane.byName["get_balance"].do = func(*call, jsontext.Value) *toolResult { panic("x") }
	status, body := d.ask(d.alice, "1", "tools/call", `"name":"get_balance","arguments":{}`)
	if status != 500 || at(t, body, "error", "data", "code") != "internal" || at(t, body, "id") != 1.0 {
		t.Errorf("a tool that panics: %d %s, want 500 internal of id 1", status, body)
	}
	if got := d.callTool(d.alice, "list_orders", `{}`); got.IsError {
		t.Errorf("list_orders after the panic: %s, want a result", got.StructuredContent)
	}
}

// eventually waits until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%s: timeout", what)
			return
		}
	}
}

// TestScopeBeforeTokens tests that a call without the scope costs no token.
func TestScopeBeforeTokens(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	trader := d.NewKey(1, core.ScopeTrade)
	for n := range 300 {
		for method, params := range map[string]string{"resources/read": `"uri":"dx://account"`, "subscriptions/listen": `"notifications":{}`} {
			if status, body := d.ask(trader, "1", method, params); status != 403 || at(t, body, "error", "data", "code") != "missing_scope" {
				t.Fatalf("%s, time %d: %d %s", method, n, status, body)
			}
		}
	}
}

// TestUnknownTools tests that an unknown tool is an error of the protocol that names the nearest one, and that no name
// but a tool's own runs it.
func TestUnknownTools(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	for name, want := range map[string]string{
		"place_ordr": ": the nearest is place_order", "buy": ": the nearest is place_order", "get_markets": ": the nearest is list_markets", "Get_Balance": ": the nearest is get_balance", "rm": "; tools/list names the tools", "advance_clock": "; tools/list names the tools",
	} {
		status, body := d.ask(d.alice, "1", "tools/call", `"name":"`+name+`","arguments":{}`)
		if status != 400 {
			t.Errorf("%s: %d", name, status)
		}
		checkMembers(t, name, body, map[string]any{"error.code": -32602.0, "error.data.code": "schema_violation", "error.message": "Invalid params: unknown tool " + name + want})
	}
	if got := tools.ToolNames(); len(got) != len(d.lane.tools)+1 { // advance_clock of an arena
		t.Errorf("%d names of tools, and the lane has %d", len(got), len(d.lane.tools))
	}
	for _, spec := range d.lane.ToolSpecs() {
		if !slices.Contains(tools.ToolNames(), spec.Name) {
			t.Errorf("%s is not in tools.ToolNames", spec.Name)
		}
	}
}

// TestUnauthorizedHint tests that a 401 has a hint and the venue's clock: on a live venue the same for every cause, on
// a dev venue with the cause.
func TestUnauthorizedHint(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	signed := func(k lanetest.Key, change func(h http.Header)) *http.Request {
		r := d.SignedRequest(k, "POST", Path, body)
		change(r.Header)
		return r
	}
	revoked := d.NewKey(1, core.ScopeRead)
	d.Submit(&core.RevokeKey{User: 1, Key: revoked.ID})
	resign := func(h http.Header, ts string) {
		h.Set(schemas.HeaderTimestamp, ts)
		h.Set(schemas.HeaderSignature, schemas.Sign(d.alice.Secret, ts, "POST", Path, body))
	}
	causes := map[string]func() *http.Request{
		"missing or repeated": func() *http.Request {
			return signed(d.alice, func(h http.Header) { h.Del(schemas.HeaderSignature) })
		},
		"no such key": func() *http.Request {
			return signed(d.alice, func(h http.Header) { h.Set(schemas.HeaderKey, "dxk0") })
		},
		"revoked":   func() *http.Request { return signed(revoked, func(http.Header) {}) },
		"timestamp": func() *http.Request { return signed(d.alice, func(h http.Header) { resign(h, "1") }) },
		"signature is wrong,": func() *http.Request {
			return signed(d.alice, func(h http.Header) { h.Set(schemas.HeaderSignature, strings.Repeat("0", 64)) })
		},
	}
	for _, environment := range []string{"live", "arena", "dev"} {
		d.Gate.Venue.Config.Environment = environment
		for cause, request := range causes {
			before := d.Now()
			status, _, text := d.Send(request())
			hint, _ := at(t, text, "error", "data", "hint").(string)
			if status != 401 || at(t, text, "error", "data", "code") != "unauthorized" {
				t.Errorf("%s, %s: %d %s, want 401", environment, cause, status, text)
			}
			stated, _ := at(t, text, "error", "data", "server_time").(string)
			if now, err := strconv.ParseInt(stated, 10, 64); err != nil || now < before || now > d.Now() {
				t.Errorf("%s, %s: server_time %q, want one from %d to %d", environment, cause, stated, before, d.Now())
			}
			if environment != "dev" && hint != unauthorizedHint || environment == "dev" && (!strings.HasSuffix(hint, unauthorizedHint) || !strings.Contains(strings.TrimSuffix(hint, unauthorizedHint), cause)) {
				t.Errorf("%s, %s: %q", environment, cause, hint)
			}
		}
	}
	for _, word := range []string{"clock", "key", "signature", "dx mcp"} {
		if !strings.Contains(unauthorizedHint, word) {
			t.Errorf("the hint does not name %s", word)
		}
	}
}
