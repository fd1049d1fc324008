package model

import (
	"duplex/core"
)

// Users counts the accounts.
func (v *Venue) Users() int { return len(v.users) - 1 }

// Balance is an account's free cash, and what its resting buys add up to.
func (v *Venue) Balance(u core.UserID) (cash, reserved core.Pips) {
	sum := whole(0)
	for _, o := range v.orders {
		if o.User == u && o.Side == core.Buy {
			sum = plus(sum, v.reserve(o, o.left))
		}
	}
	return core.Pips(v.users[u].cash.Int64()), core.Pips(sum.Int64())
}

// Position is what an account has in a market that has opened.
func (v *Venue) Position(u core.UserID, m core.MarketID) core.Position {
	yes, no := lot{m, core.Yes}, lot{m, core.No}
	paid := plus(v.stake(u, yes).cost, v.stake(u, no).cost)
	return core.Position{
		Market: m, Generation: v.markets[m].Generation, Number: v.markets[m].Number,
		Yes: v.held(u, yes), No: v.held(u, no), YesReserved: v.sells(u, yes), NoReserved: v.sells(u, no), Cost: core.Pips(paid.Int64()),
	}
}

// Deadman is an account's switch.
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

// Windows returns the planned windows in force.
func (v *Venue) Windows() []core.Window { return v.windows }

// Market is a slot as its readers see it.
type Market struct {
	core.Round
	LastTick core.Tick
	Volume   core.Qty
	Open     core.Qty // pairs
}

// Market gives a slot; false if it never opened.
func (v *Venue) Market(id core.MarketID) (Market, bool) {
	m, ok := v.markets[id]
	r := m.Round
	r.Paused = m.Status == core.Trading && v.paused(m)
	return Market{r, m.lastTick, m.volume, v.total(lot{id, core.Yes})}, ok
}

// total is how many contracts of a lot there are.
func (v *Venue) total(l lot) (n core.Qty) {
	for u := range v.users {
		n += v.users[u].held[l].n
	}
	return n
}

// Level is a price with what stands there.
type Level struct {
	Tick core.Tick // YES space
	Qty  core.Qty
}

// Depth is a side of a book, the best first.
func (v *Venue) Depth(m core.MarketID, bid bool) (levels []Level) {
	for _, o := range v.queue(m, bid) {
		if n := len(levels); n == 0 || levels[n-1].Tick != o.yes() {
			levels = append(levels, Level{Tick: o.yes()})
		}
		levels[len(levels)-1].Qty += o.left
	}
	return levels
}

// Resting gives what is left of every resting order.
func (v *Venue) Resting() map[core.OrderID]core.Qty {
	all := map[core.OrderID]core.Qty{}
	for id, o := range v.orders {
		all[id] = o.left
	}
	return all
}

// Fees, Deposits and Withdrawals are the venue's own sums.
func (v *Venue) Fees() core.Pips        { return core.Pips(v.collected.Int64()) }
func (v *Venue) Deposits() core.Pips    { return core.Pips(v.deposits.Int64()) }
func (v *Venue) Withdrawals() core.Pips { return core.Pips(v.withdrawals.Int64()) }

// Whole tells whether THE INVARIANT holds: Σ cash + Σ reserved + 10000 × open pairs +
// fees = Σ deposits − Σ withdrawals, and in every market as many YES as NO.
func (v *Venue) Whole() bool {
	sum := v.collected
	for u := range v.users[1:] {
		cash, reserved := v.Balance(core.UserID(u + 1))
		sum = plus(sum, plus(whole(int64(cash)), whole(int64(reserved))))
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
