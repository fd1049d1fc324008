package mcp

import (
	"fmt"
	"testing"
)

// TestMarketIDs tests that market ids have 32 bits in every path, query and body and are
// never truncated.
func TestMarketIDs(t *testing.T) {
	t.Parallel()
	d := generous(t)
	resting := at(t, string(d.callTool(d.alice, "place_order", order(1, "")).StructuredContent), "order_id").(string)
	for n, id := range []string{"65537", "4294967295"} {
		for _, x := range []struct {
			method, target, body string
			status               int
			code                 string // "" means success without a row
		}{
			{"GET", "/v1/markets/" + id, "", 404, "unknown_market"},
			{"GET", "/v1/markets/" + id + "/orderbook", "", 404, "unknown_market"},
			{"GET", "/v1/markets/" + id + "/trades", "", 404, "unknown_market"},
			{"GET", "/v1/rounds/" + id, "", 404, "round_not_found"},
			{"GET", "/v1/rounds/" + id + "/evidence", "", 404, "round_not_found"},
			{"GET", "/v1/portfolio/orders?market_id=" + id, "", 200, ""},
			{"GET", "/v1/portfolio/fills?market_id=" + id, "", 200, ""},
			{"GET", "/v1/portfolio/positions?market_id=" + id, "", 200, ""},
			{"GET", "/v1/rounds?market_id=" + id, "", 200, ""},
			{"DELETE", "/v1/portfolio/orders?market_id=" + id, "", 200, ""},
			{"POST", "/v1/portfolio/redeem", `{"market_id":` + id + `,"qty":1}`, 404, "unknown_market"},
			{"POST", "/v1/portfolio/orders/preview", inMarket(10+n, id), 404, "unknown_market"},
			{"POST", "/v1/portfolio/orders", inMarket(10+n, id), 404, "unknown_market"},
		} {
			status, body := d.Call(d.alice, x.method, x.target, x.body)
			if got, _ := at(t, body, "error", "code").(string); status != x.status || got != x.code {
				t.Errorf("%s %s: %d %s, want %d %s", x.method, x.target, status, body, x.status, x.code)
			}
			for _, list := range []string{"orders", "fills", "positions", "rounds"} {
				if rows, _ := at(t, body, list).([]any); len(rows) > 0 {
					t.Errorf("%s %s lists rows of an unknown market: %s", x.method, x.target, body)
				}
			}
		}
		for tool, x := range map[string][2]string{
			"get_market": {`{"market_id":%s}`, "unknown_market"}, "get_orderbook": {`{"market_id":%s}`, "unknown_market"}, "list_trades": {`{"market_id":%s}`, "unknown_market"},
			"get_round": {`{"market_id":%s}`, "round_not_found"}, "get_round_evidence": {`{"market_id":%s}`, "round_not_found"}, "get_round_history": {`{"market_id":%s}`, "round_not_found"}, "list_orders": {`{"market_id":%s,"status":"resting"}`, ""},
			"cancel_all_orders": {`{"market_id":%s}`, ""}, "wait_for_event": {`{"after_seq":"0","timeout_ms":0,"market_ids":[%s]}`, ""},
		} {
			got := d.callTool(d.alice, tool, fmt.Sprintf(x[0], id))
			if code, _ := at(t, string(got.StructuredContent), "error", "code").(string); got.IsError != (x[1] != "") || code != x[1] {
				t.Errorf("%s of market %s: %s, want the error %q", tool, id, got.StructuredContent, x[1])
			}
		}
		status, body := d.ask(d.alice, "1", "resources/read", `"uri":"dx://markets/`+id+`"`)
		if status != 400 || at(t, body, "error", "data", "code") != "unknown_market" {
			t.Errorf("resources/read of market %s: %d %s, want 400 unknown_market", id, status, body)
		}
		// The row of the rejected order has the market id of the request.
		_, body = d.Call(d.alice, "GET", "/v1/portfolio/orders?market_id="+id, "")
		if rows, _ := at(t, body, "orders").([]any); len(rows) != 1 || fmt.Sprintf("%.0f", rows[0].(map[string]any)["market_id"]) != id {
			t.Errorf("the orders of market %s: %s, want the one rejected order with this market id", id, body)
		}
	}
	for _, x := range []struct {
		target string
		status int
		code   string
	}{
		{"/v1/markets/4294967296", 404, "unknown_market"},
		{"/v1/markets/4294967297", 404, "unknown_market"},
		{"/v1/rounds/4294967297", 404, "round_not_found"},
		{"/v1/portfolio/orders?market_id=4294967296", 400, "schema_violation"},
		{"/v1/rounds?market_id=4294967296", 400, "schema_violation"},
	} {
		if status, body := d.Call(d.alice, "GET", x.target, ""); status != x.status || at(t, body, "error", "code") != x.code {
			t.Errorf("GET %s: %d %s, want %d %s", x.target, status, body, x.status, x.code)
		}
	}
	for _, x := range [][3]string{
		{"get_round_history", `{"market_id":1,"round_number":"0"}`, "round_not_found"}, {"get_round_evidence", `{"market_id":1,"round_number":"0"}`, "round_not_found"},
		{"list_ledger", `{"market_id":0}`, "schema_violation"},
	} {
		if got := d.callTool(d.alice, x[0], x[1]); !got.IsError || at(t, string(got.StructuredContent), "error", "code") != x[2] {
			t.Errorf("%s %s: %s, want %s", x[0], x[1], got.StructuredContent, x[2])
		}
	}
	if got := d.callTool(d.alice, "get_order", `{"order_id":"`+resting+`"}`); at(t, string(got.StructuredContent), "status") != "resting" {
		t.Errorf("cancel_all_orders of another market canceled an order of market 1: %s", got.StructuredContent)
	}
}

func inMarket(id int, market string) string {
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":%s,"side":"buy","outcome":"yes","tick":5000,"qty":10}`, id, market)
}
