package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"duplex/core"
	"duplex/lanes/lanetest"
)

// newAgent creates an agent of alice with a mandate, and returns it with its key.
func (d *testVenue) newAgent(m core.Mandate) (core.UserID, lanetest.Key) {
	d.T.Helper()
	var id core.UserID
	for _, e := range d.Submit(&core.CreateAgent{Owner: 1, Name: "scout", Fund: 1_000_000, Mandate: m}).Events {
		if e, ok := e.(*core.UserChanged); ok {
			id = e.User.ID
		}
	}
	return id, d.NewKey(id, core.ScopeRead|core.ScopeTrade)
}

// TestMandateHints checks that the error of each rule names a value that passes, where there is one, and
// that the value passes (docs/rules/agent-accounts.md#rejections).
func TestMandateHints(t *testing.T) {
	t.Parallel()
	cost := func(r core.MandateRule, limit uint64) (m core.Mandate) {
		m.SetCost(r, limit)
		return m
	}
	for _, c := range []struct {
		rule    string
		mandate core.Mandate
		args    string // of the rejected order; order(1, "") if empty
		hint    string
		passes  string // arguments that the hint leads to; "" if none pass
	}{
		{"categories", core.Mandate{Set: 1 << core.RuleCategories, Categories: 1 << 4}, "", "allows only the categories 4.", ""},
		{"reduce_only", core.Mandate{Set: 1 << core.RuleReduceOnly}, "", "buys with reduce_only: true. No order like this one passes.", ""},
		{"max_order_qty", core.Mandate{Set: 1 << core.RuleOrderQty, OrderQty: 4}, "", "at most 4 contracts an order. It passes with qty 4.", strings.Replace(order(2, ""), `"qty":10`, `"qty":4`, 1)},
		{"price_collar", core.Mandate{Set: 1 << core.RulePriceCollar, Collar: 150}, strings.Replace(order(1, ""), "5000", "5300", 1), "a price of at most 5150 now. It passes with tick 5100.", strings.Replace(order(2, ""), "5000", "5100", 1)},
		{"max_open_orders", core.Mandate{Set: 1 << core.RuleOpenOrders}, "", "0 orders rest and the mandate allows 0: cancel one first. It passes with tif ioc.", order(2, `,"tif":"ioc"`)},
		{"max_open_orders", core.Mandate{Set: 1 << core.RuleOpenOrders}, order(1, `,"tif":"gtt","expiry_ts":"9000000000000000000"`), "It passes with tif ioc, without expiry_ts.", order(2, `,"tif":"ioc"`)},
		{"max_orders_per_day", core.Mandate{Set: 1 << core.RuleOrdersPerDay}, "", "starts again at UTC midnight", ""},
		{"max_order_cost", cost(core.RuleOrderCost, 20_000), "", "costs up to 50630 pips and max_order_cost leaves 20000. It passes with qty 3.", strings.Replace(order(2, ""), `"qty":10`, `"qty":3`, 1)},
		{"max_open_cost", cost(core.RuleOpenCost, 100), "", "No buy at this price passes", ""},
		{"max_daily_loss", cost(core.RuleDailyLoss, 5_063), "", "It passes with qty 1.", strings.Replace(order(2, ""), `"qty":10`, `"qty":1`, 1)},
		{"max_order_cost", cost(core.RuleOrderCost, 300), `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","worst_tick":9900,"max_cost":"9000","qty":1}`,
			"It passes with max_cost 300.", `{"client_order_id":"2","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","worst_tick":9900,"max_cost":"300","qty":1}`},
		{"max_order_qty", core.Mandate{Set: 1<<core.RuleOrderQty | 1<<core.RuleOrderCost | 1<<core.RulePriceCollar, OrderQty: 4, Collar: 90, Costs: [4]uint64{16_000}},
			strings.Replace(order(1, ""), "5000", "9000", 1), "It passes with tick 5000, qty 3.", strings.NewReplacer(`"qty":10`, `"qty":3`).Replace(order(2, ""))},
		{"max_order_cost", core.Mandate{Set: 1<<core.RulePriceCollar | 1<<core.RuleOrderCost, Costs: [4]uint64{600}},
			`{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","max_cost":"9000","qty":5}`, "costs up to 9000 pips and max_order_cost leaves 600. It passes with max_cost 600.",
			`{"client_order_id":"2","market_id":1,"generation":1,"side":"buy","outcome":"yes","type":"market","max_cost":"600","qty":5}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			d := generous(t)
			_, key := d.newAgent(c.mandate)
			args := c.args
			if args == "" {
				args = order(1, "")
			}
			next := "get_account"
			if c.passes != "" {
				next = "preview_order"
			}
			for _, tool := range []string{"preview_order", "place_order"} {
				r := d.callTool(key, tool, args)
				text := string(r.StructuredContent)
				checkMembers(t, tool, text, map[string]any{"error.code": "mandate_violation", "error.num": 272.0, "error.details.rule": c.rule, "next.tool": next})
				if hint, _ := at(t, text, "hint").(string); !r.IsError || !strings.Contains(hint, c.hint) {
					t.Errorf("%s: %s, want an error with the hint %q", tool, text, c.hint)
				}
			}
			if c.passes != "" {
				if r := d.callTool(key, "place_order", c.passes); r.IsError {
					t.Errorf("what the hint names does not pass: %s", r.StructuredContent)
				}
			}
		})
	}
	d := generous(t)
	id, key := d.newAgent(core.Mandate{Set: 1 << core.RulePriceCollar, Collar: 50})
	d.callTool(key, "place_order", order(1, ""))
	d.callTool(d.bob, "place_order", strings.Replace(order(2, ""), `"outcome":"yes"`, `"outcome":"no"`, 1))
	d.callTool(d.bob, "place_order", strings.Replace(order(3, ""), `"outcome":"yes"`, `"outcome":"no"`, 1))
	sale := `{"client_order_id":"9","market_id":1,"generation":1,"side":"sell","outcome":"yes","tick":100,"qty":1,"tif":"ioc"}`
	if text := string(d.callTool(key, "place_order", sale).StructuredContent); !strings.Contains(text, "a price of at least 4950 now. It passes with tick 5000.") {
		t.Error(text)
	}
	d.Submit(&core.SetMandate{Owner: 1, Agent: id, IfRev: 1, Mandate: core.Mandate{Set: 1 << core.RuleReduceOnly}})
	closing := `{"client_order_id":"10","market_id":1,"generation":1,"side":"buy","outcome":"no","tick":5000,"qty":1}`
	if text := string(d.callTool(key, "place_order", closing).StructuredContent); !strings.Contains(text, "It passes with reduce_only true.") {
		t.Error(text)
	}
	if r := d.callTool(key, "place_order", strings.Replace(closing, `"10"`, `"11","reduce_only":true`, 1)); r.IsError {
		t.Errorf("what the hint names does not pass: %s", r.StructuredContent)
	}
	d.Submit(&core.HaltAgent{Owner: 1, Agent: id})
	if text := string(d.callTool(key, "place_order", order(5, "")).StructuredContent); !strings.Contains(text, "The owner has halted this account") {
		t.Error(text)
	}
}

// TestDollarsOverAMandate checks that what an order for too many dollars leads to buys what the mandate leaves, and
// that the refusal is about the dollars.
func TestDollarsOverAMandate(t *testing.T) {
	t.Parallel()
	d := generous(t)
	var m core.Mandate
	m.SetCost(core.RuleOrderCost, 20_000)
	_, key := d.newAgent(m)
	d.callTool(d.bob, "place_order", buyOf("client_order_id", `"1"`, "outcome", `"no"`, "tick", "5000", "qty", "40"))
	r := d.callTool(key, "place_order", buyOf("tick", "-", "qty", "-", "dollars", "9"))
	text := string(r.StructuredContent)
	checkMembers(t, "over the mandate", text, map[string]any{"error.code": "mandate_violation", "field": "dollars", "got": 9.0, "next.tool": "preview_order", "next.arguments.qty": 3.0, "next.arguments.max_cost": "20000"})
	next, err := json.Marshal(at(t, text, "next", "arguments"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.callTool(key, "place_order", string(next)).StructuredContent); at(t, got, "status") != "executed" || at(t, got, "filled_qty") != 3.0 {
		t.Errorf("what next has is placed: %s, want 3 contracts bought", got)
	}
}

// TestGetAccount checks get_account of an owner and of an agent, the same on REST, and dx://account.
func TestGetAccount(t *testing.T) {
	t.Parallel()
	d := generous(t)
	var m core.Mandate
	m.SetCost(core.RuleDailyLoss, 100_000)
	m.Bound(core.RuleOpenOrders)
	m.OpenOrders = 3
	id, key := d.newAgent(m)
	if r := d.callTool(key, "place_order", order(1, "")); r.IsError {
		t.Fatalf("place_order within the mandate: %s, want a result", r.StructuredContent)
	}
	text := string(d.callTool(key, "get_account", "{}").StructuredContent)
	want := `{"user_id":3,"name":"scout","kind":"agent","state":"active","owner_id":1,"mandate":{"max_open_orders":3,"max_daily_loss":"100000"},"rev":1,` +
		`"usage":{"open_cost":"50000","loss_today":"0","orders_today":1,"open_orders":1},"headroom":{"max_open_orders":2,"max_daily_loss":"50000"},"cash":"950000","reserved":"50000","equity":"1000000","equity_usd":"100.00"`
	if !strings.HasPrefix(text, want) || id != 3 {
		t.Errorf("%s\nwant %s", text, want)
	}
	if _, rest := d.Call(key, "GET", "/v1/account", ""); rest != text {
		t.Errorf("REST answers %s, the tool %s", rest, text)
	}
	owner := string(d.callTool(d.alice, "get_account", "{}").StructuredContent)
	if !strings.HasPrefix(owner, `{"user_id":1,"name":"alice","kind":"owner","state":"active","usage":{`) || strings.Contains(owner, "headroom") || strings.Contains(owner, "mandate") {
		t.Error(owner)
	}
	_, body := d.ask(key, "1", "resources/read", `"uri":"dx://account"`)
	if !strings.Contains(body, `{\"account\":{\"user_id\":3,`) {
		t.Error(body)
	}
	if orders := string(d.callTool(key, "list_orders", "{}").StructuredContent); at(t, orders, "orders") == nil || !strings.Contains(orders, `"api_key":"`+key.ID+`"`) {
		t.Error(orders)
	}
}
