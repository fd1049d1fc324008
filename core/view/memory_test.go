package view

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"duplex/core"
)

// historyBuilder fills the histories of pairs of accounts beyond their caps: 1000 terminal
// and 200 rejected orders, 2000 fills, 1000 settlements, 4096 events, 2000 rows of the ledger, 200
// results of rounds, 1000 deposits and 1000 forecasts of each. Ids, quantities and amounts are as large as in trading.
type historyBuilder struct {
	w     *View
	r     *rand.Rand
	seq   uint64
	round core.Round // the newest
}

func newHistoryBuilder() *historyBuilder { return newHistoryBuilderOf(DefaultRetentionCaps()) }

func newHistoryBuilderOf(caps RetentionCaps) *historyBuilder {
	caps.Rounds, caps.Tape = 2, 1 // neither is part of an account
	h := &historyBuilder{w: New(caps), r: rand.New(rand.NewPCG(1, 2)), seq: 1 << 33, round: core.Round{Number: 600_000}}
	return h
}

// open opens the next round, in any slot.
func (h *historyBuilder) open() {
	h.round = core.Round{
		Market: 1 + core.MarketID(h.r.IntN(32)), Generation: 70_000, Number: h.round.Number + 1, Category: 1 + uint16(h.r.IntN(9)),
		Status: core.Trading, Strike: 6_500_000_000_000 + core.Price(h.r.IntN(1e9)),
	}
	h.fold(&core.RoundChanged{Round: h.round})
}

// settle ends the round with payouts to some accounts.
func (h *historyBuilder) settle(users ...core.UserID) {
	h.round.Status, h.round.Settle, h.round.Winner = core.Proposed, h.round.Strike+core.Price(h.r.IntN(1e9)), core.Yes
	h.fold(&core.RoundChanged{Round: h.round})
	h.round.Status = core.Settled
	var events []core.Event
	for _, u := range users {
		events = append(events, &core.AccountSettled{
			User: u, Market: h.round.Market, Generation: h.round.Generation, Number: h.round.Number, Status: core.Settled, Winner: core.Yes,
			Yes: 70_000, No: 3_000, Payout: 700_000_000, Cost: core.Pips(300_000_000 + h.r.IntN(300_000_000)),
		})
	}
	events = append(events, &core.RoundChanged{Round: h.round})
	for _, u := range users {
		events = append(events, h.balance(u))
	}
	h.fold(events...)
}

func (h *historyBuilder) fold(events ...core.Event) core.OrderID {
	h.seq += 1 + h.r.Uint64N(50) // commands of other accounts
	h.w.Fold(core.Stamp{Seq: h.seq, Ts: 1_800_000_000*second + int64(h.seq)*12_345}, events)
	return core.OrderID(h.seq)
}

func (h *historyBuilder) order(u core.UserID, qty core.Qty, r core.Reject) *core.OrderPlaced {
	return &core.OrderPlaced{Place: &core.PlaceOrder{User: u, ClientID: h.r.Uint64(), Market: max(1, h.round.Market), Qty: qty, Tick: 5000}, Generation: 70_000, Reject: r}
}

func (h *historyBuilder) balance(u core.UserID) core.Event {
	cash := core.Pips(1e9 + h.r.Uint64N(1e9))
	return &core.BalanceChanged{User: u, Cash: cash, Reserved: cash / 3, Change: -core.Pips(h.r.Uint64N(1e6)), Cause: core.CauseFill}
}

func (h *historyBuilder) position(u core.UserID) core.Event {
	n := core.Qty(h.r.IntN(100_000))
	return &core.PositionChanged{User: u, Position: core.Position{Market: 3, Generation: 70_000, Number: 600_000, Yes: n, No: n / 2, YesReserved: n / 3, Cost: core.Pips(n) * 5000}}
}

func (h *historyBuilder) pair(a, b core.UserID) {
	for _, u := range []core.UserID{a, b} {
		for range 1100 {
			h.fold(&core.Deposited{User: u, DepositID: fmt.Sprintf("wire-%016x", h.r.Uint64()), Amount: core.Pips(1 + h.r.Uint64N(1e9))}, h.balance(u))
		}
	}
	for range 1100 {
		h.open()
		for _, u := range []core.UserID{a, b} {
			h.fold(&core.ForecastSubmitted{User: u, Market: h.round.Market, Generation: 70_000, P: core.Probability(h.r.IntN(10_001))})
		}
		qty := core.Qty(1000 + h.r.IntN(1000))
		maker := h.fold(h.order(a, 2*qty, core.OK), h.balance(a))
		for range 2 {
			taker := core.OrderID(0)
			p := h.order(b, qty, core.OK)
			h.seq++
			taker = core.OrderID(h.seq)
			h.w.Fold(core.Stamp{Seq: h.seq, Ts: 1_800_000_000*second + int64(h.seq)*12_345}, []core.Event{
				p, &core.Filled{Market: p.Place.Market, Generation: 70_000, Taker: taker, Maker: maker, TakerUser: b, MakerUser: a, Qty: qty, TickYes: 5000, TakerFee: 63 * core.Pips(qty)},
				h.balance(a), h.position(a), h.balance(b), h.position(b),
			})
		}
		h.settle(a, b)
		a, b = b, a
	}
	for _, u := range []core.UserID{a, b} {
		for range 250 {
			h.fold(h.order(u, 1, core.BadPriceTick))
		}
	}
	for range 1100 { // ends with events of all kinds
		id := h.fold(h.order(a, 5, core.OK), h.balance(a))
		h.fold(&core.OrderClosed{Order: id, User: a, Status: core.Canceled, Reason: core.UserCancel, Left: 5}, h.balance(a))
		id = h.fold(h.order(b, 5, core.OK), h.balance(b))
		h.fold(&core.OrderClosed{Order: id, User: b, Status: core.Canceled, Reason: core.UserCancel, Left: 5}, h.balance(b))
	}
}

func visible[T any](h history[T]) int { return int(h.end() - h.oldest()) }

func heapBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMirroredRetentionCaps checks that with a mirror only the rings that docs/rules/limits.md#retention
// names are smaller. Forecasts are not among them: forecast_cap is 1000 on every venue.
func TestMirroredRetentionCaps(t *testing.T) {
	want := DefaultRetentionCaps()
	want.Fills, want.Terminal, want.Ledger, want.AccountRounds = 200, 200, 200, 20
	if got := MirroredRetentionCaps(); got != want || got.Forecasts != 1000 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// An account with full histories takes at most 600 KB of memory, and 350 KB with the caps of a venue
// with a mirror; and at most as much of a snapshot.
func TestMemoryOfAnAccount(t *testing.T) {
	t.Run("alone", func(t *testing.T) { testMemoryOfAnAccount(t, DefaultRetentionCaps(), 600_000) })
	t.Run("with a mirror", func(t *testing.T) { testMemoryOfAnAccount(t, MirroredRetentionCaps(), 350_000) })
}

func testMemoryOfAnAccount(t *testing.T, caps RetentionCaps, most uint64) {
	const accounts = 4
	before := heapBytes()
	h := newHistoryBuilderOf(caps)
	for u := core.UserID(1); u < accounts; u += 2 {
		h.pair(u, u+1)
	}
	for u := core.UserID(1); u <= accounts; u++ {
		a, caps := h.w.accounts[u], h.w.caps
		if visible(a.fills) != caps.Fills || visible(a.settlements) != caps.Settlements || visible(a.ledger) != caps.Ledger || visible(a.deposits) != caps.Deposits || visible(a.forecasts.rows) != caps.Forecasts || len(a.rounds) != caps.AccountRounds {
			t.Errorf("a history of account %d is not full", u)
		}
	}
	each := (heapBytes() - before) / accounts
	size := uint64(0)
	for b, err := range h.w.Image().Pieces(noLock{}) {
		if err != nil {
			t.Fatal(err)
		}
		size += uint64(len(b))
	}
	t.Logf("%d bytes of heap and %d of snapshot for each account", each, size/accounts)
	if each > most || size/accounts > most {
		t.Errorf("more than the limit of %d bytes", most)
	}
	runtime.KeepAlive(h)
}

// Writing an image and restoring it need at most 4 MiB besides the views, however many
// accounts there are.
func TestMemoryOfAnImage(t *testing.T) {
	const most = 4 << 20
	h := newHistoryBuilder()
	users := core.UserID(0)
	for _, accounts := range []core.UserID{4, 12} {
		for ; users < accounts; users += 2 {
			h.pair(users+1, users+2)
		}
		before, peak := heapBytes(), uint64(0)
		m := h.w.Image()
		var size, n int
		for b, err := range m.Pieces(noLock{}) {
			if err != nil {
				t.Fatal(err)
			}
			if size, n = size+len(b), n+1; n%3 == 0 {
				peak = max(peak, heapBytes())
			}
		}
		m.End(noLock{})
		if peak > before+most || size < int(accounts)*250_000 {
			t.Errorf("%d accounts, %d bytes: heap of %d while the image is written, %d before", accounts, size, peak, before)
		}
	}

	m := h.w.Image()
	defer m.End(noLock{})
	before, n := heapBytes(), 0
	w, err := Restore(func(yield func([]byte, error) bool) {
		for b, err := range m.Pieces(noLock{}) {
			// The accounts restored so far and those being decoded.
			if n++; n%3 == 0 && heapBytes() > before+uint64(n)*600_000+most {
				t.Errorf("%d bytes of heap on top of %d when account %d is read", heapBytes()-before, before, n)
			}
			if !yield(b, err) {
				return
			}
		}
	}, DefaultRetentionCaps())
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(h)
}
