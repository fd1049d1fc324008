package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/venue"
	"duplex/core/view"
	"duplex/lanes/lanetest"
	"duplex/tools"
)

const (
	readTrade = core.ScopeRead | core.ScopeTrade
	allScopes = readTrade | core.ScopeWithdraw
)

func newServer(t *testing.T) (h *lanetest.Server, alice, bob lanetest.Key) {
	h = lanetest.New(t)
	Mount(h.Routes, h.Gate, "test")
	h.Serve()
	return h, h.NewKey(1, allScopes), h.NewKey(2, readTrade)
}

// code returns the error code of a response, "" if it has none.
func code(body string) string {
	var e struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal([]byte(body), &e) // a response that is not an object has no code
	return e.Error.Code
}

// wants sends a request and checks the status and the error code of the response, "" if it must have
// none. It returns the body.
func wants(h *lanetest.Server, k lanetest.Key, method, target, body string, status int, wantCode string) string {
	h.T.Helper()
	got, answer := h.Call(k, method, target, body)
	if got != status || code(answer) != wantCode {
		h.T.Errorf("%s %s %s: %d %s, want %d %s", method, target, body, got, answer, status, wantCode)
	}
	return answer
}

func order(id int, more string) string {
	return fmt.Sprintf(`{"client_order_id":"%d","market_id":1,"side":"buy","outcome":"yes","tick":5000,"qty":10%s}`, id, more)
}

func field(t *testing.T, body string, path ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("no %v in %s", path, body)
		}
		v = m[p]
	}
	return v
}

// get decodes the response to a read, which must succeed.
func get(h *lanetest.Server, k lanetest.Key, target string, into any) {
	h.T.Helper()
	status, body := h.Call(k, "GET", target, "")
	if err := json.Unmarshal([]byte(body), into); err != nil || status != 200 {
		h.T.Fatalf("GET %s: %d %s (%v), want 200 and JSON of the expected type", target, status, body, err)
	}
}

// TestSession places, reads, trades and cancels an order.
func TestSession(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	status, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	if status != 201 || field(t, body, "status") != "resting" || field(t, body, "resting_qty") != 10.0 {
		t.Fatalf("a limit buy of 10: %d %s, want 201 resting with 10", status, body)
	}
	id := field(t, body, "order_id").(string)
	status, body = h.Call(bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","type":"market","qty":4,"max_cost":"1000000"}`)
	want := `"status":"executed","seq":"`
	if status != 201 || !strings.Contains(body, want) || !strings.Contains(body, `"fills":[{"tick_yes":5000,"qty":4,"path":"mint"}]`) {
		t.Fatalf("a market buy of 4 NO: %d %s, want 201 executed with one mint at 5000", status, body)
	}
	for _, c := range []struct{ target, want string }{
		{"/v1/portfolio/orders/" + id, `"status":"partially_filled"`},
		{"/v1/portfolio/orders?client_order_id=1", `"remaining_qty":6`},
		{"/v1/portfolio/fills", `"role":"maker"`},
		{"/v1/portfolio/positions", `"yes_qty":4`},
		{"/v1/portfolio/balance", `{"cash":"99950000","reserved":"30000"`},
		{"/v1/markets?status=trading", `"yes_bid":5000,"yes_bid_qty":6`},
		{"/v1/markets/1", `"open_interest":"4"`},
		{"/v1/markets/1/orderbook", `"yes":[[5000,6]],"no":[]`},
		{"/v1/markets/1/trades", `"taker_outcome":"no"`},
		{"/v1/rounds/1", `"category":1`},
		{"/v1/rounds?category=2", `"category":2`},
		{"/v1/oracle/price", `"price":"6500000000000"`},
		{"/v1/exchange/fees", `"taker_rate":250`},
		{"/v1/exchange/status", `"exchange_active":true`},
		{"/v1/exchange/retention", `{"tape_cap":1000,"terminal_cap":1000,"reject_cap":200,"fill_cap":2000,"ledger_cap":2000,"portfolio_rounds_cap":200,"deposits_cap":1000,"forecast_cap":1000,"event_cap":4096,"history":null}`},
		{"/v1/exchange/schedule", `{"schedule":[]}`},
		{"/v1/account/limits", `"write":{"sustained_rate_per_s":20,"burst":20},"cancel":{"sustained_rate_per_s":40,"burst":40}`},
		{"/v1/portfolio/deadman", `{"armed":false,"timeout_ms":0,"deadline_ts":"0","group_id":0}`},
		{"/v1/deposits/address", `"asset":"USD"`},
		{"/v1/portfolio/settlements", `"settlements":[]`},
		{"/v1/withdrawals", `"withdrawals":[]`},
	} {
		if status, body := h.Call(alice, "GET", c.target, ""); status != 200 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %s", c.target, status, body, c.want)
		}
	}
	status, body = h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_to":2}`)
	if status != 200 || field(t, body, "remaining_qty") != 2.0 || field(t, body, "status") != "partially_filled" {
		t.Errorf("decrease: %d %s", status, body)
	}
	if body := wants(h, alice, "DELETE", "/v1/portfolio/orders/"+id, "", 200, ""); !strings.Contains(body, `"status":"canceled","canceled_qty":2`) {
		t.Errorf("cancel: %s", body)
	}
	wants(h, alice, "DELETE", "/v1/portfolio/orders/"+id, "", 404, "unknown_order")
	wants(h, alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_to":1}`, 400, "invalid_decrease")
}

func TestPlacementErrors(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	wants(h, alice, "POST", "/v1/portfolio/orders", order(1, ""), 201, "")
	reader := h.NewKey(1, core.ScopeRead)
	for i, c := range []struct {
		name   string
		key    lanetest.Key
		body   string
		status int
		code   string
	}{
		{"duplicate", alice, order(1, ""), 409, "duplicate_client_order_id"},
		{"unknown field", alice, order(2, `,"x":1`), 400, "unknown_field"},
		{"scope", reader, order(2, ""), 403, "missing_scope"},
		{"off the grid", alice, strings.Replace(order(2, ""), "5000", "5050", 1), 400, "bad_price_tick"},
		{"cents", alice, strings.Replace(order(3, ""), "5000", "50", 1), 400, "bad_price_tick"},
		{"no quantity", alice, strings.Replace(order(4, ""), `"qty":10`, `"qty":0`, 1), 400, "bad_qty"},
		{"no id", alice, strings.Replace(order(5, ""), `"client_order_id":"5",`, "", 1), 400, "client_order_id_required"},
		{"unknown market", alice, strings.Replace(order(6, ""), `"market_id":1`, `"market_id":31`, 1), 404, "unknown_market"},
		{"no contracts", bob, strings.Replace(order(7, ""), "buy", "sell", 1), 403, "insufficient_position"},
		{"no money", bob, strings.Replace(order(8, ""), `"qty":10`, `"qty":1000000`, 1), 403, "insufficient_balance"},
		{"stale", bob, order(9, `,"generation":7`), 409, "stale_generation"},
		{"past expiry", bob, order(10, `,"tif":"gtt","expiry_ts":"1"`), 400, "bad_expiry"},
		{"reduce", bob, order(11, `,"reduce_only":true`), 403, "reduce_only_violation"},
		{"two objects", bob, order(12, "") + "{}", 400, "malformed_json"},
		{"a tif on a market order", bob, `{"client_order_id":"13","market_id":1,"side":"sell","outcome":"no","type":"market","qty":4,"tif":"ioc"}`, 400, "schema_violation"},
	} {
		wants(h, c.key, "POST", "/v1/portfolio/orders", c.body, c.status, c.code)
		if i%5 == 4 {
			h.AdvanceClock(time.Second) // refills tokens
			h.PostIndex(6_500_000_000_000)
		}
	}
	// An order that the core rejected is recorded, and its id is used up.
	_, body := h.Call(alice, "GET", "/v1/portfolio/orders?status=rejected", "")
	for _, want := range []string{`"order_id":null`, `"reason":"bad_price_tick"`, `"reason":"bad_qty"`, `"qty":0`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s among the rejected orders: %s", want, body)
		}
	}
	wants(h, alice, "POST", "/v1/portfolio/orders", order(2, ""), 409, "duplicate_client_order_id")
	if !strings.Contains(body, `"as_of_seq"`) {
		t.Error("no as_of_seq")
	}
}

func TestBatches(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	body := `{"orders":[` + order(1, "") + `,` + strings.Replace(order(2, ""), "5000", "5050", 1) + `,` + order(1, "") + `]}`
	status, got := h.Call(alice, "POST", "/v1/portfolio/orders/batch", body)
	var each []map[string]any
	if err := json.Unmarshal([]byte(got), &each); err != nil || status != 200 || len(each) != 3 {
		t.Fatalf("a batch of three: %d %s, want 200 and three results", status, got)
	}
	if each[0]["status"] != "resting" || each[1]["error"].(map[string]any)["code"] != "bad_price_tick" || each[2]["error"].(map[string]any)["num"] != 259.0 {
		t.Fatal(got)
	}
	id := each[0]["order_id"].(string)
	status, got = h.Call(alice, "DELETE", "/v1/portfolio/orders/batch", `{"order_ids":["`+id+`","`+id+`","99999"]}`)
	if status != 200 || strings.Count(got, "unknown_order") != 4 || !strings.Contains(got, `"canceled_qty":10`) {
		t.Fatalf("a batch that cancels one order twice and an unknown one: %d %s, want 200, one canceled_qty of 10 and two unknown_order", status, got)
	}
	if status, got = h.Call(alice, "DELETE", "/v1/portfolio/orders/batch", `{"order_ids":[]}`); status != 200 || got != `{"results":[]}` {
		t.Errorf("an empty batch of cancels: %d %s, want 200 and an empty list", status, got)
	}
	wants(h, alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+order(3, "")+`,{"qty":1}]}`, 400, "schema_violation")
}

// TestRateLimits checks that a batch of N costs N tokens, a rejected one 1, and that the
// buckets are independent (docs/rules/limits.md#token-costs).
func TestRateLimits(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.FreezeClock() // no token is refilled, however slow the machine
	var items []string
	for i := range 19 {
		items = append(items, order(i+1, ""))
	}
	wants(h, alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+strings.Join(items, ",")+`]}`, 200, "")
	status, body := h.Call(alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+order(30, "")+`,`+order(31, "")+`,`+order(32, "")+`,`+order(33, "")+`]}`)
	if status != 429 || field(t, body, "error", "message") != "rate limited" || field(t, body, "error", "details", "retry_after_ms") == nil {
		t.Errorf("POST past the bucket: %d %s, want 429 with retry_after_ms", status, body)
	}
	if status, body := h.Call(alice, "DELETE", "/v1/portfolio/orders", ""); status != 200 || field(t, body, "seq") == nil {
		t.Errorf("a cancel with an empty write bucket: %d %s", status, body)
	}
	wants(h, bob, "POST", "/v1/portfolio/orders", order(1, ""), 201, "")
}

// TestCancelByClientOrderID checks the cancel of an order by the id that its placement named.
func TestCancelByClientOrderID(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	const route = "/v1/portfolio/orders/by-client-order-id/"
	h.Call(alice, "POST", "/v1/portfolio/orders", strings.Replace(order(1, ""), `"1"`, `"9223372036854775808"`, 1))
	h.Call(alice, "POST", "/v1/portfolio/orders", order(2, ""))
	h.Call(alice, "POST", "/v1/portfolio/orders", strings.Replace(order(3, ""), "5000", "5050", 1))
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(4, ""))
	wants(h, alice, "POST", "/v1/portfolio/orders/"+field(t, body, "order_id").(string)+"/replace", `{"client_order_id":"5","tick":4900,"qty":4}`, 201, "")
	for _, c := range []struct {
		what   string
		key    lanetest.Key
		id     string
		status int
		want   string
	}{
		{"another account's", bob, "9223372036854775808", 404, "unknown_order"},
		{"the largest half of ids", alice, "9223372036854775808", 200, `"canceled_qty":10`},
		{"a second time", alice, "9223372036854775808", 404, "unknown_order"},
		{"leading zeros", alice, "002", 404, "unknown_order"},
		{"a small id", alice, "2", 200, `"canceled_qty":10`},
		{"a rejected order", alice, "3", 404, "unknown_order"},
		{"an order that was replaced", alice, "4", 404, "unknown_order"},
		{"the order in its stead", alice, "5", 200, `"status":"canceled","canceled_qty":4,"seq":"`},
		{"an id never used", alice, "77", 404, "unknown_order"},
		{"zero", alice, "0", 404, "unknown_order"},
		{"no number", alice, "x", 404, "unknown_order"},
		{"a key that may only read", h.NewKey(1, core.ScopeRead), "2", 403, "missing_scope"},
	} {
		if status, body := h.Call(c.key, "DELETE", route+c.id, ""); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("DELETE by id of %s: %d %s, want %d %s", c.what, status, body, c.status, c.want)
		}
	}
	wants(h, alice, "DELETE", route+"2", "{}", 400, "unexpected_body")
	wants(h, alice, "GET", route+"2", "", 405, "method_not_allowed")
	if _, body := h.Call(alice, "GET", "/v1/portfolio/balance", ""); field(t, body, "reserved") != "0" {
		t.Errorf("the balance after the cancels: %s, want nothing reserved", body)
	}
}

func TestCancelAllFiltersAndBody(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, `,"group_id":7`))
	h.Call(alice, "POST", "/v1/portfolio/orders", order(2, `,"group_id":8`))
	h.Call(alice, "POST", "/v1/portfolio/orders", strings.Replace(order(3, ""), `"market_id":1`, `"market_id":2`, 1))
	wants(h, alice, "DELETE", "/v1/portfolio/orders?nonsense=1", "{}", 400, "unexpected_body")
	for _, c := range []struct {
		target string
		left   int
	}{{"?group_id=7", 2}, {"?market_id=2", 1}, {"?market_id=9", 1}, {"?market_id=0&group_id=0", 0}} {
		wants(h, alice, "DELETE", "/v1/portfolio/orders"+c.target, "", 200, "")
		_, body := h.Call(alice, "GET", "/v1/portfolio/orders?status=resting", "")
		if n := strings.Count(body, `"order_id"`); n != c.left {
			t.Errorf("%s left %d orders, want %d", c.target, n, c.left)
		}
	}
}

func TestPagination(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	for i := range 15 {
		h.Call(alice, "POST", "/v1/portfolio/orders", order(i+1, ""))
	}
	seen, cursor := map[string]bool{}, ""
	for pages := 0; ; pages++ {
		_, body := h.Call(alice, "GET", "/v1/portfolio/orders?limit=4&cursor="+cursor, "")
		var l struct {
			Orders []struct {
				ID string `json:"client_order_id"`
			}
			Cursor string
		}
		if err := json.Unmarshal([]byte(body), &l); err != nil {
			t.Fatal(err)
		}
		for _, o := range l.Orders {
			if seen[o.ID] {
				t.Errorf("order %s is on two pages", o.ID)
			}
			seen[o.ID] = true
		}
		if pages == 1 { // a new order does not change the pages that follow
			h.Call(alice, "POST", "/v1/portfolio/orders", order(100, ""))
		}
		if cursor = l.Cursor; cursor == "" {
			break
		}
	}
	if len(seen) != 15 {
		t.Errorf("%d orders on all pages, want 15", len(seen))
	}
	_, body := h.Call(alice, "GET", "/v1/portfolio/orders?limit=4", "")
	own := field(t, body, "cursor").(string)
	for _, target := range []string{"/v1/portfolio/orders?limit=4&cursor=x", "/v1/portfolio/fills?cursor=" + own, "/v1/portfolio/orders?status=resting&cursor=" + own} {
		wants(h, alice, "GET", target, "", 400, "bad_cursor")
	}
}

func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	for _, c := range []struct {
		method, target string
		status         int
		code           string
	}{
		{"GET", "/v1/nothing", 404, "not_found"},
		{"GET", "/", 404, "not_found"},
		{"PUT", "/v1/time", 405, "method_not_allowed"},
		{"get", "/v1/time", 405, "method_not_allowed"},
		{"POST", "/v1/portfolio/orders/cancel_batch", 405, "method_not_allowed"},
		{"GET", "/v1/markets/99", 404, "unknown_market"},
		{"GET", "/v1/markets/01", 404, "unknown_market"},
		{"GET", "/v1/markets/x", 404, "unknown_market"},
		{"GET", "/v1/rounds/x", 404, "round_not_found"},
		{"GET", "/v1/rounds/31", 404, "round_not_found"},
		{"GET", "/v1/withdrawals/1", 404, "unknown_withdrawal"},
		{"GET", "/v1/oracle/price?feed=2", 200, ""},
		{"HEAD", "/v1/time", 200, ""},
		{"GET", "/v1/arena/advance", 404, "not_found"}, // time passes by itself (docs/rules/operation.md#venue-time)
		{"POST", "/v1/arena/advance", 404, "not_found"},
		{"POST", "/v1/arena/usage", 404, "not_found"},
	} {
		wants(h, alice, c.method, c.target, "", c.status, c.code)
	}
}

func TestWithdrawals(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	request := `{"client_withdrawal_id":"w-1","amount":"1000","destination":"bank"}`
	wants(h, bob, "POST", "/v1/withdrawals", request, 403, "missing_scope")
	status, first := h.Call(alice, "POST", "/v1/withdrawals", request)
	if status != 202 || field(t, first, "status") != "pending" {
		t.Fatalf("POST /v1/withdrawals: %d %s, want 202 pending", status, first)
	}
	if status, again := h.Call(alice, "POST", "/v1/withdrawals", request); status != 202 || again != first {
		t.Errorf("a repeat: %d %s", status, again)
	}
	for body, want := range map[string]string{
		strings.Replace(request, "1000", "1001", 1):                                   "duplicate_client_withdrawal_id",
		strings.Replace(request, "w-1", "w 1", 1):                                     "bad_client_withdrawal_id",
		strings.Replace(request, `"1000"`, `"0"`, 1):                                  "bad_amount",
		strings.Replace(request, "bank", "", 1):                                       "bad_destination",
		`{"client_withdrawal_id":"w-2","amount":"999999999999","destination":"bank"}`: "insufficient_balance",
	} {
		if _, got := h.Call(alice, "POST", "/v1/withdrawals", body); code(got) != want {
			t.Errorf("POST /v1/withdrawals %s: %s, want %s", body, got, want)
		}
	}
	id := field(t, first, "withdrawal_id").(string)
	if status, body := h.Call(alice, "GET", "/v1/withdrawals/"+id, ""); status != 200 || field(t, body, "amount") != "1000" {
		t.Errorf("GET /v1/withdrawals/%s: %d %s, want 200 and the amount 1000", id, status, body)
	}
	wants(h, bob, "GET", "/v1/withdrawals/"+id, "", 404, "unknown_withdrawal")
}

// port is a funding port that returns err.
type port struct{ err error }

func (p *port) Address(context.Context, core.UserID) (string, string, error) {
	return "ledger:1", "USD", p.err
}
func (p *port) Accepts(context.Context, string) error { return p.err }

// TestFundingPort checks the errors of a funding port that is down, slow or rejects: they
// have origin port and no number, no money moves, and a request succeeds once the port is
// back.
func TestFundingPort(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	p := &port{}
	h.Venue.Funds = p
	n := 0
	request := func() string { // each differs, since an exact repeat gets the first response
		n++
		return fmt.Sprintf(`{"client_withdrawal_id":"w-%d","amount":"1000","destination":"bank"}`, n)
	}
	cash := func() any {
		_, body := h.Call(alice, "GET", "/v1/portfolio/balance", "")
		return field(t, body, "cash")
	}
	before := cash()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"down":    {io.ErrUnexpectedEOF, 503, "funding_unavailable"},
		"slow":    {context.DeadlineExceeded, 503, "funding_unavailable"},
		"rejects": {tools.NewError("withdrawal_refused"), 403, "withdrawal_refused"},
	} {
		p.err = c.err
		for range 2 {
			status, body := h.Call(alice, "POST", "/v1/withdrawals", request())
			if status != c.status || code(body) != c.code || field(t, body, "error", "origin") != "port" || field(t, body, "error", "num") != nil {
				t.Errorf("a funding port that is %s: %d %s, want %d %s from the port", name, status, body, c.status, c.code)
			}
		}
		wants(h, alice, "GET", "/v1/deposits/address", "", c.status, c.code)
	}
	if now := cash(); now != before {
		t.Errorf("cash %v, before %v", now, before)
	}
	p.err = nil
	wants(h, alice, "POST", "/v1/withdrawals", request(), 202, "")
	p.err = tools.NewError("withdrawal_refused") // from now on: the request of before stands
	for destination, want := range map[string]string{"bank": "", "elsewhere": "withdrawal_refused"} {
		again := fmt.Sprintf(` {"client_withdrawal_id":"w-%d","amount":"1000","destination":%q}`, n, destination) // a space, so no exact repeat
		if _, body := h.Call(alice, "POST", "/v1/withdrawals", again); code(body) != want {
			t.Errorf("a repeat to %s: %s", destination, body)
		}
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	h, alice, bob := newServer(t)
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	before, hash, _ := h.Engine.Hash()
	request := `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5100,"qty":14}`
	body := wants(h, bob, "POST", "/v1/portfolio/orders/preview", request, 200, "")
	after, same, _ := h.Engine.Hash()
	if before != after || hash != same {
		t.Error("a preview changed the state")
	}
	_, placed := h.Call(bob, "POST", "/v1/portfolio/orders", request)
	_, balance := h.Call(bob, "GET", "/v1/portfolio/balance", "")
	if field(t, body, "status") != field(t, placed, "status") {
		t.Errorf("preview %s, placement %s", body, placed)
	}
	if field(t, body, "cash_after") != field(t, balance, "cash") || field(t, body, "fee") != "625" {
		t.Errorf("preview %s, balance %s", body, balance)
	}
}

func TestMinSeqWaits(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	next := h.Engine.Seq() + 1
	done := make(chan string)
	go func() {
		_, body := h.Call(alice, "GET", fmt.Sprintf("/v1/portfolio/balance?min_seq=%d", next), "")
		done <- body
	}()
	h.PostIndex(6_500_000_000_001)
	if body := <-done; field(t, body, "as_of_seq") == nil {
		t.Error(body)
	}
	h.Venue.Config.ResponseBudget = 50
	wants(h, alice, "GET", "/v1/portfolio/balance?min_seq=99999999", "", 504, "sequencing_timeout")
}

// TestDeadman checks that the dead-man switch fires on time and cancels all orders.
func TestDeadman(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	wants(h, alice, "POST", "/v1/portfolio/deadman", `{"timeout_ms":999}`, 400, "invalid_timeout")
	if status, body := h.Call(alice, "POST", "/v1/portfolio/deadman", `{"timeout_ms":1000}`); status != 200 || body != `{"timeout_ms":1000,"armed":true,"group_id":0}` {
		t.Errorf("arming the dead-man switch: %d %s, want 200 armed for 1000 ms", status, body)
	}
	h.AdvanceClock(time.Second)
	h.Submit(&core.Clock{})
	h.WaitUntil(func(v *venue.Venue, _ *view.View) bool { return v.Resting() == 0 })
	_, body := h.Call(alice, "GET", "/v1/portfolio/orders", "")
	if !strings.Contains(body, `"reason":"deadman"`) {
		t.Error(body)
	}
	if status, body := h.Call(alice, "DELETE", "/v1/portfolio/deadman", ""); status != 200 || body != `{"armed":false,"group_id":0}` {
		t.Errorf("disarming the dead-man switch: %d %s, want 200 and not armed", status, body)
	}
}

// A preview and a placement are judged by the time at which they come: from the market's
// close on they are market_not_trading, though the clock stands and nothing has frozen it.
func TestPreviewAtTheClose(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.FreezeClock()
	var m venue.MarketState
	h.Engine.Read(func(v *venue.Venue, _ *view.View) { m, _ = v.Market(1) })
	wants(h, alice, "POST", "/v1/portfolio/orders/preview", order(1, ""), 200, "")
	h.AdvanceClock(time.Duration(m.CloseTs - h.Now()))
	for _, path := range []string{"/v1/portfolio/orders/preview", "/v1/portfolio/orders"} {
		wants(h, alice, "POST", path, order(1, ""), 409, "market_not_trading")
	}
}
