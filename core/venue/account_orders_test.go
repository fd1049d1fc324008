package venue

import (
	"math"
	"testing"

	"duplex/core"
	"duplex/core/ledger"
)

// TestAccountOrders checks that a mass cancel goes from an account's newest order to its oldest, after
// many of them were canceled one by one.
func TestAccountOrders(t *testing.T) {
	v, st := streamVenue(t)
	ev := &core.Events{}
	do := drive(t, v, &st, ev)
	var rests []core.OrderID
	for i := range 5000 {
		do(&core.PlaceOrder{User: 1, ClientID: uint64(i + 1), Market: 1, Side: core.Buy, Tick: 5000, Qty: 1})
		rests = append(rests, core.OrderID(st.Seq))
		if len(rests) > 100 {
			at := i * 7 % len(rests)
			do(&core.CancelOrder{User: 1, Order: rests[at]})
			rests = append(rests[:at], rests[at+1:]...)
		}
	}
	do(&core.CancelAll{User: 1})
	for _, e := range ev.List {
		if c, ok := e.(*core.OrderClosed); ok {
			if last := rests[len(rests)-1]; c.Order != last {
				t.Fatalf("order %d ended before %d", c.Order, last)
			}
			rests = rests[:len(rests)-1]
		}
	}
	if len(rests) != 0 {
		t.Errorf("%d are left", len(rests))
	}
}

// TestContractsMax checks that ledger.ContractsMax bounds an account's contracts in a market, even if
// the rules allow more.
func TestContractsMax(t *testing.T) {
	v, st := streamVenue(t)
	ev := &core.Events{}
	do := drive(t, v, &st, ev)
	left := ledger.ContractsMax
	place := func(qty core.Qty) *core.PlaceOrder {
		return &core.PlaceOrder{User: 1, ClientID: st.Seq, Market: 1, Tick: 1, Qty: qty}
	}
	for left > 0 {
		n := min(left, core.QtyMax)
		do(place(n))
		left -= n
	}
	h := v.Holding(1, 1)
	if got := h.Exposure(core.Yes); got != math.MaxInt32 {
		t.Errorf("%d contracts are bid for", got)
	}
	st.Seq++
	st.Ts++
	if r := v.Apply(st, place(1), ev); r != core.PerMarketLimit {
		t.Errorf("one more: %v", r)
	}
}
