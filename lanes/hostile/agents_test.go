package hostile

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
)

const agentPath = "/v1/mcp"

// TestAgentRequests checks malformed and forged requests to the agent lane, among them the
// Host and Origin headers that a web page could cause (docs/rules/agents.md#endpoint).
func TestAgentRequests(t *testing.T) {
	d := newTestVenue(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	const old = "MCP-Protocol-Version: 2025-11-25\r\n"
	d.Gate.Hosts = append(d.Gate.Hosts, "venue.example")
	host := strings.TrimPrefix(d.URL, "http://")
	_, port, _ := strings.Cut(host, ":")
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
	d.runCases(t, []attackCase{
		{"no origin", from(host, ""), 200, ""},
		{"its own origin", from(host, "Origin: http://"+host+"\r\n"), 200, ""},
		{"its own origin in capitals", from("LocalHost:1", "Origin: http://lOCALhOST:1\r\n"), 200, ""},
		{"a foreign page's origin", from(host, "Origin: https://evil.example\r\n"), 403, foreign},
		{"an origin that begins with the host", from(host, "Origin: http://"+host+".evil.example\r\n"), 403, foreign},
		{"an origin that ends with the host", from(host, "Origin: http://evil.example/"+host+"\r\n"), 403, foreign},
		{"an origin with the host as its user", from(host, "Origin: http://"+host+"@evil.example\r\n"), 403, foreign},
		{"another port", from(host, "Origin: http://127.0.0.1:1\r\n"), 403, foreign},
		{"another name of the same host", from(host, "Origin: http://localhost\r\n"), 403, foreign},
		{"the host with a dot", from(host, "Origin: http://"+host+".\r\n"), 403, foreign},
		{"a null origin", from(host, "Origin: null\r\n"), 403, foreign},
		{"an empty origin", from(host, "Origin:\r\n"), 403, foreign},
		{"an origin without a scheme", from(host, "Origin: "+host+"\r\n"), 403, foreign},
		{"a file's origin", from(host, "Origin: file://\r\n"), 403, foreign},
		{"two origins, one its own", from(host, "Origin: http://"+host+"\r\nOrigin: https://evil.example\r\n"), 403, foreign},
		{"a list of origins", from(host, "Origin: http://"+host+", https://evil.example\r\n"), 403, foreign},
		{"a rebound name as host and origin, signed", from("evil.example", "Origin: http://evil.example\r\n"), 403, foreign},
		{"a rebound name as host", from("evil.example", ""), 403, foreign},
		{"a rebound name as host, with our port", from("evil.example:"+port, ""), 403, foreign},
		{"our address as part of a name", from("127.0.0.1.evil.example", ""), 403, foreign},
		{"its own host by another name", from("localhost:"+port, ""), 200, ""},
		{"a configured host", from("venue.example", "Origin: http://venue.example\r\n"), 200, ""},
		{"a page's origin on a configured host", from("venue.example", "Origin: http://evil.example\r\n"), 403, foreign},
		{"a rebound name as host and origin, unsigned", unsigned("Origin: http://evil.example\r\n"), 401, "unauthorized"},
		{"a page's form, unsigned", unsigned("Content-Type: text/plain\r\nOrigin: https://evil.example\r\n"), 401, "unauthorized"},
		{"a page's form, signed", sent(list, "Content-Type: text/plain\r\n"), 415, "unsupported_media_type"},

		{"a length and chunks", func(k lanetest.Key) string {
			return "POST " + agentPath + " HTTP/1.1\r\nHost: x\r\n" + old + d.signatureHeaders(k, "POST", agentPath, list) + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(list)
		}, 400, "schema_violation"},
		{"chunks", func(k lanetest.Key) string {
			return "POST " + agentPath + " HTTP/1.1\r\nHost: x\r\n" + old + d.signatureHeaders(k, "POST", agentPath, list) + "Transfer-Encoding: chunked\r\n\r\n" + chunked(list)
		}, 200, ""},
		{"gzip", sent(gzipped(t, []byte(list)), "Content-Encoding: gzip\r\n"), 415, "unsupported_media_type"},
		{"a query", func(k lanetest.Key) string { return d.post(k, "POST", agentPath+"?sessionId=1", list, old) }, 200, ""},
		{"a trailing slash", func(k lanetest.Key) string { return d.post(k, "POST", agentPath+"/", list, old) }, 404, "not_found"},
		{"an unknown session", sent(list, "Mcp-Session-Id: 1\r\n"), 200, ""},
		{"a last event id", sent(list, "Last-Event-ID: 1\r\n"), 200, ""},
		{"a GET for a stream", func(k lanetest.Key) string { return d.get(k, agentPath, "Accept: text/event-stream\r\n") }, 405, "method_not_allowed"},

		{"a byte order mark", sent("\ufeff"+list, ""), 400, "malformed_json"},
		{"UTF-16", sent(wide(list), ""), 400, "malformed_json"},
		{"a trailing NUL", sent(list+"\x00", ""), 400, "malformed_json"},
		{"a surrogate", sent(strings.Replace(list, "tools/list", `tools/list\ud800`, 1), ""), 400, "malformed_json"},
		{"an overlong letter", sent(strings.Replace(list, "tools/list", "tools\xc0\xaflist", 1), ""), 400, "malformed_json"},
		{"a name twice, once escaped", sent(strings.Replace(list, `"method"`, `"m\u0065thod":"ping","method"`, 1), ""), 400, "malformed_json"},
		{"a name in another case", sent(strings.Replace(list, `"method"`, `"Method"`, 1), ""), 400, "malformed_json"},
		{"twenty thousand lists deep", sent(strings.Replace(list, `{}`, `{"x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`, 1), ""), 400, "malformed_json"},
		{"a method of 60 KB", sent(strings.Replace(list, "tools/list", strings.Repeat("x", 60_000), 1), ""), 200, "not_found"},
		{"a method with a line feed", sent(strings.Replace(list, "tools/list", `tools/list\r\nX: y`, 1), ""), 200, "not_found"},
		{"a bad cursor of the tool list", sent(strings.Replace(list, "{}", `{"cursor":"../../"}`, 1), ""), 200, "schema_violation"},
		{"a path as a tool", sent(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"../place_order","arguments":{}}}`, ""), 200, "schema_violation"},
		{"a tool in capitals", sent(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"GET_BALANCE","arguments":{}}}`, ""), 200, "schema_violation"},
		{"a tool with NUL", sent(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_balance\u0000","arguments":{}}}`, ""), 200, "schema_violation"},
		{"a resource of another account", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://account/2"}}`, ""), 200, "schema_violation"},
		{"a resource with ..", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/../account"}}`, ""), 200, "schema_violation"},
		{"a resource of a market with a sign", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/+1"}}`, ""), 200, "schema_violation"},
		{"a resource of market 65537", sent(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"dx://markets/65537"}}`, ""), 200, "unknown_market"},
	})
}

// TestAgentIDs checks that a valid id is returned byte for byte and an invalid one is
// rejected (docs/rules/agents.md#protocol-errors).
func TestAgentIDs(t *testing.T) {
	d := newTestVenue(t)
	k := d.NewKey(1, core.ScopeRead)
	for id, valid := range map[string]bool{
		"0": true, "-0": true, "-1": true, "9007199254740993": true, "18446744073709551616": true, "1" + strings.Repeat("0", 1000): true,
		`""`: true, `"\u0000"`: true, `"\ud83d\ude00"`: true, `"\/"`: true, `"` + strings.Repeat("x", 30_000) + `"`: true, `"\u202e"`: true, `"</script>"`: true,
		"1.0": false, "1e3": false, "null": false, "[]": false, "{}": false, "false": false, `"\ud800"`: false, "01": false, "NaN": false,
	} {
		got := d.raw(t, d.post(k, "POST", agentPath, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, "MCP-Protocol-Version: 2025-11-25\r\n"))
		switch {
		case valid && (got.status != 200 || got.body != `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`):
			t.Errorf("ping with id %.30s: %d %.200s, want 200 and the same bytes as id", id, got.status, got.body)
		case !valid && (got.status != 400 || strings.Contains(got.body, `"id"`)):
			t.Errorf("ping with id %.30s: %d %.200s, want 400 without an id", id, got.status, got.body)
		}
	}
	d.checkServes(t)
}

// TestAgentArguments checks that out-of-range numbers in tool arguments are answered with a
// tool result that carries the error code, and change nothing.
func TestAgentArguments(t *testing.T) {
	d := newTestVenue(t)
	before := d.holdings(t)
	for _, c := range []struct {
		tool, arguments string // # stands for the value
		code            string // for an integer out of range; "" if every integer is valid
	}{
		{"preview_order", strings.Replace(order("1", ""), `"qty":10`, `"qty":#`, 1), "bad_qty"},
		{"preview_order", strings.Replace(order("1", ""), `5000`, `#`, 1), "bad_price_tick"},
		{"arm_deadman", `{"timeout_ms":#}`, "invalid_timeout"},
		{"list_orders", `{"limit":#}`, "schema_violation"},
		{"get_market", `{"market_id":#}`, "unknown_market"},
		{"get_round", `{"market_id":#}`, "round_not_found"},
		{"get_oracle_price", `{"feed":#}`, "schema_violation"},
		{"get_price_history", `{"step_secs":#}`, "schema_violation"},
		{"wait_for_event", `{"after_seq":"1","timeout_ms":#}`, ""},
	} {
		for _, e := range edgeNumbers {
			if c.code == "" && e.whole || c.tool == "get_oracle_price" && (e.text == "0" || e.text == "-0") {
				continue // the value is in range
			}
			if e.text == "null" && slices.Contains([]string{"list_orders", "get_oracle_price", "get_price_history", "wait_for_event"}, c.tool) {
				continue // an optional member that is absent
			}
			if (e.text == "1.0" || e.text == `"1"`) && c.code != "bad_price_tick" {
				continue // it converts without loss
			}
			got := d.tool(t, d.NewKey(1, everyone), c.tool, strings.Replace(c.arguments, "#", e.text, 1))
			var r struct {
				Result struct {
					IsError           bool
					StructuredContent struct{ Error struct{ Code string } }
				}
			}
			if !e.json {
				if got.status != 400 || got.code() != "malformed_json" {
					t.Errorf("%s with %s: %d %s, want 400 malformed_json", c.tool, e.text, got.status, got.body)
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
		d.checkServes(t)
	}
	if after := d.holdings(t); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
}
