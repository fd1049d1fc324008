package venue

import (
	"slices"
	"testing"

	"duplex/core"
)

// TestClippedOrderIsRestored checks that a restored venue knows which orders are clipped.
func TestClippedOrderIsRestored(t *testing.T) {
	v, do := opened(t)
	for _, c := range []core.Command{
		&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 5000, Qty: 6},
		&core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Outcome: core.No, Tick: 5000, Qty: 6},
		&core.PlaceOrder{User: 1, ClientID: 2, Market: 1, Outcome: core.No, Tick: 5000, Qty: 6, Flags: core.ReduceOnly | core.CancelOnPause},
		&core.PlaceOrder{User: 1, ClientID: 3, Market: 1, Side: core.Sell, Tick: 4900, Qty: 4},
		&core.PlaceOrder{User: 3, ClientID: 1, Market: 1, Tick: 4900, Qty: 4},
		&core.PlaceOrder{User: 3, ClientID: 2, Market: 1, Tick: 5000, Qty: 1}, // user 1 holds 2 YES now: after this fill reduce_only leaves 1 contract of 5
	} {
		if r := do(c); r != core.OK {
			t.Fatalf("%+v: %v", c, r)
		}
	}
	again := restored(t, v)
	for _, x := range []*Venue{v, again} {
		ev := &core.Events{}
		st := core.Stamp{Seq: x.Now().Seq + 1, Ts: x.Now().Ts + 1}
		if r := x.Apply(st, &core.PlaceOrder{User: 3, ClientID: 3, Market: 1, Tick: 5000, Qty: 1, TIF: core.IOC}, ev); r != core.OK {
			t.Fatal(r)
		}
		i := slices.IndexFunc(ev.List, func(e core.Event) bool { _, ok := e.(*core.Filled); return ok })
		if i < 0 || ev.List[i].(*core.Filled).MakerReason != core.ReduceOnlyExceeded {
			t.Errorf("events %+v", ev.List)
		}
	}
}
