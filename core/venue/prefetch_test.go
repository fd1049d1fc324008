package venue

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
	"duplex/core/ledger"
)

// TestPrefetchChangesNothing checks that commands have the same results with and without Prefetch,
// whether it is given those commands or senseless ones.
func TestPrefetchChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, s, _ := begin(t)
		w, err := Restore(bytesOf(t, v))
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + s.fair(6, "groups") {
			group := make([]core.Command, 1+s.fair(PrefetchMax+3, "size"))
			for i := range group {
				group[i] = s.command()
			}
			list := group
			if s.fair(4, "nonsense") == 0 {
				list = nonsense
			}
			v.Prefetch(list)
			for _, cmd := range group {
				st := s.stamp()
				if got, want := v.Apply(st, cmd, &core.Events{}), w.Apply(st, cmd, &core.Events{}); got != want {
					t.Fatalf("%v, and %v without Prefetch", got, want)
				} else if _, ok := cmd.(*core.PlaceOrder); ok && got == core.OK {
					s.ids = append(s.ids, core.OrderID(st.Seq))
				}
			}
		}
		if !bytes.Equal(bytesOf(t, v), bytesOf(t, w)) {
			t.Fatal("the states differ")
		}
	})
}

var nonsense = []core.Command{
	&core.CancelOrder{}, &core.CancelOrder{User: 1 << 31, Order: 1 << 63}, &core.Clock{},
	&core.PlaceOrder{}, &core.PlaceOrder{User: 1 << 31, Market: 1, Tick: 5000}, &core.PlaceOrder{User: 1, Market: Slots + 1, Tick: 5000},
	&core.PlaceOrder{User: 1, Market: 1, Tick: -1}, &core.PlaceOrder{User: 1, Market: 1, Tick: core.TickMax + 1, TIF: core.IOC},
	&core.PlaceOrder{User: 1, Market: 1, Tick: 5000, Side: 7, Outcome: 1, TIF: 9}, &core.PlaceOrder{User: 2, Market: 1, Tick: 5000, Outcome: core.No, TIF: core.IOC},
}

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
