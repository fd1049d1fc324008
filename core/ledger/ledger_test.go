package ledger

import (
	"strings"
	"testing"

	"duplex/core"
)

// breaks wants f to stop the house.
func breaks(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		b, ok := recover().(core.Broken)
		if !ok || !strings.Contains(b.Error(), what) {
			t.Errorf("it went on, or stopped for %v", b)
		}
	}()
	f()
}

func funded(n int) *Ledger {
	l := New()
	for range n {
		l.Deposit(l.Open(), 100_000)
	}
	l.Begin()
	return l
}

// A ledger that does not add up is found: by the sums, by the market, or by the
// audit from the accounts.
func TestWhatIsWrongIsFound(t *testing.T) {
	l := funded(2)
	l.Fee(1)
	if l.Check() {
		t.Error("a pip from nowhere passes the sums")
	}
	l = funded(2)
	l.Buy(1, 3, core.Yes, 1, 5000, 0)
	l.Pair(3, 1)
	if l.CheckMarket(3) {
		t.Error("one YES without its NO passes")
	}
	for what, spoil := range map[string]func(*Ledger){
		"add up":   func(l *Ledger) { l.accounts[1].Cash-- },
		"has cash": func(l *Ledger) { l.accounts[1].Cash = -1 },
		"in market": func(l *Ledger) {
			l.accounts[1].slots = new([Slots + 1]Holding)
			l.accounts[1].slots[2].Reserved[0] = 1
		},
		"contracts held": func(l *Ledger) {
			l.accounts[1].slots = new([Slots + 1]Holding)
			l.accounts[1].slots[2].Held[0] = 1
		},
	} {
		l := funded(2)
		l.Audit()
		spoil(l)
		breaks(t, what, l.Audit)
	}
}

// Nothing can be taken that is not there: whoever asks has checked before.
func TestTakingMoreThanThereIsStops(t *testing.T) {
	for what, take := range map[string]func(*Ledger){
		"pays 100001":      func(l *Ledger) { l.Withdraw(1, 100_001) },
		"reserves 100001":  func(l *Ledger) { l.Hold(1, 100_001, core.CauseOrder) },
		"releases 1":       func(l *Ledger) { l.Release(1, 1, core.CauseCancel) },
		"gives 1":          func(l *Ledger) { l.Sell(1, 1, core.Yes, 1, 5000, 0, false) },
		"reserves 1":       func(l *Ledger) { l.Rest(1, 1, core.Sell, core.Yes, 1) },
		"a reservation of": func(l *Ledger) { l.BuyHeld(1, 1, core.Yes, 1, 5000, 0, 4999) },
	} {
		breaks(t, what, func() { take(funded(1)) })
	}
}

// The cost of what is held is an average; all of it goes with the last contract.
func TestAverageCost(t *testing.T) {
	l := funded(1)
	l.Buy(1, 1, core.Yes, 3, 10_000, 1)
	l.Sell(1, 1, core.Yes, 1, 1, 0, false)
	if h := l.Holding(1, 1); h.Cost[core.Yes] != 10_001-3333 {
		t.Errorf("cost %d", h.Cost[core.Yes])
	}
	l.Sell(1, 1, core.Yes, 2, 1, 0, false)
	if h := l.Holding(1, 1); h.Cost[core.Yes] != 0 {
		t.Errorf("cost %d of nothing", h.Cost[core.Yes])
	}
}

func TestMarksWrap(t *testing.T) {
	l := funded(2)
	l.Rest(1, 1, core.Buy, core.Yes, 5)
	l.mark = ^uint32(0) - 1
	for range 4 {
		l.Begin()
		l.Hold(1, 1, core.CauseOrder)
		l.Hold(1, 1, core.CauseFill)
		if touched, _ := l.Touched(); len(touched) != 1 || touched[0].Cause != core.CauseFill {
			t.Fatalf("touched %+v", touched)
		}
	}
	if got := l.Holders(1); len(got) != 1 {
		t.Errorf("holders %v", got)
	}
}
