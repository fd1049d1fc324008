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
	everyone  = readTrade | core.ScopeWithdraw
)

func house(t *testing.T) (h *lanetest.House, alice, bob lanetest.Key) {
	h = lanetest.New(t)
	Mount(h.Routes, h.Gate, "test")
	h.Serve()
	return h, h.Key(1, everyone), h.Key(2, readTrade)
}

// code is the error code of an answer, "" if it is none.
func code(body string) string {
	var e struct {
		Error struct{ Code string }
	}
	_ = json.Unmarshal([]byte(body), &e) // an answer that is no object has no code
	return e.Error.Code
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

// A session as a newcomer has it: place, look, trade, cancel.
func TestOneSession(t *testing.T) {
	h, alice, bob := house(t)
	status, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	if status != 201 || field(t, body, "status") != "resting" || field(t, body, "resting_qty") != 10.0 {
		t.Fatalf("%d %s", status, body)
	}
	id := field(t, body, "order_id").(string)
	status, body = h.Call(bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","type":"market","qty":4,"max_cost":"1000000"}`)
	want := `"status":"executed","seq":"`
	if status != 201 || !strings.Contains(body, want) || !strings.Contains(body, `"fills":[{"tick_yes":5000,"qty":4,"path":"mint"}]`) {
		t.Fatalf("%d %s", status, body)
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
		{"/v1/exchange/retention", `{"tape_cap":1000,"terminal_cap":1000,"reject_cap":200,"fill_cap":2000}`},
		{"/v1/exchange/schedule", `{"schedule":[]}`},
		{"/v1/account/limits", `"write":{"sustained_rate_per_s":20,"burst":20},"cancel":{"sustained_rate_per_s":40,"burst":40}`},
		{"/v1/portfolio/deadman", `{"armed":false,"timeout_ms":0,"deadline_ts":"0"}`},
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
	status, body = h.Call(alice, "DELETE", "/v1/portfolio/orders/"+id, "")
	if status != 200 || !strings.Contains(body, `"status":"canceled","canceled_qty":2`) {
		t.Errorf("cancel: %d %s", status, body)
	}
	if status, body = h.Call(alice, "DELETE", "/v1/portfolio/orders/"+id, ""); status != 404 || code(body) != "unknown_order" {
		t.Errorf("cancel again: %d %s", status, body)
	}
	if status, body = h.Call(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_to":1}`); status != 400 || code(body) != "invalid_decrease" {
		t.Errorf("decrease of a terminal order: %d %s", status, body)
	}
}

func TestRefusalsOfPlacement(t *testing.T) {
	h, alice, bob := house(t)
	if status, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, "")); status != 201 {
		t.Fatal(body)
	}
	reader := h.Key(1, core.ScopeRead)
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
		status, body := h.Call(c.key, "POST", "/v1/portfolio/orders", c.body)
		if status != c.status || code(body) != c.code {
			t.Errorf("%d %s: %d %s", i, c.name, status, body)
		}
		if i%5 == 4 {
			h.Skip(time.Second) // tokens come back
			h.Tick(6_500_000_000_000)
		}
	}
	// What the core refused is on record, and its id is used up.
	_, body := h.Call(alice, "GET", "/v1/portfolio/orders?status=rejected", "")
	for _, want := range []string{`"order_id":null`, `"reason":"bad_price_tick"`, `"reason":"bad_qty"`, `"qty":0`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s among the rejected: %s", want, body)
		}
	}
	if _, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(2, "")); code(body) != "duplicate_client_order_id" {
		t.Errorf("the id of a rejected order: %s", body)
	}
	if !strings.Contains(body, `"as_of_seq"`) {
		t.Error("no as_of_seq")
	}
}

func TestBatches(t *testing.T) {
	h, alice, _ := house(t)
	body := `{"orders":[` + order(1, "") + `,` + strings.Replace(order(2, ""), "5000", "5050", 1) + `,` + order(1, "") + `]}`
	status, got := h.Call(alice, "POST", "/v1/portfolio/orders/batch", body)
	var each []map[string]any
	if err := json.Unmarshal([]byte(got), &each); err != nil || status != 200 || len(each) != 3 {
		t.Fatalf("%d %s", status, got)
	}
	if each[0]["status"] != "resting" || each[1]["error"].(map[string]any)["code"] != "bad_price_tick" || each[2]["error"].(map[string]any)["num"] != 259.0 {
		t.Fatal(got)
	}
	id := each[0]["order_id"].(string)
	status, got = h.Call(alice, "DELETE", "/v1/portfolio/orders/batch", `{"order_ids":["`+id+`","`+id+`","99999"]}`)
	if status != 200 || strings.Count(got, "unknown_order") != 4 || !strings.Contains(got, `"canceled_qty":10`) {
		t.Fatalf("%d %s", status, got)
	}
	if status, got = h.Call(alice, "DELETE", "/v1/portfolio/orders/batch", `{"order_ids":[]}`); status != 200 || got != `{"results":[]}` {
		t.Errorf("%d %s", status, got)
	}
	if status, got = h.Call(alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+order(3, "")+`,{"qty":1}]}`); status != 400 || code(got) != "schema_violation" {
		t.Errorf("%d %s", status, got)
	}
}

// A batch of N costs N tokens of its bucket, a refused one 1; the three buckets are
// independent.
func TestTokens(t *testing.T) {
	h, alice, bob := house(t)
	var items []string
	for i := range 19 {
		items = append(items, order(i+1, ""))
	}
	if status, body := h.Call(alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+strings.Join(items, ",")+`]}`); status != 200 {
		t.Fatal(body)
	}
	shifted := h.Now() // the test itself must not take longer than the tokens it counts
	status, body := h.Call(alice, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+order(30, "")+`,`+order(31, "")+`,`+order(32, "")+`,`+order(33, "")+`]}`)
	if h.Now()-shifted < 50*core.NsPerMs && (status != 429 || field(t, body, "error", "message") != "rate limited" || field(t, body, "error", "details", "retry_after_ms") == nil) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := h.Call(alice, "DELETE", "/v1/portfolio/orders", ""); status != 200 || field(t, body, "seq") == nil {
		t.Errorf("a cancel draws on its own bucket: %d %s", status, body)
	}
	if status, body := h.Call(bob, "POST", "/v1/portfolio/orders", order(1, "")); status != 201 {
		t.Errorf("another key has its own: %d %s", status, body)
	}
}

func TestCancelAllFiltersAndBody(t *testing.T) {
	h, alice, _ := house(t)
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, `,"group_id":7`))
	h.Call(alice, "POST", "/v1/portfolio/orders", order(2, `,"group_id":8`))
	h.Call(alice, "POST", "/v1/portfolio/orders", strings.Replace(order(3, ""), `"market_id":1`, `"market_id":2`, 1))
	if status, body := h.Call(alice, "DELETE", "/v1/portfolio/orders?nonsense=1", "{}"); status != 400 || code(body) != "unexpected_body" {
		t.Errorf("%d %s", status, body)
	}
	for _, c := range []struct {
		target string
		left   int
	}{{"?group_id=7", 2}, {"?market_id=2", 1}, {"?market_id=9", 1}, {"?market_id=0&group_id=0", 0}} {
		if status, body := h.Call(alice, "DELETE", "/v1/portfolio/orders"+c.target, ""); status != 200 {
			t.Errorf("%s: %d %s", c.target, status, body)
		}
		_, body := h.Call(alice, "GET", "/v1/portfolio/orders?status=resting", "")
		if n := strings.Count(body, `"order_id"`); n != c.left {
			t.Errorf("%s left %d orders, not %d", c.target, n, c.left)
		}
	}
}

func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	h, alice, _ := house(t)
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
				t.Errorf("order %s came twice", o.ID)
			}
			seen[o.ID] = true
		}
		if pages == 1 { // new rows at the top do not disturb the walk
			h.Call(alice, "POST", "/v1/portfolio/orders", order(100, ""))
		}
		if cursor = l.Cursor; cursor == "" {
			break
		}
	}
	if len(seen) != 15 {
		t.Errorf("%d orders in the walk", len(seen))
	}
	_, body := h.Call(alice, "GET", "/v1/portfolio/orders?limit=4", "")
	own := field(t, body, "cursor").(string)
	for _, target := range []string{"/v1/portfolio/orders?limit=4&cursor=x", "/v1/portfolio/fills?cursor=" + own, "/v1/portfolio/orders?status=resting&cursor=" + own} {
		if status, body := h.Call(alice, "GET", target, ""); status != 400 || code(body) != "bad_cursor" {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	h, alice, _ := house(t)
	for _, c := range []struct {
		method, target string
		status         int
		code           string
	}{
		{"GET", "/v1/nothing", 404, "not_found"},
		{"GET", "/", 404, "not_found"},
		{"GET", "/v1/time/", 404, "not_found"},
		{"GET", "/v1//time", 404, "not_found"},
		{"GET", "/v1/x/../time", 404, "not_found"},
		{"GET", "/v1/%74ime", 404, "not_found"},
		{"GET", "/v1/time;a=b", 404, "not_found"},
		{"PUT", "/v1/time", 405, "method_not_allowed"},
		{"OPTIONS", "/v1/time", 405, "method_not_allowed"},
		{"POST", "/v1/portfolio/orders/cancel_batch", 405, "method_not_allowed"},
		{"GET", "/v1/time?x=1", 400, "unknown_field"},
		{"GET", "/v1/markets?limit=0", 400, "schema_violation"},
		{"GET", "/v1/markets?limit=5&limit=5", 400, "unknown_field"},
		{"GET", "/v1/markets/99", 404, "unknown_market"},
		{"GET", "/v1/markets/01", 404, "unknown_market"},
		{"GET", "/v1/markets/x", 404, "unknown_market"},
		{"GET", "/v1/rounds/x", 404, "round_not_found"},
		{"GET", "/v1/rounds/31", 404, "round_not_found"},
		{"GET", "/v1/portfolio/orders/-1", 404, "unknown_order"},
		{"GET", "/v1/withdrawals/1", 404, "unknown_withdrawal"},
		{"GET", "/v1/oracle/price?feed=3", 400, "schema_violation"},
		{"GET", "/v1/oracle/price?feed=2", 200, ""},
		{"HEAD", "/v1/time", 200, ""},
	} {
		status, body := h.Call(alice, c.method, c.target, "")
		if status != c.status || code(body) != c.code {
			t.Errorf("%s %s: %d %s", c.method, c.target, status, body)
		}
	}
}

func TestWithdrawals(t *testing.T) {
	h, alice, bob := house(t)
	ask := `{"client_withdrawal_id":"w-1","amount":"1000","destination":"bank"}`
	if status, body := h.Call(bob, "POST", "/v1/withdrawals", ask); status != 403 || code(body) != "missing_scope" {
		t.Errorf("%d %s", status, body)
	}
	status, first := h.Call(alice, "POST", "/v1/withdrawals", ask)
	if status != 202 || field(t, first, "status") != "pending" {
		t.Fatalf("%d %s", status, first)
	}
	if status, again := h.Call(alice, "POST", "/v1/withdrawals", ask); status != 202 || again != first {
		t.Errorf("a repeat: %d %s", status, again)
	}
	for body, want := range map[string]string{
		strings.Replace(ask, "1000", "1001", 1):                                       "duplicate_client_withdrawal_id",
		strings.Replace(ask, "w-1", "w 1", 1):                                         "bad_client_withdrawal_id",
		strings.Replace(ask, `"1000"`, `"0"`, 1):                                      "bad_amount",
		strings.Replace(ask, "bank", "", 1):                                           "bad_destination",
		`{"client_withdrawal_id":"w-2","amount":"999999999999","destination":"bank"}`: "insufficient_balance",
	} {
		if _, got := h.Call(alice, "POST", "/v1/withdrawals", body); code(got) != want {
			t.Errorf("%s: %s", body, got)
		}
	}
	id := field(t, first, "withdrawal_id").(string)
	if status, body := h.Call(alice, "GET", "/v1/withdrawals/"+id, ""); status != 200 || field(t, body, "amount") != "1000" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := h.Call(bob, "GET", "/v1/withdrawals/"+id, ""); status != 404 {
		t.Errorf("another's withdrawal: %d %s", status, body)
	}
}

// port is a funding port that answers as it is told to.
type port struct{ err error }

func (p *port) Address(context.Context, core.UserID) (string, string, error) {
	return "ledger:1", "USD", p.err
}
func (p *port) Accepts(context.Context, string) error { return p.err }

// A port that is down, slow or refuses: the code of origin port without a number, no
// money moves, and a request goes through once it is back.
func TestFundingPort(t *testing.T) {
	h, alice, _ := house(t)
	p := &port{}
	h.Venue.Funds = p
	n := 0
	ask := func() string { // never the same: an exact repeat is told what the first was
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
		"refuses": {tools.Refuse("withdrawal_refused"), 403, "withdrawal_refused"},
	} {
		p.err = c.err
		for range 2 {
			status, body := h.Call(alice, "POST", "/v1/withdrawals", ask())
			if status != c.status || code(body) != c.code || field(t, body, "error", "origin") != "port" || field(t, body, "error", "num") != nil {
				t.Errorf("%s: %d %s", name, status, body)
			}
		}
		if status, body := h.Call(alice, "GET", "/v1/deposits/address", ""); status != c.status || code(body) != c.code {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if now := cash(); now != before {
		t.Errorf("cash %v, before %v", now, before)
	}
	p.err = nil
	if status, body := h.Call(alice, "POST", "/v1/withdrawals", ask()); status != 202 {
		t.Errorf("the port is back: %d %s", status, body)
	}
}

// An exact repeat of a decrease by an amount is answered with the first answer.
func TestExactRepeat(t *testing.T) {
	h, alice, _ := house(t)
	_, body := h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	id := field(t, body, "order_id").(string)
	by := []byte(`{"reduce_by":3}`)
	first := h.Request(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", by)
	again := h.Request(alice, "POST", "/v1/portfolio/orders/"+id+"/decrease", by)
	again.Header = first.Header.Clone()
	_, _, one := h.Send(first)
	_, _, two := h.Send(again)
	if one != two || field(t, one, "remaining_qty") != 7.0 {
		t.Errorf("%s then %s", one, two)
	}
}

func TestPreviewTellsAndChangesNothing(t *testing.T) {
	h, alice, bob := house(t)
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	before, hash, _ := h.Engine.Hash()
	ask := `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5100,"qty":14}`
	status, body := h.Call(bob, "POST", "/v1/portfolio/orders/preview", ask)
	if status != 200 {
		t.Fatal(body)
	}
	after, same, _ := h.Engine.Hash()
	if before != after || hash != same {
		t.Error("a preview changed the state")
	}
	_, placed := h.Call(bob, "POST", "/v1/portfolio/orders", ask)
	_, balance := h.Call(bob, "GET", "/v1/portfolio/balance", "")
	for _, f := range []string{"status"} {
		if field(t, body, f) != field(t, placed, f) {
			t.Errorf("%s foretold, %s done", body, placed)
		}
	}
	if field(t, body, "cash_after") != field(t, balance, "cash") || field(t, body, "fee") != "625" {
		t.Errorf("%s foretold, then %s", body, balance)
	}
}

func TestMinSeqWaits(t *testing.T) {
	h, alice, _ := house(t)
	next := h.Engine.Seq() + 1
	done := make(chan string)
	go func() {
		_, body := h.Call(alice, "GET", fmt.Sprintf("/v1/portfolio/balance?min_seq=%d", next), "")
		done <- body
	}()
	h.Tick(6_500_000_000_001)
	if body := <-done; field(t, body, "as_of_seq") == nil {
		t.Error(body)
	}
	h.Venue.Terms.ResponseBudget = 50
	if status, body := h.Call(alice, "GET", "/v1/portfolio/balance?min_seq=99999999", ""); status != 504 || code(body) != "sequencing_timeout" {
		t.Errorf("%d %s", status, body)
	}
}

// The dead-man switch fires by itself and takes everything out of the book.
func TestDeadman(t *testing.T) {
	h, alice, _ := house(t)
	h.Call(alice, "POST", "/v1/portfolio/orders", order(1, ""))
	if status, body := h.Call(alice, "POST", "/v1/portfolio/deadman", `{"timeout_ms":999}`); status != 400 || code(body) != "invalid_timeout" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := h.Call(alice, "POST", "/v1/portfolio/deadman", `{"timeout_ms":1000}`); status != 200 || body != `{"timeout_ms":1000,"armed":true}` {
		t.Errorf("%d %s", status, body)
	}
	h.Until(func(v *venue.Venue, _ *view.View) bool { return v.Resting() == 0 })
	_, body := h.Call(alice, "GET", "/v1/portfolio/orders", "")
	if !strings.Contains(body, `"reason":"deadman"`) {
		t.Error(body)
	}
	if status, body := h.Call(alice, "DELETE", "/v1/portfolio/deadman", ""); status != 200 || body != `{"armed":false}` {
		t.Errorf("%d %s", status, body)
	}
}
