package ledger

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"duplex/core"
)

// wantViolation checks that f panics with an InvariantViolation that contains what.
func wantViolation(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		b, ok := recover().(core.InvariantViolation)
		if !ok || !strings.Contains(b.Error(), what) {
			t.Errorf("panic %v, want an InvariantViolation with %q", b, what)
		}
	}()
	f()
}

func funded(n int) *Ledger {
	l := New()
	for range n {
		l.Deposit(l.Open(), 100_000)
	}
	l.Begin(0)
	return l
}

// TestChecksFindEveryFault spoils a ledger and checks that Check, CheckMarket or Audit
// finds it.
func TestChecksFindEveryFault(t *testing.T) {
	l := funded(2)
	l.CollectFees(1)
	if l.Check() {
		t.Error("Check accepts a fee that nobody paid")
	}
	l = funded(2)
	l.Buy(1, 3, core.Yes, 1, 5000, 0)
	l.AddPairs(3, 1)
	if l.CheckMarket(3) {
		t.Error("CheckMarket accepts a YES without a NO")
	}
	for what, spoil := range map[string]func(*Ledger){
		"add up":   func(l *Ledger) { l.accounts[1].Cash-- },
		"has cash": func(l *Ledger) { l.accounts[1].Cash = -1 },
		"in market": func(l *Ledger) {
			l.accounts[1].slots = new([Slots + 1]Holding)
			l.accounts[1].slots[2].Reserved[0] = 1
		},
		"Bidding:[0 -1]": func(l *Ledger) { l.holdingSlot(1, 2).Bidding[1] = -1 },
		"Cost:[-1 0]":    func(l *Ledger) { l.holdingSlot(1, 2).Cost[0] = -1 },
		"sums": func(l *Ledger) {
			l.Sums.Pairs++
			l.Fees -= core.Payout
		},
		"Fees:1": func(l *Ledger) { l.CollectFees(1) },
		"contracts held": func(l *Ledger) {
			l.accounts[1].slots = new([Slots + 1]Holding)
			l.accounts[1].slots[2].Held[0] = 1
		},
	} {
		l := funded(2)
		l.Audit()
		spoil(l)
		wantViolation(t, what, l.Audit)
	}
}

// TestOverdraftsPanic takes more than there is, by every method that takes something.
func TestOverdraftsPanic(t *testing.T) {
	for what, take := range map[string]func(*Ledger){
		"pays 100001":     func(l *Ledger) { l.Withdraw(1, 100_001) },
		"reserves 100001": func(l *Ledger) { l.Reserve(1, 100_001, core.CauseOrder) },
		"releases 1":      func(l *Ledger) { l.Release(1, 1, core.CauseCancel) },
		"gives 1":         func(l *Ledger) { l.Sell(1, 1, core.Yes, 1, 5000, 0, false) },
		"reserves 1":      func(l *Ledger) { l.AddResting(1, 1, core.Sell, core.Yes, 1, 0) },
		"pays -1":         func(l *Ledger) { l.Withdraw(1, -1) },
		"reserves -1":     func(l *Ledger) { l.Reserve(1, -1, core.CauseOrder) },
		"releases -1":     func(l *Ledger) { l.Release(1, -1, core.CauseCancel) },
		"gives 0":         func(l *Ledger) { l.Sell(1, 1, core.Yes, 0, 5000, 0, false) },
		"sells reserved": func(l *Ledger) {
			l.Buy(1, 1, core.Yes, 5, 1, 0)
			l.AddResting(1, 1, core.Sell, core.Yes, 3, 0)
			l.Sell(1, 1, core.Yes, 3, 1, 0, false)
		},
		"account 1 sells": func(l *Ledger) {
			l.Buy(1, 1, core.Yes, 5, 1, 0)
			l.Sell(1, 1, core.Yes, 1, 1, 0, true)
		},
		"of a reservation of 5000": func(l *Ledger) { // more than the account reserves
			l.Reserve(1, 4999, core.CauseOrder)
			l.BuyFromReservation(1, 1, core.Yes, 1, 5000, 0, 5000)
		},
		"5001 of a reservation": func(l *Ledger) {
			l.Reserve(1, 9000, core.CauseOrder)
			l.BuyFromReservation(1, 1, core.Yes, 1, 5000, 1, 5000)
		},
		"a reservation of": func(l *Ledger) { l.BuyFromReservation(1, 1, core.Yes, 1, 5000, 0, 4999) },
	} {
		wantViolation(t, what, func() { take(funded(1)) })
	}
}

// TestAverageCost sells part and then all of a position: the cost falls in proportion, to
// 0 with the last contract.
func TestAverageCost(t *testing.T) {
	l := funded(1)
	l.Buy(1, 1, core.Yes, 3, 10_000, 1)
	l.Sell(1, 1, core.Yes, 1, 1, 0, false)
	if h := l.Holding(1, 1); h.Cost[core.Yes] != 10_001-3333 {
		t.Errorf("cost %d, want %d", h.Cost[core.Yes], 10_001-3333)
	}
	l.Sell(1, 1, core.Yes, 2, 1, 0, false)
	if h := l.Holding(1, 1); h.Cost[core.Yes] != 0 {
		t.Errorf("cost %d of an empty position", h.Cost[core.Yes])
	}
}

// TestWholeBalanceCanBeTaken reserves and withdraws 0 and the whole balance.
func TestWholeBalanceCanBeTaken(t *testing.T) {
	l := funded(1)
	for _, n := range []core.Pips{0, 100_000} {
		l.Reserve(1, n, core.CauseOrder)
		l.Release(1, n, core.CauseCancel)
		l.Withdraw(1, n)
	}
	if cash, reserved := l.Balance(1); cash != 0 || reserved != 0 || !l.Check() {
		t.Errorf("cash %d, reserved %d", cash, reserved)
	}
}

// TestUnusedReservationIsReleased checks that the unused part of a reservation becomes
// free cash.
func TestUnusedReservationIsReleased(t *testing.T) {
	l := funded(1)
	l.Reserve(1, 15_030, core.CauseOrder)
	l.AddResting(1, 1, core.Buy, core.No, 3, 5_010)
	l.BuyFromReservation(1, 1, core.No, 3, 15_000, 23, 15_030)
	cash, reserved := l.Balance(1)
	if h := l.Holding(1, 1); cash != 100_000-15_023 || reserved != 0 || h.Cost[core.No] != 15_023 || h.Held[core.No] != 3 || h.Bidding[core.No] != 0 {
		t.Errorf("cash %d, reserved %d, %+v", cash, reserved, h)
	}
	if l.Sums.Cash != cash || l.Sums.Reserved != 0 {
		t.Errorf("sums %+v", l.Sums)
	}
}

// TestSettleWithOrdersPanics settles a market in which an order still rests.
func TestSettleWithOrdersPanics(t *testing.T) {
	for what, spoil := range map[string]func(*Holding){
		"an order":    func(h *Holding) { h.Open = 1 },
		"a bid":       func(h *Holding) { h.Bidding[core.No] = 1 },
		"an ask":      func(h *Holding) { h.Reserved[core.Yes] = 1 },
		"all of them": func(h *Holding) { h.Open, h.Bidding[core.Yes], h.Reserved[core.No] = 1, 1, 1 },
	} {
		l := funded(1)
		spoil(l.holdingSlot(1, 1))
		wantViolation(t, "has orders in a market", func() {
			l.Settle(1, func(core.Outcome) core.Pips { return 0 }, func(core.UserID, Holding, core.Pips) { t.Error("paid with", what) })
		})
	}
}

// mint gives n YES to one account and n NO to another.
func mint(l *Ledger, m core.MarketID, yes, no core.UserID, n core.Qty) {
	l.Buy(yes, m, core.Yes, n, core.Pips(n)*6000, 0)
	l.Buy(no, m, core.No, n, core.Pips(n)*4000, 0)
	l.AddPairs(m, n)
}

// TestSettleEmptiesAMarket checks that Settle pays the holders by id and empties the
// market.
func TestSettleEmptiesAMarket(t *testing.T) {
	l := funded(3)
	mint(l, 5, 3, 1, 2)
	l.AddResting(2, 5, core.Buy, core.Yes, 1, 0)
	l.RemoveResting(2, 5, core.Buy, core.Yes, 1, 0) // listed, but holds nothing
	if got := l.Holders(5); !slices.Equal(got, []core.UserID{1, 2, 3}) {
		t.Errorf("holders %v", got)
	}
	var paid []core.Pips
	l.Settle(5, func(o core.Outcome) core.Pips { return core.Payout * core.Pips(1-o) }, func(u core.UserID, h Holding, p core.Pips) {
		paid = append(paid, core.Pips(u), p)
	})
	if !slices.Equal(paid, []core.Pips{1, 0, 3, 20_000}) {
		t.Errorf("paid %v", paid)
	}
	l.Audit()
	if len(l.Holders(5)) != 0 || l.Pairs(5) != 0 || l.Holding(3, 5) != (Holding{}) {
		t.Error("the market is not empty after Settle")
	}
}

// TestRestoreKeepsTheState checks that a restored ledger has the same state, up to the
// last slot.
func TestRestoreKeepsTheState(t *testing.T) {
	l := funded(3)
	mint(l, 1, 3, 1, 2)
	mint(l, Slots, 1, 2, 4)
	mint(l, 7, 2, 1, 1)
	l.Reserve(2, 5, core.CauseOrder)
	l.AddResting(2, 7, core.Buy, core.Yes, 1, 5)
	l.CollectFees(0)
	s := l.State()
	users := []core.UserID{}
	for _, h := range s.Holdings {
		users = append(users, h.User, core.UserID(h.Market))
	}
	if !slices.Equal(users, []core.UserID{1, 1, 1, 7, 1, Slots, 2, 7, 2, Slots, 3, 1}) {
		t.Errorf("holdings %v are not sorted by user, then market", users)
	}
	again := Restore(s)
	again.AddResting(2, 7, core.Buy, core.Yes, 1, 5)
	again.Audit()
	if !reflect.DeepEqual(again.State(), s) {
		t.Errorf("restored state %+v, want %+v", again.State(), s)
	}
	for _, h := range s.Holdings {
		if got := again.Holding(h.User, h.Market); got.Held != l.Holding(h.User, h.Market).Held || got.Cost != l.Holding(h.User, h.Market).Cost {
			t.Errorf("%+v", got)
		}
	}
	if again.Pairs(Slots) != 4 || again.Pairs(7) != 1 || again.Sums != l.Sums {
		t.Errorf("%+v", again.Sums)
	}
}

// TestEpochWraps lets the counter of commands wrap around.
func TestEpochWraps(t *testing.T) {
	l := funded(2)
	l.AddResting(1, 1, core.Buy, core.Yes, 5, 0)
	l.epoch = ^uint32(0) - 1
	for range 4 {
		l.Begin(0)
		l.Reserve(1, 1, core.CauseOrder)
		l.Reserve(1, 1, core.CauseFill)
		if touched, _ := l.Touched(); len(touched) != 1 || touched[0].Cause != core.CauseFill {
			t.Fatalf("touched %+v", touched)
		}
	}
	// A holding of the same epoch before the wrap does not count as touched.
	l = funded(3)
	l.AddResting(2, 1, core.Sell, core.Yes, 0, 0)
	l.holdingSlot(2, 1).epoch, l.accounts[2].epoch = 1, 1
	l.epoch = ^uint32(0)
	l.Begin(0)
	u := l.Open()
	l.Deposit(u, 5)
	mint(l, 1, 2, 3, 1)
	touched, holdings := l.Touched()
	if len(touched) != 3 || touched[0].User != u || touched[1] != (Touch{2, 100_000, 0, core.CauseFill}) || len(holdings) != 2 {
		t.Errorf("touched %+v, %+v", touched, holdings)
	}
	l = funded(2)
	l.AddResting(1, 1, core.Buy, core.Yes, 5, 0)
	if got := l.Holders(1); len(got) != 1 {
		t.Errorf("holders %v", got)
	}
}

// TestPerformance checks the profit and loss of each movement of money and contracts, and that it
// adds up after each.
func TestPerformance(t *testing.T) {
	l := funded(2)
	check := func(what string, u core.UserID, want Performance) {
		t.Helper()
		want.DepositsNet += 100_000
		if got := l.Performance(u); got != want {
			t.Errorf("%s: account %d has %+v, want %+v", what, u, got, want)
		}
		for u := core.UserID(1); u <= 2; u++ {
			if !l.CheckAccount(u) {
				t.Errorf("%s: the profit and loss of account %d does not add up", what, u)
			}
		}
	}
	l.Begin(1)
	l.Buy(1, 3, core.Yes, 10, 47_000, 313)
	l.Buy(2, 3, core.No, 10, 53_000, 0)
	l.AddPairs(3, 10)
	check("buy", 1, Performance{Totals: Totals{Fees: 313}, Cost: 47_313})
	l.Sell(1, 3, core.Yes, 3, 15_000, 100, false) // cost ⌊47313 × 3 ÷ 10⌋ = 14193
	l.Buy(2, 3, core.Yes, 3, 15_000, 0)
	check("sell", 1, Performance{Totals: Totals{Fees: 413}, Cost: 33_120, Realized: 707, RealizedToday: 707})
	l.CollectFees(413)
	l.PayFromFees(2, 13, core.CauseRebate)
	l.Redeem(2, 3, 3) // cost 15000 + ⌊53000 × 3 ÷ 10⌋
	check("redeem", 2, Performance{Totals: Totals{Rebates: 13}, Cost: 37_100, Realized: -900, RealizedToday: -900})
	l.Begin(2)
	if realized, orders := l.Today(1); realized != 0 || orders != 0 {
		t.Errorf("on the next day: %d realized, %d orders", realized, orders)
	}
	l.CountOrder(1)
	l.CountOrder(1)
	l.Settle(3, func(o core.Outcome) core.Pips { return core.Payout * core.Pips(1-o) }, func(core.UserID, Holding, core.Pips) {})
	check("settlement", 1, Performance{Totals: Totals{Fees: 413}, Realized: 707 + 70_000 - 33_120, RealizedToday: 70_000 - 33_120, OrdersToday: 2})
	check("settlement", 2, Performance{Totals: Totals{Rebates: 13}, Realized: -900 - 37_100, RealizedToday: -37_100})
	l.Transfer(1, 2, 5_000)
	l.Withdraw(2, 1_000)
	check("transfer", 1, Performance{Totals: Totals{Fees: 413, TransfersNet: -5_000}, Realized: 37_587, RealizedToday: 36_880, OrdersToday: 2})
	check("withdrawal", 2, Performance{Totals: Totals{Rebates: 13, TransfersNet: 5_000, DepositsNet: -1_000}, Realized: -38_000, RealizedToday: -37_100})
	l.Audit()

	again := Restore(l.State())
	if err := again.RestorePerformance(l.PerformanceState()); err != nil {
		t.Fatal(err)
	}
	again.Begin(2)
	for u := core.UserID(1); u <= 2; u++ {
		if again.Performance(u) != l.Performance(u) {
			t.Errorf("restored %+v, want %+v", again.Performance(u), l.Performance(u))
		}
	}
	if err := again.RestorePerformance(nil); err == nil {
		t.Error("the profit and loss of no account is accepted")
	}
}

// TestCacheLines checks that an account and a holding are one cache line each.
func TestCacheLines(t *testing.T) {
	if a, h := unsafe.Sizeof(Account{}), unsafe.Sizeof(Holding{}); a > 64 || h > 64 {
		t.Errorf("an account takes %d bytes, a holding %d", a, h)
	}
}
