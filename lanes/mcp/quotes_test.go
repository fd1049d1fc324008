package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// quoteItem returns an item of put_quotes for group 7.
func quoteItem(market int, bid, ask string) string {
	return fmt.Sprintf(`{"market_id":%d,"generation":1,"group_id":7,"bid":%s,"ask":%s}`, market, bid, ask)
}

func quoteSide(id, tick, qty int) string {
	return fmt.Sprintf(`{"client_order_id":"%d","tick":%d,"qty":%d}`, id, tick, qty)
}

// TestQuoteHints tests that a rejected side of a quote has the members of a rejected call, and that next is a read.
func TestQuoteHints(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.callTool(d.alice, "place_order", order(1, ""))
	for _, x := range []struct{ item, code, field, got, limit, next string }{
		{quoteItem(1, quoteSide(1, 4600, 1), "null"), "duplicate_client_order_id", "client_order_id", "1", "", "list_orders"},
		{quoteItem(1, quoteSide(2, 4750, 1), "null"), "bad_price_tick", "tick", "4750", "the nearest legal ticks are 4700 and 4800", "get_orderbook"},
		{quoteItem(1, quoteSide(3, 47, 1), "null"), "bad_price_tick", "tick", "47", "the lowest legal tick is 100", "get_orderbook"},
		{quoteItem(1, quoteSide(4, 4600, 900000), "null"), "insufficient_balance", "qty", "900000", "", "get_account"},
		{quoteItem(1, quoteSide(5, 4600, 0), "null"), "bad_qty", "qty", "0", "", "get_account"},
		{quoteItem(31, quoteSide(6, 4600, 1), "null"), "unknown_market", "market_id", "31", "", "list_series"},
		{strings.Replace(quoteItem(1, quoteSide(7, 4600, 1), "null"), `"generation":1`, `"generation":9`, 1), "stale_generation", "generation", "9", "", "list_series"},
		{quoteItem(1, quoteSide(8, 4600, 1), quoteSide(9, 4600, 1)), "crossed_quote", "tick", "4600", "", "get_orderbook"},
		{quoteItem(1, `{"tick":4600,"qty":1}`, "null"), "client_order_id_required", "client_order_id", "", "", "get_orderbook"},
	} {
		r := d.callTool(d.alice, "put_quotes", `{"quotes":[`+x.item+`]}`)
		var answer struct {
			Results []struct{ Bid json.RawMessage }
		}
		if err := json.Unmarshal(r.StructuredContent, &answer); err != nil || r.IsError || len(answer.Results) != 1 {
			t.Fatalf("%s: %s, want one result", x.item, r.StructuredContent)
		}
		text := string(answer.Results[0].Bid)
		for member, want := range map[string]string{"field": x.field, "got": x.got, "outcome": "not_done"} {
			if got := at(t, text, member); fmt.Sprint(got) != want && (want != "" || got != nil) {
				t.Errorf("%s: %s is %v, want %q in %s", x.item, member, got, want, text)
			}
		}
		limit, _ := at(t, text, "limit").(string)
		if at(t, text, "error", "code") != x.code || at(t, text, "next", "tool") != x.next || !strings.Contains(limit, x.limit) {
			t.Errorf("%s: %s, want %s with the limit %q and next %s", x.item, text, x.code, x.limit, x.next)
		}
		next := at(t, text, "next", "arguments")
		if raw, _ := json.Marshal(next); d.callTool(d.alice, x.next, string(raw)).IsError {
			t.Errorf("%s: next %s %s is refused", x.item, x.next, raw)
		}
	}
	// A fault of the request names the member, and a tick is never converted.
	for arguments, field := range map[string]string{
		`{"quotes":[` + quoteItem(1, `{"client_order_id":"20","tick":"4600","qty":1}`, "null") + `]}`:        "quotes[0].bid.tick",
		`{"quotes":[{"market_id":1,"generation":1,"group_id":7,"bid":null}]}`:                                "quotes[0].ask",
		`{"quotes":[{"market_id":1,"group_id":7,"bid":null,"ask":null}]}`:                                    "quotes[0].generation",
		`{"quotes":[` + quoteItem(1, "null", "null") + `,` + quoteItem(1, "null", quoteSide(1, 1, 1)) + `]}`: "quotes[1].group_id",
	} {
		if r := d.callTool(d.alice, "put_quotes", arguments); !r.IsError || at(t, string(r.StructuredContent), "field") != field || at(t, string(r.StructuredContent), "next") == nil {
			t.Errorf("%s: %s, want the field %s and next", arguments, r.StructuredContent, field)
		}
	}
}

// TestQuoteAnswersAreREST tests that a tool answers what REST answers, in results.
func TestQuoteAnswersAreREST(t *testing.T) {
	t.Parallel()
	d := generous(t)
	d.FreezeClock()
	items := quoteItem(1, quoteSide(1, 4600, 10), quoteSide(2, 5000, 10)) + "," + quoteItem(2, "null", quoteSide(3, 5000, 10))
	tool := d.callTool(d.alice, "put_quotes", `{"quotes":[`+items+`]}`)
	_, rest := d.Call(d.alice, "PUT", "/v1/portfolio/quotes", `{"quotes":[`+strings.NewReplacer(`"1"`, `"11"`, `"2"`, `"12"`, `"3"`, `"13"`).Replace(items)+`]}`)
	// The second call kept what the first placed.
	kept := strings.NewReplacer(`"queue_ahead":0,`, ``, `"kept":false`, `"kept":true`).Replace(string(tool.StructuredContent))
	if got, want := withoutSeqs(`{"results":`+rest+`}`), withoutSeqs(kept); got != want {
		t.Errorf("REST answers %s, the tool %s", got, want)
	}
}

// withoutSeqs returns an answer without the seqs, which differ between two calls.
func withoutSeqs(answer string) string {
	parts := strings.Split(answer, `"seq":"`)
	for i := range parts[1:] {
		parts[i+1] = parts[i+1][strings.IndexByte(parts[i+1], '"'):]
	}
	return strings.Join(parts, `"seq":"`)
}

// TestQuoteAnswersAreShort tests that the outcomes of forty sides fit into one answer.
func TestQuoteAnswersAreShort(t *testing.T) {
	t.Parallel()
	d := generous(t)
	items := make([]string, 20)
	for i := range items {
		id := 1_000_000_000_000_000_000 + 2*i
		items[i] = strings.Replace(quoteItem(1, quoteSide(id, 1000, 1), quoteSide(id+1, 9000, 1)), `"group_id":7`, fmt.Sprintf(`"group_id":%d`, 4294967200+i), 1)
	}
	got := d.callTool(d.alice, "put_quotes", `{"quotes":[`+strings.Join(items, ",")+`]}`)
	if n := len(got.StructuredContent); n >= maxAnswerBytes || strings.Count(string(got.StructuredContent), `"status":"resting"`) != 40 {
		t.Errorf("%d bytes: %s", n, got.StructuredContent)
	}
}
