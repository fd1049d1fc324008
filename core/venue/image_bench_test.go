package venue

import (
	"fmt"
	"testing"

	"duplex/core"
)

// BenchmarkImage is what an image keeps commands waiting for: accounts with a holding and
// resting orders in nine markets, and deposits, withdrawals and client order ids of all
// the past, which must not matter.
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
