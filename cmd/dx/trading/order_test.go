package trading

import (
	"strings"
	"testing"

	"duplex/schemas"
)

func TestOrderFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		cmd  Order
		want string // part of the body, or of the error
	}{
		{"a limit in cents", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55"}, `"tick":5500,"qty":10`},
		{"to the pip", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "96.1"}, `"tick":9610`},
		{"pips are not cents", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@5500"}, "--price: prices are in cents"},
		{"finer than a pip", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "@5.555"}, "--price: must be a decimal"},
		{"not a number", Order{Side: "buy", Outcome: "yes", Qty: 10, Price: "much"}, "--price: must be a decimal"},
		{"a market order", Order{Side: "buy", Outcome: "no", Qty: 10}, `"type":"market","qty":10,"max_cost":"103000"`},
		{"--max-cost", Order{Side: "buy", Outcome: "no", Qty: 10, Market: true, MaxCost: "4.5"}, `"max_cost":"45000"`},
		{"--worst", Order{Side: "sell", Outcome: "no", Qty: 10, Worst: "40"}, `"type":"market","worst_tick":4000`},
		{"a price and --market", Order{Side: "sell", Outcome: "no", Qty: 10, Price: "@40", Market: true}, "--price: a market order has no limit price"},
		{"--max-cost is not a number", Order{Side: "buy", Outcome: "no", Qty: 1, MaxCost: "lots"}, "--max-cost"},
	} {
		in, err := c.cmd.buildOrder()
		body, _ := schemas.Body(in)
		text := string(body)
		if err != nil {
			text = err.Error()
		} else if f := schemas.Decode(body, new(schemas.PlaceOrder)); f != nil && f.Field != "market_id" {
			t.Errorf("%s: the venue would reject %s: %v", c.name, body, f)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

func TestDefaultClientOrderIDs(t *testing.T) {
	c := Order{Side: "buy", Outcome: "yes", Qty: 1, Price: "@50"}
	a, _ := c.buildOrder()
	b, _ := c.buildOrder()
	if a.ClientOrderID == 0 || a.ClientOrderID == b.ClientOrderID {
		t.Errorf("%d and %d", a.ClientOrderID, b.ClientOrderID)
	}
	c.ClientOrderID = 7
	if a, _ = c.buildOrder(); a.ClientOrderID != 7 {
		t.Errorf("%d", a.ClientOrderID)
	}
}

func TestPricesInCents(t *testing.T) {
	for pips, want := range map[int64]string{0: "-", 100: "1¢", 350: "3.5¢", 5500: "55¢", 9990: "99.9¢"} {
		if got := cents(pips); got != want {
			t.Errorf("%d: %s", pips, got)
		}
	}
}
