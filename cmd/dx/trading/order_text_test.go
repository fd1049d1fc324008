package trading

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"duplex/core"
	"duplex/schemas"
)

func TestOutcomeText(t *testing.T) {
	fills := []schemas.OutcomeFill{{TickYes: 5600, Qty: 7}, {TickYes: 5700, Qty: 3}}
	order := func(side, outcome string, tick, qty int) *schemas.PlaceOrder {
		in := &schemas.PlaceOrder{Side: side, Outcome: outcome, Qty: schemas.Int(qty)}
		if tick > 0 {
			in.Tick = schemas.Ptr(schemas.Int(tick))
		}
		return in
	}
	for _, c := range []struct {
		in   *schemas.PlaceOrder
		out  schemas.Outcome
		want string
	}{
		{order("buy", "yes", 0, 10), schemas.Outcome{OrderID: 464, Status: "executed", FilledQty: 10, Fills: fills, Fee: 616}, "Bought 10 YES in btc-15m at 56¢ to 57¢ for $5.63, plus a fee of $0.0616. Order 464."},
		{order("sell", "no", 4300, 7), schemas.Outcome{OrderID: 5, Status: "executed", FilledQty: 7, Fills: fills[:1], Fee: 100}, "Sold 7 NO in btc-15m at 44¢ for $3.08, less a fee of $0.01. Order 5."},
		{order("buy", "yes", 5650, 20), schemas.Outcome{OrderID: 6, Status: "partially_filled", FilledQty: 7, RestingQty: 13, Fills: fills[:1]}, "Bought 7 YES in btc-15m at 56¢ for $3.92. The rest waits to buy 13 YES at 56.5¢. Order 6."},
		{order("buy", "yes", 1000, 20), schemas.Outcome{OrderID: 7, Status: "resting", RestingQty: 20}, "Your order waits to buy 20 YES at 10¢. Order 7."},
		{order("buy", "yes", 1000, 2500), schemas.Outcome{OrderID: 7000, Status: "partially_filled", FilledQty: 1000, RestingQty: 1500, Fills: []schemas.OutcomeFill{{TickYes: 1000, Qty: 1000}}}, "Bought 1,000 YES in btc-15m at 10¢ for $100.00. The rest waits to buy 1,500 YES at 10¢. Order 7000."},
		{order("buy", "yes", 1000, 2500), schemas.Outcome{OrderID: 7000, Status: "canceled", Reason: "post_only_cross"}, "The order to buy 2,500 YES in btc-15m was canceled: it would have traded at once. Order 7000."},
		{order("buy", "yes", 0, 20), schemas.Outcome{OrderID: 8, Status: "canceled", FilledQty: 7, Fills: fills[:1], Reason: "max_cost_infeasible"}, "Bought 7 YES in btc-15m at 56¢ for $3.92. The rest was canceled: the spending limit was reached. Order 8."},
		{order("sell", "yes", 9900, 20), schemas.Outcome{OrderID: 9, Status: "canceled", Reason: "post_only_cross"}, "The order to sell 20 YES in btc-15m was canceled: it would have traded at once. Order 9."},
	} {
		if got := (orderLabel{c.in, "btc-15m"}).outcomeText(&c.out); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	for _, c := range []struct {
		in   *schemas.PlaceOrder
		out  schemas.Preview
		want string
	}{
		{order("buy", "yes", 0, 7), schemas.Preview{Status: "executed", Fills: fills[:1], WorstLoss: 39_200, BestPayout: 70_000, CashAfter: 1_000_000}, "Would buy 7 YES in market 4 at 56¢ for $3.92. Worst loss $3.92, best payout $7.00; free cash after it $100.00."},
		{order("buy", "no", 4400, 10), schemas.Preview{Status: "partially_filled", Fills: fills[:1]}, "Would buy 7 NO in market 4 at 44¢ for $3.08. An order to buy 3 NO at 44¢ would rest. Worst loss $0.00, best payout $0.00; free cash after it $0.00."},
		{order("buy", "no", 4400, 10), schemas.Preview{Status: "canceled", Reason: "post_only_cross"}, "The order to buy 10 NO in market 4 would be canceled: it would have traded at once. Worst loss $0.00, best payout $0.00; free cash after it $0.00."},
	} {
		if got := (orderLabel{c.in, "market 4"}).previewText(&c.out); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// TestWaitingText checks that an order that waits for its owner is not said to be placed: in the result, in the result
// that is found after a lost answer, and in the preview.
func TestWaitingText(t *testing.T) {
	in := &schemas.PlaceOrder{Side: "buy", Outcome: "yes", Qty: 7}
	waits := schemas.Waiting{Status: "waiting", ApprovalID: 190, Cost: 54_622, ExpiresTs: 1_800_000_060_000_000_000, ApproveURL: "http://127.0.0.1:8081/#/approvals/190"}
	for _, c := range []struct {
		change func(*schemas.Waiting)
		want   string
	}{
		{func(*schemas.Waiting) {}, "Not placed yet: it waits for its owner until 08:01:00 UTC, who decides at http://127.0.0.1:8081/#/approvals/190 (approval 190). It would cost at most $5.4622."},
		{func(w *schemas.Waiting) { w.ApproveURL = "" }, "Not placed yet: it waits for its owner until 08:01:00 UTC, who decides in the portal (approval 190). It would cost at most $5.4622."},
		{func(w *schemas.Waiting) { w.Status = "rejected" }, "Not placed: it waited for its owner, and its owner rejected it (approval 190)."},
		{func(w *schemas.Waiting) { w.Status = "expired" }, "Not placed: it waited for its owner, and nobody decided in time (approval 190)."},
		{func(w *schemas.Waiting) { w.Status = "canceled" }, "Not placed: it waited for its owner, and it was canceled (approval 190)."},
	} {
		w := waits
		c.change(&w)
		var p schemas.Placed
		p.Await(&w)
		if got := PlacedText(in, "btc-15m", &p); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	done := schemas.Placed{Outcome: schemas.Outcome{OrderID: 7, Status: "executed", FilledQty: 7, Fills: []schemas.OutcomeFill{{TickYes: 5600, Qty: 7}}}}
	if got, want := PlacedText(in, "btc-15m", &done), "Bought 7 YES in btc-15m at 56¢ for $3.92. Order 7."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	preview := schemas.Preview{Status: "executed", Fills: []schemas.OutcomeFill{{TickYes: 5600, Qty: 7}}, NeedsApproval: true, WorstLoss: 39_200, BestPayout: 70_000}
	if got, want := PreviewText(in, "btc-15m", &preview), "It would wait for its owner. If that approved it now: Would buy 7 YES in btc-15m at 56¢ for $3.92. Worst loss $3.92, best payout $7.00; free cash after it $0.00."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for _, status := range core.AskStatuses()[1:] {
		if ApprovalEnd(status, "") == status {
			t.Errorf("%s has no words", status)
		}
	}
	if got, want := ApprovalEnd("canceled", "user_cancel"), "it was canceled by the agent"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := ApprovalEnd("canceled", "halted"), "it was canceled: the agent was stopped"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestReasons checks that the terminal and the page have the same words for each reason of the venue.
func TestReasons(t *testing.T) {
	page, err := os.ReadFile("../../../lanes/portal/web/src/shared/errors.ts")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "const REASONS")
	block, _, _ := strings.Cut(rest, "\n}")
	words := regexp.MustCompile(`(\w+): '(.+)',`).FindAllStringSubmatch(block, -1)
	for _, w := range words {
		if got := reasonText(w[1]); got != w[2] {
			t.Errorf("%s: %q, and the page says %q", w[1], got, w[2])
		}
	}
	named := append(core.Reasons(), core.KeyRevoked.String()) // the last one is of an approval alone
	for _, r := range named {
		if reasons[r] == "" {
			t.Errorf("%s has no words", r)
		}
	}
	if len(words) != len(named) || len(reasons) != len(named) {
		t.Errorf("of %d reasons the terminal has words for %d, and the page for %d", len(named), len(reasons), len(words))
	}
}

// TestBoundsAndReplacementText checks that a market order's sentence names its worst price, and that
// of a replace both orders.
func TestBoundsAndReplacementText(t *testing.T) {
	in := &schemas.PlaceOrder{Side: "buy", Outcome: "yes", Qty: 7, WorstTick: schemas.Ptr(schemas.Int(5800))}
	out := schemas.Outcome{OrderID: 5, Status: "executed", FilledQty: 7, Fills: []schemas.OutcomeFill{{TickYes: 5600, Qty: 7}}}
	if got, want := (orderLabel{in, "btc-15m"}).outcomeText(&out), "Bought 7 YES in btc-15m at 56¢ for $3.92. Highest price: 58¢. Order 5."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	in.WorstTick, out.WorstTick = nil, 5700
	if got, want := (orderLabel{in, "btc-15m"}).outcomeText(&out), "Bought 7 YES in btc-15m at 56¢ for $3.92. Highest price: 57¢. Order 5."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	in = &schemas.PlaceOrder{Side: "sell", Outcome: "no", Qty: 20, Tick: schemas.Ptr(schemas.Int(5600))}
	r := schemas.Replacement{Outcome: schemas.Outcome{OrderID: 190, Status: "resting", RestingQty: 20}, Replaced: schemas.Replaced{OrderID: 184, CanceledQty: 1}}
	if got, want := (orderLabel{in, "market 4"}).replacementText(&r), "Canceled order 184: 1 contract. Your order waits to sell 20 NO at 56¢. Order 190."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCanceledText(t *testing.T) {
	results := []schemas.CancelResult{{Canceled: &schemas.Canceled{CanceledQty: 3}}, {Error: schemas.Ptr(schemas.ErrorOf("unknown_order"))}, {Canceled: &schemas.Canceled{CanceledQty: 1}}}
	if got, want := canceledText([]uint64{4, 5, 6}, results), "Canceled order 4: 3 contracts.\nCanceled order 6: 1 contract."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := canceledText([]uint64{5}, results[1:2]); got != "Nothing was canceled." {
		t.Error(got)
	}
	for _, c := range []struct {
		cmd  Cancel
		want string
	}{
		{Cancel{}, "Canceled all resting orders."}, {Cancel{MarketID: 3, Group: 7}, "Canceled all resting orders in market 3 of group 7."}, {Cancel{Series: "btc-5m", MarketID: 3}, "Canceled all resting orders in btc-5m."},
	} {
		if got := c.cmd.allText(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
