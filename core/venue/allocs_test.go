package venue

import (
	"testing"

	"duplex/core"
)

// The matching path allocates nothing: not when an order rests, trades, is lowered or
// is canceled, nor for its events. (One with an expiry has a timer.)
func TestAllocs(t *testing.T) {
	v, st := streamVenue(t)
	do := drive(t, v, &st, &core.Events{})
	const maker, taker = 1, 2
	rest := &core.PlaceOrder{User: maker, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 5000, Qty: 10, Group: 7}
	take := &core.PlaceOrder{User: taker, Market: 1, Side: core.Buy, Outcome: core.No, Tick: 5000, Qty: 4, TIF: core.IOC}
	lower := &core.DecreaseOrder{User: maker, To: true, Amount: 3}
	cancel := &core.CancelOrder{User: maker}
	round := func() {
		rest.ClientID++
		take.ClientID++
		do(rest)
		lower.Order, cancel.Order = core.OrderID(st.Seq), core.OrderID(st.Seq)
		for _, c := range []core.Command{take, lower, cancel} {
			do(c)
		}
	}
	for range 5000 { // slabs, lists and the pool have the room they need
		round()
	}
	if n := testing.AllocsPerRun(2000, round); n != 0 {
		t.Errorf("%v allocations in a placement, a trade, a decrease and a cancel", n)
	}
}
