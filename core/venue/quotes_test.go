package venue

import (
	"testing"
	"time"

	"duplex/core"
)

// TestQuotesAreForgotten checks that what the venue remembers to find quotes does not grow with the groups that have
// quoted, and that it finds them all the same.
func TestQuotesAreForgotten(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionMakers)
	quote := func(i int, cancel bool) {
		v.must(&core.QuoteSide{Cancel: cancel, PlaceOrder: core.PlaceOrder{User: 1, ClientID: uint64(10_000 + i), Market: 1, Tick: 4000, Qty: 1, Group: uint32(i%7000 + 1)}})
	}
	quote(6999, false)
	for i := range 5000 {
		quote(i, false)
		quote(i, true)
	}
	if n := len(v.lastQuotes); n > 1100 {
		t.Errorf("%d groups are remembered", n)
	}
	rests := v.Resting()
	if quote(13_999, false); v.Resting() != rests {
		t.Errorf("%d orders rest, %d did before the same quote", v.Resting(), rests)
	}
	if quote(6999, true); v.Resting() != rests-1 {
		t.Errorf("%d orders rest, %d did before the quote was taken back", v.Resting(), rests)
	}
}

// TestQuotesOfAgents checks that an agent quotes within its mandate, that one whose owner is suspended is refused
// before anything else is wrong, and that the terms of the command do not count.
func TestQuotesOfAgents(t *testing.T) {
	v := newReplaceVenue(t, core.RevisionMakers)
	v.must(&core.CreateAgent{Owner: 1, Name: "quoter", Fund: 100_000, Mandate: core.Mandate{Set: 1 << core.RuleOrderQty, OrderQty: 5}})
	agent := core.UserID(0)
	for u := range v.Users() {
		agent = u.ID
	}
	id := uint64(7000)
	quote := func(qty core.Qty, fault core.Reject) core.Reject {
		id++
		return v.do(&core.QuoteSide{PlaceOrder: core.PlaceOrder{
			User: agent, ClientID: id, Market: 1, Tick: 4000, Qty: qty, Group: 1, Fault: fault, Type: core.Market, TIF: core.IOC, Flags: core.ReduceOnly,
		}})
	}
	for _, c := range []struct {
		qty   core.Qty
		fault core.Reject
		want  core.Reject
	}{{5, core.OK, core.OK}, {6, core.OK, core.MandateViolation}, {5, core.BadQty, core.BadQty}, {5, core.OK, core.OK}} {
		if r := quote(c.qty, c.fault); r != c.want {
			t.Errorf("%d contracts with the fault %q: %v, want %v", c.qty, c.fault, r, c.want)
		}
		for _, e := range v.ev.List {
			if e, ok := e.(*core.OrderPlaced); ok && e.Place.Type != core.Limit {
				t.Errorf("the row has an order of type %v", e.Place.Type)
			}
		}
	}
	v.must(&core.SuspendUser{User: 1})
	if r := quote(5, core.BadQty); r != core.UserSuspended {
		t.Errorf("of an agent whose owner is suspended: %v", r)
	}
}

// BenchmarkQuote compares quotes of two sides with placements of the same orders, in one run: ratio is the time of a
// quote over that of one placement, if both sides move each time, and kept the same if both stay. The maker quotes
// nine markets, at prices with 100 orders of others.
//
//	go test ./core/venue -run xxx -bench Quote -benchtime 20000x
func BenchmarkQuote(b *testing.B) {
	const batch = 9
	v, st := streamVenue(b)
	do := drive(b, v, &st, &core.Events{})
	n := uint64(0)
	for i := range core.UserID(1800) {
		n++
		do(&core.PlaceOrder{User: 2 + i%100, ClientID: n, Market: core.MarketID(1 + i%batch), Qty: 5, Tick: core.Tick(4000 + 100*(i/batch%2))})
	}
	place, cancel := &core.PlaceOrder{User: 1, Qty: 5}, &core.CancelOrder{User: 1}
	side := &core.QuoteSide{PlaceOrder: core.PlaceOrder{User: 1, Qty: 5, Group: 1, Flags: core.QuoteFlags}}
	var placing, moving, keeping time.Duration
	quote := func(up core.Tick) {
		for m := range core.MarketID(batch) {
			side.Market = m + 1
			for i := range 2 {
				n++
				side.ClientID, side.Side, side.Tick = n, core.Side(i), core.Tick(4000+2000*i)+up
				do(side)
			}
		}
	}
	quote(0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		begin, first := time.Now(), core.OrderID(st.Seq+1)
		for m := range core.MarketID(batch) {
			n++
			place.ClientID, place.Market, place.Tick = n, m+1, core.Tick(4000+100*(n%2))
			do(place)
		}
		placed := time.Now()
		for i := range core.OrderID(batch) {
			cancel.Order = first + i
			do(cancel)
		}
		begun := time.Now()
		quote(core.Tick(100 * (1 - i%2)))
		moved := time.Now()
		quote(core.Tick(100 * (1 - i%2)))
		placing, moving, keeping = placing+placed.Sub(begin), moving+moved.Sub(begun), keeping+time.Since(moved)
	}
	orders := float64(b.N * batch)
	b.ReportMetric(float64(placing.Nanoseconds())/orders, "ns/placement")
	b.ReportMetric(float64(moving.Nanoseconds())/orders, "ns/quote")
	b.ReportMetric(float64(moving)/float64(placing), "ratio")
	b.ReportMetric(float64(keeping)/float64(placing), "kept")
}
