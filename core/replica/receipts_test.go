package replica

import (
	"reflect"
	"testing"

	"duplex/core"
	"duplex/core/journal"
	"duplex/core/view"
)

// TestReceiptsOfQuotes checks that the repeat of each marked side of a quote gets what the first one did: an order, an
// older order that is kept, an empty side, a rejection.
func TestReceiptsOfQuotes(t *testing.T) {
	r := New(view.DefaultRetentionCaps())
	at := int64(1_800_000_000) * core.NsPerSec
	apply := func(cmd core.Command) Result {
		t.Helper()
		at += core.NsPerMs
		g := &journal.Group{Number: r.At.Number + 1, Proposal: r.At.Number + 1, Stamp: at}
		out, err := r.Apply(g, []core.Command{cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	post := func() {
		apply(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: at / core.NsPerSec, Price: 65_000 * 100_000_000, Count: 3, Manual: true}})
	}
	apply(&core.ActivateRules{Revision: core.RevisionNewest})
	apply(&core.SetRules{Rules: core.DefaultRules()})
	apply(&core.CreateUser{Name: "user"})
	apply(&core.Deposit{User: 1, DepositID: "d", Amount: 1_000_000})
	apply(&core.SetSession{Feed: core.BTC, Open: true})
	post()
	apply(&core.Clock{})
	market, _ := r.Venue.Market(1)
	if market.Status != core.Trading {
		t.Fatalf("the market is %+v", market)
	}
	side := core.QuoteSide{PlaceOrder: core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Generation: 1, Group: 7, Side: core.Buy, Tick: 4600, Qty: 3}}
	kept, none, duplicate := side, side, side
	kept.ClientID, kept.Qty = 2, 2
	none.ClientID, none.Cancel = 0, true
	duplicate.Tick = 4700
	for i, c := range []*core.QuoteSide{&side, &kept, &none, &duplicate} {
		m := &core.Marked{Mark: core.Mark{byte(i + 1)}, SignedAt: at / core.NsPerMs, Command: c}
		first := apply(m).Applied[0]
		quoted := func(events []core.Event) (list []core.Event) {
			for _, e := range events {
				if q, ok := e.(*core.Quoted); ok {
					list = append(list, q)
				}
			}
			return list
		}
		want := quoted(first.Events)
		again := apply(m)
		if len(again.Refused) != 1 || again.Refused[0].First == nil {
			t.Fatalf("side %d: a repeat is %+v", i, again)
		}
		got := again.Refused[0].First
		if got.Reject != first.Reject || got.Stamp != first.Stamp || !reflect.DeepEqual(quoted(got.Events), want) || (len(want) == 1) != (first.Reject == core.OK) {
			t.Errorf("side %d: a repeat gets %+v, want %+v", i, got, first)
		}
	}
}
