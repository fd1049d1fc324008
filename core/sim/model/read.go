package model

import (
	"duplex/core"
)

// Users returns the number of accounts.
func (v *Venue) Users() int { return len(v.users) - 1 }

// Balance returns an account's free cash and the sum of what its resting buys reserve, in pips.
func (v *Venue) Balance(u core.UserID) (cash, reserved core.Pips) {
	sum := amount(0)
	for _, o := range v.orders {
		if o.User == u && o.Side == core.Buy {
			sum = plus(sum, v.reserve(o, o.left))
		}
	}
	return core.Pips(v.users[u].cash.Int64()), core.Pips(sum.Int64())
}

// Position returns an account's position in a market that has opened.
func (v *Venue) Position(u core.UserID, m core.MarketID) core.Position {
	yes, no := lot{m, core.Yes}, lot{m, core.No}
	paid := plus(v.stake(u, yes).cost, v.stake(u, no).cost)
	return core.Position{
		Market: m, Generation: v.markets[m].Generation, Number: v.markets[m].Number,
		Yes: v.held(u, yes), No: v.held(u, no), YesReserved: v.sells(u, yes), NoReserved: v.sells(u, no), Cost: core.Pips(paid.Int64()),
	}
}

// Deadman returns the timeout in ms and the deadline in ns of an account's dead-man switch, 0 if disarmed.
func (v *Venue) Deadman(u core.UserID) (timeoutMs uint32, deadline int64) {
	return v.users[u].timeout, v.users[u].deadline
}

// Key is an API key that is not revoked.
type Key struct {
	User   core.UserID
	Sealed string
}

// Keys returns the keys that are not revoked, by id.
func (v *Venue) Keys() map[string]Key {
	all := map[string]Key{}
	for id, k := range v.keys {
		if !k.revoked {
			all[id] = Key{k.user, k.sealed}
		}
	}
	return all
}

// Windows returns the maintenance schedule.
func (v *Venue) Windows() []core.Window { return v.windows }

// Market is a slot as readers see it.
type Market struct {
	core.Round
	LastTick core.Tick
	Volume   core.Qty
	Open     core.Qty // pairs
}

// Market returns a slot, or false if no round ever opened in it.
func (v *Venue) Market(id core.MarketID) (Market, bool) {
	m, ok := v.markets[id]
	r := m.Round
	r.Paused = m.Status == core.Trading && v.paused(m)
	return Market{r, m.lastTick, m.volume, v.total(lot{id, core.Yes})}, ok
}

// total returns the number of contracts of a lot that all accounts hold.
func (v *Venue) total(l lot) (n core.Qty) {
	for u := range v.users {
		n += v.users[u].held[l].n
	}
	return n
}

// Level is a price of a book with the contracts that rest there.
type Level struct {
	Tick core.Tick // YES space
	Qty  core.Qty
}

// Depth returns a side of a book, the best price first.
func (v *Venue) Depth(m core.MarketID, bid bool) (levels []Level) {
	for _, o := range v.queue(m, bid) {
		if n := len(levels); n == 0 || levels[n-1].Tick != o.yes() {
			levels = append(levels, Level{Tick: o.yes()})
		}
		levels[len(levels)-1].Qty += o.left
	}
	return levels
}

// Resting returns the remaining contracts of every resting order.
func (v *Venue) Resting() map[core.OrderID]core.Qty {
	all := map[core.OrderID]core.Qty{}
	for id, o := range v.orders {
		all[id] = o.left
	}
	return all
}

// Fees returns the fees collected, less the shares paid out of them, in pips.
func (v *Venue) Fees() core.Pips { return core.Pips(v.collected.Int64()) }

// Deposits returns the sum of all deposits, in pips.
func (v *Venue) Deposits() core.Pips { return core.Pips(v.deposits.Int64()) }

// Withdrawals returns the sum of all withdrawals that were not rejected, in pips.
func (v *Venue) Withdrawals() core.Pips { return core.Pips(v.withdrawals.Int64()) }

// InvariantHolds reports whether the invariant holds (docs/rules/money.md#the-invariant): Σ cash + Σ reserved + 10000 × open pairs +
// fees = Σ deposits − Σ withdrawals, and in every market as many YES as NO.
func (v *Venue) InvariantHolds() bool {
	sum := v.collected
	for u := range v.users[1:] {
		cash, reserved := v.Balance(core.UserID(u + 1))
		sum = plus(sum, plus(amount(int64(cash)), amount(int64(reserved))))
	}
	for m := range v.markets {
		yes, no := v.total(lot{m, core.Yes}), v.total(lot{m, core.No})
		if yes != no {
			return false
		}
		sum = plus(sum, times(int64(yes), 10000))
	}
	return sum.Cmp(minus(v.deposits, v.withdrawals)) == 0
}
