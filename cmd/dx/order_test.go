package main

import (
	"bytes"
	"strings"
	"testing"

	"duplex/schemas"
)

func TestOrderIsReadAsPeopleSayIt(t *testing.T) {
	for _, c := range []struct {
		name string
		cmd  orderCmd
		want string // part of the body, or of the error
	}{
		{"a limit in cents", orderCmd{Side: "buy", Outcome: "yes", Qty: 10, Price: "@55"}, `"tick":5500,"qty":10`},
		{"to the pip", orderCmd{Side: "buy", Outcome: "yes", Qty: 10, Price: "96.1"}, `"tick":9610`},
		{"pips are not cents", orderCmd{Side: "buy", Outcome: "yes", Qty: 10, Price: "@5500"}, "--price: prices are in cents"},
		{"too fine", orderCmd{Side: "buy", Outcome: "yes", Qty: 10, Price: "@5.555"}, "--price: a decimal"},
		{"no number", orderCmd{Side: "buy", Outcome: "yes", Qty: 10, Price: "much"}, "--price: a decimal"},
		{"at market", orderCmd{Side: "buy", Outcome: "no", Qty: 10}, `"type":"market","qty":10,"max_cost":"103000"`},
		{"for so much", orderCmd{Side: "buy", Outcome: "no", Qty: 10, Market: true, MaxCost: "4.5"}, `"max_cost":"45000"`},
		{"at that or better", orderCmd{Side: "sell", Outcome: "no", Qty: 10, Worst: "40"}, `"type":"market","worst_tick":4000`},
		{"both", orderCmd{Side: "sell", Outcome: "no", Qty: 10, Price: "@40", Market: true}, "--price: a market order has none"},
		{"too dear", orderCmd{Side: "buy", Outcome: "no", Qty: 1, MaxCost: "lots"}, "--max-cost"},
	} {
		in, err := c.cmd.order()
		body, _ := schemas.Body(in)
		text := string(body)
		if err != nil {
			text = err.Error()
		} else if f := schemas.Decode(body, new(schemas.PlaceOrder)); f != nil && f.Field != "market_id" {
			t.Errorf("%s: the venue would refuse %s: %v", c.name, body, f)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

func TestEveryOrderHasAnIDOfItsOwn(t *testing.T) {
	c := orderCmd{Side: "buy", Outcome: "yes", Qty: 1, Price: "@50"}
	a, _ := c.order()
	b, _ := c.order()
	if a.ClientOrderID == 0 || a.ClientOrderID == b.ClientOrderID {
		t.Errorf("%d and %d", a.ClientOrderID, b.ClientOrderID)
	}
	c.ClientOrderID = 7
	if a, _ = c.order(); a.ClientOrderID != 7 {
		t.Errorf("%d", a.ClientOrderID)
	}
}

func TestPricesInCents(t *testing.T) {
	for pips, want := range map[int64]string{0: "-", 100: "1¢", 350: "3.5¢", 5500: "55¢", 9990: "99.9¢"} {
		if got := cents(pips); got != want {
			t.Errorf("%d: %s", pips, got)
		}
	}
	if series(9) != "WTI 15m" || series(12) != "#12" {
		t.Error(series(9), series(12))
	}
}

func TestBarFillsUp(t *testing.T) {
	var to bytes.Buffer
	b := bar{to: &to, total: 200}
	b.at(50)
	b.at(60) // too soon to be drawn
	b.at(200)
	if got := to.String(); !strings.Contains(got, "[==========   ") || !strings.Contains(got, "100 % of 200") || strings.Contains(got, "30 %") {
		t.Errorf("%q", got)
	}
}
