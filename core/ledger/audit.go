package ledger

import (
	"cmp"
	"slices"

	"duplex/core"
)

// Check tells whether THE INVARIANT holds by the sums: cash, reservations,
// collateral of open pairs and fees are what was paid in less what was taken out
// (contract core, Money).
func (l *Ledger) Check() bool {
	s := &l.Sums
	return s.Cash+s.Reserved+core.Pips(s.Pairs)*core.Payout+s.Fees == s.Deposits-s.Withdrawals
}

// CheckMarket tells whether a market has as many YES as NO as open pairs.
func (l *Ledger) CheckMarket(m core.MarketID) bool {
	return l.held[m][core.Yes] == l.pairs[m] && l.held[m][core.No] == l.pairs[m]
}

// Audit adds everything up again from the accounts and panics with core.Broken
// where a sum differs or an amount is negative.
func (l *Ledger) Audit() {
	var cash, reserved core.Pips
	var held [Slots + 1][2]core.Qty
	for u := range l.accounts {
		a := &l.accounts[u]
		if a.Cash < 0 || a.Reserved < 0 {
			broken("account %d has cash %d and reserves %d", u, a.Cash, a.Reserved)
		}
		cash += a.Cash
		reserved += a.Reserved
		if a.slots == nil {
			continue
		}
		for m := range a.slots {
			h := &a.slots[m]
			for o := range 2 {
				if h.Reserved[o] < 0 || h.Free(core.Outcome(o)) < 0 || h.Bidding[o] < 0 || h.Cost[o] < 0 {
					broken("account %d in market %d: %+v", u, m, *h)
				}
				held[m][o] += h.Held[o]
			}
		}
	}
	if cash != l.Sums.Cash || reserved != l.Sums.Reserved {
		broken("cash %d and reserved %d add up to %d and %d", l.Sums.Cash, l.Sums.Reserved, cash, reserved)
	}
	var pairs core.Qty
	for m := range held {
		if held[m] != l.held[m] || !l.CheckMarket(core.MarketID(m)) {
			broken("market %d: %v contracts held, %v counted, %d pairs", m, held[m], l.held[m], l.pairs[m])
		}
		pairs += l.pairs[m]
	}
	if pairs != l.Sums.Pairs || !l.Check() {
		broken("sums %+v with %d pairs", l.Sums, pairs)
	}
}

// Holders lists who may hold something in a market, in the order of their id.
func (l *Ledger) Holders(m core.MarketID) []core.UserID {
	slices.Sort(l.holders[m])
	return l.holders[m]
}

// State is the ledger as a snapshot keeps it.
type State struct {
	Sums     Sums
	Accounts [][2]core.Pips // cash, reserved; by id - 1
	Holdings []HoldingState // sorted by user, then market
	Pairs    []core.Qty
}

// HoldingState is one holding of a snapshot.
type HoldingState struct {
	User   core.UserID
	Market core.MarketID
	Held   [2]core.Qty
	Cost   [2]core.Pips
}

// State copies the ledger. What resting orders reserve is left out: Restore is
// followed by a Rest for each order.
func (l *Ledger) State() State {
	s := State{Sums: l.Sums, Pairs: slices.Clone(l.pairs[:])}
	for i := range l.accounts[1:] {
		a := &l.accounts[i+1]
		s.Accounts = append(s.Accounts, [2]core.Pips{a.Cash, a.Reserved})
	}
	for m := core.MarketID(1); m <= Slots; m++ {
		for _, u := range l.holders[m] {
			h := &l.accounts[u].slots[m]
			s.Holdings = append(s.Holdings, HoldingState{User: u, Market: m, Held: h.Held, Cost: h.Cost})
		}
	}
	slices.SortFunc(s.Holdings, func(a, b HoldingState) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Market, b.Market))
	})
	return s
}

// Restore makes a ledger of a snapshot, without resting orders.
func Restore(s State) *Ledger {
	l := New()
	l.Sums = s.Sums
	copy(l.pairs[:], s.Pairs)
	for _, a := range s.Accounts {
		l.accounts = append(l.accounts, Account{Cash: a[0], Reserved: a[1]})
	}
	for _, x := range s.Holdings {
		h := l.slot(x.User, x.Market)
		h.Held, h.Cost = x.Held, x.Cost
		for o := range 2 {
			l.held[x.Market][o] += x.Held[o]
		}
	}
	return l
}
