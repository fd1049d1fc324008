package admin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/internal/logbuffer"
	"duplex/lanes/gate"
	"duplex/schemas"
	"duplex/tools"
)

// add adds a named operator and returns the token.
func (d *testOperator) add(name, role string) string {
	d.T.Helper()
	var made struct {
		OperatorToken string `json:"operator_token"`
	}
	status, body := d.do("POST", "/admin/operators", fmt.Sprintf(`{"name":%q,"role":%q}`, name, role))
	if d.read(body, &made); status != 201 || made.OperatorToken == "" {
		d.T.Fatalf("POST /admin/operators as %s: %d %s, want 201 and a token", role, status, body)
	}
	return made.OperatorToken
}

// keepShared keeps the shared token an admin, as a dev venue does.
func keepShared(o *Options) { o.KeepShared = true }

// fourEyes requires a second operator above 1 dollar.
func fourEyes(o *Options) {
	o.KeepShared, o.FourEyes = true, new(core.Pips(10_000))
}

func TestNamedOperators(t *testing.T) {
	d := newTestOperator(t, keepShared)
	d.runCases([]want{
		{"GET", "/admin/operators", "", 200, `^\{"operators":\[\],"as_of_seq":"\d+"\}$`},
		{"POST", "/admin/operators", `{"name":"alice","role":"treasurer","reason":"hired"}`, 201, `^\{"name":"alice","role":"treasurer","operator_token":"dxo_[0-9a-f]{64}","created_ts":"\d+"\}$`},
		{"POST", "/admin/operators", `{"name":"alice","role":"viewer"}`, 409, code("duplicate_operator_name")},
		{"POST", "/admin/operators", `{"name":"bob","role":"boss"}`, 400, code("schema_violation")},
		{"POST", "/admin/operators", `{"name":"bob"}`, 400, code("schema_violation")},
		{"DELETE", "/admin/operators/nobody", "", 200, `^\{"name":"nobody","revoked":true\}$`},
	})
	for _, name := range []string{"", "operator", "account", "dx", "dx dev", "a\\u0000b", "1a", "-", strings.Repeat("x", 65)} {
		d.runCases([]want{{"POST", "/admin/operators", fmt.Sprintf(`{"name":"%s","role":"viewer"}`, name), 400, code("schema_violation")}})
	}
	bob := d.add("bob", "admin")
	d.as(bob,
		want{"POST", "/admin/users", `{"name":"carol","reason":"asked"}`, 201, `"user_id":3`},
		want{"GET", "/admin/operators", "", 200, `^\{"operators":\[\{"name":"alice","role":"treasurer","created_ts":"\d+"\},\{"name":"bob","role":"admin",`},
		want{"GET", "/admin/audit?limit=1", "", 200, `"who":"bob","why":"asked","action":"create_user","user_id":3`},
		want{"DELETE", "/admin/operators/bob", "", 200, `"revoked":true`},
		want{"GET", "/admin/operators", "", 401, code("unauthorized")},
		want{"POST", "/admin/users", `{"name":"mallory"}`, 401, code("unauthorized")},
	)
	d.runCases([]want{
		{"GET", "/admin/audit?action=add_operator", "", 200, `"detail":\{"name":"bob","role":"admin"\}\},.*"who":"operator","why":"","action":"add_operator","detail":\{"name":"alice","role":"viewer"\},"refused":"duplicate_operator_name"`},
		{"GET", "/admin/audit?who=bob&limit=1", "", 200, `"action":"revoke_operator","detail":\{"name":"bob"\}`},
	})
	d.Engine.Read(func(v *venue.Venue, _ *view.View) {
		if got := v.Operators(); len(got) != 1 || got[0].Name != "alice" || got[0].Role != core.RoleTreasurer {
			t.Errorf("the operators are %+v, want alice alone, as treasurer", got)
		}
	})
	if again := d.add("bob", "admin"); again == bob {
		t.Error("the new token of a name is the revoked one")
	}
	if logs := d.logs.String(); strings.Contains(logs, bob) || !strings.Contains(logs, "operator=bob") {
		t.Error(logs)
	}
}

// TestSharedToken checks that the shared token of a live venue only reads once there is a named admin.
func TestSharedToken(t *testing.T) {
	d := newTestOperator(t, nil)
	d.add("vera", "viewer")
	d.runCases([]want{{"POST", "/admin/users", `{"name":"carol"}`, 201, ``}})
	ann := d.add("ann", "admin")
	d.runCases([]want{
		{"GET", "/admin/users", "", 200, ``},
		{"GET", "/metrics", "", 200, `duplex_users`},
		{"POST", "/admin/users", `{"name":"dave"}`, 403, code("missing_scope")},
		{"POST", "/admin/operators", `{"name":"eve","role":"admin"}`, 403, code("missing_scope")},
	})
	d.as(ann, want{"DELETE", "/admin/operators/ann", "", 200, ""})
	d.runCases([]want{{"POST", "/admin/operators", `{"name":"eve","role":"admin"}`, 201, ``}})
}

// TestSharedTokenOfAPerson checks that a named operator whose token is also the shared one keeps name and
// role.
func TestSharedTokenOfAPerson(t *testing.T) {
	d := newTestOperator(t, keepShared)
	d.Server.Submit(&core.AddOperator{Name: "vera", Role: core.RoleViewer, TokenHash: sha256.Sum256([]byte(token))})
	d.runCases([]want{
		{"GET", "/admin/whoami", "", 200, `^\{"name":"vera","role":"viewer","actions":\[.*\],"created_ts":"[1-9]\d+"`},
		{"POST", "/admin/users", `{"name":"carol"}`, 403, code("missing_scope")},
	})
}

// TestRoles compares every route with the table of the rulebook: the roles that it names get past the
// check of roles, and no others do.
func TestRoles(t *testing.T) {
	text, err := os.ReadFile("../../docs/rules/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (.*) \\|$").FindAllSubmatch(text, -1) {
		for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllSubmatch(row[2], -1) {
			documented[string(m[1])] = append(documented[string(m[1])], string(row[1]))
		}
	}
	d := newTestOperator(t, keepShared)
	tokens := map[string]string{}
	for _, role := range core.RoleNames() {
		tokens[role] = d.add(role, role)
	}
	source, err := os.ReadFile("routes.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`"([a-z_]+)", "([A-Z]+) (/admin/[^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(routes) < 35 {
		t.Fatal(routes)
	}
	known := map[string]bool{"pprof": true}
	for _, r := range append(routes, []string{"", "pprof", "GET", "/debug/pprof"}) {
		action, method := r[1], r[2]
		known[action] = true
		target := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r[3], "x") // no such account, market or operator
		for role, token := range tokens {
			status, _, body := d.send(method, target, "", bearer(token))
			may := status != 403
			if _, restricted := permissions[action]; restricted && role != "admin" {
				if want := slices.Contains(documented[action], role); may != want {
					t.Errorf("%s may %s: %t, documented %t", role, action, may, want)
				}
			} else if !may {
				t.Errorf("%s may not %s: %s", role, action, body)
			}
			if status == 401 || status == 404 && strings.Contains(body, `"not_found"`) {
				t.Errorf("%s %s: %d %s, want the route to exist and the token to be valid", method, target, status, body)
			}
		}
	}
	for action := range permissions {
		if !known[action] {
			t.Errorf("permissions has %s, which is no route", action)
		}
		if len(documented[action]) == 0 {
			t.Errorf("the rulebook names no role for %s", action)
		}
	}
}

// TestCancelOfWhatWaits checks that an operator's cancel counts what waits for the owner of an agent, and ends it.
func TestCancelOfWhatWaits(t *testing.T) {
	d := newTestOperator(t, nil)
	asks := core.Mandate{Set: 1 << core.RuleAskAbove, AskAbove: 10_000}
	d.Server.Submit(&core.CreateAgent{Owner: 1, Name: "scout", Fund: 100_000, Mandate: asks})
	d.Server.Submit(&core.PlaceOrder{User: 3, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 4000, Qty: 2})
	d.Server.Submit(&core.PlaceOrder{User: 3, ClientID: 2, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 4000, Qty: 9})
	d.runCases([]want{
		{"DELETE", "/admin/users/3/orders", "", 200, `"canceled":2`},
		{"DELETE", "/admin/users/3/orders", "", 200, `"canceled":0`},
	})
}

func TestAccountOfAUser(t *testing.T) {
	d := newTestOperator(t, nil)
	key := d.NewKey(1, core.ScopeRead|core.ScopeTrade)
	order := d.Server.Submit(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 4000, Qty: 10})
	d.Server.Submit(&core.PlaceOrder{User: 1, ClientID: 2, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 5000, Qty: 3})
	d.Server.Submit(&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.No, Tick: 5000, Qty: 3})
	d.Server.Submit(&core.RequestWithdrawal{User: 1, ClientID: "w", Amount: 900, Destination: "home"})
	d.Server.Submit(&core.CreateAgent{Owner: 1, Name: "scout"})
	d.runCases([]want{
		{"GET", "/admin/users/1", "", 200, `^\{"user_id":1,"name":"alice","kind":"owner","state":"active","created_ts":"\d+","referrer_id":null,"cash":"\d+","reserved":"\d+","positions":\[\{"market_id":1,.*"yes_qty":3,.*\],"open_orders":\[\{.*"order_id":"` + fmt.Sprint(order.Stamp.Seq) + `".*\}\],"keys":\[\{"api_key":"` + key.ID + `","label":"","scopes":\["read","trade"\],"created_ts":"\d+","kind":"hmac"\}\],"withdrawals_pending":\[\{"withdrawal_id":"\d+","client_withdrawal_id":"w","amount":"900".*\}\],"volume_30d":"3","as_of_seq":"\d+"\}$`},
		{"GET", "/admin/users/3", "", 200, `"name":"scout","kind":"agent","state":"active".*"positions":\[\],"open_orders":\[\],"keys":\[\],"withdrawals_pending":\[\],"volume_30d":"0"`},
		{"GET", "/admin/users/4", "", 404, code("unknown_user")},
		{"GET", "/admin/users/1/ledger?limit=1", "", 200, `^\{"ledger":\[\{.*"kind":"withdrawal","amount":"-900".*\}\],"cursor":".+","as_of_seq":"\d+"\}$`},
		{"GET", "/admin/users/1/activity?limit=2", "", 200, `^\{"activity":\[\{"seq":"\d+","ts":"\d+","event":\{"event":"balance".*"cause":"withdrawal".*\}\},\{"seq":"\d+","ts":"\d+","event":\{"event":"withdrawal".*\}\}\],"cursor":".+"`},
		{"GET", "/admin/users/4/ledger", "", 404, code("unknown_user")},
		{"GET", "/admin/users/4/activity", "", 404, code("unknown_user")},
		{"GET", "/admin/users/1/activity?cursor=x", "", 400, code("bad_cursor")},
		{"GET", "/admin/search?q=ALI", "", 200, `^\{"users":\[\{"user_id":1,"name":"alice","suspended":false,"created_ts":"\d+","matched":"name"\}\],"cursor":"","as_of_seq":"\d+"\}$`},
		{"GET", "/admin/search?q=" + key.ID, "", 200, `"user_id":1,.*"matched":"api_key"\}\],"cursor":""`},
		{"GET", fmt.Sprintf("/admin/search?q=%d", order.Stamp.Seq), "", 200, `"user_id":1,.*"matched":"order_id"\}\],"cursor":""`},
		{"GET", "/admin/search?q=2", "", 200, `"user_id":2,.*"matched":"user_id"\}\],"cursor":""`},
		{"GET", "/admin/search?q=zzz", "", 200, `"users":\[\],"cursor":""`},
		{"GET", "/admin/search", "", 400, code("schema_violation")},
		{"DELETE", "/admin/users/2/keys/" + key.ID, "", 200, `"revoked":true`}, // not an account's own key: nothing happens
	})
	if status, body := d.Call(key, "GET", "/v1/portfolio/balance", ""); status != 200 {
		t.Errorf("a read after the operator revoked the key under another account: %d %s, want 200", status, body)
	}
	d.runCases([]want{
		{"DELETE", "/admin/users/1/orders", `{"reason":"asked on the phone"}`, 200, `^\{"user_id":1,"canceled":1,"seq":"\d+"\}$`},
		{"DELETE", "/admin/users/1/orders", "", 200, `"canceled":0`},
		{"DELETE", "/admin/users/9/orders", "", 404, code("unknown_user")},
		{"DELETE", "/admin/users/1/keys/" + key.ID, `{"reason":"leaked"}`, 200, `^\{"api_key":"` + key.ID + `","revoked":true\}$`},
		{"DELETE", "/admin/users/9/keys/" + key.ID, "", 404, code("unknown_user")},
		{"POST", "/admin/users/9/token", "", 404, code("unknown_user")},
		{"POST", "/admin/users/3/token", "", 409, code("invalid_transition")},
		{"GET", "/admin/audit?user_id=1&limit=2", "", 200, `"why":"leaked","action":"revoke_key".*"why":"","action":"cancel_orders"`},
	})
	if status, body := d.Call(key, "GET", "/v1/portfolio/balance", ""); status != 401 {
		t.Errorf("revoked: %d %s", status, body)
	}
	d.Engine.Read(func(_ *venue.Venue, w *view.View) {
		if o := w.Order(1, core.OrderID(order.Stamp.Seq)); o == nil || o.Reason != core.ByOperator {
			t.Errorf("the order is %+v, want it canceled by the operator", o)
		}
	})
}

// TestResetToken checks that the token before is invalid when the response arrives.
func TestResetToken(t *testing.T) {
	d := newTestOperator(t, nil)
	var was, now struct {
		AccountToken string `json:"account_token"`
	}
	_, body := d.do("POST", "/admin/users", `{"name":"carol"}`)
	d.read(body, &was)
	status, body := d.do("POST", "/admin/users/3/token", "")
	if d.read(body, &now); status != 200 || now.AccountToken == was.AccountToken {
		t.Fatalf("POST /admin/users/3/token: %d %s, want 200 and another token", status, body)
	}
	for token, want := range map[string]core.UserID{was.AccountToken: 0, now.AccountToken: 3} {
		if u, ok := d.Engine.AccountByToken(sha256.Sum256([]byte(token))); u != want || ok != (want != 0) {
			t.Errorf("a token is that of account %d, %t, want %d", u, ok, want)
		}
	}
}

func TestWithdrawalsQueue(t *testing.T) {
	d := newTestOperator(t, nil)
	d.FreezeClock()
	var ids []string
	for i := range 5 {
		ids = append(ids, fmt.Sprint(d.Server.Submit(&core.RequestWithdrawal{User: core.UserID(1 + i%2), ClientID: fmt.Sprint(i), Amount: 100, Destination: "home"}).Stamp.Seq))
	}
	d.do("POST", "/admin/withdrawals/"+ids[1]+"/complete", "")
	d.do("POST", "/admin/withdrawals/"+ids[3]+"/reject", "")
	list := func(q string) (got []string) {
		for cursor := ""; ; {
			var page struct {
				Withdrawals []struct {
					UserID       uint32 `json:"user_id"`
					WithdrawalID string `json:"withdrawal_id"`
				}
				Cursor string
			}
			status, body := d.do("GET", "/admin/withdrawals?limit=2"+q+cursor, "")
			if d.read(body, &page); status != 200 || len(page.Withdrawals) > 2 {
				t.Fatalf("GET /admin/withdrawals?limit=2: %d %s, want 200 and two rows at most", status, body)
			}
			for _, w := range page.Withdrawals {
				got = append(got, w.WithdrawalID)
			}
			if page.Cursor == "" {
				return got
			}
			cursor = "&cursor=" + page.Cursor
		}
	}
	for q, want := range map[string][]string{
		"":                  {ids[4], ids[3], ids[2], ids[1], ids[0]},
		"&status=pending":   {ids[0], ids[2], ids[4]},
		"&status=completed": {ids[1]},
		"&status=rejected":  {ids[3]},
	} {
		if got := list(q); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", q, got, want)
		}
	}
	d.runCases([]want{
		{"GET", "/admin/withdrawals?status=pending", "", 200, `^\{"withdrawals":\[\{"user_id":1,"withdrawal_id":"` + ids[0] + `","client_withdrawal_id":"0","amount":"100","destination":"home","status":"pending","state":"pending","reference":"","seq":"\d+","ts":"\d+"\},`},
		{"GET", "/admin/withdrawals?status=lost", "", 400, code("schema_violation")},
		{"GET", "/admin/withdrawals?cursor=x", "", 400, code("bad_cursor")},
	})
	// One that is sent waits for a bank, and not for an operator.
	d.do("POST", "/admin/withdrawals/"+ids[0]+"/approve", "")
	d.runCases([]want{{"POST", "/admin/withdrawals/" + ids[0] + "/send", `{"reference":" "}`, 400, code("schema_violation")}})
	d.do("POST", "/admin/withdrawals/"+ids[0]+"/send", `{"reference":"bank-1"}`)
	if text := d.logs.String(); !regexp.MustCompile(`action=admin_approve_withdrawal operator=operator .* user_id=1 amount=100 withdrawal_id=` + ids[0]).MatchString(text) {
		t.Error(text)
	}
	d.AdvanceClock(90 * time.Second)
	_, metrics := d.do("GET", "/metrics", "")
	if !strings.Contains(metrics, "\nduplex_withdrawals_pending 2\n") || !regexp.MustCompile(`\nduplex_withdrawal_oldest_pending_seconds (90|89\.9+\d*)\n`).MatchString(metrics) || !strings.Contains(metrics, "\nduplex_approvals_pending 0\n") {
		t.Error(metrics)
	}
}

func TestGlance(t *testing.T) {
	d := newTestOperator(t, nil)
	d.runCases([]want{
		{"GET", "/admin/feeds", "", 200, `^\{"feeds":\[\{"feed":0,"name":"BTC","stale":false,"session_open":true,"price":"6500000000000","age_ms":\d+,"source_count":\d,"min_sources":1,"manual":(true|false),"sources":\[\]\},\{"feed":1,"name":"gold",.*"price":null,"age_ms":null,`},
		{"GET", "/admin/markets", "", 200, `^\{"markets":\[\{"market_id":1,"round_number":"1","category":1,"series":"btc-60s","status":"trading","paused":false,"halted":false,"strike":"6500000000000","close_ts":"\d+","settle_price":null,"open_interest":0,"volume":0,"needs_decision":false,"void_ts":null\},`},
	})
	d.advance(time.Minute, d.status(1, core.Frozen))
	d.runCases([]want{
		{"GET", "/admin/feeds", "", 200, `"name":"BTC","stale":true`},
		{"GET", "/admin/markets", "", 200, `^\{"markets":\[\{"market_id":1,.*?"status":"frozen",.*?"settle_price":"\d+",.*?"needs_decision":true,"void_ts":"\d+"\}`},
	})
}

// TestSlowActions checks that the rotation of the master key has more time than a request, and that a
// search that runs out of time has a cursor.
func TestSlowActions(t *testing.T) {
	d := newTestOperator(t, func(o *Options) {
		o.Venue.Config.ResponseBudget = 1
		o.RotateMasterKey = func(ctx context.Context, _ core.Audit) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(20 * time.Millisecond):
				return 3, nil
			}
		}
	})
	d.runCases([]want{{"POST", "/admin/master-key/rotate", "", 200, `"resealed":3`}})

	late, cancel := context.WithCancel(t.Context())
	cancel()
	l := &lane{Options: Options{Venue: d.Venue, Gate: d.Gate}}
	out, err := l.search(late, &gate.Call{}, &schemas.SearchUsers{Q: "a"})
	if err != nil || len(out.Users) > 0 || out.Cursor == "" {
		t.Fatalf("a search without time: %+v %v, want no users and a cursor", out, err)
	}
	rest, err := l.search(t.Context(), &gate.Call{}, &schemas.SearchUsers{Q: "a", Page: schemas.Page{Cursor: out.Cursor}})
	if err != nil || len(rest.Users) == 0 {
		t.Errorf("the search from the cursor on: %+v %v, want users", rest, err)
	}
}

// TestHeadOnAFollower checks that HEAD reads on a node that takes no writes.
func TestHeadOnAFollower(t *testing.T) {
	d := newTestOperator(t, nil)
	d.Gate.MemberURL = func() string { return "" }
	for method, want := range map[string]int{"GET": 200, "HEAD": 200} {
		if status, body := d.do(method, "/admin/state", ""); status != want {
			t.Errorf("%s /admin/state on a follower: %d %s, want %d", method, status, body, want)
		}
	}
	d.runCases([]want{{"POST", "/admin/markets/1/pause", "", 421, code("read_only_node")}})
}

type noCluster struct{ Cluster }

// TestClusterActionsAreLogged checks that the log names the operator, the member and the reason of a
// change of the cluster, which the journal does not have.
func TestClusterActionsAreLogged(t *testing.T) {
	var log logbuffer.Buffer
	l := &lane{Options: Options{Cluster: noCluster{}, Log: slog.New(slog.NewTextHandler(&log, nil))}}
	c := &gate.Call{Op: "admin_remove_member", Operator: core.Operator{Name: "ann"}}
	err := l.changeCluster(t.Context(), c, "n2", "its disk", func(context.Context) error { return engine.ErrRefused })
	if tools.ErrorOf(err).Code != "invalid_transition" {
		t.Error(err)
	}
	for _, want := range []string{"action=admin_remove_member", "operator=ann", "member=n2", `reason="its disk"`, "error_code=invalid_transition"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %s in %s", want, log.String())
		}
	}
}
