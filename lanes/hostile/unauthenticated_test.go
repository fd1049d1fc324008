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

// placed places an order with key k and returns its id.
func (d *testVenue) placed(t *testing.T, k lanetest.Key, client string) string {
	t.Helper()
	got := d.raw(t, d.post(k, "POST", "/v1/portfolio/orders", order(client, ""), ""))
	var o struct {
		ID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(got.body), &o); err != nil || got.status != 201 {
		t.Fatalf("POST /v1/portfolio/orders: %d %s, want 201", got.status, got.body)
	}
	return o.ID
}

// cursorOf returns the cursor of a list.
func cursorOf(t *testing.T, a answer) string {
	t.Helper()
	var l struct{ Cursor string }
	if err := json.Unmarshal([]byte(a.body), &l); err != nil || l.Cursor == "" {
		t.Fatalf("the list %d %s has no cursor", a.status, a.body)
	}
	return l.Cursor
}

// alike returns an answer without the parts that differ between any two requests: the request
// id, the date, the seq, and the requested id.
func alike(a answer, requested string) string {
	h := a.header.Clone()
	h.Del("X-Request-Id")
	h.Del("Date")
	h.Del("Content-Length")     // varies with the digits of the seq
	const edge = `([^\w-]|^|$)` // a cursor may begin or end with a hyphen
	body := regexp.MustCompile(edge+regexp.QuoteMeta(requested)+edge).ReplaceAllString(asOf.ReplaceAllString(a.body, ""), "$1#$2")
	return fmt.Sprint(a.status, h, body)
}

// tool calls a tool and returns the raw answer.
func (d *testVenue) tool(t *testing.T, k lanetest.Key, name, arguments string) answer {
	t.Helper()
	return d.raw(t, d.post(k, "POST", "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`, "MCP-Protocol-Version: 2025-11-25\r\n"))
}

// TestOtherAccounts checks that objects of another account are answered byte for byte like
// objects that never existed, over REST and the agent lane, and are not changed.
func TestOtherAccounts(t *testing.T) {
	d := newTestVenue(t)
	alice := d.NewKey(1, everyone)
	id := d.placed(t, alice, "7")
	d.placed(t, alice, "8")
	got := d.raw(t, d.post(alice, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"1000","destination":"bank"}`, ""))
	var w struct {
		ID string `json:"withdrawal_id"`
	}
	if err := json.Unmarshal([]byte(got.body), &w); err != nil || got.status != 202 {
		t.Fatalf("POST /v1/withdrawals: %d %s, want 202", got.status, got.body)
	}
	orders := cursorOf(t, d.raw(t, d.get(alice, "/v1/portfolio/orders?limit=1", "")))
	before := d.holdings(t)
	unused := func(id string) string { return strings.Repeat("9", len(id)) } // an id of the same length that never existed
	forged := func(c string) string { return strings.Repeat("A", len(c)) }
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
		name         string
		request      func(k lanetest.Key, id string) answer
		theirs, none string // the other account's id, and one that never existed
		want         string // part of both answers
	}{
		{"an order", rest("GET", "/v1/portfolio/orders/#", ""), id, unused(id), `"unknown_order"`},
		{"a cancel", rest("DELETE", "/v1/portfolio/orders/#", ""), id, unused(id), `"unknown_order"`},
		{"a decrease", rest("POST", "/v1/portfolio/orders/#/decrease", `{"reduce_to":1}`), id, unused(id), `"unknown_order"`},
		{"a decrease to nothing", rest("POST", "/v1/portfolio/orders/#/decrease", `{"reduce_to":0}`), id, unused(id), `"unknown_order"`},
		{"a batch cancel", rest("DELETE", "/v1/portfolio/orders/batch", `{"order_ids":["#"]}`), id, unused(id), `"unknown_order"`},
		{"their client_order_id", rest("GET", "/v1/portfolio/orders?client_order_id=#", ""), "7", "6", `{"orders":[]`},
		{"their order's fills", rest("GET", "/v1/portfolio/fills?order_id=#", ""), id, unused(id), `{"fills":[]`},
		{"a withdrawal", rest("GET", "/v1/withdrawals/#", ""), w.ID, unused(w.ID), `"unknown_withdrawal"`},
		{"their order id for a withdrawal", rest("GET", "/v1/withdrawals/#", ""), id, unused(id), `"unknown_withdrawal"`},
		{"their cursor", rest("GET", "/v1/portfolio/orders?limit=1&cursor=#", ""), orders, forged(orders), `"bad_cursor"`},
		{"their cursor on another list", rest("GET", "/v1/portfolio/fills?cursor=#", ""), orders, forged(orders), `"bad_cursor"`},
		{"get_order", tool("get_order", `{"order_id":"#"}`), id, unused(id), `"unknown_order"`},
		{"cancel_order", tool("cancel_order", `{"order_id":"#"}`), id, unused(id), `"unknown_order"`},
		{"cancel_orders", tool("cancel_orders", `{"order_ids":["#"]}`), id, unused(id), `"unknown_order"`},
		{"decrease_order", tool("decrease_order", `{"order_id":"#","reduce_to":1}`), id, unused(id), `"unknown_order"`},
		{"list_orders by their client_order_id", tool("list_orders", `{"client_order_id":"#"}`), "7", "6", `"orders":[]`},
		{"list_orders by their cursor", tool("list_orders", `{"limit":1,"cursor":"#"}`), orders, forged(orders), `"bad_cursor"`},
		{"list_fills of their order", tool("list_fills", `{"order_id":"#"}`), id, unused(id), `"fills":[]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			theirs, none := c.request(d.NewKey(2, everyone), c.theirs), c.request(d.NewKey(2, everyone), c.none)
			if a, b := alike(theirs, c.theirs), alike(none, c.none); a != b || !strings.Contains(theirs.body, c.want) {
				t.Errorf("another account's object:\n%s\nan object that never existed:\n%s", a, b)
			}
			if after := d.holdings(t); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
			d.checkServes(t)
		})
	}
	// Ids that clients choose are separate for each account.
	bob := d.NewKey(2, everyone)
	if got := d.raw(t, d.post(bob, "POST", "/v1/portfolio/orders", order("7", ""), "")); got.status != 201 {
		t.Errorf("a client_order_id that another account used: %d %s", got.status, got.body)
	}
	if got := d.raw(t, d.post(bob, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"5","destination":"x"}`, "")); got.status != 202 {
		t.Errorf("a client_withdrawal_id that another account used: %d %s", got.status, got.body)
	}
	d.raw(t, d.post(bob, "DELETE", "/v1/portfolio/orders", "", ""))
	if after := d.holdings(t); after != before {
		t.Errorf("after another account's cancel-all:\n%s\nbefore:\n%s", after, before)
	}
}

// TestGuessing checks that forged signatures for a known key reveal nothing and do not draw on
// the key's tokens (docs/rules/accounts.md#unauthorized).
func TestGuessing(t *testing.T) {
	d := newTestVenue(t)
	d.Venue.Config.ReadRate = 1
	k := d.NewKey(1, core.ScopeRead) // has two read tokens, and the clock is frozen
	before := d.state()
	r := d.raw(t, d.get(lanetest.Key{ID: "dxk0", Secret: k.Secret}, balance, ""))
	for n := range 300 {
		ts := d.millis(0)
		guess := lines(k.ID, ts, schemas.Sign([]byte{byte(n), byte(n >> 8)}, ts, "GET", balance, nil))
		got := d.raw(t, "GET "+balance+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+guess+"\r\n")
		if got.status != 401 || got.body != r.body {
			t.Fatalf("guess %d: %d %s, want the 401 of an unknown key", n, got.status, got.body)
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
