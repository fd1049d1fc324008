package venue

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/book"
)

// replaceVenue is a venue in which user 1 bids for 10 YES at 4000 behind 5 of user 2, and ahead of 3
// of user 3. do applies a command; the ids are those of the three bids.
type replaceVenue struct {
	*Venue
	t    *testing.T
	st   core.Stamp
	ev   core.Events
	own  core.OrderID
	next uint64
}

func newReplaceVenue(t *testing.T, r core.Revision) *replaceVenue {
	v := &replaceVenue{Venue: New(), t: t, st: core.Stamp{Ts: origin + core.NsPerSec/2}, next: 100}
	for _, c := range openingUnder(r) {
		v.must(c)
	}
	v.must(&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Tick: 4000, Qty: 5})
	v.own = v.must(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 4000, Qty: 10, Group: 7})
	v.must(&core.PlaceOrder{User: 3, ClientID: 1, Market: 1, Tick: 4000, Qty: 3})
	return v
}

func (v *replaceVenue) do(c core.Command) core.Reject {
	v.st.Seq++
	v.st.Ts++
	v.ev.Reset()
	r := v.Apply(v.st, c, &v.ev)
	v.Audit()
	return r
}

func (v *replaceVenue) must(c core.Command) core.OrderID {
	v.t.Helper()
	if r := v.do(c); r != core.OK {
		v.t.Fatalf("%T is rejected: %v", c, r)
	}
	return core.OrderID(v.st.Seq)
}

// replacement returns a replace of the own bid by qty contracts at a tick.
func (v *replaceVenue) replacement(t core.Tick, qty core.Qty) *core.ReplaceOrder {
	v.next++
	return &core.ReplaceOrder{Old: v.own, PlaceOrder: core.PlaceOrder{User: 1, ClientID: v.next, Market: 1, Tick: t, Qty: qty}}
}

func (v *replaceVenue) ahead(id core.OrderID) core.Qty {
	n, ok := v.QueueAhead(id)
	if !ok {
		return -1
	}
	return n
}

// TestReplaceMovesAnOrder tests docs/rules/orders.md#replace: the old order ends with the reason
// replaced, the new one is last at its price, and the account's money is that of the new order alone.
func TestReplaceMovesAnOrder(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	if got := v.ahead(v.own); got != 5 {
		t.Fatalf("%d ahead of the old order", got)
	}
	v.must(v.replacement(4000, 12))
	var order []string
	for _, e := range v.ev.List {
		switch e := e.(type) {
		case *core.OrderClosed:
			order = append(order, fmt.Sprint(e.Order == v.own, e.Status, e.Reason, e.Left))
		case *core.OrderPlaced:
			order = append(order, "placed")
		case *core.LevelChanged:
			order = append(order, fmt.Sprint(e.Delta, e.Qty))
		}
	}
	if want := []string{"true canceled replaced 10", "-10 8", "placed", "12 20"}; !reflect.DeepEqual(order, want) {
		t.Errorf("events %q, want %q", order, want)
	}
	if v.ahead(v.own) != -1 || v.ahead(core.OrderID(v.st.Seq)) != 8 {
		t.Errorf("%d ahead of the old order, %d of the new one", v.ahead(v.own), v.ahead(core.OrderID(v.st.Seq)))
	}
	if cash, reserved := v.Balance(1); cash+reserved != 1_000_000 || reserved != 12*4000 || v.accounts[1].resting != 1 {
		t.Errorf("cash %d, reserved %d, %d orders rest", cash, reserved, v.accounts[1].resting)
	}
}

// TestReplaceSeen tests that a replace does not buy again what filled since the caller read the old order,
// and that it did before revision 10.
func TestReplaceSeen(t *testing.T) {
	for _, c := range []struct {
		name      string
		revision  core.Revision
		fills     core.Qty // after the caller read 10
		qty, seen core.Qty
		want      core.Qty // of the new order
		reject    core.Reject
	}{
		{"nothing filled", core.RevisionNewest, 0, 10, 10, 10, core.OK},
		{"what remains", core.RevisionNewest, 4, 10, 10, 6, core.OK},
		{"a larger total", core.RevisionNewest, 4, 15, 10, 11, core.OK},
		{"the quantity as it is", core.RevisionNewest, 4, 10, 0, 10, core.OK},
		{"no more than what filled", core.RevisionNewest, 4, 4, 10, 0, core.BadQty},
		{"the caller had read less", core.RevisionNewest, 4, 10, 3, 10, core.OK},
		{"from revision 10 on", core.RevisionReplaceSeen, 4, 10, 10, 6, core.OK},
		{"before revision 10", core.RevisionDeposits, 4, 10, 10, 10, core.OK},
	} {
		v := newReplaceVenue(t, c.revision)
		if c.fills > 0 { // behind the 5 of user 2
			v.must(&core.PlaceOrder{User: 4, ClientID: 9, Market: 1, Outcome: core.No, Tick: 6000, Qty: 5 + c.fills})
		}
		cmd := v.replacement(3900, c.qty)
		cmd.Seen = c.seen
		if got := v.do(cmd); got != c.reject {
			t.Errorf("%s: the replace is %v, want %v", c.name, got, c.reject)
			continue
		}
		if cmd.Qty != c.qty {
			t.Errorf("%s: the command of the log now has %d contracts, it came with %d", c.name, cmd.Qty, c.qty)
		}
		id, want := core.OrderID(v.st.Seq), c.want
		if c.reject != core.OK {
			id, want = v.own, 10-c.fills // the old order stays
		}
		r := v.pool.Find(id)
		if r == book.None {
			t.Errorf("%s: the order does not rest, want %d contracts", c.name, want)
		} else if left := core.Qty(v.pool.At(r).Left); left != want {
			t.Errorf("%s: %d contracts rest, want %d", c.name, left, want)
		}
	}
}

// TestReplaceUsesWhatTheOldOrderHeld tests that cash, contracts and the place of an open order that the
// old order held count for the new one.
func TestReplaceUsesWhatTheOldOrderHeld(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	rules := v.Rules()
	rules.OpenOrders, rules.Contracts = 1, 200
	v.must(&core.SetRules{Rules: rules})
	cash, _ := v.Balance(1)
	v.must(&core.RequestWithdrawal{User: 1, ClientID: "all", Amount: cash, Destination: "d"})
	if r := v.do(v.replacement(5000, 9)); r != core.InsufficientBalance { // 45000 and its fee, of 40000
		t.Errorf("more than it held: %v", r)
	}
	v.own = v.must(v.replacement(3500, 11))
	v.must(&core.PlaceOrder{User: 4, ClientID: 2, Market: 1, Outcome: core.No, Tick: 6500, Qty: 19})
	v.own = v.must(&core.PlaceOrder{User: 1, ClientID: 2, Market: 1, Side: core.Sell, Tick: 6000, Qty: 11})
	sell := v.replacement(5900, 11)
	sell.Side = core.Sell
	v.own = v.must(sell)
	sell = v.replacement(5800, 12)
	sell.Side = core.Sell
	if r := v.do(sell); r != core.InsufficientPosition {
		t.Errorf("a sale of more than is held: %v", r)
	}
}

// TestReplaceRejected tests that a rejected replace leaves the old order with its place, and when it
// uses its client_order_id.
func TestReplaceRejected(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*core.ReplaceOrder)
		want   core.Reject
		row    bool // of the rejected order; its client_order_id is then used
	}{
		{"unknown order", func(c *core.ReplaceOrder) { c.Old = 9999 }, core.UnknownOrder, false},
		{"another account's order", func(c *core.ReplaceOrder) { c.Old++ }, core.UnknownOrder, false},
		{"another side", func(c *core.ReplaceOrder) { c.Side = core.Sell }, core.UnknownOrder, false},
		{"another outcome", func(c *core.ReplaceOrder) { c.Outcome = core.No }, core.UnknownOrder, false},
		{"another market", func(c *core.ReplaceOrder) { c.Market = 2 }, core.UnknownOrder, false},
		{"used id", func(c *core.ReplaceOrder) { c.ClientID = 1 }, core.DuplicateClientOrderID, false},
		{"used id, unknown order", func(c *core.ReplaceOrder) { c.ClientID, c.Old = 1, 9999 }, core.DuplicateClientOrderID, false},
		{"no id", func(c *core.ReplaceOrder) { c.ClientID = 0 }, core.ClientOrderIDRequired, true},
		{"no id, unknown order", func(c *core.ReplaceOrder) { c.ClientID, c.Old = 0, 9999 }, core.ClientOrderIDRequired, false},
		{"off the grid", func(c *core.ReplaceOrder) { c.Tick = 4050 }, core.BadPriceTick, true},
		{"a fault of decoding", func(c *core.ReplaceOrder) { c.Fault = core.BadQty }, core.BadQty, true},
		{"too many", func(c *core.ReplaceOrder) { c.Qty = 900_000 }, core.InsufficientBalance, true},
		{"another account", func(c *core.ReplaceOrder) { c.User = 2 }, core.UnknownOrder, false},
		{"no account", func(c *core.ReplaceOrder) { c.User = 99 }, core.UnknownUser, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newReplaceVenue(t, core.RevisionNewest)
			x := v.replacement(4100, 4)
			c.change(x)
			before := v.ahead(v.own)
			if got := v.do(x); got != c.want {
				t.Fatalf("%v, want %v", got, c.want)
			}
			if rows := len(v.ev.List); (rows == 1) != c.row || rows > 1 {
				t.Errorf("events %+v", v.ev.List)
			}
			if after := v.ahead(v.own); after != before {
				t.Errorf("%d contracts ahead of the old order, before %d", after, before)
			}
			if used := v.UsedID(1, x.ClientID); x.ClientID > 1 && c.want != core.UnknownUser && x.User == 1 && used != c.row {
				t.Errorf("client_order_id used: %t", used)
			}
		})
	}
}

// TestReplaceOfAnEarlierRevision tests that a journal of before the command keeps its outcomes.
func TestReplaceOfAnEarlierRevision(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionOldest)
	if r := v.do(v.replacement(4100, 4)); r != core.UnknownOrder || len(v.ev.List) != 0 {
		t.Errorf("%v, events %+v", r, v.ev.List)
	}
	v.must(&core.ActivateRules{Revision: core.RevisionReplace})
	v.must(v.replacement(4100, 4))
}

// TestReplaceThatIsCanceled tests that a new order which is canceled at once, which is no rejection,
// has replaced the old one.
func TestReplaceThatIsCanceled(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	v.must(&core.PlaceOrder{User: 4, ClientID: 2, Market: 1, Outcome: core.No, Tick: 5500, Qty: 4}) // an ask at 4500
	c := v.replacement(4500, 4)
	c.Flags = core.PostOnly
	v.must(c)
	if _, rests := v.QueueAhead(v.own); rests || v.Resting() != 3 {
		t.Errorf("the old order rests: %t, %d orders in the book", rests, v.Resting())
	}
}

// TestReplaceTakes tests that the new order matches as any placement.
func TestReplaceTakes(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	v.must(&core.PlaceOrder{User: 4, ClientID: 2, Market: 1, Outcome: core.No, Tick: 5500, Qty: 4})
	v.must(v.replacement(4500, 6))
	if p := v.Position(1, 1); p.Yes != 4 || v.ahead(core.OrderID(v.st.Seq)) != 0 {
		t.Errorf("position %+v, %d ahead", p, v.ahead(core.OrderID(v.st.Seq)))
	}
}

// TestReplaceByAnAgent tests that a mandate counts the old order as gone
// (docs/rules/agent-accounts.md#mandate).
func TestReplaceByAnAgent(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionNewest)
	m := core.Mandate{OpenOrders: 1}
	m.Set = 1 << core.RuleOpenOrders
	v.must(&core.CreateAgent{Owner: 1, Name: "a", Fund: 500_000, Mandate: m})
	var agent core.UserID
	for _, e := range v.ev.List {
		if c, ok := e.(*core.UserChanged); ok {
			agent = c.User.ID
		}
	}
	id := v.must(&core.PlaceOrder{User: agent, ClientID: 1, Market: 1, Tick: 3000, Qty: 4})
	if r := v.do(&core.PlaceOrder{User: agent, ClientID: 2, Market: 1, Tick: 3000, Qty: 4}); r != core.MandateViolation {
		t.Fatalf("a second order: %v", r)
	}
	v.must(&core.ReplaceOrder{Old: id, PlaceOrder: core.PlaceOrder{User: agent, ClientID: 3, Market: 1, Tick: 3100, Qty: 4}})
}

// BenchmarkReplace compares replaces with placements of the same orders, in one run: ratio is the time
// of a replace over that of a placement, at most 1.7. The orders are at two prices, behind 100 orders
// each.
//
//	go test ./core/venue -run xxx -bench Replace -benchtime 20000x
func BenchmarkReplace(b *testing.B) {
	const batch = 64
	v, st := streamVenue(b)
	do := drive(b, v, &st, &core.Events{})
	n := uint64(0)
	next := func(p *core.PlaceOrder) {
		n++
		p.ClientID, p.Tick = n, core.Tick(4000+100*(n>>1%2))
	}
	for i := range core.UserID(200) {
		c := &core.PlaceOrder{User: 2 + i%100, Market: 1, Qty: 5}
		next(c)
		do(c)
	}
	place, replace, cancel := &core.PlaceOrder{User: 1, Market: 1, Qty: 5}, &core.ReplaceOrder{PlaceOrder: core.PlaceOrder{User: 1, Market: 1, Qty: 5}}, &core.CancelOrder{User: 1}
	var placing, replacing time.Duration
	b.ReportAllocs()
	for b.Loop() {
		begin, first := time.Now(), core.OrderID(st.Seq+1)
		for range batch {
			next(place)
			do(place)
		}
		middle := time.Now()
		for i := range core.OrderID(batch) {
			next(&replace.PlaceOrder)
			replace.Old = first + i
			do(replace)
		}
		placing, replacing = placing+middle.Sub(begin), replacing+time.Since(middle)
		for i := range core.OrderID(batch) {
			cancel.Order = first + batch + i
			do(cancel)
		}
	}
	orders := float64(b.N * batch)
	b.ReportMetric(float64(placing.Nanoseconds())/orders, "ns/placement")
	b.ReportMetric(float64(replacing.Nanoseconds())/orders, "ns/replace")
	b.ReportMetric(float64(replacing)/float64(placing), "ratio")
}
