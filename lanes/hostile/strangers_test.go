package hostile

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

// placed places an order of account 1 and gives its id.
func (d *desk) placed(t *testing.T, k lanetest.Key, client string) string {
	t.Helper()
	got := d.raw(t, d.post(k, "POST", "/v1/portfolio/orders", order(client, ""), ""))
	var o struct {
		ID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(got.body), &o); err != nil || got.status != 201 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return o.ID
}

// cursorOf gives the cursor of a list's answer.
func cursorOf(t *testing.T, a answer) string {
	t.Helper()
	var l struct{ Cursor string }
	if err := json.Unmarshal([]byte(a.body), &l); err != nil || l.Cursor == "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return l.Cursor
}

// alike is an answer without what differs between any two requests: the request's id,
// the second, the seq, and the id that was asked for.
func alike(a answer, asked string) string {
	h := a.header.Clone()
	h.Del("X-Request-Id")
	h.Del("Date")
	h.Del("Content-Length") // of the seq's digits
	body := regexp.MustCompile(`\b`+regexp.QuoteMeta(asked)+`\b`).ReplaceAllString(asOf.ReplaceAllString(a.body, ""), "#")
	return fmt.Sprint(a.status, h, body)
}

// tool calls a tool and gives the answer as it came.
func (d *desk) tool(t *testing.T, k lanetest.Key, name, arguments string) answer {
	t.Helper()
	return d.raw(t, d.post(k, "POST", "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`, "MCP-Protocol-Version: 2025-11-25\r\n"))
}

// TestStrangers: what is another account's looks like what never was, byte for byte, on
// REST and to an agent, and asking changes nothing of it.
func TestStrangers(t *testing.T) {
	d := open(t)
	alice := d.Key(1, everyone)
	id := d.placed(t, alice, "7")
	d.placed(t, alice, "8")
	got := d.raw(t, d.post(alice, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"1000","destination":"bank"}`, ""))
	var w struct {
		ID string `json:"withdrawal_id"`
	}
	if err := json.Unmarshal([]byte(got.body), &w); err != nil || got.status != 202 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	orders := cursorOf(t, d.raw(t, d.get(alice, "/v1/portfolio/orders?limit=1", "")))
	before := d.holdings(t)
	twin := func(id string) string { return strings.Repeat("9", len(id)) } // an id that never was, as long
	spoilt := func(c string) string { return strings.Repeat("A", len(c)) }
	rest := func(method, target, body string) func(k lanetest.Key, id string) answer {
		return func(k lanetest.Key, id string) answer {
			target, body := strings.Replace(target, "#", id, 1), strings.Replace(body, "#", id, 1)
			if body == "" && method == "GET" {
				return d.raw(t, d.get(k, target, ""))
			}
			return d.raw(t, d.post(k, method, target, body, ""))
		}
	}
	tool := func(name, arguments string) func(k lanetest.Key, id string) answer {
		return func(k lanetest.Key, id string) answer {
			return d.tool(t, k, name, strings.Replace(arguments, "#", id, 1))
		}
	}
	for _, c := range []struct {
		name      string
		ask       func(k lanetest.Key, id string) answer
		his, none string
		says      string // in both answers
	}{
		{"an order", rest("GET", "/v1/portfolio/orders/#", ""), id, twin(id), `"unknown_order"`},
		{"a cancel", rest("DELETE", "/v1/portfolio/orders/#", ""), id, twin(id), `"unknown_order"`},
		{"a decrease", rest("POST", "/v1/portfolio/orders/#/decrease", `{"reduce_to":1}`), id, twin(id), `"unknown_order"`},
		{"a decrease to nothing", rest("POST", "/v1/portfolio/orders/#/decrease", `{"reduce_to":0}`), id, twin(id), `"unknown_order"`},
		{"a batch cancel", rest("DELETE", "/v1/portfolio/orders/batch", `{"order_ids":["#"]}`), id, twin(id), `"unknown_order"`},
		{"his client_order_id", rest("GET", "/v1/portfolio/orders?client_order_id=#", ""), "7", "6", `{"orders":[]`},
		{"his order's fills", rest("GET", "/v1/portfolio/fills?order_id=#", ""), id, twin(id), `{"fills":[]`},
		{"a withdrawal", rest("GET", "/v1/withdrawals/#", ""), w.ID, twin(w.ID), `"unknown_withdrawal"`},
		{"his order's id for a withdrawal", rest("GET", "/v1/withdrawals/#", ""), id, twin(id), `"unknown_withdrawal"`},
		{"his cursor", rest("GET", "/v1/portfolio/orders?limit=1&cursor=#", ""), orders, spoilt(orders), `"bad_cursor"`},
		{"his cursor on another list", rest("GET", "/v1/portfolio/fills?cursor=#", ""), orders, spoilt(orders), `"bad_cursor"`},
		{"get_order", tool("get_order", `{"order_id":"#"}`), id, twin(id), `"unknown_order"`},
		{"cancel_order", tool("cancel_order", `{"order_id":"#"}`), id, twin(id), `"unknown_order"`},
		{"cancel_orders", tool("cancel_orders", `{"order_ids":["#"]}`), id, twin(id), `"unknown_order"`},
		{"decrease_order", tool("decrease_order", `{"order_id":"#","reduce_to":1}`), id, twin(id), `"unknown_order"`},
		{"list_orders by his client_order_id", tool("list_orders", `{"client_order_id":"#"}`), "7", "6", `"orders":[]`},
		{"list_orders by his cursor", tool("list_orders", `{"limit":1,"cursor":"#"}`), orders, spoilt(orders), `"bad_cursor"`},
		{"list_fills of his order", tool("list_fills", `{"order_id":"#"}`), id, twin(id), `"fills":[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			his, none := c.ask(d.Key(2, everyone), c.his), c.ask(d.Key(2, everyone), c.none)
			if a, b := alike(his, c.his), alike(none, c.none); a != b || !strings.Contains(his.body, c.says) {
				t.Errorf("another's:\n%s\nnobody's:\n%s", a, b)
			}
			if after := d.holdings(t); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
			d.served(t)
		})
	}
	// The ids a client chooses are its own.
	bob := d.Key(2, everyone)
	if got := d.raw(t, d.post(bob, "POST", "/v1/portfolio/orders", order("7", ""), "")); got.status != 201 {
		t.Errorf("a client_order_id that another used: %d %s", got.status, got.body)
	}
	if got := d.raw(t, d.post(bob, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"5","destination":"x"}`, "")); got.status != 202 {
		t.Errorf("a client_withdrawal_id that another used: %d %s", got.status, got.body)
	}
	d.raw(t, d.post(bob, "DELETE", "/v1/portfolio/orders", "", ""))
	if after := d.holdings(t); after != before {
		t.Errorf("another's cancel-all:\n%safter:\n%s", before, after)
	}
}

// TestGuessing: however often somebody tries another's key, he learns nothing, and it
// costs its owner nothing.
func TestGuessing(t *testing.T) {
	d := open(t)
	d.Venue.Terms.ReadRate = 1
	k := d.Key(1, core.ScopeRead) // two read tokens, and the clock stands
	before := d.state()
	r := d.raw(t, d.get(lanetest.Key{ID: "dxk0", Secret: k.Secret}, balance, ""))
	for n := range 300 {
		ts := d.millis(0)
		guess := lines(k.ID, ts, schemas.Sign([]byte{byte(n), byte(n >> 8)}, ts, "GET", balance, nil))
		got := d.raw(t, "GET "+balance+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+guess+"\r\n")
		if got.status != 401 || got.body != r.body {
			t.Fatalf("%d: %d %s", n, got.status, got.body)
		}
	}
	for n, want := range []int{200, 200, 429} {
		if got := d.raw(t, d.get(k, balance, "")); got.status != want {
			t.Errorf("the owner's read %d: %d %s", n, got.status, got.body)
		}
	}
	if after := d.state(); after != before {
		t.Error("guessing changed the state")
	}
}
