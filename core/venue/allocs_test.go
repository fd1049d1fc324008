package venue

import (
	"testing"

	"duplex/core"
)

// TestAllocs checks that placing, filling, decreasing, replacing and canceling an order, and their events,
// allocate nothing. Only an order with an expiry allocates, for its timer.
func TestAllocs(t *testing.T) {
	v, st := streamVenue(t)
	do := drive(t, v, &st, &core.Events{})
	const maker, taker = 1, 2
	rest := &core.PlaceOrder{User: maker, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 5000, Qty: 10, Group: 7}
	take := &core.PlaceOrder{User: taker, Market: 1, Side: core.Buy, Outcome: core.No, Tick: 5000, Qty: 4, TIF: core.IOC}
	lower := &core.DecreaseOrder{User: maker, To: true, Amount: 3}
	replace := &core.ReplaceOrder{PlaceOrder: core.PlaceOrder{User: maker, Market: 1, Tick: 4900, Qty: 8, Group: 7}}
	cancel := &core.CancelOrder{User: maker}
	round := func() {
		rest.ClientID += 2
		take.ClientID++
		replace.ClientID = rest.ClientID + 1
		do(rest)
		lower.Order, replace.Old = core.OrderID(st.Seq), core.OrderID(st.Seq)
		for _, c := range []core.Command{take, lower, replace} {
			do(c)
		}
		cancel.Order = core.OrderID(st.Seq)
		do(cancel)
	}
	for range 5000 { // until slabs, lists and the pool have grown
		round()
	}
	if n := testing.AllocsPerRun(2000, round); n != 0 {
		t.Errorf("%v allocations in a placement, a trade, a decrease, a replace and a cancel", n)
	}
}
