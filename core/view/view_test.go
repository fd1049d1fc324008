package view

import (
	"slices"
	"testing"

	"duplex/core"
)

const second = core.NsPerSec

// place folds a placement of user 1 and returns the id of the order.
func place(w *View, seq uint64, r core.Reject) core.OrderID {
	c := &core.PlaceOrder{User: 1, ClientID: seq, Market: 1, Qty: 5, Tick: 5000}
	w.Fold(core.Stamp{Seq: seq, Ts: int64(seq) * second}, []core.Event{&core.OrderPlaced{Place: c, Generation: 1, Reject: r}})
	return core.OrderID(seq)
}

func cancel(w *View, seq uint64, id core.OrderID) {
	w.Fold(core.Stamp{Seq: seq, Ts: int64(seq) * second}, []core.Event{&core.OrderClosed{Order: id, User: 1, Status: core.Canceled, Reason: core.UserCancel, Left: 5}})
}

func fill(w *View, seq uint64, taker, maker core.OrderID, left core.Qty) {
	w.Fold(core.Stamp{Seq: seq, Ts: int64(seq) * second}, []core.Event{&core.Filled{Market: 1, Taker: taker, Maker: maker, TakerUser: 1, MakerUser: 1, Qty: 1, TickYes: 5000, MakerLeft: left}})
}

func ids(w *View) (out []uint64) {
	for o := range w.Orders(1, 0) {
		out = append(out, o.CreatedSeq)
	}
	return out
}

// Terminal and rejected orders beyond their caps are evicted, first those that ended first.
// Resting orders are never evicted (docs/rules/limits.md#retention).
func TestCapsEvictTerminalRowsOnly(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Terminal, caps.Rejects = 2, 1
	w := New(caps)
	for seq := uint64(1); seq <= 4; seq++ {
		place(w, seq, core.OK)
	}
	place(w, 5, core.BadQty)
	place(w, 6, core.BadPriceTick)
	for i, id := range []core.OrderID{3, 1, 4} {
		cancel(w, uint64(7+i), id)
	}
	if got := ids(w); !slices.Equal(got, []uint64{6, 4, 2, 1}) {
		t.Errorf("rows %v", got)
	}
	if w.Order(1, 3) != nil || w.Order(1, 2) == nil || w.Order(2, 2) != nil {
		t.Error("single reads differ from the list")
	}
	if o := w.ByClientID(1, 6); o == nil || o.ID != 0 || o.Status != core.Rejected || o.Reject != core.BadPriceTick {
		t.Errorf("order %+v", o)
	}
}

func TestEvictedRowsAreCompacted(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Terminal = 3
	w := New(caps)
	live := place(w, 1, core.OK)
	for seq := uint64(2); seq < 1000; seq += 2 {
		cancel(w, seq+1, place(w, seq, core.OK))
	}
	if n := len(w.accounts[1].rows.all); n > 200 {
		t.Errorf("%d rows are in memory for 4 orders", n)
	}
	if got := ids(w); len(got) != 4 || got[3] != uint64(live) {
		t.Errorf("rows %v", got)
	}
}

// Fills, tape and volume after the same fills. A cursor stays valid while fills are added.
func TestFillsAndVolume(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Fills, caps.Tape = 4, 3
	w := New(caps)
	a, b := place(w, 1, core.OK), place(w, 2, core.OK)
	for seq := uint64(3); seq <= 5; seq++ {
		fill(w, seq, b, a, core.Qty(5-(seq-2)))
	}
	var at []uint64
	for n, f := range w.Fills(1, 0) {
		at = append(at, n)
		if f.Seq > 5 {
			t.Errorf("fill %+v", f)
		}
	}
	if !slices.Equal(at, []uint64{6, 5, 4, 3}) { // six fills, two each: taker and maker
		t.Errorf("fills %v", at)
	}
	fill(w, 6, b, a, 1)
	at = nil
	for n := range w.Fills(1, 5) {
		at = append(at, n)
	}
	if slices.Contains(at, 5) || slices.Contains(at, 6) {
		t.Errorf("fills below 5: %v", at)
	}
	if n := w.Volume30(1, 6*second); n != 8 {
		t.Errorf("volume %d, want 8", n)
	}
	if o := w.Order(1, a); o.Status != core.PartiallyFilled || o.Filled != 4 || o.Left != 1 {
		t.Errorf("order %+v", o)
	}
	trades := 0
	for range w.Trades(1, 0) {
		trades++
	}
	if trades != 3 {
		t.Errorf("%d trades on the tape, want 3", trades)
	}
}

// The volume covers the current and the 29 previous UTC days
// (docs/rules/limits.md#write-rate).
func TestVolumeCoversThirtyDays(t *testing.T) {
	var v volume
	start := int64(20_000) * dayNs
	v.add(start, 10)
	v.add(start+dayNs-1, 5)
	v.add(start+29*dayNs, 1)
	for day, want := range map[int64]core.Qty{0: 16, 29: 16, 30: 1, 58: 1, 59: 0, 500: 0} {
		if got := v.sum(start + day*dayNs); day >= 29 && got != want {
			t.Errorf("on day %d: volume %d, want %d", day, got, want)
		}
	}
}

func TestRoundsRing(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Rounds = 2
	w := New(caps)
	for n := uint64(1); n <= 5; n++ {
		r := core.Round{Market: core.MarketID(n), Number: n, Category: uint16(1 + n%2), Status: core.Trading, Generation: 1}
		w.Fold(core.Stamp{Seq: n}, []core.Event{&core.RoundChanged{Round: r, Evidence: []core.IndexTick{{Second: int64(n)}}}})
		r.Status = core.Frozen
		w.Fold(core.Stamp{Seq: n}, []core.Event{&core.RoundChanged{Round: r, Evidence: []core.IndexTick{{Second: 9}}}})
	}
	var got []uint64
	for r := range w.Rounds(0) {
		got = append(got, r.Number)
		if len(r.Strikes) != 1 || r.Strikes[0].Second != int64(r.Number) || len(r.Evidence) != 1 || r.Status != core.Frozen {
			t.Errorf("round %+v", r)
		}
	}
	if !slices.Equal(got, []uint64{5, 4, 3, 2}) || w.Round(1) != nil || w.Round(2) == nil {
		t.Errorf("rounds %v", got)
	}
	if below := slices.Collect(w.Rounds(4)); len(below) != 2 || below[0].Number != 3 {
		t.Errorf("%d rounds below 4, want 3 and 2", len(below))
	}
}

// EventsAfter returns the newest events in order, and reports missing ones.
func TestEventsAfter(t *testing.T) {
	caps := DefaultRetentionCaps()
	caps.Events = 5
	w := New(caps)
	for seq := uint64(1); seq <= 8; seq++ {
		w.Fold(core.Stamp{Seq: seq}, []core.Event{&core.BalanceChanged{User: 1, Cash: core.Pips(seq)}})
	}
	if list, complete := w.EventsAfter(1, 5); !complete || len(list) != 3 || list[0].Seq != 6 || list[2].Seq != 8 {
		t.Errorf("events %v, complete: %v", list, complete)
	}
	if list, complete := w.EventsAfter(1, 3); !complete || len(list) != 5 || list[0].Seq != 4 {
		t.Errorf("events after 3: %v, complete: %v", list, complete)
	}
	if _, complete := w.EventsAfter(1, 2); complete {
		t.Error("event 3 was dropped, and this was not reported")
	}
	if list, complete := w.EventsAfter(1, 8); !complete || len(list) != 0 {
		t.Errorf("events %v, complete: %v", list, complete)
	}
	if list, complete := w.EventsAfter(9, 0); !complete || list != nil {
		t.Error("an unknown account has events")
	}
	for seq := uint64(1); seq <= 6; seq++ {
		list, complete := w.EventsAfter(2, 0)
		if !complete || len(list) != int(seq-1) {
			t.Errorf("after %d events: %v, complete: %v", seq-1, list, complete)
		}
		w.Fold(core.Stamp{Seq: seq}, []core.Event{&core.BalanceChanged{User: 2, Cash: core.Pips(seq)}})
	}
	if _, complete := w.EventsAfter(2, 0); complete {
		t.Error("5 of 6 events are kept, and this was not reported")
	}
}
