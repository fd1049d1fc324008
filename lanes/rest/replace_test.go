package rest

import (
	"fmt"
	"testing"

	"duplex/core"
)

// TestReplace tests the response of a replace, queue_ahead wherever it is shown, and that a rejected
// replace changes nothing (docs/rules/orders.md#replace, #queue-ahead).
func TestReplace(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.Call(bob, "POST", "/v1/portfolio/orders", order(1, ""))
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, `,"group_id":3`))
	if field(t, body, "queue_ahead") != 10.0 {
		t.Errorf("placed: %s", body)
	}
	old := field(t, body, "order_id").(string)
	replace := func(id, more string, status int, code string) string {
		t.Helper()
		return wants(h, alice, "POST", "/v1/portfolio/orders/"+id+"/replace", fmt.Sprintf(`{"client_order_id":%s}`, more), status, code)
	}
	body = replace(old, `"2","tick":5100,"qty":12`, 201, "")
	if field(t, body, "status") != "resting" || field(t, body, "queue_ahead") != 0.0 ||
		field(t, body, "replaced", "order_id") != old || field(t, body, "replaced", "canceled_qty") != 10.0 {
		t.Fatalf("replaced: %s", body)
	}
	now := field(t, body, "order_id").(string)
	read := func(id string) string {
		_, body := h.Call(alice, "GET", "/v1/portfolio/orders/"+id, "")
		return body
	}
	if body := read(old); field(t, body, "status") != "canceled" || field(t, body, "reason") != "replaced" || field(t, body, "queue_ahead") != nil {
		t.Errorf("the old order: %s", body)
	}
	if body := read(now); field(t, body, "queue_ahead") != 0.0 || field(t, body, "group_id") != 3.0 || field(t, body, "market_id") != 1.0 {
		t.Errorf("the new order: %s", body)
	}
	if _, body := h.Call(alice, "POST", "/v1/portfolio/orders/preview", order(9, "")); field(t, body, "queue_ahead") != 10.0 {
		t.Errorf("preview: %s", body)
	}
	for _, c := range []struct {
		id, body string
		status   int
		code     string
	}{
		{old, `"3","tick":5000,"qty":1`, 404, "unknown_order"},
		{old, `"2","tick":5100,"qty":12`, 409, "duplicate_client_order_id"}, // the retry of what was done
		{"1", `"3","tick":5000,"qty":1`, 404, "unknown_order"},              // bob's, if anybody's
		{"999999", `"7","tick":5000,"qty":1`, 404, "unknown_order"},
		{"x", `"3","tick":5000,"qty":1`, 404, "unknown_order"},
		{now, `"3","tick":5050,"qty":1`, 400, "bad_price_tick"},
		{now, `"4","tick":5000,"qty":0`, 400, "bad_qty"},
		{now, `"0","tick":5000,"qty":1`, 400, "client_order_id_required"},
		{now, `"5","qty":1,"expiry_ts":"4102444800000000000"`, 400, "schema_violation"}, // the old order is gtc
		{now, `"5","qty":1,"tif":"gtt"`, 400, "schema_violation"},
		{now, `"5","qty":1,"keep_total":null`, 400, "schema_violation"},
		{now, `"5","tick":5000,"qty":1,"market_id":1`, 400, "unknown_field"},
		{now, `"5","tick":5000,"qty":1,"type":"market"`, 400, "schema_violation"},
		{now, `"5","tick":5000,"qty":1,"tif":"ioc","post_only":true`, 400, "schema_violation"},
		{now, `"5","tick":5000,"qty":900000`, 403, "insufficient_balance"},
	} {
		replace(c.id, c.body, c.status, c.code)
	}
	if body := read(now); field(t, body, "status") != "resting" || field(t, body, "remaining_qty") != 12.0 {
		t.Errorf("after the rejected ones: %s", body)
	}
	replace(now, `"7","tick":5000,"qty":1`, 201, "") // the id of the unknown order is free
}

// TestReplaceOfAnEndedOrder tests that the terms of an order that has ended say nothing any more: an ioc
// order cannot be post_only.
func TestReplaceOfAnEndedOrder(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, `,"tif":"ioc"`))
	path := "/v1/portfolio/orders/" + field(t, body, "order_id").(string) + "/replace"
	wants(h, alice, "POST", path, `{"client_order_id":"2","post_only":true}`, 404, "unknown_order")
	wants(h, alice, "POST", path, `{"client_order_id":"1","post_only":true}`, 409, "duplicate_client_order_id")
}

// TestReplaceInherits tests that an absent member is that of the old order, that one with its default is
// not, and which quantity the new order has after 4 of 10 filled (docs/rules/orders.md#replace).
func TestReplaceInherits(t *testing.T) {
	t.Parallel()
	const expiry = "4102444800000000000"
	all := map[string]any{
		"tick": 5000.0, "tif": "gtt", "expiry_ts": expiry, "max_cost": "90000", "group_id": 7.0, "remaining_qty": 6.0,
		"flags": float64(core.PostOnly | core.CancelOnPause | core.StpMaker),
	}
	for _, c := range []struct {
		name, body string
		changed    map[string]any
		code       string
	}{
		{"nothing but the id", ``, nil, ""},
		{"a price", `,"tick":4900`, map[string]any{"tick": 4900.0}, ""},
		{"a quantity", `,"qty":10`, map[string]any{"remaining_qty": 10.0}, ""},
		{"a total", `,"qty":10,"keep_total":true`, nil, ""},
		{"a larger total", `,"qty":15,"keep_total":true`, map[string]any{"remaining_qty": 11.0}, ""},
		{"a total without a quantity", `,"keep_total":true`, nil, ""},
		{"a total of no more than has filled", `,"qty":4,"keep_total":true`, nil, "bad_qty"},
		{"no expiry any more", `,"tif":"gtc"`, map[string]any{"tif": "gtc", "expiry_ts": "0"}, ""},
		{"the same expiry", `,"tif":"gtt"`, nil, ""},
		{"another expiry", `,"expiry_ts":"4102444800000000001"`, map[string]any{"expiry_ts": "4102444800000000001"}, ""},
		{"no flag, group or bound", `,"post_only":false,"cancel_on_pause":false,"stp_maker":false,"group_id":0,"max_cost":"0"`,
			map[string]any{"flags": 0.0, "group_id": 0.0, "max_cost": "0"}, ""},
		{"at once or not at all", `,"tif":"fok"`, map[string]any{"tif": "fok", "expiry_ts": "0", "flags": float64(core.CancelOnPause | core.StpMaker), "remaining_qty": 0.0}, ""},
		{"post-only at once", `,"tif":"ioc","post_only":true`, nil, "schema_violation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, alice, bob := newServer(t)
			_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, fmt.Sprintf(`,"tif":"gtt","expiry_ts":"%s","max_cost":"90000","group_id":7,"post_only":true,"cancel_on_pause":true,"stp_maker":true`, expiry)))
			old := field(t, body, "order_id").(string)
			wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":4}`, 201, "")
			status := map[string]int{"": 201, "bad_qty": 400, "schema_violation": 400}[c.code]
			body = wants(h, alice, "POST", "/v1/portfolio/orders/"+old+"/replace", `{"client_order_id":"2"`+c.body+`}`, status, c.code)
			id := old
			if c.code == "" {
				id = field(t, body, "order_id").(string)
			}
			_, row := h.Call(alice, "GET", "/v1/portfolio/orders/"+id, "")
			for name, want := range all {
				if changed, ok := c.changed[name]; ok {
					want = changed
				}
				if got := field(t, row, name); got != want {
					t.Errorf("the order has %s %v, want %v: %s", name, got, want, row)
				}
			}
		})
	}
}

// TestReplaceOfASell tests the rule about a sell, whose side only the old order has.
func TestReplaceOfASell(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.Call(bob, "POST", "/v1/portfolio/orders", order(1, ""))
	h.Call(alice, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":10}`)
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", `{"client_order_id":"2","market_id":1,"side":"sell","outcome":"no","tick":6000,"qty":10}`)
	path := "/v1/portfolio/orders/" + field(t, body, "order_id").(string) + "/replace"
	wants(h, alice, "POST", path, `{"client_order_id":"3","tick":6100,"qty":10,"max_cost":"5"}`, 400, "schema_violation")
	if status, body := h.Call(alice, "POST", path, `{"client_order_id":"3","tick":6100,"qty":10}`); status != 201 || field(t, body, "resting_qty") != 10.0 {
		t.Errorf("the replace of a sell: %d %s, want 201 with 10 resting", status, body)
	}
}
