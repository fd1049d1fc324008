package mcp

import (
	"fmt"
	"strings"
	"testing"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
)

// unfunded opens an account that never held money, and returns it with n keys.
func (d *testVenue) unfunded(n int) (u core.UserID, keys []lanetest.Key) {
	d.T.Helper()
	for _, e := range d.Submit(&core.CreateUser{Name: "unfunded"}).Events {
		if e, ok := e.(*core.UserChanged); ok {
			u = e.User.ID
		}
	}
	for range n {
		keys = append(keys, d.NewKey(u, everyone))
	}
	return u, keys
}

// TestUnfundedAccountsReachNoLog plays an attacker with 20 keys of an account that never held money, and every
// way to place an order on both lanes. No command is sequenced, no order has a row, a placement has the error
// of its preview, and the client_order_ids are free once the account has money
// (docs/rules/orders.md#accounts-without-money).
func TestUnfundedAccountsReachNoLog(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.FreezeClock() // no timer sequences a command
	d.Venue.Config.WriteFloor, d.Venue.Config.ReadRate = 100_000, 100_000
	u, keys := d.unfunded(20)
	before := d.Engine.Seq()
	for _, k := range keys {
		for i, x := range []struct{ was, is, want string }{
			{"", "", "insufficient_balance"},
			{`"tick":5000`, `"tick":5000,"max_cost":"1"`, "insufficient_balance"}, // with money: canceled
			{`"tick":5000`, `"type":"market","max_cost":"1"`, "insufficient_balance"},
			{`"buy"`, `"sell"`, "insufficient_position"},
			{`"qty":10`, `"qty":10,"reduce_only":true`, "reduce_only_violation"},
			{`"market_id":1`, `"market_id":32`, "unknown_market"},
			{`"tick":5000`, `"tick":4999`, "bad_price_tick"},
			{`"tick":5000`, `"tick":20000`, "bad_price_tick"},
			{`"qty":10`, `"qty":0`, "bad_qty"},
			{`"client_order_id":"10"`, `"client_order_id":"0"`, "client_order_id_required"},
		} {
			o := strings.Replace(order(i+1, ""), x.was, x.is, 1)
			for _, path := range []string{"", "/preview"} {
				if status, _, body := d.Send(d.SignedRequest(k, "POST", "/v1/portfolio/orders"+path, []byte(o))); status < 400 || at(t, string(body), "error", "code") != x.want {
					t.Errorf("%s %s: %d %s, want %s", path, o, status, body, x.want)
				}
			}
			for _, tool := range []string{"place_order", "preview_order"} {
				if got := d.callTool(k, tool, o); !got.IsError || at(t, string(got.StructuredContent), "error", "code") != x.want {
					t.Errorf("%s %s: %s, want %s", tool, o, got.StructuredContent, x.want)
				}
			}
		}
		batch := fmt.Sprintf(`{"orders":[%s,%s]}`, order(100, ""), strings.Replace(order(101, ""), `"buy"`, `"sell"`, 1))
		_, _, body := d.Send(d.SignedRequest(k, "POST", "/v1/portfolio/orders/batch", []byte(batch)))
		for _, got := range []string{string(body), string(d.callTool(k, "place_orders", batch).StructuredContent)} {
			if strings.Count(got, `"code":"insufficient_balance"`) != 1 || strings.Count(got, `"code":"insufficient_position"`) != 1 {
				t.Error(got)
			}
		}
		replace := `{"client_order_id":"102","tick":5000,"qty":10}`
		if status, _, body := d.Send(d.SignedRequest(k, "POST", "/v1/portfolio/orders/7/replace", []byte(replace))); status != 404 || at(t, string(body), "error", "code") != "unknown_order" {
			t.Errorf("a replace without money: %d %s, want 404 unknown_order", status, body)
		}
	}
	if now := d.Engine.Seq(); now != before {
		t.Errorf("%d commands were sequenced", now-before)
	}
	d.Engine.Read(func(v *venue.Venue, w *view.View) {
		for o := range w.Orders(u, 0) {
			t.Errorf("a row: %+v", o)
		}
		if v.UsedID(u, 0) || v.UsedID(u, 100) {
			t.Error("a client_order_id is used")
		}
	})
	d.Submit(&core.Deposit{User: u, DepositID: "first", Amount: 1_000_000})
	for _, id := range []int{1, 100} {
		if status, _, body := d.Send(d.SignedRequest(keys[0], "POST", "/v1/portfolio/orders", []byte(order(id, "")))); status != 201 {
			t.Errorf("after a deposit: %d %s", status, body)
		}
	}
	before = d.Engine.Seq()
	poor := strings.Replace(order(103, ""), `"qty":10`, `"qty":1000`, 1)
	if status, _, body := d.Send(d.SignedRequest(keys[0], "POST", "/v1/portfolio/orders", []byte(poor))); status != 403 || at(t, string(body), "error", "code") != "insufficient_balance" || d.Engine.Seq() != before+1 {
		t.Errorf("a buy beyond the money: %d %s, %d commands", status, body, d.Engine.Seq()-before)
	}
}

// TestMoneySpentIsMoneyHeld checks that the orders of an account whose money has gone, and of an agent that got
// its first by a transfer, are sequenced.
func TestMoneySpentIsMoneyHeld(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.FreezeClock()
	u, keys := d.unfunded(1)
	agent := core.UserID(0)
	for _, e := range d.Submit(&core.CreateAgent{Owner: 1, Name: "agent"}).Events {
		if e, ok := e.(*core.UserChanged); ok {
			agent = e.User.ID
		}
	}
	k := d.NewKey(agent, readTrade)
	place := func(k lanetest.Key, id int, commands uint64) {
		t.Helper()
		before := d.Engine.Seq()
		d.Send(d.SignedRequest(k, "POST", "/v1/portfolio/orders", []byte(order(id, ""))))
		if got := d.Engine.Seq() - before; got != commands {
			t.Errorf("%d commands, want %d", got, commands)
		}
	}
	place(keys[0], 1, 0)
	d.Submit(&core.Deposit{User: u, DepositID: "first", Amount: 1})
	d.Submit(&core.RequestWithdrawal{User: u, ClientID: "all", Amount: 1, Destination: "bank"})
	place(keys[0], 1, 1)
	place(k, 1, 0)
	d.Submit(&core.Transfer{Owner: 1, ClientID: "there", From: 1, To: agent, Amount: 1})
	d.Submit(&core.Transfer{Owner: 1, ClientID: "back", From: agent, To: 1, Amount: 1})
	place(k, 1, 1)
}

// TestAgentsWithoutMoneyShareTheRate has three agents that never held money cancel as fast as they can. Together
// with their owner they have its rate once. An agent with money has a rate of its own
// (docs/rules/limits.md#account-rate).
func TestAgentsWithoutMoneyShareTheRate(t *testing.T) {
	t.Parallel()
	d := newTestVenue(t)
	d.FreezeClock()
	c := &d.Venue.Config
	c.WriteFloor, c.AccountRate = 40, 50 // 80 cancels of a key at once, and 100 of an account
	owner, keys := d.unfunded(1)
	agent := func(name string) (u core.UserID) {
		t.Helper()
		for _, e := range d.Submit(&core.CreateAgent{Owner: owner, Name: name}).Events {
			if e, ok := e.(*core.UserChanged); ok && e.User.ID != owner {
				u = e.User.ID
			}
		}
		keys = append(keys, d.NewKey(u, core.ScopeRead|core.ScopeTrade))
		return u
	}
	cancels := func(keys ...lanetest.Key) (n int) {
		t.Helper()
		for _, k := range keys {
			for range 100 {
				status, _, body := d.Send(d.SignedRequest(k, "DELETE", "/v1/portfolio/orders", nil))
				if status != 200 {
					if at(t, string(body), "error", "code") != "rate_limited" {
						t.Fatalf("DELETE /v1/portfolio/orders: %d %s, want 200 or rate_limited", status, body)
					}
					break
				}
				n++
			}
		}
		return n
	}
	agent("one")
	agent("two")
	three := agent("three")
	if n := cancels(keys...); n != 100 {
		t.Errorf("%d cancels of the family, want 100", n)
	}
	d.Submit(&core.Deposit{User: owner, DepositID: "first", Amount: 1000})
	d.Submit(&core.Transfer{Owner: owner, ClientID: "t", From: owner, To: three, Amount: 1000})
	if n := cancels(keys[3], keys[1]); n != 80 {
		t.Errorf("%d cancels, want 80 of the agent with money", n)
	}
}
