package agent

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/schemas"
)

// approval is one that waits for 90.5 s more from now on.
func approval() schemas.AgentApproval {
	return schemas.AgentApproval{
		ApprovalID: 190, UserID: 7, Agent: "bot", Status: "waiting", RoundNumber: 12, Category: 3, Side: "buy", Outcome: "yes", Type: "limit", TIF: "gtc", Tick: 4700, Qty: 10,
		Cost: 49_300, OpenCost: 12_300, CreatedTs: schemas.U64(now.UnixNano()), ExpiresTs: schemas.U64(now.Add(90_500 * time.Millisecond).UnixNano()),
	}
}

func TestApprovalStates(t *testing.T) {
	for _, c := range []struct {
		status, reason string
		order, later   schemas.U64
		want           string
	}{
		{"waiting", "", 0, 0, "waits for you, 1m30s left"},
		{"waiting", "", 0, 120, "waits for you, 0s left"},
		{"placed", "", 191, 0, "it was approved and placed, order 191"},
		{"refused", "insufficient_balance", 0, 0, "it was approved, but the venue rejected it: insufficient balance"},
		{"rejected", "", 0, 0, "its owner rejected it"},
		{"expired", "", 0, 0, "nobody decided in time"},
		{"canceled", "key_revoked", 0, 0, "it was canceled: its key was revoked"},
	} {
		a := approval()
		if a.Status, a.Reason = c.status, c.reason; c.order != 0 {
			a.OrderID = &c.order
		}
		if got := state(&a, now.Add(time.Duration(c.later)*time.Second)); got != c.want {
			t.Errorf("%s: %s, want %s", c.status, got, c.want)
		}
	}
}

// TestApprovalsTable tests that the list names the approval that waits the longest in the commands that decide.
func TestApprovalsTable(t *testing.T) {
	old, ended := approval(), approval()
	old.ApprovalID, old.Type, old.TIF, old.Outcome, old.Tick = 180, "market", "ioc", "no", 5300
	ended.TIF, ended.Flags = "gtt", uint8(core.PostOnly|core.CancelOnPause)
	ended.ApprovalID, ended.Status = 170, core.AskRejected.String()
	var out bytes.Buffer
	l := schemas.AgentApprovalList{Approvals: []schemas.AgentApproval{approval(), old, ended}, PageEnd: schemas.PageEnd{Cursor: "next"}}
	if err := (&approvals{Status: "waiting,rejected"}).print(&out, " --as maker", &l, now); err != nil {
		t.Fatal(err)
	}
	name := cli.CommandName()
	for _, want := range []string{
		"APPROVAL  AGENT  SERIES",
		"190       bot    btc-15m  12     buy 10 YES @ 47¢                                   $4.93  $1.23     2027-01-15 08:00:00  waits for you, 1m30s left\n",
		"180       bot    btc-15m  12     buy 10 NO at market, worst 53¢                     $4.93",
		"buy 10 YES @ 47¢, gtt, post_only, cancel_on_pause  ",
		"its owner rejected it\n",
		"\nPlace it: " + name + " agent approve 180 --as maker\nOr not:   " + name + " agent reject 180 --as maker\n",
		"\nOlder: " + name + " agent approvals --cursor next --status waiting,rejected --as maker\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestDecided(t *testing.T) {
	const asked = "Approval 190 of bot, buy 10 YES @ 47¢ in btc-15m for at most $4.93: "
	for _, c := range []struct {
		status, reason string
		order          *schemas.Outcome
		want           string
	}{
		{"rejected", "", nil, asked + "rejected. Nothing was placed."},
		{"refused", "insufficient_balance", nil, asked + "approved, but not placed, because the venue rejects it now: insufficient_balance. " + schemas.ErrorInfoOf("insufficient_balance").Means},
		{"placed", "", nil, asked + "approved and placed before, as order 191."},
		{"placed", "", &schemas.Outcome{OrderID: 191, Status: "resting", RestingQty: 10}, asked + "approved. Your order waits to buy 10 YES at 47¢. Order 191."},
		{"placed", "", &schemas.Outcome{OrderID: 191, Status: "canceled", Reason: "fok_infeasible"}, asked + "approved. The order to buy 10 YES in btc-15m was canceled: it could not be filled completely. Order 191."},
	} {
		d := schemas.AgentApprovalDecided{Approval: approval(), Order: c.order}
		if d.Approval.Status, d.Approval.Reason = c.status, c.reason; c.status == "placed" {
			d.Approval.OrderID = schemas.Ptr(schemas.U64(191))
		}
		if got := decided(&d); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	d := schemas.AgentApprovalDecided{Approval: approval(), Order: &schemas.Outcome{OrderID: 191, Status: "executed", FilledQty: 10, Fills: []schemas.OutcomeFill{{TickYes: 4600, Qty: 10}}}}
	d.Approval.Status, d.Approval.Type = "placed", "market"
	if got, want := decided(&d), "Bought 10 YES in btc-15m at 46¢ for $4.60. Highest price: 47¢. Order 191."; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
