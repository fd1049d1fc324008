package rest

import (
	"fmt"
	"testing"
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
	if body := read(now); field(t, body, "queue_ahead") != 0.0 || field(t, body, "group_id") != 0.0 || field(t, body, "market_id") != 1.0 {
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
		{now, `"5","qty":1`, 400, "schema_violation"},
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
