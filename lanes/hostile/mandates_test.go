package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
)

// newAgent creates an agent of account 1 with 1,000,000 pips.
func (d *testVenue) newAgent(name string, m core.Mandate) (id core.UserID) {
	d.T.Helper()
	for _, e := range d.Submit(&core.CreateAgent{Owner: 1, Name: name, Fund: 1_000_000, Mandate: m}).Events {
		if e, ok := e.(*core.UserChanged); ok {
			id = e.User.ID
		}
	}
	return id
}

// usage returns what an account has used of its bounds, and its profit and loss.
func (d *testVenue) usage(u core.UserID) (used venue.Usage, realized core.Pips) {
	d.Engine.Read(func(m *venue.Venue, _ *view.View) { used, realized = m.Usage(u), m.Performance(u).Realized })
	return used, realized
}

// callTool calls a tool by a signed request, without a bridge, and returns the structured content.
func (d *testVenue) callTool(t testing.TB, k lanetest.Key, tool, arguments string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	got := d.raw(t, d.post(k, "POST", agentPath, body, "MCP-Protocol-Version: 2025-11-25\r\n"))
	var r struct {
		Result struct {
			StructuredContent json.RawMessage `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || r.Result.StructuredContent == nil {
		t.Fatalf("tools/call of %s: %d %s, want structured content", tool, got.status, got.body)
	}
	return string(r.Result.StructuredContent)
}

// entries are the ways in which a key can place one order, and preview one. Each returns the
// response: the outcome, or an object with error.
func (d *testVenue) entries(t testing.TB) map[string]func(k lanetest.Key, order string) string {
	rest := func(path string) func(lanetest.Key, string) string {
		return func(k lanetest.Key, order string) string {
			_, body := d.Call(k, "POST", path, order)
			return body
		}
	}
	tool := func(name string) func(lanetest.Key, string) string {
		return func(k lanetest.Key, order string) string { // which names its round
			return d.callTool(t, k, name, strings.ReplaceAll(order, `"side":`, `"generation":1,"side":`))
		}
	}
	return map[string]func(lanetest.Key, string) string{
		"REST":          rest("/v1/portfolio/orders"),
		"REST, preview": rest("/v1/portfolio/orders/preview"),
		"tool":          tool("place_order"),
		"tool, preview": tool("preview_order"),
		"REST, in batch": func(k lanetest.Key, order string) string {
			return strings.Trim(rest("/v1/portfolio/orders/batch")(k, `{"orders":[`+order+`]}`), "[]")
		},
		"tool, in batch": func(k lanetest.Key, order string) string {
			out := strings.TrimPrefix(tool("place_orders")(k, `{"orders":[`+order+`]}`), `{"results":[`)
			return strings.TrimSuffix(out, "]}")
		},
	}
}

// TestMandateOnEveryLane checks that a bound rejects an order alike wherever it enters, and that a
// rejection uses nothing up (docs/rules/agent-accounts.md#rejections).
func TestMandateOnEveryLane(t *testing.T) {
	d := newTestVenue(t)
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap = 10_000, 10_000
	m := core.Mandate{Categories: 1 << 1, OrderQty: 100, Collar: 500, OpenOrders: 1}
	for _, r := range []core.MandateRule{core.RuleCategories, core.RuleOrderQty, core.RulePriceCollar, core.RuleOpenOrders} {
		m.Bound(r)
	}
	m.SetCost(core.RuleOrderCost, 100_000)
	m.SetCost(core.RuleMarketCost, 60_000)
	m.SetCost(core.RuleDailyLoss, 80_000)
	agent := d.newAgent("scout", m)
	key := d.NewKey(agent, readTrade)
	if status, body := d.Call(key, "POST", "/v1/portfolio/orders", order("1", "")); status != 201 {
		t.Fatalf("the order within the mandate: %d %s, want 201", status, body)
	}
	id := 1
	const ioc = `,"tif":"ioc"}`
	for _, c := range []struct{ order, details string }{
		{`"market_id":2,"side":"buy","outcome":"yes","tick":5000,"qty":1` + ioc, `{"rev":"1","rule":"categories"}`},
		{`"market_id":1,"side":"buy","outcome":"yes","tick":100,"qty":101` + ioc, `{"asked":"101","headroom":"100","limit":"100","rev":"1","rule":"max_order_qty","used":"0"}`},
		{`"market_id":1,"side":"buy","outcome":"yes","tick":9900,"qty":1` + ioc, `{"asked":"9900","limit":"5500","rev":"1","rule":"price_collar"}`},
		{`"market_id":1,"side":"buy","outcome":"no","type":"market","worst_tick":9999,"max_cost":"18446744073709551615","qty":1}`, `{"asked":"9999","limit":"5500","rev":"1","rule":"price_collar"}`},
		{`"market_id":1,"side":"buy","outcome":"yes","tick":100,"qty":1}`, `{"asked":"1","headroom":"0","limit":"1","rev":"1","rule":"max_open_orders","used":"1"}`},
		{`"market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":20` + ioc, `{"asked":"101260","headroom":"100000","limit":"100000","rev":"1","rule":"max_order_cost","used":"0"}`},
		{`"market_id":1,"side":"buy","outcome":"no","tick":5000,"qty":2` + ioc, `{"asked":"10126","headroom":"10000","limit":"60000","rev":"1","rule":"max_market_cost","used":"50000"}`},
	} {
		before, _ := d.usage(agent)
		for name, enter := range d.entries(t) {
			id++
			got := enter(key, fmt.Sprintf(`{"client_order_id":"%d",%s`, id, c.order))
			var e struct {
				Error struct {
					Code    string
					Num     int
					Origin  string
					Details map[string]string
				}
			}
			if err := json.Unmarshal([]byte(got), &e); err != nil || e.Error.Code != "mandate_violation" || e.Error.Num != 272 || e.Error.Origin != "core" {
				t.Errorf("%s: %s → %s, want mandate_violation 272 of the core", name, c.order, got)
				continue
			}
			if details, _ := json.Marshal(e.Error.Details); string(details) != c.details {
				t.Errorf("%s: %s → %s, want %s", name, c.order, details, c.details)
			}
		}
		if after, _ := d.usage(agent); after != before {
			t.Errorf("%s moved the usage from %+v to %+v", c.order, before, after)
		}
	}
	d.checkServes(t)
}

// TestStolenKeys plays a thief with four keys of one agent, who uses REST, the agent lane, single
// orders and batches at once, and whose accomplice quotes absurd prices and takes whatever the
// agent offers. One budget holds for all of them (docs/rules/agent-accounts.md#guarantees).
func TestStolenKeys(t *testing.T) {
	const limit, perDay = 60_000, 25
	d := newTestVenue(t)
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap = 10_000, 10_000
	m := core.Mandate{Collar: 500, OrdersPerDay: perDay}
	m.Bound(core.RulePriceCollar)
	m.Bound(core.RuleOrdersPerDay)
	m.SetCost(core.RuleDailyLoss, limit)
	agent := d.newAgent("scout", m)
	accomplice := d.NewKey(2, readTrade)
	entries := d.entries(t)

	var rules sync.Map
	thief := func(name string, key lanetest.Key, first int, orders []string) {
		for i, order := range orders {
			got := entries[name](key, fmt.Sprintf(`{"client_order_id":"%d","market_id":1,%s}`, first+i, order))
			var e struct {
				Error *struct {
					Code    string
					Details map[string]string
				}
			}
			switch err := json.Unmarshal([]byte(got), &e); {
			case err != nil:
				t.Errorf("%s answers %s, want JSON", name, got)
			case e.Error == nil:
			case e.Error.Code == "mandate_violation":
				rules.Store(e.Error.Details["rule"], true)
			case e.Error.Code != "insufficient_position":
				t.Errorf("%s: %s, want mandate_violation or insufficient_position as the only errors", name, got)
			}
		}
	}
	keys := map[string]lanetest.Key{}
	for _, name := range []string{"REST", "tool", "REST, in batch", "tool, in batch"} {
		keys[name] = d.NewKey(agent, readTrade)
	}
	number := 0
	for range 20 {
		for _, phase := range []struct{ accomplice, thieves []string }{
			{ // a bid raises what the collar allows to pay
				[]string{`"side":"buy","outcome":"yes","tick":5000,"qty":1`, `"side":"buy","outcome":"no","tick":4500,"qty":20`, `"side":"buy","outcome":"no","tick":1000,"qty":20`},
				[]string{
					`"side":"buy","outcome":"yes","tick":9900,"qty":1`,
					`"side":"buy","outcome":"yes","type":"market","max_cost":"60000","qty":5`,
					`"side":"buy","outcome":"yes","tick":5500,"qty":3,"tif":"ioc"`,
				},
			},
			{ // an offer lowers what it allows to accept
				[]string{`"side":"buy","outcome":"no","tick":4600,"qty":1`, `"side":"buy","outcome":"yes","tick":4900,"qty":50`, `"side":"buy","outcome":"yes","tick":100,"qty":50`},
				[]string{
					`"side":"sell","outcome":"yes","tick":100,"qty":1`,
					`"side":"sell","outcome":"yes","tick":4900,"qty":2,"tif":"ioc"`,
					`"side":"sell","outcome":"yes","type":"market","qty":1`,
				},
			},
		} {
			for _, order := range phase.accomplice {
				number++
				if status, body := d.Call(accomplice, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":1,%s}`, number, order)); status != 201 {
					t.Fatalf("the accomplice's order: %d %s, want 201", status, body)
				}
			}
			var thieves sync.WaitGroup
			for name, key := range keys {
				first := number + 1
				number += 10
				thieves.Go(func() { thief(name, key, first, phase.thieves) })
			}
			thieves.Wait()
			used, realized := d.usage(agent)
			if used.OpenCost+used.LossToday > limit || used.OrdersToday > perDay {
				t.Fatalf("the usage %+v passes the bounds", used)
			}
			if realized < -limit {
				t.Fatalf("the agent lost %d", -realized)
			}
			d.Call(accomplice, "DELETE", "/v1/portfolio/orders", "")
		}
	}
	for _, rule := range []string{"price_collar", "max_orders_per_day", "max_daily_loss"} {
		if _, ok := rules.Load(rule); !ok {
			t.Errorf("%s rejected nothing", rule)
		}
	}
	if _, realized := d.usage(agent); realized >= 0 {
		t.Errorf("the thieves moved nothing, so nothing was tested: %d", realized)
	}

	// Nothing passes a halt, on any lane and with any key, and no state but the rows changes.
	d.Submit(&core.HaltAgent{Owner: 1, Agent: agent})
	key := d.NewKey(agent, readTrade)
	before, _ := d.usage(agent)
	i := 0
	for name, enter := range entries {
		for _, order := range []string{`"side":"buy","outcome":"yes","tick":100,"qty":1}`, `"side":"buy","outcome":"no","tick":100,"qty":1,"reduce_only":false}`} {
			i++
			if got := enter(key, fmt.Sprintf(`{"client_order_id":"%d","market_id":1,%s`, 9_000_000+i, order)); !strings.Contains(got, `"rule":"halted"`) {
				t.Errorf("%s, after the halt: %s", name, got)
			}
		}
	}
	if after, _ := d.usage(agent); after != before {
		t.Errorf("a halted agent's usage moved from %+v to %+v", before, after)
	}
	d.Submit(&core.CloseAgent{Owner: 1, Agent: agent})
	if status, body := d.Call(key, "GET", "/v1/account", ""); status != 401 {
		t.Errorf("a key of a closed agent: %d %s", status, body)
	}
}

// TestAgentKeyReachesNothingElse checks that a key of an agent changes only its own account: not its
// owner's, another agent's or a stranger's orders, and neither money, mandates nor keys.
func TestAgentKeyReachesNothingElse(t *testing.T) {
	d := newTestVenue(t)
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap = 10_000, 10_000
	agent, sibling := d.newAgent("scout", core.Mandate{}), d.newAgent("sibling", core.Mandate{})
	key := d.NewKey(agent, readTrade)
	others := []core.UserID{1, 2, sibling}
	var orders []string
	for _, u := range others {
		status, body := d.Call(d.NewKey(u, readTrade), "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":5}`)
		var o struct {
			ID string `json:"order_id"`
		}
		if err := json.Unmarshal([]byte(body), &o); err != nil || status != 201 {
			t.Fatalf("an order of another account: %d %s, want 201", status, body)
		}
		orders = append(orders, o.ID)
	}
	before := make([]venue.Usage, len(others))
	for i, u := range others {
		before[i], _ = d.usage(u)
	}
	for _, id := range orders {
		for _, r := range [][3]string{
			{"GET", "/v1/portfolio/orders/" + id, ""},
			{"DELETE", "/v1/portfolio/orders/" + id, ""},
			{"POST", "/v1/portfolio/orders/" + id + "/decrease", `{"reduce_to":1}`},
		} {
			if status, body := d.Call(key, r[0], r[1], r[2]); status != 404 || !strings.Contains(body, "unknown_order") {
				t.Errorf("%s %s of another account's order: %d %s, want 404 unknown_order", r[0], r[1], status, body)
			}
		}
		if got := d.callTool(t, key, "cancel_orders", `{"order_ids":["`+id+`"]}`); !strings.Contains(got, "unknown_order") {
			t.Errorf("cancel_orders: %s", got)
		}
	}
	d.Call(key, "DELETE", "/v1/portfolio/orders", "")
	d.callTool(t, key, "cancel_all_orders", `{}`)
	d.callTool(t, key, "arm_deadman", `{"timeout_ms":1000}`)
	for _, r := range [][3]string{
		{"POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"1","destination":"bank"}`},
		{"GET", "/agents", ""},
		{"POST", "/agents", `{"name":"mine"}`},
		{"POST", fmt.Sprintf("/agents/%d/return", agent), `{"client_transfer_id":"t","amount":"1"}`},
		{"PUT", "/v1/account", `{"mandate":{}}`},
		{"PUT", fmt.Sprintf("/agents/%d/mandate", agent), `{"if_rev":1,"mandate":{}}`},
		{"POST", "/keys", ""},
	} {
		if status, body := d.Call(key, r[0], r[1], r[2]); status != 403 && status != 404 && status != 405 {
			t.Errorf("%s %s with an agent's key: %d %s, want 403, 404 or 405", r[0], r[1], status, body)
		}
	}
	if got := d.callTool(t, key, "request_withdrawal", `{"client_withdrawal_id":"w","amount":"1","destination":"bank"}`); !strings.Contains(got, "missing_scope") {
		t.Errorf("request_withdrawal: %s", got)
	}
	list := d.raw(t, d.post(key, "POST", agentPath, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, "MCP-Protocol-Version: 2025-11-25\r\n")).body
	for _, name := range []string{"mandate", "transfer", "create_key", "revoke", "halt_agent", "create_agent", "request_withdrawal"} {
		if strings.Contains(list, `"name":"`+name) || strings.Contains(list, "_"+name+`"`) {
			t.Errorf("a tool %s is listed", name)
		}
	}

	// A family does not trade with itself, so no budget moves to another.
	if status, body := d.Call(key, "POST", "/v1/portfolio/orders", `{"client_order_id":"7","market_id":1,"side":"buy","outcome":"no","tick":6000,"qty":5,"tif":"ioc"}`); status != 201 || !strings.Contains(body, `"filled_qty":0`) {
		t.Errorf("a trade within the family: %d %s", status, body)
	}
	for i, u := range others {
		if after, _ := d.usage(u); after != before[i] {
			t.Errorf("account %d went from %+v to %+v", u, before[i], after)
		}
	}
}
