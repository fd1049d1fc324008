package hostile

import (
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/tools"
)

// TestAskOnEveryLane checks that an order above the bound waits alike wherever it enters, and that nothing but the
// bound's own field says so in a preview (docs/rules/agent-accounts.md#approvals).
func TestAskOnEveryLane(t *testing.T) {
	d := newTestVenue(t)
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap = 10_000, 10_000
	agent := d.newAgent("scout", core.Mandate{Set: 1 << core.RuleAskAbove, AskAbove: 20_000})
	key := d.NewKey(agent, readTrade)
	before, _ := d.usage(agent)
	id, asked := 0, 0
	for name, enter := range d.entries(t) {
		id++
		got := enter(key, fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":9}`, id))
		switch {
		case strings.Contains(name, "preview"):
			if !strings.Contains(got, `"needs_approval":true`) || strings.Contains(got, "approval_id") {
				t.Errorf("%s: %s", name, got)
			}
			continue
		case !strings.HasPrefix(got, `{"status":"waiting","approval_id":"`) || strings.Contains(got, `"order_id"`):
			t.Errorf("%s: %s", name, got)
		}
		asked++
	}
	after, _ := d.usage(agent)
	if waiting := d.waiting(agent); waiting != asked || after != before {
		t.Errorf("%d of %d orders wait, the usage moved from %+v to %+v", waiting, asked, before, after)
	}
	d.checkServes(t)
}

// waiting returns how many orders of an account wait for its owner.
func (d *testVenue) waiting(u core.UserID) (n int) {
	d.Engine.Read(func(m *venue.Venue, _ *view.View) { n = len(m.Asks(u)) })
	return n
}

// TestAgentApprovesItself plays an agent that tries every tool, route and socket command with the id of its own
// approval: none of them decides (docs/rules/agent-accounts.md#approvals). The portal has tests of its own.
func TestAgentApprovesItself(t *testing.T) {
	d := newTestVenue(t)
	d.Venue.Config.WriteFloor, d.Venue.Config.WriteCap, d.Venue.Config.ReadRate = 10_000, 10_000, 10_000
	agent := d.newAgent("scout", core.Mandate{Set: 1 << core.RuleAskAbove})
	key := d.NewKey(agent, core.ScopeRead|core.ScopeTrade)
	if got := d.callTool(t, key, "place_order", `{"client_order_id":"1","market_id":1,"generation":1,"side":"buy","outcome":"yes","tick":5000,"qty":1}`); !strings.Contains(got, `"waiting"`) {
		t.Fatal(got)
	}
	var ask string
	d.Engine.Read(func(m *venue.Venue, _ *view.View) { ask = fmt.Sprint(m.Asks(agent)[0].ID) })

	cancels := map[string]bool{"cancel_all_orders": true} // ends what waits, and places nothing
	for _, name := range []string{"approve_order", "reject_order", "approve", "decide_approval", "approve_approval", "place_order", "list_approvals"} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"approval_id":%q,"approve":true,"action":"accept"}}}`, name, ask)
		d.raw(t, d.post(key, "POST", agentPath, body, "MCP-Protocol-Version: 2025-11-25\r\n"))
	}
	// An answer of the host, as to an elicitation, is no request and decides nothing.
	d.raw(t, d.post(key, "POST", agentPath, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"approval_id":"`+ask+`"}}}`, "MCP-Protocol-Version: 2025-11-25\r\n"))
	for _, op := range append(append([]tools.Operation{}, tools.Operations...), tools.RouteOnly...) {
		f := op.Describe()
		if cancels[f.Name] || strings.HasPrefix(f.Name, "cancel") {
			continue
		}
		path := strings.NewReplacer("{order_id}", ask, "{client_order_id}", "1", "{group_id}", "1", "{market_id}", "1", "{withdrawal_id}", ask).Replace(f.Path)
		body := ""
		if f.Method != "GET" && f.Method != "DELETE" {
			body = fmt.Sprintf(`{"approval_id":%q,"order_id":%q,"approve":true,"status":"approved"}`, ask, ask)
		}
		d.Call(key, f.Method, path, body)
		d.Call(key, "POST", path+"/"+ask+"/approve", "")
	}
	for _, path := range []string{"/approvals/", "/v1/approvals/", "/v1/portfolio/approvals/", "/admin/approvals/"} {
		for _, end := range []string{"", "/approve", "/reject"} {
			for _, method := range []string{"POST", "PUT", "DELETE", "GET"} {
				if status, body := d.Call(key, method, path+ask+end, ""); status != 404 && status != 405 {
					t.Errorf("%s %s%s%s: %d %s", method, path, ask, end, status, body)
				}
			}
		}
	}
	s := d.dialSocket(t, key)
	for _, cmd := range []string{"approve", "approve_order", "decide", "subscribe"} {
		if typ, _, got := s.command(fmt.Sprintf(`{"id":1,"cmd":%q,"params":{"approval_id":%q,"approve":true}}`, cmd, ask)); typ != "error" {
			t.Errorf("the command %s: %s", cmd, got)
		}
	}
	if n := d.waiting(agent); n != 1 {
		t.Errorf("%d orders wait, want the one that nobody decided", n)
	}
	d.checkServes(t)
}
