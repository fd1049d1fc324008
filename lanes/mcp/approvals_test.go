package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

// TestAgentAsks checks what an agent sees of an order that waits: the result without an error, the next call, the
// event of the decision, the list, and the repeat (docs/rules/agent-accounts.md#approvals).
func TestAgentAsks(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.Venue.Portal = "https://portal.example"
	id, key := d.newAgent(core.Mandate{Set: 1 << core.RuleAskAbove, AskAbove: 20_000})
	resting := core.OrderID(d.Submit(&core.PlaceOrder{User: id, ClientID: 90, Market: 1, Tick: 100, Qty: 1}).Stamp.Seq)
	r := d.callTool(key, "place_order", order(1, ""))
	var w struct {
		schemas.Waiting
		Hint string
		Next struct {
			Tool      string
			Arguments map[string]any
		}
	}
	if err := json.Unmarshal(r.StructuredContent, &w); err != nil || r.IsError || w.Status != "waiting" || w.Cost != 50_630 || w.ApproveURL != "https://portal.example/#/approvals/"+w.ApprovalID.String() {
		t.Fatalf("%v, error %t: %s", err, r.IsError, r.StructuredContent)
	}
	if w.Next.Tool != "wait_for_event" || w.Next.Arguments["after_seq"] != w.Seq.String() || !strings.Contains(w.Hint, "Do not place it again") {
		t.Errorf("the hint is %q, next %+v", w.Hint, w.Next)
	}
	if strings.Contains(string(r.StructuredContent), `"order_id"`) {
		t.Errorf("it has an order: %s", r.StructuredContent)
	}
	again := d.callTool(key, "place_order", order(1, ""))
	if text := string(again.StructuredContent); !again.IsError || !strings.Contains(text, `"next":{"tool":"list_approvals","arguments":{}}`) || !strings.Contains(text, "which is waiting") {
		t.Errorf("the same again: %s", text)
	}
	if text := string(again.StructuredContent); !strings.Contains(text, `"outcome":"unknown"`) || strings.Contains(text, `"differs"`) {
		t.Errorf("the same again, whose outcome is open: %s", text)
	}
	other := d.callTool(key, "place_order", strings.Replace(order(1, ""), `"qty":10`, `"qty":11`, 1))
	if text := string(other.StructuredContent); !other.IsError || !strings.Contains(text, `"outcome":"not_done"`) || !strings.Contains(text, `"differs":["qty"]`) {
		t.Errorf("another order of the id: %s", text)
	}
	batch := d.callTool(key, "place_orders", `{"orders":[`+order(2, "")+`,`+strings.Replace(order(3, ""), `"qty":10`, `"qty":2`, 1)+`]}`)
	if text := string(batch.StructuredContent); batch.IsError || !strings.Contains(text, `{"results":[{"status":"waiting","approval_id":`) || strings.Count(text, `"status":"resting"`)+strings.Count(text, `"status":"executed"`) != 1 {
		t.Errorf("a batch: %s", text)
	}
	if text := string(d.callTool(key, "preview_order", order(4, "")).StructuredContent); !strings.Contains(text, `"needs_approval":true`) {
		t.Errorf("a preview: %s", text)
	}
	list := d.callTool(key, "list_approvals", `{"status":"waiting"}`)
	if text := string(list.StructuredContent); strings.Count(text, `"status":"waiting"`) != 2 {
		t.Errorf("the list: %s", text)
	}

	d.Submit(&core.DecideAsk{Owner: 1, Ask: uint64(w.ApprovalID), Approve: true})
	waited := string(d.callTool(key, "wait_for_event", fmt.Sprintf(`{"after_seq":%q,"kinds":["approval"]}`, w.Seq)).StructuredContent)
	if !strings.Contains(waited, `"kind":"approval","msg":{"approval_id":"`+w.ApprovalID.String()+`","status":"placed","order_id":"`) || !strings.Contains(waited, `"series":"btc-60s"`) {
		t.Errorf("the event: %s", waited)
	}
	if text := string(d.callTool(key, "place_order", order(1, "")).StructuredContent); !strings.Contains(text, `"outcome":"done"`) {
		t.Errorf("the same after the approval: %s", text)
	}
	if canceled := d.callTool(key, "cancel_order", `{"client_order_id":"2"}`); canceled.IsError || !strings.Contains(string(canceled.StructuredContent), `"status":"canceled","canceled_qty":10`) {
		t.Errorf("the cancel: %s", canceled.StructuredContent)
	}
	if text := string(d.callTool(key, "place_order", order(2, "")).StructuredContent); !strings.Contains(text, `"outcome":"not_done"`) || !strings.Contains(text, "which is canceled") {
		t.Errorf("the same after its cancel: %s", text)
	}

	// A replace and a quote never wait. The hint says what does.
	for tool, args := range map[string]string{
		"replace_order": fmt.Sprintf(`{"order_id":"%d","client_order_id":"91","qty":900,"tick":100}`, resting),
		"put_quotes":    `{"quotes":[{"market_id":1,"generation":1,"group_id":1,"bid":{"client_order_id":"92","tick":1000,"qty":900},"ask":null}]}`,
	} {
		if text := string(d.callTool(key, tool, args).StructuredContent); !strings.Contains(text, `"rule":"ask_above"`) || !strings.Contains(text, "only place_order asks the owner") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	for i := range core.AsksMax {
		d.Submit(&core.PlaceOrder{User: id, ClientID: uint64(100 + i), Market: 1, Tick: 4000, Qty: 9})
	}
	full := d.callTool(key, "place_order", order(200, ""))
	if text := string(full.StructuredContent); !full.IsError || !strings.Contains(text, `"code":"approval_limit","num":277`) || !strings.Contains(text, `"next":{"tool":"list_approvals","arguments":{"status":"waiting"}}`) {
		t.Errorf("the 21st: %s", text)
	}
}
