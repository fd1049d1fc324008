package portal

import (
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
)

// ask sends a request of an owner and decodes the response into out.
func (v *testPortal) ask(token, method, target, body string, status int, out any) {
	v.T.Helper()
	answer := v.wants(token, method, target, body, status, "")
	if err := json.Unmarshal([]byte(answer), out); err != nil {
		v.T.Fatalf("%s %s: %v in %s", method, target, err, answer)
	}
}

// newAgent creates an agent of carol, who has $100, with a mandate and a key.
func (v *testPortal) newAgent(name, mandate string) (id uint32, key lanetest.Key) {
	v.T.Helper()
	var made schemas.AgentCreated
	v.ask(carol, "POST", "/agents", fmt.Sprintf(`{"name":%q,"fund":"200000","mandate":%s}`, name, mandate), 201, &made)
	key, _ = v.keyAt(carol, fmt.Sprintf("/agents/%d/keys", made.UserID), "")
	return made.UserID, key
}

// TestAgentRoutes checks every route of an owner, with good and bad input
// (docs/rules/agent-accounts.md#owners-routes).
func TestAgentRoutes(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	v.Submit(&core.Deposit{User: 4, DepositID: "dave", Amount: 1_000_000})
	wants := v.wants
	id, key := v.newAgent("scout", `{"max_daily_loss":"500000","categories":[1,2]}`)
	path := fmt.Sprintf("/agents/%d", id)
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{`{"name":"scout"}`, 409, "duplicate_agent_name"},
		{`{"name":"Scout"}`, 400, "schema_violation"},
		{`{"name":""}`, 400, "schema_violation"},
		{`{}`, 400, "schema_violation"},
		{`{"name":"a","owner":3}`, 400, "unknown_field"},
		{`{"name":"a","fund":"9000000"}`, 403, "insufficient_balance"},
		{`{"name":"a","fund":"-1"}`, 400, "schema_violation"},
		{`{"name":"a","fund":5}`, 400, "schema_violation"},
		{`{"name":"a","fund":"18446744073709551615"}`, 403, "insufficient_balance"},
		{`{"name":"a","mandate":[]}`, 400, "schema_violation"},
		{`{"name":"a","mandate":{"max_loss":"5"}}`, 400, "bad_mandate"},
		{`{"name":"a","mandate":{"categories":[10]}}`, 400, "bad_mandate"},
		{`{"name":"a","mandate":{"expires_ts":"5"}}`, 400, "bad_mandate"},
		{`{"name":"second","mandate":null}`, 201, ""},
	} {
		wants(carol, "POST", "/agents", c.body, c.status, c.code)
	}
	for i := range 30 {
		v.Submit(&core.CreateAgent{Owner: 3, Name: fmt.Sprint("n", i)})
	}
	wants(carol, "POST", "/agents", `{"name":"late"}`, 403, "agent_limit")

	// Another owner's agent, an unknown account, an owner and no number are all unknown.
	for _, other := range []string{"/agents/99", "/agents/1", "/agents/3", "/agents/0", "/agents/x", "/agents/4294967296"} {
		for _, r := range [][3]string{
			{"GET", "/mandate", ""}, {"PUT", "/mandate", `{"if_rev":1,"mandate":{}}`}, {"POST", "/fund", `{"client_transfer_id":"x","amount":"1"}`},
			{"POST", "/return", `{"client_transfer_id":"x","amount":"1"}`}, {"POST", "/halt", ""}, {"POST", "/resume", ""}, {"POST", "/close", ""},
			{"POST", "/keys", ""}, {"GET", "/keys", ""}, {"DELETE", "/keys/k", ""}, {"GET", "/activity", ""},
		} {
			wants(carol, r[0], other+r[1], r[2], 404, "unknown_agent")
		}
	}
	wants(dave, "POST", path+"/halt", "", 404, "unknown_agent")
	wants(dave, "GET", path+"/mandate", "", 404, "unknown_agent")

	// No API key and no other bearer reaches the routes.
	for _, r := range [][2]string{{"GET", "/agents"}, {"POST", path + "/resume"}, {"GET", path + "/keys"}, {"GET", "/agents/x/y"}} {
		wants("dxa_guessed", r[0], r[1], "", 401, "unauthorized")
		signed := v.SignedRequest(key, r[0], r[1], nil)
		status, _, _ := v.send(r[0], r[1], "", signed.Header)
		if status != http.StatusUnauthorized {
			t.Errorf("%s %s signed by the agent's key: %d", r[0], r[1], status)
		}
	}

	var m schemas.AgentMandate
	v.ask(carol, "GET", path+"/mandate", "", 200, &m)
	if m.Rev != 1 || len(m.Mandate.Categories) != 2 || *m.Mandate.MaxDailyLoss != 500_000 {
		t.Errorf("GET mandate: %+v, want rev 1, two categories and a max_daily_loss of 500000", m)
	}
	wants(carol, "PUT", path+"/mandate", `{"if_rev":2,"mandate":{}}`, 409, "stale_mandate")
	wants(carol, "PUT", path+"/mandate", `{"if_rev":2,"mandate":{"price_collar":-1}}`, 400, "bad_mandate")
	wants(carol, "PUT", path+"/mandate", `{"if_rev":0,"mandate":{}}`, 400, "schema_violation")
	wants(carol, "PUT", path+"/mandate", `{"mandate":{}}`, 400, "schema_violation")
	wants(carol, "PUT", path+"/mandate", `{"if_rev":1,"mandate":{"expires_ts":"1"}}`, 400, "bad_mandate")
	var set schemas.AgentCreated
	v.ask(carol, "PUT", path+"/mandate", `{"if_rev":1,"mandate":{"max_open_cost":"5","max_orders_per_day":7}}`, 200, &set)
	if set.Rev != 2 || set.UserID != id || set.Seq == 0 {
		t.Errorf("PUT mandate: %+v, want rev 2 of agent %d, and a seq", set, id)
	}

	var first, again schemas.Transferred
	v.ask(carol, "POST", path+"/fund", `{"client_transfer_id":"t-1","amount":"7000"}`, 200, &first)
	v.ask(carol, "POST", path+"/fund", `{"client_transfer_id":"t-1","amount":"7000"}`, 200, &again)
	if want := (schemas.Transferred{ClientTransferID: "t-1", From: 3, To: id, Amount: 7000, Seq: first.Seq, Ts: first.Ts}); first != want || first.Ts == 0 {
		t.Errorf("the transfer is %+v, want %+v with a time", first, want)
	}
	if again != first {
		t.Errorf("the repeated transfer is %+v, want %+v", again, first)
	}
	wants(carol, "POST", path+"/return", `{"client_transfer_id":"t-1","amount":"7000"}`, 409, "duplicate_client_transfer_id")
	wants(carol, "POST", path+"/fund", `{"client_transfer_id":"t-1","amount":"7001"}`, 409, "duplicate_client_transfer_id")
	wants(carol, "POST", path+"/return", `{"client_transfer_id":"t-2","amount":"0"}`, 400, "bad_amount")
	wants(carol, "POST", path+"/return", `{"client_transfer_id":"t-2","amount":"207001"}`, 403, "insufficient_balance")
	wants(carol, "POST", path+"/return", `{"client_transfer_id":"t 2","amount":"1"}`, 400, "schema_violation")
	wants(carol, "POST", path+"/return", `{"amount":"1"}`, 400, "schema_violation")
	v.ask(carol, "POST", path+"/return", `{"client_transfer_id":"t-2","amount":"207000"}`, 200, &first)

	state := func(what, want string) {
		t.Helper()
		var out schemas.AgentState
		v.ask(carol, "POST", path+"/"+what, "", 200, &out)
		if out.State != want || out.UserID != id || out.Seq == 0 {
			t.Errorf("%s: %+v, want agent %d %s, and a seq", what, out, id, want)
		}
	}
	wants(carol, "POST", path+"/halt", "{}", 400, "unexpected_body")
	state("halt", "halted")
	state("halt", "halted")
	state("resume", "active")

	var keys schemas.KeyList
	v.ask(carol, "GET", path+"/keys", "", 200, &keys)
	if len(keys.Keys) != 1 || keys.Keys[0].APIKey != key.ID {
		t.Errorf("the agent's keys are %+v, want %s alone", keys, key.ID)
	}
	wants(carol, "POST", path+"/keys", `{"scopes":["withdraw"]}`, 403, "missing_scope")
	if status, answer := v.Call(key, "POST", "/v1/portfolio/orders", `{"client_order_id":"5","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":1}`); status != 403 || !strings.Contains(answer, `"rule":"max_open_cost"`) {
		t.Errorf("an order over the mandate's max_open_cost: %d %s, want 403 with this rule", status, answer)
	}
	var page schemas.ActivityList
	v.ask(carol, "GET", path+"/activity?limit=2", "", 200, &page)
	if len(page.Activity) != 2 || page.Cursor == "" {
		t.Fatalf("GET activity?limit=2: %+v, want two entries and a cursor", page)
	}
	a := page.Activity[0]
	if a.Operation != "place_order" || a.Code != "mandate_violation" || a.Rule != "max_open_cost" {
		t.Errorf("the newest activity is %+v, want an order against max_open_cost", a)
	}
	if *a.APIKey != key.ID || *a.ClientOrderID != 5 || a.OrderID != nil {
		t.Errorf("the newest activity is %+v, want client order 5 of key %s, without an order", a, key.ID)
	}
	if o := a.Order; o == nil || *o != (schemas.ActivityOrder{MarketID: 1, Generation: o.Generation, Category: 1, Side: "buy", Outcome: "yes", Type: "limit", Tick: 4000, Qty: 1, Status: "rejected", Reason: "mandate_violation"}) {
		t.Errorf("the order of the newest activity is %+v", o)
	}
	if a := page.Activity[1]; a.Operation != "resume_agent" || a.Code != "" || a.APIKey != nil {
		t.Errorf("the activity before it is %+v, want resume_agent without an error and a key", a)
	}
	var operations []string
	var amounts []schemas.Signed
	for cursor := page.Cursor; ; cursor = page.Cursor {
		page = schemas.ActivityList{}
		v.ask(carol, "GET", path+"/activity?limit=3&cursor="+cursor, "", 200, &page)
		for _, a := range page.Activity {
			operations = append(operations, a.Operation)
			if a.Amount != nil {
				amounts = append(amounts, *a.Amount)
			}
		}
		if page.Cursor == "" {
			break
		}
	}
	if got := strings.Join(operations, " "); got != "halt_agent halt_agent transfer transfer transfer transfer transfer transfer transfer set_mandate set_mandate set_mandate create_key create_agent" {
		t.Errorf("activity: %s", got)
	}
	if want := []schemas.Signed{-207_000, 7000, 200_000}; !slices.Equal(amounts, want) {
		t.Errorf("the transfers of the activity are %v, want %v", amounts, want)
	}

	wants(carol, "DELETE", path+"/keys/"+key.ID, "", 200, "")
	if status, _ := v.Call(key, "GET", "/v1/account", ""); status != 401 {
		t.Errorf("a revoked key reads: %d", status)
	}
	var list schemas.AgentList
	v.ask(carol, "GET", "/agents?limit=5", "", 200, &list)
	if len(list.Agents) != 5 || list.Cursor == "" || list.Agents[0].UserID < list.Agents[1].UserID {
		t.Errorf("GET /agents?limit=5: %+v, want five, the newest first, and a cursor", list)
	}
	seen := len(list.Agents)
	for list.Cursor != "" {
		cursor := list.Cursor
		list = schemas.AgentList{}
		v.ask(carol, "GET", "/agents?limit=20&cursor="+cursor, "", 200, &list)
		seen += len(list.Agents)
	}
	if seen != 32 {
		t.Errorf("the pages have %d agents, want 32", seen)
	}
	last := list.Agents[len(list.Agents)-1]
	if last.Name != "scout" || last.Rev != 2 {
		t.Errorf("the oldest agent is %s at rev %d, want scout at rev 2", last.Name, last.Rev)
	}
	if room := last.Headroom; *room.MaxOpenCost != 5 || *room.MaxOrdersPerDay != 7 || room.MaxDailyLoss != nil {
		t.Errorf("the headroom of the oldest agent is %+v, want 5 of max_open_cost, 7 orders and no max_daily_loss", room)
	}
	state("close", "closed")
	state("close", "closed")
	wants(carol, "POST", path+"/halt", "", 409, "invalid_transition")
	wants(carol, "POST", path+"/keys", "", 409, "invalid_transition")
	wants(carol, "PUT", path+"/mandate", `{"if_rev":2,"mandate":{}}`, 409, "invalid_transition")
	wants(carol, "POST", path+"/fund", `{"client_transfer_id":"t-9","amount":"1"}`, 409, "invalid_transition")

	v.Submit(&core.SuspendUser{User: 3})
	wants(carol, "POST", "/agents", `{"name":"z"}`, 403, "user_suspended")
}

// TestFamilyOfKeys checks that a family shares the limit of new keys, and that the owner's leaving
// halts its agents and revokes their keys.
func TestFamilyOfKeys(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.FreezeClock()
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	id, key := v.newAgent("scout", `{}`)
	for range newKeysPerMinute - 1 {
		v.wants(carol, "POST", fmt.Sprintf("/agents/%d/keys", id), "", 201, "")
	}
	v.wants(carol, "POST", "/keys", "", 429, "rate_limited")
	v.wants(carol, "POST", fmt.Sprintf("/agents/%d/keys", id), "", 429, "rate_limited")
	if status, answer := v.Call(key, "GET", "/v1/account", ""); status != 200 || !strings.Contains(answer, `"kind":"agent"`) {
		t.Errorf("GET /v1/account with the agent's first key: %d %s, want 200 and kind agent", status, answer)
	}
	v.wants(carol, "DELETE", "/account", "", 200, "")
	if status, _ := v.Call(key, "GET", "/v1/account", ""); status != 401 {
		t.Errorf("the agent's key after its owner left: %d", status)
	}
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		if s := m.State(core.UserID(id)); s != core.AgentHalted {
			t.Errorf("the agent is %v", s)
		}
	})
}

// TestStolenKey plays whoever stole an agent's key and has an accomplice: it buys dear from the
// accomplice and sells cheap, again and again, after a halt too. No bound of the mandate moves
// (docs/rules/agent-accounts.md#guarantees).
func TestStolenKey(t *testing.T) {
	t.Parallel()
	const limit, collar = 50_000, 500
	v := newTestPortal(t, nil)
	v.Gate.Venue.Config.WriteFloor = 10_000 // the mandate is what stops it here
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	id, key := v.newAgent("scout", fmt.Sprintf(`{"max_daily_loss":"%d","price_collar":%d,"max_order_cost":"20000"}`, limit, collar))
	accomplice := v.NewKey(1, core.ScopeRead|core.ScopeTrade)
	next := 0
	place := func(k lanetest.Key, order string) (int, string) {
		next++
		return v.Call(k, "POST", "/v1/portfolio/orders", fmt.Sprintf(`{"client_order_id":"%d","market_id":1,%s}`, next, order))
	}
	rules := map[string]int{}
	attack := func(order string) {
		t.Helper()
		status, answer := place(key, order)
		if status == 403 {
			var e schemas.ErrorBody
			if err := json.Unmarshal([]byte(answer), &e); err != nil || e.Error.Code != "mandate_violation" {
				return // no contracts to sell
			}
			rules[(*e.Error.Details)["rule"]]++
		}
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			if u := m.Usage(core.UserID(id)); u.LossToday+u.OpenCost > limit {
				t.Fatalf("after %s: loss today %d and open cost %d pass %d", order, u.LossToday, u.OpenCost, limit)
			}
		})
	}
	for range 60 {
		place(accomplice, `"side":"buy","outcome":"no","tick":1000,"qty":20`) // offers YES at 9000
		attack(`"side":"buy","outcome":"yes","tick":9000,"qty":1`)
		attack(`"side":"buy","outcome":"yes","type":"market","max_cost":"20000","qty":20`)
		attack(`"side":"buy","outcome":"yes","type":"market","worst_tick":9999,"max_cost":"20000","qty":20`)
		v.Call(accomplice, "DELETE", "/v1/portfolio/orders", "")
		place(accomplice, `"side":"buy","outcome":"no","tick":4600,"qty":3`) // offers YES within the collar
		attack(`"side":"buy","outcome":"yes","tick":5400,"qty":4,"tif":"ioc"`)
		attack(`"side":"buy","outcome":"yes","tick":5400,"qty":3,"tif":"ioc"`)
		place(accomplice, `"side":"buy","outcome":"no","tick":4900,"qty":1`) // an ask that lowers the sale's reference
		place(accomplice, `"side":"buy","outcome":"yes","tick":4600,"qty":3`)
		attack(`"side":"sell","outcome":"yes","tick":100,"qty":3,"tif":"ioc"`)
		attack(`"side":"sell","outcome":"yes","tick":4600,"qty":3,"tif":"ioc"`)
		v.Call(accomplice, "DELETE", "/v1/portfolio/orders", "")
	}
	for _, rule := range []string{"price_collar", "max_order_cost", "max_daily_loss"} {
		if rules[rule] == 0 {
			t.Errorf("%s rejected nothing: %v", rule, rules)
		}
	}
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		p := m.Performance(core.UserID(id))
		if p.Realized < -limit || p.Realized == 0 {
			t.Errorf("the attack realized %d", p.Realized)
		}
	})

	// One key cannot cancel the orders of another account, and nothing passes a halt.
	if status, answer := place(v.NewKey(2, core.ScopeTrade), `"side":"buy","outcome":"yes","tick":4000,"qty":1`); status != 201 {
		t.Fatalf("the order of the other account: %d %s, want 201", status, answer)
	}
	v.Call(key, "DELETE", "/v1/portfolio/orders", "")
	v.Engine.Read(func(m *venue.Venue, _ *view.View) {
		if m.Usage(2).OpenOrders != 1 {
			t.Error("the agent's cancel-all canceled another account's order")
		}
	})
	v.wants(carol, "POST", fmt.Sprintf("/agents/%d/halt", id), "", 200, "")
	for _, order := range []string{`"side":"buy","outcome":"yes","tick":400,"qty":1`, `"side":"sell","outcome":"yes","tick":5000,"qty":1`} {
		if status, answer := place(key, order); status == 201 || !strings.Contains(answer, `"rule":"halted"`) && !strings.Contains(answer, "insufficient_position") {
			t.Errorf("after the halt: %d %s", status, answer)
		}
	}
	for _, r := range [][2]string{{"POST", "/v1/withdrawals"}, {"POST", "/v1/agents"}} {
		if status, answer := v.Call(key, r[0], r[1], `{"client_withdrawal_id":"w","amount":"1","destination":"bank"}`); status < 400 {
			t.Errorf("%s %s with the agent's key: %d %s, want an error", r[0], r[1], status, answer)
		}
	}
}

// TestAgentsBadInput checks the owner's routes of a family that is suspended, in part or as a whole,
// with amounts at the end of the range, with keys of other accounts, and with mandates that two
// programs set at once.
func TestAgentsBadInput(t *testing.T) {
	t.Parallel()
	v := newTestPortal(t, nil)
	v.Submit(&core.Deposit{User: 3, DepositID: "carol", Amount: 1_000_000})
	id, key := v.newAgent("scout", `{"reduce_only":false,"max_daily_loss":"0","categories":[9],"max_order_qty":1000000,"price_collar":0}`)
	sibling, siblingKey := v.newAgent("sibling", `{}`)
	path := fmt.Sprintf("/agents/%d", id)
	wants := func(method, target, body string, status int, code string) {
		t.Helper()
		v.wants(carol, method, target, body, status, code)
	}
	money := func() (out [3]core.Pips) {
		v.Engine.Read(func(m *venue.Venue, _ *view.View) {
			for i, u := range []core.UserID{3, core.UserID(id), core.UserID(sibling)} {
				out[i], _ = m.Balance(u)
			}
		})
		return out
	}
	before := money()

	// Amounts.
	for _, amount := range []string{"9223372036854775807", "9223372036854775808", "18446744073709551615", "1000001"} {
		wants("POST", path+"/fund", `{"client_transfer_id":"huge","amount":"`+amount+`"}`, 403, "insufficient_balance")
		wants("POST", path+"/return", `{"client_transfer_id":"huge","amount":"`+amount+`"}`, 403, "insufficient_balance")
	}
	for _, amount := range []string{`"-1"`, `"18446744073709551616"`, `1`, `null`, `""`, `"0x1"`, `"1.0"`, `" 1"`} {
		wants("POST", path+"/fund", `{"client_transfer_id":"odd","amount":`+amount+`}`, 400, "schema_violation")
	}
	for _, body := range []string{`{"client_transfer_id":"a","amount":"1","from":4}`, `{"client_transfer_id":"a","amount":"1","to":3}`, `{"client_transfer_id":"a","amount":"1","agent_id":4}`} {
		wants("POST", path+"/fund", body, 400, "unknown_field")
	}
	wants("POST", path+"/fund?agent_id=4", `{"client_transfer_id":"a","amount":"1"}`, 400, "unknown_field")

	// Mandates.
	var seen schemas.AgentMandate
	v.ask(carol, "GET", path+"/mandate", "", 200, &seen)
	if b, _ := json.Marshal(seen.Mandate); seen.Mandate.ReduceOnly || *seen.Mandate.MaxDailyLoss != 0 || *seen.Mandate.PriceCollar != 0 {
		t.Errorf("the mandate reads back as %s", b)
	}
	for _, mandate := range []string{
		`{"expires_ts":"9223372036854775808"}`, `{"categories":[]}`, `{"categories":[1,2,3,4,5,6,7,8,9,9]}`, `{"max_open_orders":-1}`, `{"max_orders_per_day":1e3}`,
		`{"max_order_cost":"-1"}`, `{"max_open_cost":1}`, `{"Reduce_Only":true}`, `{"max_daily_loss":"1","max_daily_Loss":"2"}`, `{"rev":1}`,
	} {
		wants("PUT", path+"/mandate", `{"if_rev":1,"mandate":`+mandate+`}`, 400, "bad_mandate")
		wants("POST", "/agents", `{"name":"new","mandate":`+mandate+`}`, 400, "bad_mandate")
	}
	for _, body := range []string{`{"if_rev":1,"mandate":null}`, `{"if_rev":1,"mandate":7}`, `{"if_rev":1}`, `{"if_rev":"1","mandate":{}}`, `{"if_rev":-1,"mandate":{}}`, `{"if_rev":4294967296,"mandate":{}}`} {
		wants("PUT", path+"/mandate", body, 400, "schema_violation")
	}
	wants("PUT", path+"/mandate", `{"if_rev":1,"mandate":{"max_daily_loss":"1","max_daily_loss":"2"}}`, 400, "malformed_json")
	wants("PUT", path+"/mandate", `{"if_rev":4294967295,"mandate":{}}`, 409, "stale_mandate")
	results := make(chan int, 8)
	for range cap(results) {
		go func() {
			status, _, _ := v.request(carol, "PUT", path+"/mandate", `{"if_rev":1,"mandate":{}}`)
			results <- status
		}()
	}
	set := 0
	for range cap(results) {
		switch status := <-results; status {
		case 200:
			set++
		case 409:
		default:
			t.Errorf("status %d", status)
		}
	}
	if set != 1 {
		t.Errorf("%d programs replaced the same revision", set)
	}

	// Keys of other accounts, under a path that is the owner's own agent.
	ownKey := v.NewKey(3, core.ScopeRead)
	for _, other := range []lanetest.Key{siblingKey, ownKey, v.NewKey(1, core.ScopeRead)} {
		wants("DELETE", path+"/keys/"+other.ID, "", 200, "")
		if status, _ := v.Call(other, "GET", "/v1/account", ""); status != 200 {
			t.Error("an agent's path revoked a key of another account")
		}
	}

	// Suspended: the agent alone, then the family.
	v.Submit(&core.SuspendUser{User: core.UserID(id)})
	wants("POST", path+"/fund", `{"client_transfer_id":"s","amount":"1"}`, 403, "user_suspended")
	wants("POST", path+"/return", `{"client_transfer_id":"s","amount":"1"}`, 403, "user_suspended")
	if status, answer := v.Call(key, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":1}`); status != 403 || !strings.Contains(answer, "user_suspended") {
		t.Errorf("an order of the suspended agent: %d %s, want 403 user_suspended", status, answer)
	}
	if status, answer := v.Call(key, "GET", "/v1/account", ""); status != 200 || !strings.Contains(answer, `"state":"suspended"`) {
		t.Errorf("GET /v1/account of the suspended agent: %d %s, want 200 and state suspended", status, answer)
	}
	v.Submit(&core.SuspendUser{User: core.UserID(id), Lift: true})
	v.Submit(&core.SuspendUser{User: 3})
	for _, agent := range []uint32{id, sibling} {
		wants("POST", fmt.Sprintf("/agents/%d/fund", agent), `{"client_transfer_id":"s","amount":"1"}`, 403, "user_suspended")
	}
	if status, answer := v.Call(siblingKey, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4000,"qty":1}`); status != 403 || !strings.Contains(answer, "user_suspended") {
		t.Errorf("an order of the sibling of a suspended owner: %d %s, want 403 user_suspended", status, answer)
	}
	v.Submit(&core.SuspendUser{User: 3, Lift: true})
	if after := money(); after != before {
		t.Errorf("rejected transfers moved money: %v, then %v", before, after)
	}
	wants("POST", path+"/fund", `{"client_transfer_id":"s","amount":"1"}`, 200, "") // its id was free
}
