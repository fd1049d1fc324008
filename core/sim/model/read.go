package model

import (
	"duplex/core"
)

// Users returns the number of accounts.
func (v *Venue) Users() int { return len(v.users) - 1 }

// Balance returns an account's free cash and the sum its resting buys reserve, in pips.
func (v *Venue) Balance(u core.UserID) (cash, reserved core.Pips) {
	sum := integer(0)
	for _, o := range v.orders {
		if o.User == u && o.Side == core.Buy {
			sum = plus(sum, v.reserve(o, o.left))
		}
	}
	return core.Pips(v.users[u].cash.Int64()), core.Pips(sum.Int64())
}

// Position returns an account's position in a market that has opened.
func (v *Venue) Position(u core.UserID, m core.MarketID) core.Position {
	yes, no := contract{m, core.Yes}, contract{m, core.No}
	paid := plus(v.position(u, yes).cost, v.position(u, no).cost)
	return core.Position{
		Market: m, Generation: v.markets[m].Generation, Number: v.markets[m].Number,
		Yes: v.held(u, yes), No: v.held(u, no), YesReserved: v.sells(u, yes), NoReserved: v.sells(u, no), Cost: core.Pips(paid.Int64()),
	}
}

// Deadman returns the timeout and the deadline (ns) of the dead-man switch of an account, or of a group; both
// are 0 if it is not armed.
func (v *Venue) Deadman(u core.UserID, id uint32) (timeoutMs uint32, deadline int64) {
	d := v.deadmen[groupID{u, id}]
	return d.ms, d.at
}

// Key is an API key.
type Key struct {
	User   core.UserID
	Sealed string
	Number core.KeyNumber
	Grant  core.Grant // zero: the key signs
}

// Keys returns the keys, by id.
func (v *Venue) Keys() map[string]Key {
	all := map[string]Key{}
	for id, k := range v.keys {
		all[id] = Key{k.user, k.sealed, k.number, k.grant.shown()}
	}
	return all
}

// Windows returns the planned windows in force.
func (v *Venue) Windows() []core.Window { return v.windows }

// Market is a slot as readers of the venue see it.
type Market struct {
	core.Round
	LastTick core.Tick
	Volume   core.Qty
	Open     core.Qty // open interest, in pairs
}

// Market returns a slot, or false if no round has opened in it.
func (v *Venue) Market(id core.MarketID) (Market, bool) {
	m, ok := v.markets[id]
	r := m.Round
	r.Paused = m.Status == core.Trading && v.paused(m)
	return Market{r, m.lastTick, m.volume, v.total(contract{id, core.Yes})}, ok
}

// total returns the number of contracts held by all users.
func (v *Venue) total(l contract) (n core.Qty) {
	for u := range v.users {
		n += v.users[u].held[l].n
	}
	return n
}

// Level is a price with the contracts resting there.
type Level struct {
	Tick core.Tick // as a price of YES
	Qty  core.Qty
}

// Depth returns one side of a book, best price first.
func (v *Venue) Depth(m core.MarketID, bid bool) (levels []Level) {
	for _, o := range v.bookSide(m, bid) {
		if n := len(levels); n == 0 || levels[n-1].Tick != o.tickYes() {
			levels = append(levels, Level{Tick: o.tickYes()})
		}
		levels[len(levels)-1].Qty += o.left
	}
	return levels
}

// QueueAhead returns the contracts of the orders at the price of a resting order that came before
// it (docs/rules/orders.md#queue-ahead).
func (v *Venue) QueueAhead(id core.OrderID) (n core.Qty) {
	o := v.orders[id]
	for _, x := range v.bookSide(o.Market, o.bid()) {
		if x.tickYes() == o.tickYes() && x.id < id {
			n += x.left
		}
	}
	return n
}

// Resting returns the contracts left of each resting order.
func (v *Venue) Resting() map[core.OrderID]core.Qty {
	all := map[core.OrderID]core.Qty{}
	for id, o := range v.orders {
		all[id] = o.left
	}
	return all
}

// Fees, Deposits and Withdrawals return the sums of the venue, in pips.
func (v *Venue) Fees() core.Pips        { return core.Pips(v.feesCollected.Int64()) }
func (v *Venue) Deposits() core.Pips    { return core.Pips(v.deposits.Int64()) }
func (v *Venue) Withdrawals() core.Pips { return core.Pips(v.withdrawals.Int64()) }

// InvariantHolds reports whether free cash, reservations, 10000 pips for each open pair, and
// fees add up to deposits less withdrawals (docs/rules/money.md#the-invariant), whether each
// market has as many YES as NO, and whether each ledger ends with the account's balance.
func (v *Venue) InvariantHolds() bool {
	sum := v.feesCollected
	for u := range v.users[1:] {
		cash, reserved := v.Balance(core.UserID(u + 1))
		sum = plus(sum, plus(integer(int64(cash)), integer(int64(reserved))))
		if !v.performanceAddsUp(core.UserID(u+1)) || !v.bookAddsUp(core.UserID(u+1)) {
			return false
		}
	}
	for m := range v.markets {
		yes, no := v.total(contract{m, core.Yes}), v.total(contract{m, core.No})
		if yes != no {
			return false
		}
		sum = plus(sum, times(int64(yes), 10000))
	}
	return sum.Cmp(minus(v.deposits, v.withdrawals)) == 0
}

// Environment returns what the venue is for (docs/rules/operation.md#environment).
func (v *Venue) Environment() core.Environment { return v.rules.Environment }
