package ledger

import (
	"fmt"
	"slices"

	"duplex/core"
)

// Check reports whether the sums satisfy the invariant: cash, reservations, collateral of
// open pairs and fees equal deposits less withdrawals
// (docs/rules/money.md#the-invariant).
func (l *Ledger) Check() bool {
	s := &l.Sums
	return s.Cash+s.Reserved+core.Pips(s.Pairs)*core.Payout+s.Fees == s.Deposits-s.Withdrawals
}

// CheckMarket reports whether a market has as many YES and as many NO contracts as open
// pairs.
func (l *Ledger) CheckMarket(m core.MarketID) bool {
	return l.held[m][core.Yes] == l.pairs[m] && l.held[m][core.No] == l.pairs[m]
}

// CheckAccount reports whether an account's money and the cost of its positions are what it
// brought in, received and realized (docs/rules/money.md#profit-and-loss).
func (l *Ledger) CheckAccount(u core.UserID) bool {
	a, t := &l.accounts[u], &l.totals[u]
	return a.Cash+a.Reserved+a.cost == a.realized+t.Rebates+t.DepositsNet+t.TransfersNet
}

// Audit adds everything up again from the accounts. It panics with
// core.InvariantViolation if a sum differs or an amount is negative.
func (l *Ledger) Audit() {
	var cash, reserved core.Pips
	var held [Slots + 1][2]core.Qty
	for u := range l.accounts {
		a := &l.accounts[u]
		if a.Cash < 0 || a.Reserved < 0 {
			violate("account %d has cash %d and reserves %d", u, a.Cash, a.Reserved)
		}
		cash += a.Cash
		reserved += a.Reserved
		var cost, reservedCash core.Pips
		slots := slotsOf(a)
		for m := range slots {
			h := &slots[m]
			cost += h.Cost[core.Yes] + h.Cost[core.No]
			reservedCash += h.ReservedCash
			for o := range 2 {
				if h.Reserved[o] < 0 || h.Free(core.Outcome(o)) < 0 || h.Bidding[o] < 0 || h.Cost[o] < 0 {
					violate("account %d in market %d: %+v", u, m, *h)
				}
				held[m][o] += h.Contracts(core.Outcome(o))
			}
		}
		if cost != a.cost || reservedCash != a.Reserved {
			violate("account %d: positions cost %d and buys reserve %d, its sums are %d and %d", u, cost, reservedCash, a.cost, a.Reserved)
		}
	}
	if cash != l.Sums.Cash || reserved != l.Sums.Reserved {
		violate("cash %d and reserved %d add up to %d and %d", l.Sums.Cash, l.Sums.Reserved, cash, reserved)
	}
	var pairs core.Qty
	for m := range held {
		if held[m] != l.held[m] || !l.CheckMarket(core.MarketID(m)) {
			violate("market %d: %v contracts held, %v counted, %d pairs", m, held[m], l.held[m], l.pairs[m])
		}
		pairs += l.pairs[m]
	}
	if pairs != l.Sums.Pairs || !l.Check() {
		violate("sums %+v with %d pairs", l.Sums, pairs)
	}
}

// Holders lists the accounts that have ordered or held contracts in this generation of a
// market, by id. The slice is valid until the next change of the ledger.
func (l *Ledger) Holders(m core.MarketID) []core.UserID {
	slices.Sort(l.holders[m])
	return l.holders[m]
}

// State is the ledger in a snapshot. Field names are part of the encoding.
type State struct {
	Sums     Sums
	Accounts [][2]core.Pips // cash and reserved, by id - 1
	Holdings []HoldingState // sorted by user, then market
	Pairs    []core.Qty
}

// PerformanceState is the profit and loss of one account in a snapshot. Snapshots keep it
// outside of State, since those of older programs have none.
type PerformanceState struct {
	_                       struct{} `cbor:",toarray"`
	Realized, RealizedToday core.Pips
	Day                     int32
	OrdersToday             uint32
	Totals                  Totals
}

// HoldingState is one holding in a snapshot.
type HoldingState struct {
	User   core.UserID
	Market core.MarketID
	Held   [2]core.Qty
	Cost   [2]core.Pips
}

// State copies the ledger without the contracts that resting orders reserve or bid for. It
// reads accounts and holdings in memory order, because commands wait meanwhile.
func (l *Ledger) State() State {
	s := State{Sums: l.Sums, Pairs: slices.Clone(l.pairs[:])}
	n := 0
	for m := range l.holders {
		n += len(l.holders[m])
	}
	s.Accounts = slices.Grow(s.Accounts, len(l.accounts)-1)
	s.Holdings = slices.Grow(s.Holdings, n) // stays nil if there are none
	for i := range l.accounts[1:] {
		a := &l.accounts[i+1]
		s.Accounts = append(s.Accounts, [2]core.Pips{a.Cash, a.Reserved})
		if a.slots == nil {
			continue
		}
		for m := range a.slots {
			if h := &a.slots[m]; h.listed {
				s.Holdings = append(s.Holdings, HoldingState{
					User: core.UserID(i + 1), Market: core.MarketID(m), Held: [2]core.Qty{h.Contracts(core.Yes), h.Contracts(core.No)}, Cost: h.Cost,
				})
			}
		}
	}
	return s
}

// PerformanceState returns the profit and loss of every account, by id - 1.
func (l *Ledger) PerformanceState() []PerformanceState {
	s := make([]PerformanceState, len(l.accounts)-1)
	for i := range s {
		a := &l.accounts[i+1]
		s[i] = PerformanceState{Realized: a.realized, RealizedToday: a.realizedToday, Day: a.day, OrdersToday: a.ordersToday, Totals: l.totals[i+1]}
	}
	return s
}

// RestorePerformance sets the profit and loss of every account.
func (l *Ledger) RestorePerformance(s []PerformanceState) error {
	if len(s) != len(l.accounts)-1 {
		return fmt.Errorf("profit and loss of %d accounts, there are %d", len(s), len(l.accounts)-1)
	}
	for i := range s {
		a, x := &l.accounts[i+1], &s[i]
		a.realized, a.realizedToday, a.day, a.ordersToday, l.totals[i+1] = x.Realized, x.RealizedToday, x.Day, x.OrdersToday, x.Totals
	}
	return nil
}

// Restore makes a ledger from a snapshot. The caller then calls AddResting for each
// resting order.
func Restore(s State) *Ledger {
	l := New()
	l.Sums = s.Sums
	copy(l.pairs[:], s.Pairs)
	for _, a := range s.Accounts {
		u := l.Open()
		l.accounts[u].Cash, l.accounts[u].Reserved = a[0], a[1]
	}
	for _, x := range s.Holdings {
		h := l.holdingSlot(x.User, x.Market)
		h.Cost = x.Cost
		for o := range 2 {
			h.Held[o] = int32(x.Held[o])
			l.held[x.Market][o] += x.Held[o]
			l.accounts[x.User].cost += x.Cost[o]
		}
	}
	return l
}

// slotsOf returns the holdings of an account by market, none if it never ordered.
func slotsOf(a *Account) []Holding {
	if a.slots == nil {
		return nil
	}
	return a.slots[:]
}
