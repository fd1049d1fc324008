package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/lanes/rest"
	"duplex/schemas"
	"duplex/tools"
)

const (
	everyone  = core.ScopeRead | core.ScopeTrade | core.ScopeWithdraw
	readTrade = core.ScopeRead | core.ScopeTrade
)

// testVenue is a venue with this lane, REST and two keys.
type testVenue struct {
	*lanetest.Server
	lane       *Lane
	alice, bob lanetest.Key
}

func newTestVenue(t testing.TB) *testVenue {
	t.Helper()
	h := lanetest.New(t)
	rest.Mount(h.Routes, h.Gate, "test")
	d := &testVenue{Server: h, lane: Mount(h.Routes, h.Gate, "test")}
	t.Cleanup(d.lane.Close)
	h.Serve()
	d.alice, d.bob = h.NewKey(1, everyone), h.NewKey(2, readTrade)
	return d
}

// post sends a body with headers and returns the response.
func (d *testVenue) post(k lanetest.Key, body string, header ...string) (int, http.Header, string) {
	d.T.Helper()
	r := d.SignedRequest(k, "POST", Path, []byte(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header[http.CanonicalHeaderKey(header[i])] = append(r.Header[http.CanonicalHeaderKey(header[i])], header[i+1])
	}
	return d.Send(r)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// ask sends a request on the modern revision; params are its members without _meta.
func (d *testVenue) ask(k lanetest.Key, id, method, params string) (int, string) {
	d.T.Helper()
	if params != "" {
		params = "," + params
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`, id, method, modernMeta, params)
	header := []string{"MCP-Protocol-Version", modern, "Mcp-Method", method}
	var named struct{ Params struct{ Name, URI string } }
	_ = json.Unmarshal([]byte(body), &named)
	if n := named.Params.Name + named.Params.URI; n != "" {
		header = append(header, "Mcp-Name", n)
	}
	status, _, got := d.post(k, body, header...)
	return status, got
}

// result is the result of tools/call.
type result struct {
	StructuredContent json.RawMessage
	IsError           bool
	Content           []struct{ Type, Text string }
}

// callTool calls a tool and requires a result.
func (d *testVenue) callTool(k lanetest.Key, tool, arguments string) result {
	d.T.Helper()
	status, body := d.ask(k, "1", "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
	var r struct{ Result result }
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != 200 {
		d.T.Fatalf("tools/call of %s with %s: %d %s, want 200 and JSON", tool, arguments, status, body)
	}
	if len(r.Result.Content) != 1 || r.Result.Content[0].Text != string(r.Result.StructuredContent) {
		d.T.Errorf("%s: the text is not the structured content: %s", tool, body)
	}
	d.checkOutput(tool, r.Result.StructuredContent)
	return r.Result
}

// order returns the arguments of a buy of 10 YES at 5000 in the first round of market 1, with extra members.
func order(id int, extra string) string {
	if !strings.Contains(extra, `"generation"`) {
		extra += `,"generation":1`
	}
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":10%s}`, id, extra)
}

// checkMembers compares nested members of JSON, each by its dotted path, with what is wanted.
// An absent member is nil.
func checkMembers(t testing.TB, what, body string, want map[string]any) {
	t.Helper()
	for path, x := range want {
		if got := at(t, body, strings.Split(path, ".")...); got != x {
			t.Errorf("%s: %s is %v, want %v in %s", what, path, got, x, body)
		}
	}
}

// at returns a nested member of JSON.
func at(t testing.TB, body string, path ...string) any {
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

func TestRevisions(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	for asked, want := range map[string]string{oldest: oldest, legacy: legacy, "2024-11-05": legacy, modern: legacy} {
		status, _, body := d.post(d.alice, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, asked))
		if status != 200 || at(t, body, "result", "protocolVersion") != want || at(t, body, "result", "serverInfo", "name") != "duplex" {
			t.Errorf("initialize of %s: %d %s, want revision %s of duplex", asked, status, body, want)
		}
	}
	if status, body := d.ask(d.alice, "1", "server/discover", ""); status != 200 || at(t, body, "result", "resultType") != "complete" || !strings.Contains(body, `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18"]`) {
		t.Errorf("server/discover: %d %s, want a complete result with three revisions", status, body)
	}
	for _, version := range []string{oldest, legacy} {
		status, _, body := d.post(d.alice, `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, "MCP-Protocol-Version", version)
		if status != 200 || strings.Contains(body, "resultType") || at(t, body, "id") != "a" {
			t.Errorf("tools/list on %s: %d %s, want id a and no resultType", version, status, body)
		}
		if status, _, body := d.post(d.alice, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "MCP-Protocol-Version", version); status != 202 || body != "" {
			t.Errorf("a notification on %s: %d %s, want an empty 202", version, status, body)
		}
		if status, _, body := d.post(d.alice, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, "MCP-Protocol-Version", version); status != 200 || at(t, body, "error", "code") != -32601.0 {
			t.Errorf("server/discover on %s: %d %s, want error -32601", version, status, body)
		}
	}
	status, body := d.ask(d.alice, "7", "tools/list", "")
	if status != 200 || at(t, body, "result", "cacheScope") != "private" || at(t, body, "result", "ttlMs") == nil {
		t.Errorf("tools/list: %d %s, want a private cache scope and a ttlMs", status, body)
	}
}

// TestIDs tests that responses repeat ids byte for byte.
func TestIDs(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	for _, id := range []string{"0", "-7", "18446744073709551616", "-99999999999999999999999999", `"x"`, `""`, `"\u0041 <&>"`, `"é"`} {
		status, body := d.ask(d.alice, id, "tools/call", `"name":"get_balance","arguments":{}`)
		if status != 200 || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":`+id+`,"result":`) {
			t.Errorf("get_balance with id %s: %d %s, want 200 and the same bytes as id", id, status, body)
		}
	}
}

// TestGuide tests that the guide has at most 600 words and names only existing tools
// (docs/rules/agents.md#resources).
func TestGuide(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	status, body := d.ask(d.alice, "1", "resources/read", `"uri":"dx://guide"`)
	if n := len(strings.Fields(guide)); status != 200 || n > 600 || !strings.Contains(body, `"mimeType":"text/markdown"`) {
		t.Errorf("%d: %d words", status, n)
	}
	for _, word := range regexp.MustCompile("`([a-z]+_[a-z_]+)`").FindAllStringSubmatch(guide, -1) {
		verb, _, _ := strings.Cut(word[1], "_")
		if slices.Contains([]string{"get", "list", "place", "preview", "cancel", "decrease", "redeem", "arm", "wait"}, verb) && d.lane.byName[word[1]] == nil {
			t.Errorf("no tool %s", word[1])
		}
	}
}

// TestPromptsNameWhatThereIs tests that every name in a prompt or in the instructions is a
// tool, or a field of a tool's arguments or result, and that trade_round needs the toolset
// core alone.
func TestPromptsNameWhatThereIs(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	var all strings.Builder
	for _, x := range d.lane.tools {
		all.Write(x.definition)
	}
	all.Write(mustEncode(shortSettlement{})) // of the events
	all.Write(mustEncode(schemas.AccountRound{}))
	all.Write(mustEncode(schemas.Series{Live: &schemas.LiveRound{}}))
	for _, p := range append(slices.Clone(prompts), prompt{Name: "instructions", text: instructions}) {
		for _, name := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`).FindAllString(p.text, -1) {
			if !strings.Contains(all.String(), `"`+name+`"`) {
				t.Errorf("%s: no %s", p.Name, name)
			}
			if p.Name == "trade_round" && d.lane.byName[name] != nil && !slices.Contains(tools.CoreToolset, name) {
				t.Errorf("%s: %s is not in the toolset core", p.Name, name)
			}
		}
	}
}
