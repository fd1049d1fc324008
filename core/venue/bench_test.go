package venue

import (
	"fmt"
	"runtime"
	"testing"

	"duplex/core"
)

// BenchmarkImage measures how long taking an image delays commands, for numbers of accounts with
// holdings and of resting orders in nine markets. Past deposits, withdrawals and client order ids must
// not change the time.
//
//	go test ./core/venue -run xxx -bench Image
func BenchmarkImage(b *testing.B) {
	for _, c := range []struct{ accounts, orders, past int }{
		{1000, 10_000, 0}, {1000, 10_000, 1_000_000}, {1000, 1_000_000, 0}, {20_000, 10_000, 0},
	} {
		b.Run(fmt.Sprintf("accounts=%d/orders=%d/past=%d", c.accounts, c.orders, c.past), func(b *testing.B) {
			v, st := streamVenue(b)
			ev := &core.Events{}
			do := drive(b, v, &st, ev)
			for u := core.UserID(streamUsers + 1); int(u) <= c.accounts; u++ {
				do(&core.CreateUser{Name: "u"})
				do(&core.Deposit{User: u, DepositID: fmt.Sprint("first ", u), Amount: 1 << 40})
			}
			id := uint64(0)
			place := func(u int, m core.MarketID, o core.Outcome, t core.Tick) {
				id++
				do(&core.PlaceOrder{User: core.UserID(1 + u%c.accounts), ClientID: id, Market: m, Outcome: o, Tick: t, Qty: 1})
			}
			for u := range c.accounts / 2 {
				for m := core.MarketID(1); m <= streamMarkets; m++ {
					place(2*u, m, core.Yes, 5000)
					place(2*u+1, m, core.No, 5000)
				}
			}
			for i := range c.orders {
				place(i, core.MarketID(1+i%streamMarkets), core.Yes, core.Tick(1+i*7919%4000))
			}
			for i := range c.past {
				switch i % 3 {
				case 0:
					do(&core.Deposit{User: 1, DepositID: fmt.Sprint("past ", i), Amount: 2})
				case 1:
					do(&core.RequestWithdrawal{User: 1, ClientID: fmt.Sprint(i), Amount: 1, Destination: "d"})
				default:
					st.Seq++
					st.Ts++
					ev.Reset()
					v.Apply(st, &core.PlaceOrder{User: 1, ClientID: uint64(i) * 0x9E3779B97F4A7C15, Market: 32}, ev)
				}
			}
			for b.Loop() {
				if _, err := v.Image(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// heapInUse returns the live heap in bytes. A sync.Pool frees its contents only in the second
// collection, and finalizers run one later, so heapInUse collects until nothing more is freed.
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

// BenchmarkResting places and cancels an order while n orders rest in nine books. B/resting is the heap
// that a resting order takes, its client_order_id included.
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

// BenchmarkDue measures what the engine asks after each group, with all rounds trading.
func BenchmarkDue(b *testing.B) {
	v, _ := opened(b)
	for b.Loop() {
		v.Due()
	}
}
