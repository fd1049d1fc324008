package mcp

import (
	"strings"
	"testing"
)

// A refusal says what would have been right: the legal ticks around, need and have,
// the order that has the id (contract mcp, Tools).
func TestRefusalsTeach(t *testing.T) {
	d := generous(t)
	placed := at(t, string(d.use(d.alice, "place_order", order(1, "")).StructuredContent), "order_id").(string)
	buy := func(id, tick, qty string) string {
		return `{"client_order_id":"` + id + `","market_id":1,"side":"buy","outcome":"yes","tick":` + tick + `,"qty":` + qty + `}`
	}
	for _, x := range []struct{ arguments, code, hint, next, by string }{
		{buy("2", "4750", "1"), "bad_price_tick", "4700 and 4800", "", ""},
		{buy("3", "395", "1"), "bad_price_tick", "390 and 400", "", ""},
		{buy("4", "9601", "1"), "bad_price_tick", "9600 and 9610", "", ""},
		{buy("5", "99", "1"), "bad_price_tick", "99 cents is 9900. The lowest legal tick is 100", "", ""},
		{buy("6", "9999", "1"), "bad_price_tick", "The highest legal tick is 9990", "", ""},
		{buy("7", "10000", "1"), "bad_price_tick", "The highest legal tick is 9990", "", ""},
		{buy("8", "5000", "900000"), "insufficient_balance", "needs 4556700000 pips, fees included; free cash is 99950000 pips", "get_balance", ""},
		{order(1, ""), "duplicate_client_order_id", "order " + placed + ", status resting, 0 filled and 10 left. It stands", "get_order", placed},
		{order(2, ""), "duplicate_client_order_id", "was rejected with bad_price_tick. Nothing of it stands", "list_orders", "2"},
		{strings.Replace(order(9, ""), "buy", "sell", 1), "insufficient_position", "0 YES and 0 NO", "list_positions", ""},
	} {
		text := string(d.use(d.alice, "place_order", x.arguments).StructuredContent)
		hint, _ := at(t, text, "hint").(string)
		next, _ := at(t, text, "next", "tool").(string)
		if at(t, text, "error", "code") != x.code || !strings.Contains(hint, x.hint) || next != x.next {
			t.Errorf("%s: %s", x.arguments, text)
		}
		if id := at(t, text, "next", "arguments", "order_id"); next == "get_order" && id != x.by {
			t.Errorf("%s: next is order %v", x.arguments, id)
		}
		if id := at(t, text, "next", "arguments", "client_order_id"); next == "list_orders" && id != x.by {
			t.Errorf("%s: next is client order %v", x.arguments, id)
		}
	}
}
