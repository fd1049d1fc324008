package hostile

import (
	"encoding/json"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
)

const agentPath = "/v1/mcp"

// TestAgentRequests: the door's games on the agent lane, and the host's and origin's
// that a page would play. Every refusal is JSON-RPC.
func TestAgentRequests(t *testing.T) {
	d := open(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	const old = "MCP-Protocol-Version: 2025-11-25\r\n"
	host := strings.TrimPrefix(d.URL, "http://")
	from := func(host, more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string {
			return strings.Replace(d.post(k, "POST", agentPath, list, old+more), "Host: x", "Host: "+host, 1)
		}
	}
	sent := func(body, more string) func(lanetest.Key) string {
		return func(k lanetest.Key) string { return d.post(k, "POST", agentPath, body, old+more) }
	}
	unsigned := func(more string) func(lanetest.Key) string {
		return func(lanetest.Key) string {
			return "POST " + agentPath + " HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n" + more + "\r\n{}"
		}
	}
	const foreign = "forbidden_origin"
	d.fire(t, []shot{
		{"no origin", from(host, ""), 200, ""},
		{"its own origin", from(host, "Origin: http://"+host+"\r\n"), 200, ""},
		{"its own origin in capitals", from("LocalHost:1", "Origin: http://lOCALhOST:1\r\n"), 200, ""},
		{"a page's origin", from(host, "Origin: https://evil.example\r\n"), 403, foreign},
		{"an origin that begins with the host", from(host, "Origin: http://"+host+".evil.example\r\n"), 403, foreign},
		{"an origin that ends with the host", from(host, "Origin: http://evil.example/"+host+"\r\n"), 403, foreign},
		{"an origin with the host for a user", from(host, "Origin: http://"+host+"@evil.example\r\n"), 403, foreign},
		{"another port", from(host, "Origin: http://127.0.0.1:1\r\n"), 403, foreign},
		{"another name of the same", from(host, "Origin: http://localhost\r\n"), 403, foreign},
		{"the host with a dot", from(host, "Origin: http://"+host+".\r\n"), 403, foreign},
		{"a null origin", from(host, "Origin: null\r\n"), 403, foreign},
		{"an empty origin", from(host, "Origin:\r\n"), 403, foreign},
		{"an origin without a scheme", from(host, "Origin: "+host+"\r\n"), 403, foreign},
		{"a file's origin", from(host, "Origin: file://\r\n"), 403, foreign},
		{"two origins, one its own", from(host, "Origin: http://"+host+"\r\nOrigin: https://evil.example\r\n"), 403, foreign},
		{"a list of origins", from(host, "Origin: http://"+host+", https://evil.example\r\n"), 403, foreign},
		{"an origin in a name of its own for us, signed", from("evil.example", "Origin: http://evil.example\r\n"), 200, ""}, // who signs is no page: it has no key
		{"an origin in a name of its own for us, unsigned", unsigned("Origin: http://evil.example\r\n"), 401, "unauthorized"},
		{"a page's form, unsigned", unsigned("Content-Type: text/plain\r\nOrigin: https://evil.example\r\n"), 401, "unauthorized"},
		{"a page's form, signed", sent(list, "Content-Type: text/plain\r\n"), 415, "unsupported_media_type"},

		{"two ends", func(k lanetest.Key) string {
			return "POST " + agentPath + " HTTP/1.1\r\nHost: x\r\n" + old + d.three(k, "POST", agentPath, list) + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(list)
		}, 400, "schema_violation"},
		{"chunks", func(k lanetest.Key) string {
			return "POST " + agentPath + " HTTP/1.1\r\nHost: x\r\n" + old + d.three(k, "POST", agentPath, list) + "Transfer-Encoding: chunked\r\n\r\n" + chunked(list)
		}, 200, ""},
		{"gzip", sent(gzipped(t, []byte(list)), "Content-Encoding: gzip\r\n"), 415, "unsupported_media_type"},
		{"a query", func(k lanetest.Key) string { return d.post(k, "POST", agentPath+"?sessionId=1", list, old) }, 200, ""},
		{"a slash behind it", func(k lanetest.Key) string { return d.post(k, "POST", agentPath+"/", list, old) }, 404, "not_found"},
		{"a session that is none", sent(list, "Mcp-Session-Id: 1\r\n"), 200, ""},
		{"an event to go on from", sent(list, "Last-Event-ID: 1\r\n"), 200, ""},
		{"a stream to listen to", func(k lanetest.Key) string { return d.get(k, agentPath, "Accept: text/event-stream\r\n") }, 405, "method_not_allowed"},

		{"a byte order mark", sent("\ufeff"+list, ""), 400, "malformed_json"},
		{"UTF-16", sent(wide(list), ""), 400, "malformed_json"},
		{"NUL behind it", sent(list+"\x00", ""), 400, "malformed_json"},
		{"a surrogate", sent(strings.Replace(list, "tools/list", `tools/list\ud800`, 1), ""), 400, "malformed_json"},
		{"an overlong letter", sent(strings.Replace(list, "tools/list", "tools\xc0\xaflist", 1), ""), 400, "malformed_json"},
		{"a name twice, once escaped", sent(strings.Replace(list, `"method"`, `"m\u0065thod":"ping","method"`, 1), ""), 400, "malformed_json"},
		{"a name in another case", sent(strings.Replace(list, `"method"`, `"Method"`, 1), ""), 400, "malformed_json"},
		{"twenty thousand lists deep", sent(strings.Replace(list, `{}`, `{"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`, 1), ""), 400, "malformed_json"},
		{"a method of 60 KB", sent(strings.Replace(list, "tools/list", strings.Repeat("x", 60_000), 1), ""), 404, "not_found"},
		{"a method with a line feed", sent(strings.Replace(list, "tools/list", `tools/list\r\nX: y`, 1), ""), 404, "not_found"},
		{"the tools of a cursor", sent(strings.Replace(list, "{}", `{"cursor":"../../"}`, 1), ""), 400, "schema_violation"},
		{"a tool by a path", sent(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"../place_order","arguments":{}}}`, ""), 400, "schema_violation"},
		{"a tool in capitals", sent(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"GET_BALANCE","arguments":{}}}`, ""), 400, "schema_violation"},
		{"a tool with NUL", sent(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance\u0000","arguments":{}}}`, ""), 400, "schema_violation"},
		{"a resource of another account", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://account/2"}}`, ""), 400, "schema_violation"},
		{"a resource above", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/../account"}}`, ""), 400, "schema_violation"},
		{"a resource of a market with a sign", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/+1"}}`, ""), 400, "schema_violation"},
		{"a resource of market 65537", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/65537"}}`, ""), 400, "schema_violation"},
	})
}

// TestAgentIDs: an id comes back byte for byte, or not at all.
func TestAgentIDs(t *testing.T) {
	d := open(t)
	k := d.Key(1, core.ScopeRead)
	for id, back := range map[string]bool{
		"0": true, "-0": true, "-1": true, "9007199254740993": true, "18446744073709551616": true, "1" + strings.Repeat("0", 1000): true,
		`""`: true, `"\u0000"`: true, `"\ud83d\ude00"`: true, `"\/"`: true, `"` + strings.Repeat("x", 30_000) + `"`: true, `"\u202e"`: true, `"</script>"`: true,
		"1.0": false, "1e3": false, "null": false, "[]": false, "{}": false, "false": false, `"\ud800"`: false, "01": false, "NaN": false,
	} {
		got := d.raw(t, d.post(k, "POST", agentPath, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, "MCP-Protocol-Version: 2025-11-25\r\n"))
		switch {
		case back && (got.status != 200 || got.body != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`):
			t.Errorf("%.30s: %d %.200s", id, got.status, got.body)
		case !back && (got.status != 400 || strings.Contains(got.body, `"id"`)):
			t.Errorf("%.30s: %d %.200s", id, got.status, got.body)
		}
	}
	d.served(t)
}

// TestAgentArguments: numbers at their edges are told as a tool's result, with a code of
// the table and nothing done.
func TestAgentArguments(t *testing.T) {
	d := open(t)
	before := d.holdings(t)
	for _, c := range []struct {
		tool, arguments string // with # for the value
		code            string // of a whole number out of range
	}{
		{"preview_order", strings.Replace(order("1", ""), `"qty":10`, `"qty":#`, 1), "bad_qty"},
		{"preview_order", strings.Replace(order("1", ""), `5000`, `#`, 1), "bad_price_tick"},
		{"arm_deadman", `{"timeout_ms":#}`, "invalid_timeout"},
		{"list_orders", `{"limit":#}`, "schema_violation"},
		{"get_market", `{"market_id":#}`, "unknown_market"},
		{"get_round", `{"market_id":#}`, "round_not_found"},
		{"get_oracle_price", `{"feed":#}`, "schema_violation"},
		{"wait_for_event", `{"after_seq":"1","timeout_ms":#}`, ""},
	} {
		for _, e := range edges {
			if c.code == "" && e.whole || c.tool == "get_oracle_price" && (e.text == "0" || e.text == "-0") {
				continue // in range, or the tool may wait for it
			}
			got := d.tool(t, d.Key(1, everyone), c.tool, strings.Replace(c.arguments, "#", e.text, 1))
			var r struct {
				Result struct {
					IsError           bool
					StructuredContent struct{ Error struct{ Code string } }
				}
			}
			if !e.json {
				if got.status != 400 || got.code() != "malformed_json" {
					t.Errorf("%s %s: %d %s", c.tool, e.text, got.status, got.body)
				}
				continue
			}
			want := "schema_violation"
			if e.whole {
				want = c.code
			}
			if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.status != 200 || !r.Result.IsError || r.Result.StructuredContent.Error.Code != want {
				t.Errorf("%s %.30s: %d %s, not %s", c.tool, e.text, got.status, got.body, want)
			}
		}
		d.served(t)
	}
	if after := d.holdings(t); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}
