package admin

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
)

func TestUsersAndDeposits(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"POST", "/admin/users", `{"name":"carol"}`, 201, `^\{"user_id":3,"account_token":"dxa_[0-9a-f]{64}"\}$`},
		{"POST", "/admin/users", `{"name":"dave","referrer_id":3}`, 201, `"user_id":4`},
		{"POST", "/admin/users", `{"name":"erin","referrer_id":77}`, 404, code("unknown_user")},
		{"GET", "/admin/users", "", 200, `\{"user_id":3,"name":"carol","suspended":false,"created_ts":"\d+"\},\{"user_id":4,"name":"dave","referrer_id":3,`},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d1","amount":"5000"}`, 201, `^\{"user_id":3,"deposit_id":"d1","amount":"5000","seq":"\d+"\}$`},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d1","amount":"5001"}`, 409, code("duplicate_deposit_id")},
		{"POST", "/admin/users/4/deposits", `{"deposit_id":"d1","amount":"5000"}`, 409, code("duplicate_deposit_id")},
		{"POST", "/admin/users/9/deposits", `{"deposit_id":"d2","amount":"5000"}`, 404, code("unknown_user")},
		{"POST", "/admin/users/03/deposits", `{"deposit_id":"d2","amount":"5000"}`, 404, code("unknown_user")},
		{"POST", "/admin/users/carol/deposits", `{"deposit_id":"d2","amount":"5000"}`, 404, code("unknown_user")},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d2","amount":"0"}`, 400, code("bad_amount")},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d2","amount":"18446744073709551615"}`, 400, code("bad_amount")},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d2","amount":"10000000000001"}`, 400, code("bad_amount")},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d2","amount":5000}`, 400, code("schema_violation")},
		{"POST", "/admin/users/3/suspend", "", 200, `^\{"user_id":3,"suspended":true,"seq":"\d+"\}$`},
		{"POST", "/admin/users/3/suspend", `{"reason":"again"}`, 200, `"suspended":true`},
		{"GET", "/admin/users", "", 200, `"name":"carol","suspended":true`},
		{"POST", "/admin/users/3/resume", `{}`, 200, `"suspended":false`},
		{"POST", "/admin/users/9/resume", ``, 404, code("unknown_user")},
	})
}

// TestDepositsAreIdempotent checks that concurrent repeats of a deposit get the first
// response and book nothing.
func TestDepositsAreIdempotent(t *testing.T) {
	d := newTestOperator(t, nil)
	_, first := d.do("POST", "/admin/users/1/deposits", `{"deposit_id":"x","amount":"700"}`)
	d.do("POST", "/admin/users/1/deposits", `{"deposit_id":"y","amount":"300"}`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if status, again := d.do("POST", "/admin/users/1/deposits", `{"deposit_id":"x","amount":"0700","reason":"lost the response"}`); status != 201 || again != first {
				t.Errorf("%d %s, first %s", status, again, first)
			}
		})
	}
	all.Wait()
	var trades []core.Command // more events of the account than the view keeps
	for i := range 6000 {
		trades = append(trades, &core.PlaceOrder{User: 1, ClientID: uint64(i + 1), Market: 1, Tick: 100, Qty: 1, Flags: core.PostOnly})
	}
	for group := range slices.Chunk(trades, 500) {
		if _, err := d.Engine.SubmitAll(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	d.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if _, whole := w.EventsAfter(1, 0); whole {
			t.Error("the view has every event of the account")
		}
	})
	if status, again := d.do("POST", "/admin/users/1/deposits", `{"deposit_id":"x","amount":"700"}`); status != 201 || again != first {
		t.Errorf("later: %d %s, first %s", status, again, first)
	}
	d.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if cash, reserved := v.Balance(1); cash+reserved != lanetest.InitialCash+1000 {
			t.Errorf("cash %d", cash)
		}
	})
}

// TestKeys checks that a key of the operator signs requests within its scopes.
func TestKeys(t *testing.T) {
	d := newTestOperator(t, nil)
	var made struct {
		APIKey string `json:"api_key"`
		Secret string
		Scopes []string
	}
	status, body := d.do("POST", "/admin/users/1/keys", `{"label":"treasury","scopes":["withdraw","read"]}`)
	d.read(body, &made)
	secret, err := hex.DecodeString(made.Secret)
	if status != 201 || err != nil || len(secret) != 32 || fmt.Sprint(made.Scopes) != "[read withdraw]" {
		t.Fatalf("POST /admin/users/1/keys: %d %s, want 201, a secret of 32 bytes and the scopes read and withdraw", status, body)
	}
	key := lanetest.Key{ID: made.APIKey, Secret: secret, User: 1}
	if status, body := d.Call(key, "GET", "/v1/portfolio/balance", ""); status != 200 {
		t.Errorf("a read: %d %s", status, body)
	}
	if status, body := d.Call(key, "DELETE", "/v1/portfolio/orders", ""); status != 403 {
		t.Errorf("without trade: %d %s", status, body)
	}
	d.runCases([]want{
		{"POST", "/admin/users/1/keys", "", 201, `"scopes":\["read","trade"\],"created_ts":"\d+"\}$`},
		{"POST", "/admin/users/1/keys", `{"scopes":[]}`, 400, code("schema_violation")},
		{"POST", "/admin/users/1/keys", `{"scopes":["admin"]}`, 400, code("schema_violation")},
		{"POST", "/admin/users/9/keys", "", 404, code("unknown_user")},
		{"POST", "/admin/users/0/keys", "", 404, code("unknown_user")},
	})
	d.Server.Submit(&core.CreateAgent{Owner: 1, Name: "scout"})
	agent := 0
	d.Engine.Read(func(v *venue.Venue, _ *view.View) { agent = int(v.Agents(1)[0]) })
	d.runCases([]want{ // not even the operator gives an agent a key that withdraws
		{"POST", fmt.Sprintf("/admin/users/%d/keys", agent), `{"scopes":["withdraw","read"]}`, 403, code("missing_scope")},
		{"POST", fmt.Sprintf("/admin/users/%d/keys", agent), "", 201, `"scopes":\["read","trade"\]`},
	})
	d.Server.Submit(&core.RevokeKey{User: 1, Key: key.ID})
	if status, body := d.Call(key, "GET", "/v1/portfolio/balance", ""); status != 401 {
		t.Errorf("revoked: %d %s", status, body)
	}
}

func TestMarkets(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"POST", "/admin/markets/1/pause", `{"reason":"news"}`, 200, `^\{"market_id":1,"status":"trading","paused":true,"seq":"\d+"\}$`},
		{"POST", "/admin/markets/1/pause", "", 200, `"status":"trading","paused":true`},
		{"POST", "/admin/markets/1/resume", "", 200, `"status":"trading","paused":false`},
		{"POST", "/admin/markets/1/propose", `{"settle_price":"1"}`, 409, code("invalid_transition")},
		{"POST", "/admin/markets/1/propose", `{"settle_price":"0"}`, 400, code("schema_violation")},
		{"POST", "/admin/markets/2/void", "", 200, `^\{"market_id":2,"status":"void","paused":false,`},
		{"POST", "/admin/markets/2/void", "", 409, code("invalid_transition")},
		{"POST", "/admin/markets/2/pause", "", 409, code("invalid_transition")},
		{"POST", "/admin/markets/32/pause", "", 404, code("unknown_market")},
		{"POST", "/admin/markets/65537/pause", "", 404, code("unknown_market")},
		{"POST", "/admin/markets/one/pause", "", 404, code("unknown_market")},
	})
	d.advance(time.Minute, d.status(1, core.Frozen))
	d.runCases([]want{
		{"POST", "/admin/markets/1/pause", "", 409, code("invalid_transition")},
		{"POST", "/admin/markets/1/propose", `{"settle_price":"6600000000000"}`, 200, `^\{"market_id":1,"status":"proposed","paused":false,`},
		{"POST", "/admin/markets/1/propose", `{"settle_price":"6400000000000","reason":"mistyped"}`, 200, `"status":"proposed"`},
	})
	d.advance(10*time.Second, d.status(1, core.Settled))
	d.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if s, _ := v.Market(1); s.Winner != core.No || s.Gen != 2 || s.Settle != 6_400_000_000_000 {
			t.Errorf("the round after the second proposal: %+v, want it settled for no at 64000 dollars, in generation 2", s.Round)
		}
	})
}

func TestSettings(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"PUT", "/admin/fees", `{"maker_rate":10,"taker_rate":300,"maker_rebate_pct":20,"referral_pct":5}`, 200, `^\{"maker_rate":10,"taker_rate":300,"maker_rebate_pct":20,"referral_pct":5,"as_of_seq":"\d+"\}$`},
		{"PUT", "/admin/fees", `{"maker_rate":301,"taker_rate":300,"maker_rebate_pct":0,"referral_pct":0}`, 400, code("schema_violation")},
		{"PUT", "/admin/fees", `{"maker_rate":0,"taker_rate":300,"maker_rebate_pct":60,"referral_pct":60}`, 400, code("schema_violation")},
		{"PUT", "/admin/fees", `{"taker_rate":300}`, 400, code("schema_violation")},
		{"PUT", "/admin/fees", "", 400, code("malformed_json")},
		{"PUT", "/admin/schedule", `{"schedule":[{"kind":"maintenance","start_ts":"10","end_ts":"20"}]}`, 200, `^\{"schedule":\[\{"kind":"maintenance","start_ts":"10","end_ts":"20"\}\]\}$`},
		{"PUT", "/admin/schedule", `{"schedule":[{"kind":"maintenance","start_ts":"20","end_ts":"20"}]}`, 400, code("schema_violation")},
		{"PUT", "/admin/schedule", `{"schedule":[{"kind":"maintenance","start_ts":"10","end_ts":"9223372036854775808"}]}`, 400, code("schema_violation")},
		{"PUT", "/admin/schedule", `{}`, 400, code("schema_violation")},
	})
	alice := d.NewKey(1, core.ScopeRead)
	for target, want := range map[string]string{
		"/v1/exchange/schedule": `{"schedule":[{"kind":"maintenance","start_ts":"10","end_ts":"20"}]}`,
		"/v1/exchange/fees":     `{"maker_rate":10,"taker_rate":300,"maker_rebate_pct":20,"referral_pct":5,`,
	} {
		if status, body := d.Call(alice, "GET", target, ""); status != 200 || len(body) < len(want) || body[:len(want)] != want {
			t.Errorf("GET %s: %d %s, want 200 and %s", target, status, body, want)
		}
	}
	d.runCases([]want{{"PUT", "/admin/schedule", `{"schedule":[]}`, 200, `^\{"schedule":\[\]\}$`}})
}

func TestWithdrawals(t *testing.T) {
	d := newTestOperator(t, nil)
	request := func(id string) uint64 {
		return d.Server.Submit(&core.RequestWithdrawal{User: 1, ClientID: id, Amount: 900, Destination: "home"}).Stamp.Seq
	}
	a, b := fmt.Sprint(request("a")), fmt.Sprint(request("b"))
	d.runCases([]want{
		{"POST", "/admin/withdrawals/" + a + "/complete", "", 200, `^\{"withdrawal_id":"` + a + `","client_withdrawal_id":"a","amount":"900","destination":"home","status":"completed","state":"completed","reference":"","seq":"\d+","ts":"\d+"\}$`},
		{"POST", "/admin/withdrawals/" + a + "/complete", "", 200, `"status":"completed"`},
		{"POST", "/admin/withdrawals/" + a + "/reject", "", 409, code("invalid_transition")},
		{"POST", "/admin/withdrawals/" + b + "/reject", `{"reason":"no such bank"}`, 200, `"client_withdrawal_id":"b","amount":"900","destination":"home","status":"rejected"`},
		{"POST", "/admin/withdrawals/1/complete", "", 404, code("unknown_withdrawal")},
		{"POST", "/admin/withdrawals/0" + b + "/reject", "", 404, code("unknown_withdrawal")},
		{"GET", "/admin/state", "", 200, `"withdrawals":"900"\}$`},
	})
}

// TestWithdrawalSteps checks every step from every state: those that follow, the repeats, and the refusals,
// which change nothing.
func TestWithdrawalSteps(t *testing.T) {
	d := newTestOperator(t, nil)
	steps := map[string]string{"approve": "approved", "send": "sent", "complete": "completed", "fail": "failed", "reject": "rejected"}
	to := map[string][]string{ // by state: the way there
		"pending": {}, "approved": {"approve"}, "sent": {"approve", "send"}, "completed": {"approve", "send", "complete"},
		"failed": {"approve", "send", "fail"}, "rejected": {"approve", "reject"},
	}
	follow := map[string]string{"pending": "approve complete reject", "approved": "send reject", "sent": "complete fail"}
	status := map[string]string{"pending": "pending", "approved": "pending", "sent": "pending", "completed": "completed", "failed": "rejected", "rejected": "rejected"}
	body := func(step string) string {
		if step == "send" {
			return `{"reference":"bank-88"}`
		}
		return ""
	}
	cash := d.cash(1)
	for from, way := range to {
		for step, then := range steps {
			id := fmt.Sprint(d.Server.Submit(&core.RequestWithdrawal{User: 1, ClientID: from + step, Amount: 900, Destination: "home"}).Stamp.Seq)
			reference := ""
			for _, s := range way {
				d.runCases([]want{{"POST", "/admin/withdrawals/" + id + "/" + s, body(s), 200, `"state":"` + steps[s] + `"`}})
				if s == "send" {
					reference = "bank-88"
				}
			}
			switch {
			case then == from || slices.Contains(strings.Fields(follow[from]), step):
				if step == "send" {
					reference = "bank-88"
				}
				d.runCases([]want{{"POST", "/admin/withdrawals/" + id + "/" + step, body(step), 200, `"status":"` + status[then] + `","state":"` + then + `","reference":"` + reference + `"`}})
			default:
				then = from
				d.runCases([]want{{"POST", "/admin/withdrawals/" + id + "/" + step, body(step), 409, code("invalid_transition")}})
			}
			if status[then] != "rejected" {
				cash -= 900
			}
			if got := d.cash(1); got != cash {
				t.Fatalf("cash %d after %s of one that was %s, want %d", got, step, from, cash)
			}
			if then == "sent" {
				d.runCases([]want{{"POST", "/admin/withdrawals/" + id + "/send", `{"reference":"bank-89"}`, 409, code("invalid_transition")}})
			}
		}
	}
	for _, reference := range []string{`{}`, `{"reference":""}`, `{"reference":"` + strings.Repeat("x", 129) + `"}`, `{"reference":"a\nb"}`} {
		d.runCases([]want{{"POST", "/admin/withdrawals/1/send", reference, 400, code("schema_violation")}})
	}
}

func TestTicks(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"POST", "/admin/oracle/ticks", `{"feed":0,"source":"a","price":"6500000000000"}`, 200, `^\{"feed":0,"price":"6500000000000","fresh_source_count":1,"indexed":true,"seq":"\d+"\}$`},
		{"POST", "/admin/oracle/ticks", `{"feed":0,"source":"b","price":"6500000000003"}`, 200, `^\{"feed":0,"price":"6500000000001","fresh_source_count":2,`},
		{"POST", "/admin/oracle/ticks", `{"feed":1,"source":"a","price":"180000000000"}`, 200, `^\{"feed":1,"price":"180000000000","fresh_source_count":1,`},
		{"POST", "/admin/oracle/ticks", `{"feed":3,"source":"a","price":"1"}`, 400, code("schema_violation")},
		{"POST", "/admin/oracle/ticks", `{"feed":0,"source":"","price":"1"}`, 400, code("schema_violation")},
		{"POST", "/admin/oracle/ticks", `{"feed":0,"source":"a","price":"0"}`, 400, code("schema_violation")},
		{"POST", "/admin/oracle/ticks", `{"feed":0,"source":"a","price":1}`, 400, code("schema_violation")},
	})
	d.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if tick, ok, _, _ := v.Index(core.BTC); !ok || tick.Price != 6_500_000_000_001 || !tick.Manual || tick.Count != 2 {
			t.Errorf("the index of BTC: %+v, want 6500000000001 by hand, of two sources", tick)
		}
	})
}

// TestTicksKeepTheirOrder checks that of concurrent posts the last sequenced tick is the
// median of the prices of all sources.
func TestTicksKeepTheirOrder(t *testing.T) {
	d := newTestOperator(t, nil)
	const sources = 9
	for range 5 {
		var all sync.WaitGroup
		for i := range sources {
			all.Go(func() {
				if status, body := d.do("POST", "/admin/oracle/ticks", fmt.Sprintf(`{"feed":0,"source":"s%d","price":"%d"}`, i, 6_500_000_000_000+i)); status != 200 {
					t.Errorf("POST /admin/oracle/ticks: %d %s, want 200", status, body)
				}
			})
		}
		all.Wait()
		d.Engine.Read(func(v *venue.Venue, _ *view.View) {
			if tick, _, _, _ := v.Index(core.BTC); tick.Price != 6_500_000_000_004 || tick.Count != sources {
				t.Errorf("%d of %d", tick.Price, tick.Count)
			}
		})
	}
}

// TestStateAndSnapshot checks that the terms of the money invariant add up, and that a
// snapshot returns the hash of the state.
func TestStateAndSnapshot(t *testing.T) {
	d := newTestOperator(t, nil)
	type sums struct {
		Seq, Cash, Reserved, Collateral, Fees, Deposits, Withdrawals uint64 `json:",string"`
		StateHash                                                    string `json:"state_hash"`
	}
	buy := func(u core.UserID, o core.Outcome, qty core.Qty) {
		r := d.Server.Submit(&core.PlaceOrder{User: u, ClientID: uint64(qty), Market: 1, Side: core.Buy, Outcome: o, Type: core.Limit, Tick: 5000, Qty: qty})
		if r.Reject != core.OK {
			t.Fatal(r.Reject)
		}
	}
	buy(1, core.Yes, 10)
	buy(2, core.No, 4)
	var s sums
	status, body := d.do("GET", "/admin/state", "")
	d.read(body, &s)
	if status != 200 || s.Collateral != 40000 || s.Reserved == 0 || s.Fees == 0 {
		t.Errorf("GET /admin/state: %d %s, want 200, 40000 pips as collateral, a reserve and fees", status, body)
	}
	if held, paid := s.Cash+s.Reserved+s.Collateral+s.Fees, s.Deposits-s.Withdrawals; held != paid {
		t.Errorf("GET /admin/state: %d pips are held and %d were paid in: %s", held, paid, body)
	}
	for range 2 {
		var snapshot sums
		status, body = d.do("POST", "/admin/snapshot", "")
		d.read(body, &snapshot)
		seq, hash, err := d.Engine.Hash()
		if err != nil {
			t.Fatal(err)
		}
		if status != 200 || snapshot.Seq != seq || snapshot.StateHash != hex.EncodeToString(hash[:]) {
			t.Errorf("%d %s, want seq %d and hash %x", status, body, seq, hash)
		}
	}
}

// TestAudit checks that the actions of operators and accounts are listed with actor, reason
// and outcome, and that pages stay consistent while actions are added.
func TestAudit(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"POST", "/admin/users", `{"name":"carol","reason":"requested by mail"}`, 201, `"user_id":3`},
		{"POST", "/admin/users/3/deposits", `{"deposit_id":"d1","amount":"5000","reason":"wire 7"}`, 201, `"seq"`},
		{"POST", "/admin/users/3/keys", `{"scopes":["read"]}`, 201, `"api_key"`},
		{"POST", "/admin/users/3/suspend", `{"reason":"fraud?"}`, 200, ``},
		{"POST", "/admin/markets/2/void", `{"reason":"wrong price"}`, 200, ``},
		{"POST", "/admin/markets/2/void", `{"reason":"again"}`, 409, ``},
		{"PUT", "/admin/fees", `{"maker_rate":0,"taker_rate":300,"maker_rebate_pct":0,"referral_pct":0}`, 200, ``},
		{"POST", "/admin/oracle/ticks", `{"feed":0,"source":"a","price":"6500000000000","reason":"manual"}`, 200, ``},
	})
	d.Server.Submit(&core.RevokeKey{User: 3, Key: "nokey", Audit: core.Audit{Who: "account", Why: "revoked"}})
	d.runCases([]want{
		{"GET", "/admin/audit?limit=2", "", 200, `^\{"actions":\[\{"seq":"\d+","ts":"\d+","who":"account","why":"revoked","action":"revoke_key","user_id":3,"detail":\{"api_key":"nokey"\}\},\{"seq":"\d+","ts":"\d+","who":"operator","why":"manual","action":"post_tick","detail":\{"feed":"0","price":"6500000000000"\}\}\],"cursor":"[^"]+","as_of_seq":"\d+"\}$`},
		{"GET", "/admin/audit?action=void_market", "", 200, `"why":"again","action":"void_market","market_id":2,"refused":"invalid_transition"\},.*"why":"wrong price","action":"void_market","market_id":2\}\],"cursor":""`},
		{"GET", "/admin/audit?user_id=3&who=operator", "", 200, `"why":"fraud\?","action":"suspend_user","user_id":3\},.*"action":"create_key","user_id":3,"detail":\{"api_key":"[^"]+","scopes":"read"\}\},.*"action":"deposit".*"amount":"5000".*"why":"requested by mail","action":"create_user","user_id":3,"detail":\{"name":"carol"\}\}\],"cursor":""`},
		{"GET", "/admin/audit?who=nobody", "", 200, `^\{"actions":\[\],"cursor":"",`},
		{"GET", "/admin/audit?limit=0", "", 400, ``},
		{"GET", "/admin/audit?cursor=x", "", 400, code("bad_cursor")},
	})
	type list struct {
		Actions []struct {
			Seq         uint64 `json:",string"`
			Action, Why string
		}
		Cursor string
	}
	var whole, got list
	_, body := d.do("GET", "/admin/audit", "")
	d.read(body, &whole)
	for cursor := ""; ; {
		var p list
		status, body := d.do("GET", "/admin/audit?limit=3&cursor="+cursor, "")
		if d.read(body, &p); status != 200 || len(p.Actions) > 3 {
			t.Fatalf("GET /admin/audit?limit=3: %d %s, want 200 and three actions at most", status, body)
		}
		got.Actions = append(got.Actions, p.Actions...)
		if cursor = p.Cursor; cursor == "" {
			break
		}
		d.do("POST", "/admin/users/3/resume", "")
	}
	if len(whole.Actions) < 9 || fmt.Sprint(got.Actions) != fmt.Sprint(whole.Actions) {
		t.Errorf("by pages %v\nin one response %v", got.Actions, whole.Actions)
	}
}

func TestUserPages(t *testing.T) {
	d := newTestOperator(t, nil)
	for i := range 5 {
		d.do("POST", "/admin/users", fmt.Sprintf(`{"name":"n%d"}`, i))
	}
	var got []uint32
	for cursor := ""; ; {
		var p struct {
			Users []struct {
				UserID uint32 `json:"user_id"`
			}
			Cursor string
		}
		status, body := d.do("GET", "/admin/users?limit=3&cursor="+cursor, "")
		if d.read(body, &p); status != 200 {
			t.Fatalf("GET /admin/users?limit=3: %d %s, want 200", status, body)
		}
		for _, u := range p.Users {
			got = append(got, u.UserID)
		}
		if cursor = p.Cursor; cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != "[1 2 3 4 5 6 7]" {
		t.Errorf("users %v", got)
	}
	d.runCases([]want{{"GET", "/admin/users?limit=1001", "", 400, code("schema_violation")}})
}
