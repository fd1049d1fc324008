package rest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/lanes/lanetest"
	"duplex/schemas"
)

const quotesPath = "/v1/portfolio/quotes"

// quote returns an item of a request: a quote of group 7 in a market, with the generation 1.
func quote(market int, bid, ask, more string) string {
	return fmt.Sprintf(`{"market_id":%d,"generation":1,"group_id":7,"bid":%s,"ask":%s%s}`, market, bid, ask, more)
}

// side returns a side of a quote.
func side(id, tick, qty int) string {
	return fmt.Sprintf(`{"client_order_id":"%d","tick":%d,"qty":%d}`, id, tick, qty)
}

func quotes(items ...string) string { return `{"quotes":[` + strings.Join(items, ",") + `]}` }

// putQuotes sends quotes and returns what each side became.
func putQuotes(h *lanetest.Server, k lanetest.Key, body string) (sides []string) {
	h.T.Helper()
	answer := wants(h, k, "PUT", quotesPath, body, 200, "")
	var results []schemas.QuoteResult
	if err := json.Unmarshal([]byte(answer), &results); err != nil {
		h.T.Fatalf("%v in %s", err, answer)
	}
	for i := range results {
		for _, s := range results[i].Sides() {
			sides = append(sides, sideText(s))
		}
	}
	return sides
}

// sideText says what a side became.
func sideText(s *schemas.QuotedSide) string {
	switch o := s.Outcome; {
	case s.Error != nil:
		return s.Error.Code
	case s.Emptied != nil:
		return fmt.Sprintf("none, canceled %d", s.Emptied.Canceled)
	case o.Kept:
		return fmt.Sprintf("%s kept, %s %d, canceled %d", o.ClientOrderID, o.Status, o.RestingQty, o.Canceled)
	case o.Reason != "":
		return fmt.Sprintf("%s %s %s %d, canceled %d", o.ClientOrderID, o.Status, o.Reason, o.RestingQty, o.Canceled)
	default:
		return fmt.Sprintf("%s %s %d behind %d, canceled %d", o.ClientOrderID, o.Status, o.RestingQty, *o.QueueAhead, o.Canceled)
	}
}

// TestQuotes checks what becomes of a quote, after a first one that bids 4600 and asks 5000 for 10 contracts.
func TestQuotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		before func(h *lanetest.Server, alice, bob lanetest.Key)
		item   string
		want   [2]string
		rest   string // the orders of the group afterwards, newest first
	}{
		{name: "another price", item: quote(1, side(3, 4700, 10), side(4, 4900, 10), ""),
			want: [2]string{"3 resting 10 behind 0, canceled 1", "4 resting 10 behind 0, canceled 1"}, rest: "4 buy no 5100 10, 3 buy yes 4700 10"},
		{name: "the same is kept", item: quote(1, side(3, 4600, 10), side(4, 5000, 10), ""),
			want: [2]string{"1 kept, resting 10, canceled 0", "2 kept, resting 10, canceled 0"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "less is kept", item: quote(1, side(3, 4600, 4), side(4, 5000, 1), ""),
			want: [2]string{"1 kept, resting 4, canceled 0", "2 kept, resting 1, canceled 0"}, rest: "2 buy no 5000 1, 1 buy yes 4600 4"},
		{name: "more goes to the end", item: quote(1, side(3, 4600, 11), side(4, 5000, 12), ""),
			before: func(h *lanetest.Server, _, bob lanetest.Key) {
				wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4600,"qty":3}`, 201, "")
			},
			want: [2]string{"3 resting 11 behind 3, canceled 1", "4 resting 12 behind 0, canceled 1"}, rest: "4 buy no 5000 12, 3 buy yes 4600 11"},
		{name: "null", item: quote(1, "null", "null", ""), want: [2]string{"none, canceled 1", "none, canceled 1"}},
		{name: "null and kept", item: quote(1, "null", side(4, 5000, 10), ""), want: [2]string{"none, canceled 1", "2 kept, resting 10, canceled 0"}, rest: "2 buy no 5000 10"},
		{name: "the bid meets the old ask", item: quote(1, side(3, 5200, 10), side(4, 5400, 10), ""),
			want: [2]string{"3 resting 10 behind 0, canceled 2", "4 resting 10 behind 0, canceled 0"}, rest: "4 buy no 4600 10, 3 buy yes 5200 10"},
		{name: "a foreign order crosses", item: quote(1, side(3, 4900, 10), side(4, 5000, 10), ""),
			before: func(h *lanetest.Server, _, bob lanetest.Key) {
				wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5200,"qty":3}`, 201, "")
			},
			want: [2]string{"3 canceled post_only_cross 0, canceled 1", "2 kept, resting 10, canceled 0"}, rest: "2 buy no 5000 10"},
		{name: "free contracts are sold", item: quote(1, side(3, 4600, 10), side(4, 5100, 10), ""),
			before: func(h *lanetest.Server, alice, bob lanetest.Key) {
				wants(h, alice, "POST", "/v1/portfolio/orders", `{"client_order_id":"9","market_id":1,"side":"buy","outcome":"yes","tick":4800,"qty":10}`, 201, "")
				wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5200,"qty":10}`, 201, "")
			},
			want: [2]string{"1 kept, resting 10, canceled 0", "4 resting 10 behind 0, canceled 1"}, rest: "4 sell yes 5100 10, 1 buy yes 4600 10"},
		{name: "fewer are free than asked", item: quote(1, side(3, 4700, 10), side(4, 5100, 11), ""),
			before: func(h *lanetest.Server, alice, bob lanetest.Key) {
				wants(h, alice, "POST", "/v1/portfolio/orders", `{"client_order_id":"9","market_id":1,"side":"buy","outcome":"no","tick":5200,"qty":10}`, 201, "")
				wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"yes","tick":4800,"qty":10}`, 201, "")
			},
			want: [2]string{"3 resting 10 behind 0, canceled 1", "4 resting 11 behind 0, canceled 1"}, rest: "4 buy no 4900 11, 3 sell no 5300 10"},
		{name: "stale generation", item: strings.Replace(quote(1, side(3, 4700, 10), "null", ""), `"generation":1`, `"generation":2`, 1),
			want: [2]string{"stale_generation", "stale_generation"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "unknown market", item: quote(9, side(3, 4700, 10), "null", ""),
			want: [2]string{"unknown_market", "unknown_market"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "tripped group", item: quote(1, side(3, 4700, 10), "null", ""),
			before: func(h *lanetest.Server, alice, bob lanetest.Key) {
				wants(h, alice, "PUT", "/v1/portfolio/groups/7", `{"fill_limit":1,"window_ms":5000}`, 200, "")
				wants(h, bob, "POST", "/v1/portfolio/orders", `{"client_order_id":"1","market_id":1,"side":"buy","outcome":"no","tick":5400,"qty":1}`, 201, "")
			},
			want: [2]string{"group_tripped", "none, canceled 0"}},
		{name: "duplicate", item: quote(1, side(2, 4700, 10), side(1, 4900, 10), ""),
			want: [2]string{"duplicate_client_order_id", "duplicate_client_order_id"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "an id for both sides", item: quote(1, side(3, 4700, 10), side(3, 4900, 10), ""),
			want: [2]string{"3 resting 10 behind 0, canceled 1", "duplicate_client_order_id"}, rest: "3 buy yes 4700 10, 2 buy no 5000 10"},
		{name: "too late", item: quote(1, side(3, 4700, 10), "null", `,"not_after_ts":"1"`), want: [2]string{"too_late", "too_late"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "crossed", item: quote(1, side(3, 4900, 10), side(4, 4900, 10), ""), want: [2]string{"crossed_quote", "crossed_quote"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "crossed before the quantity", item: quote(1, side(3, 4900, 0), side(4, 4800, 10), ""), want: [2]string{"crossed_quote", "crossed_quote"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "no id before crossed", item: quote(1, side(0, 4900, 10), `{"tick":4800,"qty":0}`, ""),
			want: [2]string{"client_order_id_required", "client_order_id_required"}, rest: "2 buy no 5000 10, 1 buy yes 4600 10"},
		{name: "a tick out of range crosses and meets nothing", item: quote(1, side(3, 10000, 10), side(4, 5000, 10), ""),
			want: [2]string{"bad_price_tick", "2 kept, resting 10, canceled 0"}, rest: "2 buy no 5000 10"},
		{name: "a quantity of 0", item: quote(1, side(3, 4600, 0), side(4, 5000, 1000001), ""), want: [2]string{"bad_qty", "bad_qty"}},
		{name: "off the grid", item: quote(1, side(3, 4650, 10), "null", ""), want: [2]string{"bad_price_tick", "none, canceled 1"}},
		{name: "too much money", item: quote(1, side(3, 4600, 900000), side(4, 5000, 10), ""), want: [2]string{"insufficient_balance", "2 kept, resting 10, canceled 0"}, rest: "2 buy no 5000 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, alice, bob := newServer(t)
			h.FreezeClock()
			first := putQuotes(h, alice, quotes(quote(1, side(1, 4600, 10), side(2, 5000, 10), "")))
			if want := "1 resting 10 behind 0, canceled 0; 2 resting 10 behind 0, canceled 0"; strings.Join(first, "; ") != want {
				t.Fatalf("the first quote: %s, want %s", strings.Join(first, "; "), want)
			}
			if c.before != nil {
				c.before(h, alice, bob)
			}
			if got := putQuotes(h, alice, quotes(c.item)); len(got) != 2 || [2]string(got) != c.want {
				t.Errorf("%s\n got %q\nwant %q", c.item, got, c.want)
			}
			if got := groupOrders(h, alice); got != c.rest {
				t.Errorf("the group has %q, want %q", got, c.rest)
			}
		})
	}
}

// groupOrders lists the resting orders of group 7, newest first.
func groupOrders(h *lanetest.Server, k lanetest.Key) string {
	h.T.Helper()
	_, body := h.Call(k, "GET", "/v1/portfolio/orders?status=resting,partially_filled&group_id=7", "")
	var list schemas.OrderList
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		h.T.Fatalf("%v in %s", err, body)
	}
	var rows []string
	for _, o := range list.Orders {
		if o.Flags != uint8(core.QuoteFlags) || o.TIF != "gtc" || o.Type != "limit" {
			h.T.Errorf("the order of a quote: %+v", o)
		}
		rows = append(rows, fmt.Sprintf("%s %s %s %d %d", o.ClientOrderID, o.Side, o.Outcome, o.Tick, o.RemainingQty))
	}
	return strings.Join(rows, ", ")
}

// TestQuotesAnswer checks the members of the answer: of a new order, of one that was kept, of a rejected side and of
// null, and that an exact repeat gets it again.
func TestQuotesAnswer(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.FreezeClock()
	body := quotes(quote(1, side(1, 4600, 10), "null", ""), quote(2, side(1, 4600, 10), "null", ""))
	first := wants(h, alice, "PUT", quotesPath, body, 200, "")
	seq := h.Engine.Seq()
	order := fmt.Sprintf(`{"order_id":"%d","client_order_id":"1","status":"resting","seq":"%[1]d","filled_qty":0,"resting_qty":10,"fills":[],"fee":"0","fee_usd":"0.00","queue_ahead":0,"kept":false,"canceled":0}`, seq-3)
	want := fmt.Sprintf(`[{"market_id":1,"group_id":7,"bid":%s,"ask":{"canceled":0,"seq":"%d"}},{"market_id":2,"group_id":7,"bid":{"error":{"code":"duplicate_client_order_id","num":259,"origin":"core",`, order, seq-2)
	if !strings.HasPrefix(first, want) || !strings.HasSuffix(first, fmt.Sprintf(`}},"ask":{"canceled":0,"seq":"%d"}}]`, seq)) {
		t.Errorf("%s\nwant %s", first, want)
	}
	if again := wants(h, alice, "PUT", quotesPath, body, 200, ""); again != first || h.Engine.Seq() != seq {
		t.Errorf("an exact repeat: %s, want %s and no command", again, first)
	}
	kept := wants(h, alice, "PUT", quotesPath, quotes(quote(1, side(2, 4600, 4), "null", "")), 200, "")
	want = fmt.Sprintf(`[{"market_id":1,"group_id":7,"bid":{"order_id":"%d","client_order_id":"1","status":"resting","seq":"%d","filled_qty":0,"resting_qty":4,"fills":[],"fee":"0","fee_usd":"0.00","kept":true,"canceled":0},"ask":`, seq-3, seq+1)
	if !strings.HasPrefix(kept, want) {
		t.Errorf("%s\nwant %s", kept, want)
	}
	if _, rows := h.Call(alice, "GET", "/v1/portfolio/orders?client_order_id=2", ""); !strings.HasPrefix(rows, `{"orders":[],`) {
		t.Errorf("the order of a quote that was kept: %s", rows)
	}
}

// TestQuotesRefused checks the requests that change nothing.
func TestQuotesRefused(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	reader := h.NewKey(1, core.ScopeRead)
	full := quote(1, side(1, 4600, 10), side(2, 5000, 10), "")
	for body, code := range map[string]string{
		`{"quotes":[]}`:     "schema_violation",
		`{"quotes":[null]}`: "schema_violation",
		quotes(full, full):  "schema_violation",
		quotes(full, strings.Replace(quote(1, "null", "null", ""), `"generation":1`, `"generation":2`, 1)): "schema_violation",
		quotes(strings.Replace(full, `"group_id":7`, `"group_id":0`, 1)):                                   "schema_violation",
		quotes(strings.Replace(full, `"group_id":7,`, ``, 1)):                                              "schema_violation",
		quotes(strings.Replace(full, `"generation":1,`, ``, 1)):                                            "schema_violation",
		quotes(`{"market_id":1,"generation":1,"group_id":7,"bid":null}`):                                   "schema_violation",
		quotes(quote(1, `[]`, "null", "")):                                                                 "schema_violation",
		quotes(quote(1, `{"client_order_id":"1","tick":4600}`, "null", "")):                                "schema_violation",
		quotes(quote(1, `{"client_order_id":"1","tick":null,"qty":1}`, "null", "")):                        "schema_violation",
		quotes(quote(1, `{"client_order_id":"1","tick":4600,"qty":1,"tif":"gtc"}`, "null", "")):            "unknown_field",
		quotes(strings.Split(strings.Repeat(full+";", 21), ";")[:21]...):                                   "schema_violation",
	} {
		wants(h, alice, "PUT", quotesPath, body, 400, code)
	}
	wants(h, reader, "PUT", quotesPath, quotes(full), 403, "missing_scope")
	if rows := groupOrders(h, alice); rows != "" {
		t.Errorf("refused requests placed %s", rows)
	}
}

// TestQuoteTokens checks that each item costs a write token.
func TestQuoteTokens(t *testing.T) {
	t.Parallel()
	h, alice, _ := newServer(t)
	h.FreezeClock()
	many := func(n, group int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.Replace(quote(1, "null", "null", ""), `"group_id":7`, fmt.Sprintf(`"group_id":%d`, group+i), 1)
		}
		return quotes(items...)
	}
	burst := int(h.Venue.Config.WriteFloor)
	wants(h, alice, "PUT", quotesPath, many(9, 1), 200, "")
	wants(h, alice, "PUT", quotesPath, many(burst-8, 1), 429, "rate_limited")
	h.AdvanceClock(time.Minute)
	wants(h, alice, "PUT", quotesPath, many(9, 1), 200, "")
	wants(h, alice, "PUT", quotesPath, many(burst-9, 101), 200, "")
	wants(h, alice, "PUT", quotesPath, many(1, 1), 429, "rate_limited")
}

// TestQuotesWithoutMoney checks that the quotes of an account that never had money leave no row and no used id.
func TestQuotesWithoutMoney(t *testing.T) {
	t.Parallel()
	h, _, _ := newServer(t)
	h.Submit(&core.CreateUser{Name: "carol", TokenHash: [32]byte{3}})
	carol := h.NewKey(3, readTrade)
	for range 2 {
		h.FreezeClock()
		want := [6]string{"insufficient_balance", "none, canceled 0", "crossed_quote", "crossed_quote", "none, canceled 0", "insufficient_balance"}
		if got := putQuotes(h, carol, quotes(quote(1, side(1, 4600, 10), "null", ""), quote(2, side(2, 4600, 10), side(3, 4600, 10), ""), quote(3, "null", side(4, 5000, 1), ""))); [6]string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
		h.AdvanceClock(time.Second)
	}
	if _, rows := h.Call(carol, "GET", "/v1/portfolio/orders", ""); !strings.HasPrefix(rows, `{"orders":[],`) {
		t.Errorf("rows of quotes without money: %s", rows)
	}
}
