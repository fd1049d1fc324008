package portal

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/schemas"
	"duplex/tools"
)

// place sends an order of an agent, and returns the status and the answer.
func (v *testPortal) place(key lanetest.Key, id, qty int) (status int, out schemas.Placed) {
	v.T.Helper()
	status, body := v.Call(key, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":%d}`, id, qty))
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		v.T.Fatalf("%v in %s", err, body)
	}
	return status, out
}

// TestApprovals checks an order that waits, from the agent's and from the owner's side, and each decision with its
// repeats (docs/rules/agent-accounts.md#approvals).
func TestApprovals(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.Venue.Portal = "https://portal.example"
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	v.Submit(&core.Deposit{User: 4, DepositID: "dave", Amount: 1_000_000})
	agent, key := v.newAgent("scout", `{"ask_above":"20000"}`)
	var asked []string
	for id := 1; id <= 4; id++ {
		status, out := v.place(key, id, 9)
		w := out.Waiting
		if status != 202 || w == nil || w.Status != "waiting" || w.Cost != 9*4060 || int(w.ClientOrderID) != id || w.Seq != w.ApprovalID || w.ApproveURL != "https://portal.example/#/approvals/"+w.ApprovalID.String() {
			t.Fatalf("order %d: %d %+v", id, status, w)
		}
		asked = append(asked, w.ApprovalID.String())
	}
	if status, out := v.place(key, 5, 1); status != 201 || out.Status != "resting" {
		t.Errorf("an order below the bound: %d %+v", status, out)
	}
	status, batch := v.Call(key, "POST", "/v1/portfolio/orders/batch", `{"orders":[{"client_order_id":"6","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":9},{"client_order_id":"7","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":1}]}`)
	var results []schemas.PlaceResult
	if err := json.Unmarshal([]byte(batch), &results); err != nil || status != 200 || results[0].Waiting == nil || results[1].Status != "resting" {
		t.Fatalf("a batch: %d %s, %v", status, batch, err)
	}
	if _, body := v.Call(key, "POST", "/v1/portfolio/orders/preview", `{"client_order_id":"8","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":9}`); !strings.Contains(body, `"needs_approval":true`) || !strings.Contains(body, `"status":"resting"`) {
		t.Errorf("a preview: %s", body)
	}

	// The lists of the agent and of its owner are the same.
	var mine, theirs schemas.AgentApprovalList
	_, body := v.Call(key, "GET", "/v1/portfolio/approvals?status=waiting", "")
	if err := json.Unmarshal([]byte(body), &mine); err != nil || len(mine.Approvals) != 5 {
		t.Fatalf("%v in %s", err, body)
	}
	v.ask(carol, "GET", "/approvals", "", 200, &theirs)
	if fmt.Sprint(mine.Approvals) != fmt.Sprint(theirs.Approvals) {
		t.Errorf("the agent lists %+v, its owner %+v", mine.Approvals, theirs.Approvals)
	}
	if a := mine.Approvals[4]; a.ApprovalID.String() != asked[0] || a.UserID != agent || a.Agent != "scout" || a.Qty != 9 || a.Tick != 4000 || a.OpenCost != 0 || a.DecidedTs != 0 || a.OrderID != nil {
		t.Errorf("the oldest is %+v", a)
	}
	var page, next schemas.AgentApprovalList
	v.ask(carol, "GET", "/approvals?limit=2", "", 200, &page)
	v.ask(carol, "GET", "/approvals?limit=2&cursor="+page.Cursor, "", 200, &next)
	if len(page.Approvals) != 2 || len(next.Approvals) != 2 || next.Approvals[0].ApprovalID != theirs.Approvals[2].ApprovalID {
		t.Errorf("pages of 2: %+v, then %+v", page, next)
	}
	var read schemas.AgentApprovalRead
	v.ask(carol, "GET", "/approvals/"+asked[0], "", 200, &read)
	if read.Status != "waiting" || read.AsOfSeq == 0 {
		t.Errorf("reading decided: %+v", read)
	}

	decide := func(id, what string, status int, code string) (out schemas.AgentApprovalDecided) {
		t.Helper()
		if code != "" {
			v.wants(carol, "POST", "/approvals/"+id+"/"+what, "", status, code)
			return out
		}
		v.ask(carol, "POST", "/approvals/"+id+"/"+what, "", status, &out)
		return out
	}
	placed := decide(asked[0], "approve", 200, "")
	if placed.Approval.Status != "placed" || placed.Order == nil || placed.Order.Status != "resting" || placed.Order.RestingQty != 9 || *placed.Approval.OrderID != placed.Seq || placed.Order.ClientOrderID != 1 {
		t.Errorf("approved: %+v", placed)
	}
	if again := decide(asked[0], "approve", 200, ""); again.Approval.Status != "placed" || again.Order != nil || *again.Approval.OrderID != placed.Seq {
		t.Errorf("approved again: %+v", again)
	}
	decide(asked[0], "reject", 409, "invalid_transition")
	if x := decide(asked[1], "reject", 200, ""); x.Approval.Status != "rejected" || x.Order != nil {
		t.Errorf("rejected: %+v", x)
	}
	if x := decide(asked[1], "reject", 200, ""); x.Approval.Status != "rejected" {
		t.Errorf("rejected again: %+v", x)
	}
	decide(asked[1], "approve", 409, "invalid_transition")
	if status, body := v.Call(key, "DELETE", "/v1/portfolio/orders/by-client-order-id/3", ""); status != 200 || !strings.HasPrefix(body, `{"status":"canceled","canceled_qty":9,`) {
		t.Errorf("the agent cancels one: %d %s", status, body)
	}
	decide(asked[2], "approve", 409, "invalid_transition")
	if rows := v.wants(carol, "GET", fmt.Sprintf("/agents/%d/activity?limit=1", agent), "", 200, ""); !strings.Contains(rows, `"operation":"cancel_order"`) || !strings.Contains(rows, `"approval_id":"`+asked[2]+`"`) || strings.Contains(rows, `"order_id"`) {
		t.Errorf("the row of the cancel: %s", rows)
	}
	v.Submit(&core.PauseMarket{Market: 1})
	if x := decide(asked[3], "approve", 200, ""); x.Approval.Status != "refused" || x.Approval.Reason != "market_paused" || x.Order != nil {
		t.Errorf("approved in a pause: %+v", x)
	}
	decide(asked[3], "reject", 409, "invalid_transition")
	if again := decide(asked[3], "approve", 200, ""); again.Approval.Status != "refused" {
		t.Errorf("approved again: %+v", again)
	}
	if status, body := v.Call(key, "GET", "/v1/portfolio/orders?client_order_id=4", ""); status != 200 || !strings.Contains(body, `"status":"rejected","reason":"market_paused"`) {
		t.Errorf("the refused order has no row: %d %s", status, body)
	}
	for _, id := range []string{"1", "x", "99999", "0", "18446744073709551616"} {
		for _, r := range [][2]string{{"GET", ""}, {"POST", "/approve"}, {"POST", "/reject"}} {
			v.wants(carol, r[0], "/approvals/"+id+r[1], "", 404, "unknown_approval")
		}
	}
	v.wants(carol, "POST", "/approvals/"+asked[0]+"/approve", `{}`, 400, "unexpected_body")
	v.wants(carol, "GET", "/approvals?status=open", "", 400, "schema_violation")

	// The activity says who did what.
	var list schemas.ActivityList
	v.ask(carol, "GET", fmt.Sprintf("/agents/%d/activity", agent), "", 200, &list)
	seen, statuses := map[string]int{}, map[string]bool{}
	for _, a := range list.Activity {
		if a.ApprovalID != nil && a.OrderID == nil && (a.APIKey == nil) == (a.Operation != "place_order") {
			seen[a.Operation]++
		}
		if a.ApprovalID != nil {
			if o := a.Order; o == nil || o.Category != 1 || o.Qty == 0 || o.Tick == 0 {
				t.Errorf("%s of approval %d: the order is %+v", a.Operation, *a.ApprovalID, o)
				continue
			}
			statuses[a.Order.Status] = true
		}
	}
	if len(statuses) < 3 || !statuses["rejected"] || !statuses["resting"] {
		t.Errorf("the orders that were asked for are %v", statuses)
	}
	if seen["place_order"] != 5 || seen["approve_order"] != 2 || seen["reject_order"] != 1 {
		t.Errorf("the activity has %v", seen)
	}
}

// TestOnlyTheOwnerDecides checks that no other credential on any lane decides, and that no answer of a client's does
// (docs/rules/agent-accounts.md#approvals).
func TestOnlyTheOwnerDecides(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	v.Submit(&core.Deposit{User: 4, DepositID: "dave", Amount: 1_000_000})
	_, key := v.newAgent("scout", `{"ask_above":"0"}`)
	owners, _ := v.key(carol, "")
	_, out := v.place(key, 1, 1)
	id := out.Waiting.ApprovalID.String()
	for _, what := range []string{"/approvals/" + id + "/approve", "/approvals/" + id + "/reject"} {
		v.wants("", "POST", what, "", 401, "unauthorized")
		v.wants(dave, "POST", what, "", 404, "unknown_approval")
		for _, token := range []string{key.ID, hex.EncodeToString(key.Secret), owners.ID, "operator"} {
			v.wants(token, "POST", what, "", 401, "unauthorized")
		}
		for name, k := range map[string]lanetest.Key{"the agent's": key, "the owner's": owners} {
			// Signed for the portal, and on the API, where there is no such route.
			r := v.SignedRequest(k, "POST", what, nil)
			if status, _, body := v.send("POST", what, "", r.Header); status != 401 {
				t.Errorf("%s key on the portal: %d %s", name, status, body)
			}
			for _, prefix := range []string{"", "/v1", "/v1/portfolio"} {
				if status, body := v.Call(k, "POST", prefix+what, ""); status != 404 && status != 405 {
					t.Errorf("%s key on the API at %s: %d %s", name, prefix, status, body)
				}
			}
		}
		if status, _, body := v.send("POST", what, "", http.Header{"Cookie": {"token=" + carol}}); status != 401 {
			t.Errorf("a cookie: %d %s", status, body)
		}
		v.wants(carol, "GET", what, "", 405, "method_not_allowed")
	}
	v.Engine.Read(func(m *venue.Venue, w *view.View) {
		if u, ok := m.Agent(3, core.UserID(5)); !ok || len(m.Asks(u.ID)) != 1 {
			t.Errorf("what waited was decided: %+v", u)
		}
	})
	for _, op := range slices.Concat(tools.Operations, tools.RouteOnly, tools.ToolOnly) {
		if name := op.Describe().Name; strings.Contains(name, "approv") && name != tools.ListApprovals.Name {
			t.Errorf("%s is an operation of keys", name)
		}
	}
}
