package venue

import (
	"crypto/sha256"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"duplex/core"
	"duplex/core/ledger"
)

// opened returns a venue after the commands of opening, and a function that applies one more.
func opened(t testing.TB) (*Venue, func(core.Command) core.Reject) {
	v, at := New(), core.Stamp{Ts: origin + core.NsPerSec/2}
	do := func(c core.Command) core.Reject {
		at.Seq++
		at.Ts++
		return v.Apply(at, c, &core.Events{})
	}
	for _, c := range opening() {
		if r := do(c); r != core.OK {
			t.Fatalf("%T is rejected: %v", c, r)
		}
	}
	return v, do
}

// TestReads checks every accessor, on a venue and on one restored from it.
func TestReads(t *testing.T) {
	v, do := opened(t)
	for _, c := range otherCommands() {
		if r := do(c); r != core.OK {
			t.Fatalf("%T is rejected: %v", c, r)
		}
	}
	do(&core.PlaceOrder{User: 3, ClientID: 9, Market: 1, Outcome: core.No, Tick: 4000, Qty: 3})
	do(&core.PlaceOrder{User: 2, ClientID: 7, Market: 1, Tick: 6000, Qty: 5, TIF: core.GTT, Expiry: origin * 2, Group: 3, Flags: core.CancelOnPause})
	do(&core.ArmDeadman{User: 2, TimeoutMs: 1})
	do(&core.RequestWithdrawal{User: 4, ClientID: "w", Amount: 5, Destination: "d"})
	now := v.Now()
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, not %+v", what, got, want)
		}
	}
	both := func(v *Venue) {
		t.Helper()
		same("now", v.Now(), core.Stamp{Seq: now.Seq, Ts: now.Ts})
		same("rules", v.Rules().OpenOrders, uint32(9))
		same("fees", v.Fees(), core.Fees{Maker: 10, Taker: 300})
		same("trading", v.trading, [core.SeriesCount]core.MarketID{1, 2, 3})
		same("windows", v.Windows(), []core.Window{{Kind: "maintenance", Start: 1, End: 2}})
		var names []string
		for u := range v.Users() {
			names = append(names, u.Name)
		}
		same("users", names, []string{"1", "n", "n", "n"})
		for u := range v.Users() {
			same("first user", u.ID, core.UserID(1))
			break
		}
		names = nil
		for k := range v.Keys() {
			names = append(names, fmt.Sprintf("%s of %d: %v %v", k.ID, k.User, k.Scopes, k.Revoked))
		}
		same("keys", names, []string{"k1 of 1: trade false", "k3 of 1: read false"})
		for k := range v.Keys() {
			same("first key", k.ID, "k1")
			break
		}
		for k := range v.KeysOf(1) {
			same("first key of 1", k.ID, "k1")
			break
		}
		for _, u := range []core.UserID{0, 2, 3, 77} {
			for k := range v.KeysOf(u) {
				t.Errorf("key %s of %d", k.ID, u)
			}
		}
		ref := v.pool.Find(core.OrderID(now.Seq - 2))
		o, terms := *v.pool.At(ref), v.pool.Terms(ref)
		same("order", []any{o.User, o.Market(), o.Side(), o.Outcome(), o.Flags(), o.TickYes(), o.Left, o.Unit, o.MakerRate, terms.Group, terms.Expiry},
			[]any{core.UserID(2), core.MarketID(1), core.Buy, core.Yes, core.CancelOnPause, core.Tick(6000), uint32(2), uint16(6003), core.Rate(10), uint32(3), int64(origin * 2)})
		u, ok := v.User(4)
		same("user", []any{u.ID, u.Referrer, ok}, []any{core.UserID(4), core.UserID(1), true})
		_, ok = v.User(5)
		same("no user", ok, false)
		_, ok = v.User(0)
		same("nobody", ok, false)
		h := v.Holding(2, 1)
		same("holding", []any{h.Held, h.Bidding, h.Open}, []any{[2]int32{3, 0}, [2]int32{2, 0}, uint32(1)})
		timeout, deadline := v.Deadman(2, 0)
		same("dead-man", []any{timeout, deadline}, []any{uint32(1), now.Ts - 1 + core.NsPerMs})
		same("used", []any{v.UsedID(2, 7), v.UsedID(2, 9), v.UsedID(1, 7), v.UsedID(77, 7), v.UsedID(0, 0)}, []any{true, false, false, false, false})
		if n := v.IDBytes(); n < 16 || n > 4000 {
			t.Errorf("%d bytes of ids", n)
		}
		s, ok := v.Market(1)
		same("slot", []any{s.Market, s.LastTick, s.Volume, s.Open, s.Book.Len(), ok}, []any{core.MarketID(1), core.Tick(6000), core.Qty(3), core.Qty(3), 1, true})
		bid, bids := s.BestLevel(true)
		ask, asks := s.BestLevel(false)
		same("best levels", []any{bid, bids, ask, asks}, []any{core.Tick(6000), core.Qty(2), core.Tick(0), core.Qty(0)})
		for _, m := range []core.MarketID{0, 32, 33} {
			_, ok = v.Market(m)
			same("no slot", ok, false)
		}
		tick, ok, stale, open := v.Index(core.Gold)
		same("gold", []any{tick.Price, ok, stale, open}, []any{core.Price(7), true, false, true})
		_, ok, stale, open = v.Index(core.WTI)
		same("wti", []any{ok, stale, open}, []any{false, true, false})
		w, ok := v.Withdrawal(now.Seq)
		same("withdrawal", []any{w.ClientID, w.Amount, ok}, []any{"w", core.Pips(5), true})
		_, ok = v.Withdrawal(1)
		same("no withdrawal", ok, false)
		var pending [][]uint64
		for _, from := range []uint64{0, now.Seq - 1, now.Seq} {
			var ids []uint64
			for w := range v.OpenWithdrawals(from) {
				ids = append(ids, w.ID)
			}
			pending = append(pending, ids)
		}
		same("pending", pending, [][]uint64{{now.Seq}, {now.Seq}, nil})
		same("resting", v.Resting(), 1)
	}
	both(v)
	again := restored(t, v)
	both(again)
	for i, x := range []*Venue{v, again} {
		if h, err := x.Hash(); err != nil || h != sha256.Sum256(bytesOf(t, v)) {
			t.Errorf("hash of %d: %x, %v", i, h, err)
		}
	}
	// Both continue under the same rules, fees and dead-man switches.
	for _, x := range []*Venue{v, again} {
		st := core.Stamp{Seq: now.Seq + 1, Ts: now.Ts + core.NsPerMs}
		ev := &core.Events{}
		x.Apply(st, &core.Clock{}, ev)
		if timeout, deadline := x.Deadman(2, 0); timeout != 0 || deadline != 0 || x.Resting() != 0 {
			t.Errorf("after the switch: %d, %d, %d orders", timeout, deadline, x.Resting())
		}
		st.Seq, st.Ts = st.Seq+1, st.Ts+1
		if r := x.Apply(st, &core.PlaceOrder{User: 2, ClientID: 8, Market: 1, Tick: 4999, Qty: 2}, ev); r != core.OK {
			t.Error(r) // a tick that only the full grid has
		}
		st.Seq, st.Ts = st.Seq+1, st.Ts+1
		x.Apply(st, &core.PlaceOrder{User: 3, ClientID: 10, Market: 1, Outcome: core.No, Tick: 5001, Qty: 2}, ev)
		st.Seq, st.Ts = st.Seq+1, st.Ts+1
		x.Apply(st, &core.PlaceOrder{User: 3, ClientID: 11, Market: 1, Tick: 5000, Qty: 1, MaxCost: 5074}, ev)
		if x.Resting() != 0 {
			t.Error("an order was accepted whose max_cost is below its price and fee")
		}
		if sums := x.Sums(); sums.Fees != core.Fee(300, 3, 4000)+core.Fee(300, 2, 5001)+core.Fee(10, 3, 6000)+core.Fee(10, 2, 4999) {
			t.Errorf("fees %d", sums.Fees)
		}
	}
}

// TestPreviewOfMaxCost checks that each fill of a previewed market order lowers what max_cost leaves:
// 10225 pips pay for a NO at 5000 with its fee of 63, and not for a second one at 5100.
func TestPreviewOfMaxCost(t *testing.T) {
	v, do := opened(t)
	do(&core.PlaceOrder{User: 1, ClientID: 1, Market: 1, Tick: 5000, Qty: 1})
	do(&core.PlaceOrder{User: 1, ClientID: 2, Market: 1, Tick: 4900, Qty: 1})
	c := &core.PlaceOrder{User: 2, ClientID: 1, Market: 1, Type: core.Market, TIF: core.IOC, Outcome: core.No, Tick: core.TickMax, Qty: 2, MaxCost: 10_225}
	for _, want := range []Preview{
		{Tick: core.TickMax, Status: core.Canceled, Reason: core.MaxCostInfeasible, Fee: 63, Spent: 5000, Filled: 1, Cash: 1_000_000 - 5063},
		{Tick: core.TickMax, Status: core.Executed, Fee: 126, Spent: 10_100, Filled: 2, Cash: 1_000_000 - 10_226},
	} {
		p, r := v.Preview(c, 0)
		if n := len(p.Fills); n != int(want.Filled) {
			t.Errorf("%d fills", n)
		}
		p.Fills = nil
		if r != core.OK || !reflect.DeepEqual(p, want) {
			t.Errorf("the preview is %v, %+v, want ok, %+v", r, p, want)
		}
		c.MaxCost++
	}
}

// TestNewVenue checks that in a new venue no feed has an index and nothing is due.
func TestNewVenue(t *testing.T) {
	v := New()
	if _, ok, stale, open := v.Index(core.BTC); ok || !stale || open || v.Due() != math.MaxInt64 {
		t.Errorf("index %v, stale %v, open %v, due %d", ok, stale, open, v.Due())
	}
}

// TestNoSlotIsFree checks that a series opens no round while all slots are in use.
func TestNoSlotIsFree(t *testing.T) {
	v, do := opened(t)
	v.free = v.free[:1]
	for range 2 {
		do(&core.SetSession{Feed: core.Gold, Open: true})
		do(&core.PostIndex{Tick: core.IndexTick{Feed: core.Gold, Second: origin / core.NsPerSec, Price: 7, Count: 1}})
		do(&core.Clock{})
		if len(v.free) != 0 || v.trading != [core.SeriesCount]core.MarketID{1, 2, 3, 4} {
			t.Errorf("free %v, trading %v", v.free, v.trading)
		}
	}
}

// TestDueAtTheEndOfASession checks that no opening is due if the session ends before the round would.
func TestDueAtTheEndOfASession(t *testing.T) {
	v, do := opened(t)
	for m := range core.MarketID(3) {
		do(&core.VoidMarket{Market: m + 1})
	}
	do(&core.SetSession{Feed: core.BTC})
	do(&core.SetSession{Feed: core.Gold, Open: true, Until: origin + 150*core.NsPerSec})
	for _, s := range []int64{100, 149, 150, 151, 175} {
		v.Apply(core.Stamp{Seq: v.now.Seq + 1, Ts: origin + s*core.NsPerSec}, &core.PostIndex{Tick: core.IndexTick{Feed: core.Gold, Second: origin/core.NsPerSec + s, Price: 7, Count: 1}}, &core.Events{})
		stale := origin + (s+5)*core.NsPerSec + 1
		if due := v.Due(); due != stale {
			t.Errorf("at %d s due %d ns from when the feed is stale", s, due-stale)
		}
	}
}

// TestSlotIsReused checks that a round in a slot used before shows nothing of the slot's earlier round.
func TestSlotIsReused(t *testing.T) {
	v, at := New(), core.Stamp{Ts: origin - 1}
	w := newEventChecker(t.Fatalf)
	id := uint64(0)
	do := func(c core.Command) {
		t.Helper()
		at.Seq++
		at.Ts++
		ev, fees := &core.Events{}, v.Fees()
		r := v.Apply(at, c, ev)
		w.check(v, at, fees, c, r, ev)
	}
	for range 2 {
		do(&core.CreateUser{Name: "u"})
		do(&core.Deposit{User: core.UserID(at.Seq+1) / 2, DepositID: string(rune('0' + at.Seq)), Amount: 1_000_000})
	}
	do(&core.SetSession{Feed: core.BTC, Open: true})
	for minute := range int64(40) {
		at.Ts = origin + minute*60*core.NsPerSec
		do(&core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: at.Ts / core.NsPerSec, Price: 100, Count: 1}})
		do(&core.Clock{})
		m := v.trading[0]
		s, ok := v.Market(m)
		if !ok || (s.Generation == 2) != (s.Number > 32) {
			t.Fatalf("minute %d: market %d is there: %t, %+v, want the second generation after round 32", minute, m, ok, s)
		}
		if s.LastTick != 0 || s.Volume != 0 || s.Open != 0 || s.Book.Len() != 0 {
			t.Fatalf("minute %d: a new round has traded or has orders: %+v", minute, s)
		}
		for u := core.UserID(1); u <= 2; u++ {
			if h := v.Holding(u, m); h != (ledger.Holding{}) {
				t.Fatalf("minute %d: %+v", minute, h)
			}
			id++
			do(&core.PlaceOrder{User: u, ClientID: id, Market: m, Generation: s.Generation, Outcome: core.Outcome(u - 1), Tick: 5000, Qty: 2})
		}
		if s, _ := v.Market(m); s.Open != 2 {
			t.Fatalf("minute %d: %d pairs", minute, s.Open)
		}
		at.Ts += 6 * core.NsPerSec
		do(&core.Clock{}) // the feed is stale now, so only rounds are due
		if due, want := v.Due(), w.due(); due != want {
			t.Fatalf("minute %d: due in %d ns, not %d", minute, due-at.Ts, want-at.Ts)
		}
		if minute%3 == 1 {
			do(&core.VoidMarket{Market: m})
		}
	}
	for m, r := range w.rounds {
		if r.CloseTs+60*core.NsPerSec < at.Ts && !r.Status.Final() {
			t.Errorf("market %d: %+v", m, r)
		}
	}
	if s, _ := v.Market(1); s.Generation != 2 {
		t.Errorf("slot 1 has had %d rounds", s.Generation)
	}
}

// due returns when the next transition of a round is due, if none of them has coverage.
func (w *eventChecker) due() int64 {
	at := int64(math.MaxInt64)
	for _, r := range w.rounds {
		switch r.Status {
		case core.Trading:
			at = min(at, r.CloseTs)
		case core.Frozen:
			at = min(at, r.FreezeTs+30*core.NsPerSec)
		}
	}
	return at
}

// TestDueOfAnOpening checks that an opening is due at the start of its period.
func TestDueOfAnOpening(t *testing.T) {
	const minute = origin + 60*core.NsPerSec
	v, do := opened(t)
	for m := range core.MarketID(3) {
		do(&core.VoidMarket{Market: m + 1})
	}
	tickAt := func(ts int64) {
		v.Apply(core.Stamp{Seq: v.now.Seq + 1, Ts: ts}, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: ts / core.NsPerSec, Price: 100, Count: 1}}, &core.Events{})
	}
	tickAt(minute - 2*core.NsPerSec)
	if due := v.Due(); due != minute {
		t.Errorf("due %d ns from the minute", due-minute)
	}
	tickAt(minute)
	if due := v.Due(); v.trading[0] == 0 || due != minute+5*core.NsPerSec+1 { // when the feed becomes stale
		t.Errorf("opened %d, due %d ns from the minute", v.trading[0], due-minute)
	}
}

// TestDueOfTheLastSlot checks that a round in the last slot is due and advances like any other.
func TestDueOfTheLastSlot(t *testing.T) {
	const minute = origin + 60*core.NsPerSec
	v, at := New(), core.Stamp{Ts: origin}
	slices.Reverse(v.free)
	do := func(ts int64, c core.Command) {
		at.Seq, at.Ts = at.Seq+1, ts
		v.Apply(at, c, &core.Events{})
	}
	do(origin+1, &core.SetSession{Feed: core.BTC, Open: true})
	do(origin+2, &core.PostIndex{Tick: core.IndexTick{Feed: core.BTC, Second: origin / core.NsPerSec, Price: 100, Count: 1}})
	do(origin+3, &core.Clock{})
	do(origin+10*core.NsPerSec, &core.Clock{}) // the feed is silent
	if s, ok := v.Market(32); !ok || s.Category != 1 || v.Due() != minute {
		t.Errorf("%+v, due %d ns from the minute", s.Round, v.Due()-minute)
	}
	do(minute, &core.Clock{})
	if s, _ := v.Market(32); s.Status != core.Frozen {
		t.Errorf("%v after its minute", s.Status)
	}
}

// TestTimersDoNotPileUp checks that outdated timers of canceled orders and rearmed switches are removed.
func TestTimersDoNotPileUp(t *testing.T) {
	v, do := opened(t)
	do(&core.PlaceOrder{User: 1, ClientID: 1 << 20, Market: 2, Tick: 5000, Qty: 1, TIF: core.GTT, Expiry: origin + core.NsPerSec})
	for i := range uint64(1500) {
		do(&core.PlaceOrder{User: 1, ClientID: i + 1, Market: 1, Tick: 5000, Qty: 1, TIF: core.GTT, Expiry: math.MaxInt64})
		do(&core.CancelAll{User: 1, Market: 1})
		do(&core.ArmDeadman{User: 1, TimeoutMs: 60_000})
		do(&core.ArmDeadman{User: 1, TimeoutMs: uint32(60_000 - i)})
	}
	do(&core.ArmDeadman{User: 1, TimeoutMs: 1})
	v.Due()
	if len(v.expiryTimers.heap) != 1 || len(v.deadmanTimers.heap) != 1 {
		t.Errorf("%d expiries and %d switches", len(v.expiryTimers.heap), len(v.deadmanTimers.heap))
	}
}

// TestQuote checks the state of a trading round with an empty book, with both sides, and of no
// round.
func TestQuote(t *testing.T) {
	v, do := opened(t)
	m, _ := v.Market(1)
	want := core.Quote{Number: m.Number, Category: m.Category, CloseTs: m.CloseTs, Index: m.Strike}
	if q, ok := v.Quote(m.Category); !ok || q != want {
		t.Errorf("%+v %t, want %+v", q, ok, want)
	}
	for i, tick := range []core.Tick{3000, 3100} {
		do(&core.PlaceOrder{User: 1, ClientID: uint64(900 + i), Market: 1, Side: core.Buy, Outcome: core.Yes, Type: core.Limit, Tick: tick, Qty: 1})
	}
	want.Bid = 3100
	if q, ok := v.Quote(m.Category); !ok || q != want {
		t.Errorf("%+v %t, want %+v", q, ok, want)
	}
	do(&core.VoidMarket{Market: 1})
	for _, category := range []uint16{0, m.Category, uint16(core.SeriesCount), uint16(core.SeriesCount + 1), 65535} {
		if q, ok := v.Quote(category); ok || q != (core.Quote{}) {
			t.Errorf("category %d: %+v", category, q)
		}
	}
}
