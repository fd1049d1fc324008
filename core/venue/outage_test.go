package venue

import (
	"fmt"
	"testing"

	"duplex/core"
)

// outcome computes by docs/rules/rounds.md whether a round of 60 s settles and at which price, if the
// seconds [from, from+long), counted from its boundary, have no tick.
func outcome(from, long int64) (settles bool, twap core.Price) {
	priced := func(s int64) bool { return s < from || s >= from+long } // s: seconds from the boundary
	var sum, covered, last int64
	last = -1 << 40
	for s := int64(-60); s < 0; s++ {
		if priced(s) {
			last = s
		}
		if s >= -10 && s-last <= 5 {
			sum += int64(priceAt(last))
			covered++
		}
	}
	if covered == 0 {
		return false, 0
	}
	return covered >= 8 && -last <= 5, core.Price(sum / covered)
}

// priceAt rises by a different step every second, so that a wrong window gives a wrong mean.
func priceAt(s int64) core.Price { return core.Price(1_000_000 + 1000*(s+60) + s*s) }

// TestOutageAroundABoundary checks that a round ends as the rules say, and pays every pip to its owner,
// for outages of the index of many beginnings and lengths.
func TestOutageAroundABoundary(t *testing.T) {
	seen := map[bool]int{}
	for from := int64(-25); from <= 3; from++ {
		for _, long := range []int64{1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 16, 25, 40} {
			t.Run(fmt.Sprintf("%d for %d s", from, long), func(t *testing.T) {
				settles, twap := outcome(from, long)
				seen[settles]++
				runOutage(t, from, long, settles, twap)
			})
		}
	}
	if seen[true] < 50 || seen[false] < 50 {
		t.Errorf("%v: too few rounds settle or too few are void", seen)
	}
}

// runOutage runs a round with an outage, in which two accounts hold the two outcomes of one mint.
func runOutage(t *testing.T, from, long int64, settles bool, twap core.Price) {
	const boundary = origin/core.NsPerSec + 60
	const qty, paid = 7, 1_000_000
	v, at := New(), core.Stamp{}
	var final *core.Round
	do := func(ts int64, c core.Command) {
		t.Helper()
		at.Seq, at.Ts = at.Seq+1, max(at.Ts+1, ts)
		ev := &core.Events{}
		if r := v.Apply(at, c, ev); r != core.OK && r != core.MarketPaused {
			t.Fatalf("%T is rejected: %v", c, r)
		}
		for _, e := range ev.List {
			if x, ok := e.(*core.RoundChanged); ok && x.Round.Number == 1 {
				final = &x.Round
			}
		}
		v.ledger.Audit()
	}
	second := func(s int64) {
		ts := (boundary + s) * core.NsPerSec
		if s < from || s >= from+long {
			do(ts, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: boundary + s, Price: priceAt(s), Count: 3}})
		}
		do(ts, &core.Clock{})
	}
	for i, c := range rulesOf(core.RevisionNewest) {
		do(origin-core.NsPerSec*int64(2-i), c)
	}
	do(0, &core.SetFees{})
	for _, name := range []string{"alice", "bob"} {
		do(0, &core.CreateUser{Name: name, TokenHash: [32]byte{byte(len(name))}})
	}
	do(0, &core.Deposit{User: 1, DepositID: "a", Amount: paid})
	do(0, &core.Deposit{User: 2, DepositID: "b", Amount: paid})
	do(0, &core.SetSession{Feed: core.BTC, Open: true})
	second(-60)
	do(0, &core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.Yes, Tick: 6000, Qty: qty})
	do(0, &core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Side: core.Buy, Outcome: core.No, Tick: 4000, Qty: qty})
	for s := int64(-59); s <= 45; s++ {
		second(s)
	}
	if final == nil || !final.Status.Final() {
		t.Fatalf("the round is %+v, want it final", final)
	}
	alice, _ := v.Balance(1)
	bob, _ := v.Balance(2)
	wantAlice, wantBob := core.Pips(paid-qty*6000+qty*5000), core.Pips(paid-qty*4000+qty*5000)
	if settles {
		wantAlice, wantBob = paid-qty*6000+qty*10000, paid-qty*4000
		if final.Settle != twap || final.Winner != core.Yes {
			t.Errorf("settled on %d for %v, not on %d", final.Settle, final.Winner, twap)
		}
	}
	if (final.Status == core.Settled) != settles || alice != wantAlice || bob != wantBob || alice+bob != 2*paid {
		t.Errorf("%v; alice has %d of %d, bob %d of %d", final.Status, alice, wantAlice, bob, wantBob)
	}
}
