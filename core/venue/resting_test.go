package venue

import (
	"fmt"
	"runtime"
	"testing"

	"duplex/core"
)

// heapInUse is the live heap, in bytes. Pools free what they keep in the second collection
// after its last use, and finalizers one later, so it collects until nothing more is freed.
func heapInUse() uint64 {
	var m runtime.MemStats
	for last := uint64(0); ; last = m.HeapAlloc {
		runtime.GC()
		runtime.ReadMemStats(&m)
		if last != 0 && m.HeapAlloc >= last-min(last, 4096) {
			return m.HeapAlloc
		}
	}
}

// BenchmarkResting places and cancels an order among so many that rest, over nine
// books. B/resting is the heap an order takes that rests, its client_order_id included.
func BenchmarkResting(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v, st := streamVenue(b)
			do := drive(b, v, &st, &core.Events{})
			order := func(i int) *core.PlaceOrder {
				return &core.PlaceOrder{
					User: core.UserID(1 + i%streamUsers), ClientID: uint64(i + 1), Market: core.MarketID(1 + i%streamMarkets),
					Side: core.Buy, Outcome: core.Yes, Tick: core.Tick(100 + i*7919%4000), Qty: 1,
				}
			}
			before := heapInUse()
			for i := range n {
				do(order(i))
			}
			each := float64(heapInUse()-before) / float64(n)
			place, cancel := order(n), &core.CancelOrder{}
			b.ReportAllocs()
			for b.Loop() {
				place.ClientID++
				do(place)
				cancel.User, cancel.Order = place.User, core.OrderID(st.Seq)
				do(cancel)
			}
			b.ReportMetric(each, "B/resting")
		})
	}
}
