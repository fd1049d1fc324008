package hostile

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"duplex/schemas"
)

// TestReplays checks that an exact repeat of a write has no second effect, sent eight times at
// once and at the end of the replay window. It is answered as docs/rules/accounts.md#exact-repeats
// says.
func TestReplays(t *testing.T) {
	for _, c := range []struct {
		name, method, target, body string
		status                     int
		again                      int
		code                       string // of the repeat
	}{
		{"a placement", "POST", "/v1/portfolio/orders", order("50", ""), 201, 409, "duplicate_client_order_id"},
		{"a cancel", "DELETE", "/v1/portfolio/orders/#", "", 200, 404, "unknown_order"},
		{"a decrease by", "POST", "/v1/portfolio/orders/#/decrease", `{"reduce_by":3}`, 200, 200, ""},
		{"a decrease to", "POST", "/v1/portfolio/orders/#/decrease", `{"reduce_to":3}`, 200, 200, ""},
		{"a rejected decrease", "POST", "/v1/portfolio/orders/#/decrease", `{"reduce_by":11}`, 400, 400, "invalid_decrease"},
		{"a cancel-all", "DELETE", "/v1/portfolio/orders", "", 200, 200, ""},
		{"an arming", "POST", "/v1/portfolio/deadman", `{"timeout_ms":60000}`, 200, 200, ""},
		{"a disarming", "DELETE", "/v1/portfolio/deadman", "", 200, 200, ""},
		{"a withdrawal", "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"1000","destination":"bank"}`, 202, 202, ""},
		{"a forecast", "POST", "/v1/forecasts", `{"market_id":1,"generation":1,"p":6200}`, 201, 201, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTestVenue(t)
			k := d.NewKey(1, everyone)
			id := d.placed(t, k, "7")
			target := strings.Replace(c.target, "#", id, 1)
			ts := d.millis(5 * time.Second) // the latest valid stamp: it stays valid for ten seconds
			sig := schemas.Sign(k.Secret, ts, c.method, target, []byte(c.body))
			text := strings.Replace(d.post(k, c.method, target, c.body, ""), d.signatureHeaders(k, c.method, target, c.body), lines(k.ID, ts, sig), 1)
			first := d.raw(t, text)
			if first.status != c.status {
				t.Fatalf("the first %s %s: %d %s, want %d", c.method, target, first.status, first.body, c.status)
			}
			before := d.holdings(t)
			repeat := func() {
				got := d.raw(t, text)
				if got.status != c.again || got.code() != c.code || c.again == c.status && got.body != first.body {
					t.Errorf("first: %d %s\nrepeat: %d %s", first.status, first.body, got.status, got.body)
				}
			}
			var all sync.WaitGroup
			for range 8 {
				all.Go(repeat)
			}
			all.Wait()
			d.AdvanceClock(10 * time.Second)
			repeat()
			d.AdvanceClock(time.Millisecond)
			if got := d.raw(t, text); got.status != 401 {
				t.Errorf("past the window: %d %s", got.status, got.body)
			}
			if after := d.holdings(t); after != before {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
			d.checkServes(t)
		})
	}
}

// TestReplaysAtOnce checks that of many copies sent before the first is answered, one takes
// effect.
func TestReplaysAtOnce(t *testing.T) {
	d := newTestVenue(t)
	k := d.NewKey(1, everyone)
	id := d.placed(t, k, "7")
	d.together(t, d.post(k, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_by":3}`, ""), `"remaining_qty":7`)
	k = d.NewKey(1, everyone) // the repeats have used the first key's tokens
	d.together(t, d.post(k, "POST", "/v1/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"decrease_order","arguments":{"order_id":"`+id+`","reduce_by":3}}}`, "MCP-Protocol-Version: 2025-11-25\r\n"), `"remaining_qty":4`)
	if got := d.raw(t, d.get(k, "/v1/portfolio/orders/"+id, "")); !strings.Contains(got.body, `"remaining_qty":4`) {
		t.Error(got.body)
	}
}

// together sends a request sixteen times at once and checks that every answer contains want.
func (d *testVenue) together(t *testing.T, text, want string) {
	t.Helper()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := d.raw(t, text); got.status != 200 || !strings.Contains(got.body, want) {
				t.Errorf("%d %s, want %s", got.status, got.body, want)
			}
		})
	}
	all.Wait()
}

// TestReplayGuard checks that a venue with the replay guard rejects an exact repeat of a write
// as unauthorized, even if the first was rejected. A repeat that the response cache answers
// still gets the first answer, and reads may repeat (docs/rules/accounts.md#replay-guard).
func TestReplayGuard(t *testing.T) {
	d := newTestVenue(t)
	d.Gate.ReplayGuard = true
	k := d.NewKey(1, everyone)
	id, other := d.placed(t, k, "7"), d.placed(t, k, "8")
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"place_order","arguments":` + order("60", "") + `}}`
	for _, c := range []struct {
		name, text    string
		first, second int
		code          string // of the second
	}{
		{"a read", d.get(k, balance, ""), 200, 200, ""},
		{"a preview", d.post(k, "POST", preview, order("50", ""), ""), 200, 200, ""},
		{"a placement", d.post(k, "POST", "/v1/portfolio/orders", order("50", ""), ""), 201, 401, "unauthorized"},
		{"a batch", d.post(k, "POST", "/v1/portfolio/orders/batch", `{"orders":[`+order("51", "")+`]}`, ""), 200, 401, "unauthorized"},
		{"a rejected placement", d.post(k, "POST", "/v1/portfolio/orders", order("52", `,"x":1`), ""), 400, 401, "unauthorized"},
		{"a decrease", d.post(k, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_by":3}`, ""), 200, 200, ""},
		{"a rejected decrease", d.post(k, "POST", "/v1/portfolio/orders/"+id+"/decrease", `{"reduce_by":3,"x":1}`, ""), 400, 400, "unknown_field"},
		{"a cancel", d.post(k, "DELETE", "/v1/portfolio/orders/"+other, "", ""), 200, 401, "unauthorized"},
		{"a withdrawal", d.post(k, "POST", "/v1/withdrawals", `{"client_withdrawal_id":"w","amount":"1000","destination":"bank"}`, ""), 202, 202, ""},
		{"an agent's placement", d.post(k, "POST", "/v1/mcp", call, "MCP-Protocol-Version: 2025-11-25\r\n"), 200, 401, "unauthorized"},
	} {
		first := d.raw(t, c.text)
		before := d.holdings(t)
		second := d.raw(t, c.text)
		if first.status != c.first || second.status != c.second || second.code() != c.code {
			t.Errorf("%s: first %d %s, want %d\nrepeat %d %s, want %d %s", c.name, first.status, first.body, c.first, second.status, second.body, c.second, c.code)
		}
		if c.first == c.second && alike(first, "-") != alike(second, "-") {
			t.Errorf("%s: the repeat differs: first %s\nrepeat %s", c.name, first.body, second.body)
		}
		if after := d.holdings(t); after != before {
			t.Errorf("%s: before:\n%safter:\n%s", c.name, before, after)
		}
	}
	// A repeat of a rate-limited write is unauthorized too; it must be signed again.
	poor := d.NewKey(1, everyone)
	for n := 1000; ; n++ {
		text := d.post(poor, "POST", "/v1/portfolio/orders", order(strconv.Itoa(n), ""), "")
		if d.raw(t, text).status != 429 {
			continue
		}
		d.AdvanceClock(time.Second)
		if got := d.raw(t, text); got.status != 401 {
			t.Errorf("repeat of a rate-limited placement: %d %s", got.status, got.body)
		}
		if got := d.raw(t, d.post(poor, "POST", "/v1/portfolio/orders", order(strconv.Itoa(n), ""), "")); got.status != 201 {
			t.Errorf("signed again: %d %s", got.status, got.body)
		}
		break
	}
	d.checkServes(t)
}
