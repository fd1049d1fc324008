package venue

import (
	"iter"

	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
)

// Now is the stamp of the last command.
func (v *Venue) Now() core.Stamp { return v.now }

// Rules, Fees and Windows are the settings in force.
func (v *Venue) Rules() core.Rules      { return v.rules }
func (v *Venue) Fees() core.Fees        { return v.fees }
func (v *Venue) Windows() []core.Window { return v.windows }

// Sums are the money of the venue added up.
func (v *Venue) Sums() ledger.Sums { return v.ledger.Sums }

// Users lists the accounts in the order of their id.
func (v *Venue) Users() iter.Seq[core.User] {
	return func(yield func(core.User) bool) {
		for i := range v.accounts[1:] {
			if !yield(v.accounts[i+1].User) {
				return
			}
		}
	}
}

// User gives an account; false if there is none.
func (v *Venue) User(u core.UserID) (core.User, bool) {
	if !v.userExists(u) {
		return core.User{}, false
	}
	return v.accounts[u].User, true
}

// Keys lists all keys in the order of their creation. Revoked ones are among them only
// under the first revision of the rules.
func (v *Venue) Keys() iter.Seq[core.Key] {
	return func(yield func(core.Key) bool) {
		v.keys.all.Scan(func(_ uint64, k *core.Key) bool { return yield(*k) })
	}
}

// KeysOf lists an account's keys that are not revoked in the order of their creation.
func (v *Venue) KeysOf(u core.UserID) iter.Seq[core.Key] {
	return func(yield func(core.Key) bool) {
		if v.userExists(u) && v.accounts[u].keys != nil {
			v.accounts[u].keys.Scan(func(_ uint64, k *core.Key) bool { return yield(*k) })
		}
	}
}

// Balance is an account's free cash and what its resting buys hold.
func (v *Venue) Balance(u core.UserID) (cash, reserved core.Pips) { return v.ledger.Balance(u) }

// Holding is what an account has in a slot now.
func (v *Venue) Holding(u core.UserID, m core.MarketID) ledger.Holding { return v.ledger.Holding(u, m) }

// Position is an account's holding in the slot's present life.
func (v *Venue) Position(u core.UserID, id core.MarketID) (p core.Position) {
	v.position(u, id, &p)
	return p
}

// position fills p in place.
func (v *Venue) position(u core.UserID, id core.MarketID, p *core.Position) {
	m, h := &v.markets[id], v.ledger.HoldingRef(u, id)
	p.Market, p.Generation, p.Number = id, m.Generation, m.Number
	p.Yes, p.No, p.Cost = h.Held[core.Yes], h.Held[core.No], h.Cost[core.Yes]+h.Cost[core.No]
	p.YesReserved, p.NoReserved = core.Qty(h.Reserved[core.Yes]), core.Qty(h.Reserved[core.No])
}

// Deadman is the state of an account's switch: its timeout in ms and its deadline
// in ns, 0 when disarmed.
func (v *Venue) Deadman(u core.UserID) (timeoutMs uint32, deadline int64) {
	return v.accounts[u].timeout, v.accounts[u].deadline
}

// UsedID tells whether an account has used a client_order_id.
func (v *Venue) UsedID(u core.UserID, id uint64) bool {
	return v.userExists(u) && v.accounts[u].ids.has(id)
}

// IDBytes is the memory the sets of used client order ids take.
func (v *Venue) IDBytes() (n uint64) {
	for i := range v.accounts {
		n += v.accounts[i].ids.size()
	}
	return n
}

// MarketState is a market as its readers see it.
type MarketState struct {
	core.Round
	LastTick core.Tick
	Volume   core.Qty
	Open     core.Qty // open pairs
	Book     *book.Book
	BookSeq  uint64 // seq of the last command that changed the book or the ticks it may have
}

// Market gives the present life of a market; false if it never opened.
func (v *Venue) Market(id core.MarketID) (MarketState, bool) {
	m := v.market(id)
	if m == nil {
		return MarketState{}, false
	}
	return MarketState{v.roundOf(m), m.lastTick, m.volume, v.ledger.Pairs(id), m.book, m.bookSeq}, true
}

// Index is a feed's last tick, its freshness and its session.
func (v *Venue) Index(f core.Feed) (tick core.IndexTick, ok, stale, open bool) {
	s := &v.feeds[f]
	tick, ok = s.Ring.Last()
	return tick, ok, s.Stale, s.Open
}

// Withdrawal gives a request by its id.
func (v *Venue) Withdrawal(id uint64) (core.Withdrawal, bool) {
	if w, ok := v.withdrawals.Get(id); ok {
		return *w, true
	}
	return core.Withdrawal{}, false
}

// Resting counts the orders in all books.
func (v *Venue) Resting() int { return v.pool.Len() }

// Audit adds all money and contracts up again and panics with core.Broken where
// something is off.
func (v *Venue) Audit() {
	v.ledger.Audit()
	for id := range v.markets {
		if b := v.markets[id].book; b != nil {
			if !b.BestPricesAreCorrect() {
				panic(core.InvariantViolation{Detail: "a book's best price is not its first"})
			}
			bid, bids := b.BestTick(true)
			ask, asks := b.BestTick(false)
			if bids && asks && bid >= ask {
				panic(core.InvariantViolation{Detail: "a book is crossed"})
			}
		}
	}
}
