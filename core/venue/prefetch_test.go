package venue

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"duplex/core"
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
					t.Fatalf("%T has %v after Prefetch, and %v without", cmd, got, want)
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
	&core.CancelOrder{}, &core.CancelOrder{User: 1 << 31, Order: 1 << 63}, &core.Clock{}, &core.ReplaceOrder{}, &core.ReplaceOrder{PlaceOrder: core.PlaceOrder{User: 1 << 31}, Old: 1 << 63},
	&core.Marked{Command: &core.CancelOrder{User: 1, Order: 1}},
	&core.PlaceOrder{}, &core.PlaceOrder{User: 1 << 31, Market: 1, Tick: 5000}, &core.PlaceOrder{User: 1, Market: Slots + 1, Tick: 5000},
	&core.PlaceOrder{User: 1, Market: 1, Tick: -1}, &core.PlaceOrder{User: 1, Market: 1, Tick: core.TickMax + 1, TIF: core.IOC},
	&core.PlaceOrder{User: 1, Market: 1, Tick: 5000, Side: 7, Outcome: 1, TIF: 9}, &core.PlaceOrder{User: 2, Market: 1, Tick: 5000, Outcome: core.No, TIF: core.IOC},
}
