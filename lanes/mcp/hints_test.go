package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/view"
	"duplex/lanes/gate"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

// TestErrorHints tests the hints of errors: the nearest legal ticks, the missing amounts,
// the first order of an id (docs/rules/agents.md#errors).
func TestErrorHints(t *testing.T) {
	t.Parallel()
	d := generous(t)
	placed := at(t, string(d.callTool(d.alice, "place_order", order(1, "")).StructuredContent), "order_id").(string)
	buy := func(id, tick, qty string) string {
		return `{"client_order_id":"` + id + `","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":` + tick + `,"qty":` + qty + `}`
	}
	for _, x := range []struct{ arguments, code, hint, next, by string }{
		{buy("2", "4750", "1"), "bad_price_tick", "4700 and 4800", "preview_order", ""},
		{buy("3", "395", "1"), "bad_price_tick", "390 and 400", "preview_order", ""},
		{buy("4", "9601", "1"), "bad_price_tick", "9600 and 9610", "preview_order", ""},
		{buy("5", "99", "1"), "bad_price_tick", "99 cents is 9900. The lowest legal tick is 100", "preview_order", ""},
		{buy("6", "9999", "1"), "bad_price_tick", "The highest legal tick is 9990", "preview_order", ""},
		{buy("7", "10000", "1"), "bad_price_tick", "The highest legal tick is 9990", "preview_order", ""},
		{buy("8", "5000", "900000"), "insufficient_balance", "needs 4556700000 pips, fees included; free cash is 99950000 pips", "preview_order", ""},
		{order(1, ""), "duplicate_client_order_id", "This is order " + placed + ": status resting, 0 filled, 10 left. It was placed by an earlier call, and nothing new was placed.", "list_orders", placed},
		{order(2, ""), "duplicate_client_order_id", "was rejected with bad_price_tick. It was not placed", "list_orders", "2"},
		{strings.Replace(order(9, ""), "buy", "sell", 1), "insufficient_position", "0 YES and 0 NO", "list_positions", ""},
		{`{"client_order_id":"10","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","qty":2}`, "schema_violation", "A market buy needs max_cost", "preview_order", ""},
		{strings.Replace(order(11, ""), `"market_id":1`, `"market_id":31`, 1), "unknown_market", "market", "list_series", ""},
		{`{"client_order_id":"12","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","max_cost":"90000","qty":2,"tick":0}`, "bad_price_tick", "A market order has no tick: leave it out. worst_tick", "preview_order", ""},
		{strings.Replace(order(13, `,"reduce_only":true`), `"outcome":"yes"`, `"outcome":"no"`, 1), "reduce_only_violation", "a reduce-only buy of NO in market 1 is for at most the 0 YES held", "list_positions", ""},
	} {
		text := string(d.callTool(d.alice, "place_order", x.arguments).StructuredContent)
		hint, _ := at(t, text, "hint").(string)
		next, _ := at(t, text, "next", "tool").(string)
		if at(t, text, "error", "code") != x.code || !strings.Contains(hint, x.hint) || next != x.next {
			t.Errorf("place_order %s: %s, want code %s with the hint %q and next %q", x.arguments, text, x.code, x.hint, x.next)
		}
		if next == "list_orders" && at(t, text, "next", "arguments", "order_id") != x.by && at(t, text, "next", "arguments", "client_order_id") != x.by {
			t.Errorf("%s: next is another order: %s", x.arguments, text)
		}
		if next == "preview_order" { // it can be made as it is
			arguments, err := json.Marshal(at(t, text, "next", "arguments"))
			if got := d.callTool(d.alice, next, string(arguments)); err != nil || got.IsError {
				t.Errorf("%s: next %s: %s", x.arguments, arguments, got.StructuredContent)
			}
		}
		if next != "" && !slices.Contains(tools.CoreToolset, next) {
			t.Errorf("%s: next is %s, which is not in the toolset core", x.arguments, next)
		}
	}
}

// TestReplaceHints tests that the hints of a rejected replace count the old order as canceled, as the checks do.
func TestReplaceHints(t *testing.T) {
	t.Parallel()
	d := generous(t)
	replace := func(k lanetest.Key, old, more string) string {
		t.Helper()
		return string(d.callTool(k, "replace_order", fmt.Sprintf(`{"order_id":%q,%s}`, old, more)).StructuredContent)
	}
	placed := func(k lanetest.Key, arguments string) string {
		t.Helper()
		return at(t, string(d.callTool(k, "place_order", arguments).StructuredContent), "order_id").(string)
	}
	old := placed(d.alice, order(1, ""))
	text := replace(d.alice, old, `"client_order_id":"11","tick":5000,"qty":900000`)
	if hint := at(t, text, "hint").(string); !strings.HasPrefix(hint, "This order needs 4556700000 pips, fees included; free cash without the old order is 100000000 pips.") {
		t.Error(text)
	}
	placed(d.bob, strings.Replace(order(1, ""), `"outcome":"yes"`, `"outcome":"no"`, 1)) // alice holds 10 YES
	old = placed(d.alice, `{"client_order_id":"2","market_id":1,"generation":1,"side":"sell","outcome":"yes","tick":6000,"qty":10}`)
	reducing := strings.Replace(order(3, `,"reduce_only":true`), `"outcome":"yes"`, `"outcome":"no"`, 1)
	text = string(d.callTool(d.alice, "place_order", strings.Replace(reducing, `"qty":10`, `"qty":11`, 1)).StructuredContent)
	if at(t, text, "error", "code") != "reduce_only_violation" || at(t, text, "limit") != "at most 10, the YES held" {
		t.Error(text)
	}
	text = replace(d.alice, old, `"client_order_id":"12","tick":6000,"qty":11`)
	if hint := at(t, text, "hint").(string); !strings.Contains(hint, "free to sell in market 1 without the old order are 10 YES and 0 NO.") {
		t.Error(text)
	}
	// What passes beside the old order is not named.
	_, key := d.newAgent(core.Mandate{Set: 1 << core.RuleOpenCost, Costs: [4]uint64{0, 0, 60_000}})
	old = placed(key, strings.Replace(order(1, ""), "5000", "4900", 1))
	text = replace(key, old, `"client_order_id":"13","tick":4900,"qty":100`)
	if hint := at(t, text, "hint").(string); at(t, text, "error", "code") != "mandate_violation" || strings.Contains(hint, "passes") {
		t.Error(text)
	}
}

// TestDuplicateOrders tests that the same order sent again returns the first order with
// replayed and the outcome done, and that a different order with the same id is not_done.
func TestDuplicateOrders(t *testing.T) {
	t.Parallel()
	d := generous(t)
	full := `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"limit","tick":5000,"qty":10,"tif":"gtc","expiry_ts":"0","max_cost":"0","group_id":0,"post_only":false}`
	id := at(t, string(d.callTool(d.alice, "place_order", order(1, "")).StructuredContent), "order_id").(string)
	again := func(tool, arguments string) string {
		t.Helper()
		got := d.callTool(d.alice, tool, arguments)
		text := string(got.StructuredContent)
		if !got.IsError || at(t, text, "error", "code") != "duplicate_client_order_id" || at(t, text, "retryable") != false {
			t.Errorf("a repeated id in %s: %s, want duplicate_client_order_id, not retryable", arguments, text)
		}
		return text
	}
	for _, same := range []string{order(1, ""), full, strings.Replace(order(1, ""), `"1"`, `"001"`, 1)} {
		text := again("place_order", same)
		checkMembers(t, "the same order "+same, text, map[string]any{
			"replayed": true, "outcome": "done", "differs": nil, "order.order_id": id, "order.status": "resting", "next.arguments.order_id": id,
		})
		if strings.Contains(text, "not_done") {
			t.Errorf("the same order %s was not done: %s", same, text)
		}
	}
	for name, other := range map[string]string{
		"tick": strings.Replace(order(1, ""), "5000", "5100", 1), "qty": strings.Replace(order(1, ""), `"qty":10`, `"qty":11`, 1), "market_id": strings.Replace(order(1, ""), `"market_id":1`, `"market_id":2`, 1),
		"side": strings.Replace(order(1, ""), "buy", "sell", 1), "outcome": strings.Replace(order(1, ""), "yes", "no", 1), "tif": order(1, `,"tif":"ioc"`), "max_cost": order(1, `,"max_cost":"100000"`),
		"group_id": order(1, `,"group_id":1`), "post_only": order(1, `,"post_only":true`), "reduce_only": order(1, `,"reduce_only":true`), "cancel_on_pause": order(1, `,"cancel_on_pause":true`),
		"stp_maker": order(1, `,"stp_maker":true`), "generation": order(1, `,"generation":2`), "tif expiry_ts": order(1, `,"tif":"gtt","expiry_ts":"9000000000000000000"`),
		"type max_cost": `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","max_cost":"1000","qty":10}`,
	} {
		text := again("place_order", other)
		want := strings.Fields(name)
		var differs []string
		for _, x := range at(t, text, "differs").([]any) {
			differs = append(differs, x.(string))
		}
		checkMembers(t, "the same id with another "+name, text, map[string]any{"replayed": nil, "outcome": "not_done", "order.order_id": id})
		if !slices.Equal(differs, want) || !strings.Contains(text, "another order") {
			t.Errorf("the same id with another %s: %s, want exactly these members in differs, and another order", name, text)
		}
	}
	// A preview places nothing, so it never replays.
	if text := again("preview_order", order(1, "")); at(t, text, "replayed") != nil || at(t, text, "outcome") != "not_done" || at(t, text, "order", "order_id") != id {
		t.Errorf("a preview of a placed id: %s, want no replay, not_done and the placed order", text)
	}
	// A terminal order is shown with its final status.
	d.callTool(d.alice, "cancel_order", `{"order_id":"`+id+`"}`)
	if text := again("place_order", order(1, "")); at(t, text, "replayed") != true || at(t, text, "order", "status") != "canceled" || at(t, text, "outcome") != "done" || !strings.Contains(text, "status canceled") {
		t.Errorf("a canceled order again: %s, want a replay that shows it canceled, and done", text)
	}
	// A rejected order was not placed.
	d.callTool(d.alice, "place_order", strings.Replace(order(2, ""), "5000", "5050", 1))
	if text := again("place_order", strings.Replace(order(2, ""), "5000", "5050", 1)); at(t, text, "replayed") != true || at(t, text, "outcome") != "not_done" || at(t, text, "order", "status") != "rejected" {
		t.Errorf("a rejected order again: %s, want a replay of the rejection with not_done", text)
	}
	// A repeated replace is one too, whatever it leaves to the old order, which has ended.
	for i, more := range []string{``, `,"tick":4900`, `,"qty":12`, `,"qty":12,"keep_total":true`, `,"keep_total":true`, `,"tif":"ioc"`} {
		terms := `,"tif":"gtt","expiry_ts":"9000000000000000000","group_id":7,"cancel_on_pause":true`
		old := at(t, string(d.callTool(d.alice, "place_order", order(20+2*i, terms)).StructuredContent), "order_id")
		d.callTool(d.bob, "place_order", strings.Replace(strings.Replace(order(20+i, ""), `"qty":10`, `"qty":4`, 1), "yes", "no", 1)) // fills 4
		replace := fmt.Sprintf(`{"order_id":%q,"client_order_id":"%d"%s}`, old, 21+2*i, more)
		if got := d.callTool(d.alice, "replace_order", replace); got.IsError {
			t.Fatalf("replace %s: %s", replace, got.StructuredContent)
		}
		checkMembers(t, "the same replace "+replace, again("replace_order", replace), map[string]any{"replayed": true, "differs": nil, "outcome": "done"})
		d.callTool(d.alice, "cancel_all_orders", `{}`)
	}
	// A repeated replace is one too when the row of the old order is no longer kept.
	old := at(t, string(d.callTool(d.alice, "place_order", order(3, "")).StructuredContent), "order_id")
	replace := fmt.Sprintf(`{"order_id":%q,"client_order_id":"4","tick":4900,"qty":10}`, old)
	d.callTool(d.alice, "replace_order", replace)
	for i := range view.DefaultRetentionCaps().Terminal {
		d.Submit(&core.PlaceOrder{User: 1, ClientID: uint64(100 + i), Market: 1, Side: core.Buy, Outcome: core.Yes, TIF: core.IOC, Tick: 100, Qty: 1})
	}
	if text := again("replace_order", replace); at(t, text, "replayed") != true || at(t, text, "differs") != nil {
		t.Errorf("the same replace again: %s, want a replay without differs", text)
	}
	if text := again("replace_order", strings.Replace(replace, "4900", "4800", 1)); at(t, text, "replayed") != nil || fmt.Sprint(at(t, text, "differs")) != "[tick]" {
		t.Errorf("the replace with another tick: %s, want no replay and differs [tick]", text)
	}
	// The outcome of an order whose row is no longer kept is unknown.
	for i := range view.DefaultRetentionCaps().Rejects {
		d.Submit(&core.PlaceOrder{User: 1, ClientID: uint64(2000 + i), Market: 99, Qty: 1, Tick: 5000})
	}
	if text := again("place_order", strings.Replace(order(2, ""), "5000", "5050", 1)); at(t, text, "outcome") != "unknown" || at(t, text, "order") != nil || at(t, text, "next", "tool") != "list_positions" {
		t.Errorf("an order whose row is gone: %s, want the outcome unknown, no order and next list_positions", text)
	}
	// The history has the row, if there is one.
	d.Venue.History = struct{ tools.History }{}
	if text := again("place_order", strings.Replace(order(2, ""), "5000", "5050", 1)); at(t, text, "outcome") != "unknown" || at(t, text, "next", "tool") != "list_orders" || at(t, text, "next", "arguments", "client_order_id") != "2" {
		t.Errorf("the same with a history: %s, want the outcome unknown and next list_orders of client_order_id 2", text)
	}
}

// TestBatchItemHints tests that the rejected items of a batch get the hints of single
// calls, and that twenty of the longest fit into one result.
func TestBatchItemHints(t *testing.T) {
	t.Parallel()
	d := generous(t)
	id := at(t, string(d.callTool(d.alice, "place_order", order(1, "")).StructuredContent), "order_id").(string)
	buy := func(id int, more string) string {
		return fmt.Sprintf(`{"client_order_id":"%d","generation":1,"side":"buy","outcome":"yes",%s}`, id, more)
	}
	orders := []string{
		order(1, ""), buy(2, `"market_id":1,"tick":4750,"qty":1`), buy(3, `"market_id":1,"tick":4850,"qty":1`), buy(4, `"market_id":1,"tick":5000,"qty":900000`),
		buy(5, `"market_id":1,"tick":5000,"qty":0`), buy(6, `"market_id":31,"tick":5000,"qty":1`), buy(7, `"market_id":1,"tick":5000,"qty":1`), buy(8, `"market_id":1,"tick":47,"qty":1`),
		order(1, `,"post_only":true`),
	}
	got := d.callTool(d.alice, "place_orders", `{"orders":[`+strings.Join(orders, ",")+`]}`)
	var list struct{ Results []json.RawMessage }
	if err := json.Unmarshal(got.StructuredContent, &list); err != nil || got.IsError || len(list.Results) != len(orders) {
		t.Fatalf("place_orders of %d: %s, want one result for each", len(orders), got.StructuredContent)
	}
	for i, want := range []struct{ code, hint, field, got, limit, outcome, next string }{
		{"duplicate_client_order_id", "This is order " + id + ": status resting, 0 filled, 10 left. It was placed by an earlier call", "client_order_id", "1", "", "done", "list_orders"},
		{"bad_price_tick", "4700 and 4800. The tick is off the grid", "tick", "4750", "the nearest legal ticks are 4700 and 4800", "not_done", "preview_order"},
		{"bad_price_tick", "The nearest legal ticks are 4800 and 4900.", "tick", "4850", "the nearest legal ticks are 4800 and 4900", "not_done", "preview_order"},
		{"insufficient_balance", "needs 4556700000 pips", "qty", "900000", "pips of free cash; this needs 4556700000", "not_done", "preview_order"},
		{"bad_qty", "whole number of shares", "qty", "0", "an integer from 1 to 1000000", "not_done", "get_account"},
		{"unknown_market", "ever opened", "market_id", "31", "", "not_done", "list_series"},
		{},
		{"bad_price_tick", "47 cents is 4700. The lowest legal tick is 100", "tick", "47", "the lowest legal tick is 100", "not_done", "preview_order"},
		{"duplicate_client_order_id", "another order, order " + id, "client_order_id", "1", "", "not_done", "list_orders"},
	} {
		text := string(list.Results[i])
		say := func(name string) string {
			if v := at(t, text, name); v != nil {
				return fmt.Sprint(v)
			}
			return ""
		}
		next, _ := at(t, text, "next", "tool").(string)
		if want.code == "" {
			if at(t, text, "status") != "resting" {
				t.Errorf("order %d: %s, want it resting", i, text)
			}
			continue
		}
		for member, x := range map[string][2]string{"field": {say("field"), want.field}, "got": {say("got"), want.got}, "next.tool": {next, want.next}, "outcome": {say("outcome"), want.outcome}} {
			if x[0] != x[1] {
				t.Errorf("order %d: %s is %q, want %q in %s", i, member, x[0], x[1], text)
			}
		}
		if at(t, text, "error", "code") != want.code || at(t, text, "retryable") == nil {
			t.Errorf("order %d: %s, want code %s and retryable", i, text, want.code)
		}
		if !strings.Contains(say("hint"), want.hint) || !strings.Contains(say("limit"), want.limit) {
			t.Errorf("order %d: %s, want the hint %q and the limit %q", i, text, want.hint, want.limit)
		}
	}
	ids := map[any]bool{}
	for i, r := range list.Results {
		if at(t, string(r), "next", "tool") != "preview_order" {
			continue
		}
		id := at(t, string(r), "next", "arguments", "client_order_id")
		if ids[id] {
			t.Errorf("order %d: next has the id %v of another one", i, id)
		}
		ids[id] = true
	}
	got = d.callTool(d.alice, "cancel_orders", `{"order_ids":["`+id+`","`+id+`","7777777"]}`)
	if err := json.Unmarshal(got.StructuredContent, &list); err != nil || len(list.Results) != 3 {
		t.Fatalf("cancel_orders of three: %s, want three results", got.StructuredContent)
	}
	for i, next := range []string{"", "list_orders", "list_orders"} {
		text := string(list.Results[i])
		if tool, _ := at(t, text, "next", "tool").(string); (i == 0) != (at(t, text, "status") == "canceled") || tool != next || i > 0 && at(t, text, "hint") == nil {
			t.Errorf("cancel %d: %s, want next %q, and canceled for the first alone", i, text, next)
		}
	}
}

// TestBatchHintsAreShort tests that twenty rejected items of a batch, each of the greatest
// length, fit into a result.
func TestBatchHintsAreShort(t *testing.T) {
	t.Parallel()
	d := generous(t)
	for i := range 20 {
		d.Submit(&core.PlaceOrder{User: 1, ClientID: uint64(10_000_000_000 + i), Market: 1, Tick: 1000, Qty: 1_000 + core.Qty(i)})
	}
	id := 20_000_000_000
	twenty := func(item string) string {
		items := make([]string, 20)
		for i := range items {
			id++
			items[i] = fmt.Sprintf(item, id)
		}
		return `{"orders":[` + strings.Join(items, ",") + `]}`
	}
	of := func(first, more string) string { // for the orders that exist
		items := make([]string, 20)
		for i := range items {
			items[i] = fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":%s,"qty":%d%s}`, 10_000_000_000+i, first, 1000+i, more)
		}
		return `{"orders":[` + strings.Join(items, ",") + `]}`
	}
	const zero = `{"client_order_id":"0","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":5000,"qty":1}`
	const more = `,"type":"limit","tif":"gtt","expiry_ts":"4000000000000000000","group_id":4294967295,"post_only":true,"cancel_on_pause":true,"stp_maker":true`
	const full = `{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":5000,"qty":1` + more + `}`
	const one = `{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":5000,"qty":1}`
	for name, x := range map[string]struct{ tool, arguments, code string }{
		"replayed":        {"place_orders", of("1000", ""), "duplicate_client_order_id"},
		"another":         {"place_orders", of("1100", `,"post_only":true,"cancel_on_pause":true,"group_id":1`), "duplicate_client_order_id"},
		"ticks":           {"place_orders", twenty(strings.Replace(one, "5000", "9601", 1)), "bad_price_tick"},
		"cents":           {"place_orders", twenty(strings.Replace(one, "5000", "47", 1)), "bad_price_tick"},
		"quantities":      {"place_orders", twenty(strings.Replace(one, `"qty":1`, `"qty":99999999999999999999999999999999999999999999999999999999999999999999999999`, 1)), "bad_qty"},
		"cash":            {"place_orders", twenty(strings.Replace(one, `"qty":1`, `"qty":900000`, 1)), "insufficient_balance"},
		"contracts":       {"place_orders", twenty(strings.Replace(strings.Replace(one, `"qty":1`, `"qty":999999`, 1), "buy", "sell", 1)), "insufficient_position"},
		"markets":         {"place_orders", twenty(strings.Replace(one, `"market_id":1`, `"market_id":4294967295`, 1)), "unknown_market"},
		"generations":     {"place_orders", twenty(strings.Replace(one, `"generation":1`, `"generation":4294967295`, 1)), "stale_generation"},
		"full ticks":      {"place_orders", twenty(strings.Replace(full, "5000", "9601", 1)), "bad_price_tick"},
		"full cash":       {"place_orders", twenty(strings.Replace(full, `"qty":1`, `"qty":900000`, 1)), "insufficient_balance"},
		"full others":     {"place_orders", of("1100", more), "duplicate_client_order_id"},
		"no ids":          {"place_orders", `{"orders":[` + strings.Repeat(zero+",", 19) + zero + `]}`, "client_order_id_required"},
		"canceled before": {"cancel_orders", `{"order_ids":["` + strings.Repeat(`18446744073709551615","`, 19) + `18446744073709551615"]}`, "unknown_order"},
	} {
		got := d.callTool(d.alice, x.tool, x.arguments)
		if n := len(got.StructuredContent); n > maxAnswerBytes {
			t.Errorf("%s: %d bytes, want at most %d", name, n, maxAnswerBytes)
		}
		if strings.Count(string(got.StructuredContent), `"code":"`+x.code+`"`) != 20 || strings.Count(string(got.StructuredContent), `"hint":"`) != 20 {
			t.Errorf("%s: %s, want twenty times code %s with a hint", name, got.StructuredContent, x.code)
		}
	}
}

// TestCanceledOrdersHaveHints tests that an order that a price canceled at once says what to
// do next, and that its preview does.
func TestCanceledOrdersHaveHints(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.callTool(d.bob, "place_order", `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"no","tick":5000,"qty":4}`)
	old := at(t, string(d.callTool(d.alice, "place_order", strings.Replace(order(1, ""), "5000", "4000", 1)).StructuredContent), "order_id")
	for i, more := range []string{`"tick":5000,"qty":2,"post_only":true`, `"tick":5000,"qty":9,"tif":"fok"`, `"tick":4000,"qty":2,"tif":"ioc"`, `"type":"market","qty":2,"max_cost":"100"`} {
		for _, tool := range []string{"preview_order", "place_order"} {
			got := d.callTool(d.alice, tool, fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"generation":1,"side":"buy","outcome":"yes",%s}`, 50+i, more))
			text := string(got.StructuredContent)
			if hint, _ := at(t, text, "hint").(string); got.IsError || at(t, text, "status") != "canceled" || hint == "" || at(t, text, "next", "tool") != "get_orderbook" {
				t.Errorf("%s of %s: %s, want canceled with a hint and next get_orderbook", tool, more, text)
			}
		}
	}
	text := string(d.callTool(d.alice, "replace_order", fmt.Sprintf(`{"order_id":%q,"client_order_id":"60","tick":5000,"qty":2,"post_only":true}`, old)).StructuredContent)
	if at(t, text, "reason") != "post_only_cross" || at(t, text, "next", "tool") != "get_orderbook" {
		t.Errorf("replace_order: %s", text)
	}
}

// TestUnknownForecast checks that the next call after a forecast whose outcome is unknown is the same
// forecast: no list of the toolset core shows it.
func TestUnknownForecast(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	r := schemas.ToolErrorOf(schemas.ErrorOf("sequencing_timeout"))
	in := &schemas.SubmitForecast{MarketID: 1, Generation: 1, P: 6200}
	d.lane.hintsFor(&call{}, d.lane.byName["submit_forecast"], in, wholeCall, &r).addHints()
	if got := string(mustEncode(&r)); !strings.Contains(got, `"next":{"tool":"submit_forecast","arguments":{"generation":1,"market_id":1,"p":6200}}`) {
		t.Error(got)
	}
}

// TestUnknownOutcomeHints checks that after an unknown outcome only a placement speaks of a
// client_order_id, and that a read was not executed.
func TestUnknownOutcomeHints(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	for tool, x := range map[string]struct {
		in   any
		hint string
	}{
		"place_order":        {&schemas.PlaceOrder{ClientOrderID: 7}, "client_order_id"},
		"cancel_order":       {&schemas.CancelOneOrder{OrderID: new(schemas.U64)}, "send the same call again, which cancels nothing twice"},
		"cancel_all_orders":  {&schemas.CancelAll{}, "send the same call again, or read what still rests"},
		"decrease_order":     {&schemas.DecreaseOrder{OrderID: 7}, "read the order before you decrease it again"},
		"redeem_pairs":       {&schemas.Redeem{MarketID: 1}, "read the position before you redeem again"},
		"request_withdrawal": {&schemas.RequestWithdrawal{}, "client_withdrawal_id, or send the same call again"},
		"list_orders":        {&schemas.ListOrders{}, "The venue has not applied min_seq in time. Send the same call again"},
	} {
		r := d.lane.errorResult(&call{Call: &gate.Call{}}, d.lane.byName[tool], x.in, tools.NewError("sequencing_timeout"))
		text := string(r.structured)
		if hint := at(t, text, "hint").(string); !strings.Contains(hint, x.hint) || tool != "place_order" && strings.Contains(hint, "client_order_id") {
			t.Errorf("the hint of a %s with an unknown outcome: %s, want %q", tool, text, x.hint)
		}
	}
}

// TestWithdrawalHint checks that the error of a withdrawal of more than the free cash names what is free.
func TestWithdrawalHint(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	r := schemas.ToolErrorOf(schemas.ErrorOf("insufficient_balance"))
	c := &call{Call: &gate.Call{Key: &core.Key{User: 1}}}
	d.lane.hintsFor(c, d.lane.byName["request_withdrawal"], &schemas.RequestWithdrawal{Amount: 100_000_001}, wholeCall, &r).addHints()
	if got := string(mustEncode(&r)); !strings.Contains(got, `"hint":"This withdraws 100000001 pips; free cash is 100000000 pips. `) || !strings.Contains(got, `"next":{"tool":"get_account","arguments":{}}`) {
		t.Error(got)
	}
}

// TestSeriesOfARound checks that a rejected replace, forecast or redemption suggests the series of its
// round alone.
func TestSeriesOfARound(t *testing.T) {
	t.Parallel()
	d := generous(t)
	old := at(t, string(d.callTool(d.alice, "place_order", order(1, "")).StructuredContent), "order_id")
	for _, c := range []struct {
		first            core.Command
		tool, args, code string
	}{
		{&core.PauseMarket{Market: 1}, "replace_order", fmt.Sprintf(`{"order_id":%q,"client_order_id":"2","tick":5000,"qty":2}`, old), "market_paused"},
		{&core.VoidMarket{Market: 1}, "submit_forecast", `{"market_id":1,"generation":1,"p":6200}`, "market_not_trading"},
		{&core.Clock{}, "redeem_pairs", `{"market_id":1,"qty":1}`, "market_not_trading"},
	} {
		d.Submit(c.first)
		if text := string(d.callTool(d.alice, c.tool, c.args).StructuredContent); at(t, text, "error", "code") != c.code || at(t, text, "next", "arguments", "category") != 1.0 {
			t.Errorf("%s after the round ended: %s, want code %s and next with category 1", c.tool, text, c.code)
		}
	}
}

// TestDiffersByWorstTick checks that the same market order without a worst_tick is a replay, of an
// agent also if its price collar chose one, and that another worst_tick differs.
func TestDiffersByWorstTick(t *testing.T) {
	t.Parallel()
	d := generous(t)
	_, agent := d.newAgent(core.Mandate{Set: 1 << core.RulePriceCollar, Collar: 100})
	const bare, bounded = `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","max_cost":"9000","qty":1}`,
		`{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","worst_tick":5050,"max_cost":"9000","qty":1}`
	for _, c := range []struct {
		key           lanetest.Key
		first, second string
		replayed      bool
	}{
		{d.alice, bounded, bare, false},
		{d.bob, bare, bare, true},
		{agent, bare, bare, true},
		{agent, bare, bounded, false},
	} {
		d.callTool(c.key, "place_order", c.first)
		if text := string(d.callTool(c.key, "place_order", c.second).StructuredContent); strings.Contains(text, `"replayed":true`) != c.replayed || strings.Contains(text, `"differs":["worst_tick"]`) == c.replayed {
			t.Errorf("%s after %s: %s", c.second, c.first, text)
		}
	}
}

// TestSuggestedIDIsFree checks that the suggested preview has a free client_order_id, also behind a
// long run of used ones.
func TestSuggestedIDIsFree(t *testing.T) {
	t.Parallel()
	d := generous(t)
	for id := uint64(2); id <= 150; id++ {
		d.Submit(&core.PlaceOrder{User: 1, ClientID: id, Market: 99})
	}
	for _, id := range []string{"1", "160"} {
		args := func(id string, tick int) string {
			return fmt.Sprintf(`{"client_order_id":%q,"market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":%d,"qty":1}`, id, tick)
		}
		r := d.callTool(d.alice, "place_order", args(id, 5050))
		suggested := at(t, string(r.StructuredContent), "next", "arguments", "client_order_id").(string)
		if r := d.callTool(d.alice, "preview_order", args(suggested, 5000)); r.IsError {
			t.Errorf("after %s the suggested id is %s: %s", id, suggested, r.StructuredContent)
		}
		if id == "160" && suggested != "161" {
			t.Errorf("after %s the suggested id is %s", id, suggested)
		}
	}
}
