package venue

import (
	"iter"

	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
)

// Now returns the stamp of the last command.
func (v *Venue) Now() core.Stamp { return v.now }

// Rules returns the rules in force.
func (v *Venue) Rules() core.Rules { return v.rules }

// Fees returns the fee schedule in force.
func (v *Venue) Fees() core.Fees { return v.fees }

// Windows returns the announced schedule of maintenance. The slice is shared and read-only.
func (v *Venue) Windows() []core.Window { return v.windows }

// Sums returns the venue's totals of money and pairs.
func (v *Venue) Sums() ledger.Sums { return v.ledger.Sums }

// Users returns the accounts, by rising id.
func (v *Venue) Users() iter.Seq[core.User] {
	return func(yield func(core.User) bool) {
		for i := range v.accounts[1:] {
			if !yield(v.accounts[i+1].User) {
				return
			}
		}
	}
}

// User returns an account, or false if it does not exist.
func (v *Venue) User(u core.UserID) (core.User, bool) {
	if !v.userExists(u) {
		return core.User{}, false
	}
	return v.accounts[u].User, true
}

// Keys returns all keys in the order of their creation. Revoked ones are not among them.
func (v *Venue) Keys() iter.Seq[core.Key] {
	return func(yield func(core.Key) bool) {
		v.keys.all.Scan(func(_ uint64, k *core.Key) bool { return yield(*k) })
	}
}

// KeysOf returns an account's keys that are not revoked, in the order of their creation.
func (v *Venue) KeysOf(u core.UserID) iter.Seq[core.Key] {
	return func(yield func(core.Key) bool) {
		if v.userExists(u) && v.accounts[u].keys != nil {
			v.accounts[u].keys.Scan(func(_ uint64, k *core.Key) bool { return yield(*k) })
		}
	}
}

// Balance returns an account's free cash and what its resting buys reserve, in pips.
func (v *Venue) Balance(u core.UserID) (cash, reserved core.Pips) { return v.ledger.Balance(u) }

// Holding returns an account's contracts, cost and resting quantities in a slot.
func (v *Venue) Holding(u core.UserID, m core.MarketID) ledger.Holding { return v.ledger.Holding(u, m) }

// Position returns an account's holding in the slot's current or last round, as readers see it. The
// slot must be at most Slots.
func (v *Venue) Position(u core.UserID, id core.MarketID) (p core.Position) {
	v.position(u, id, &p)
	return p
}

// position sets p. It writes into an event in place, which spares a copy on the matching path.
func (v *Venue) position(u core.UserID, id core.MarketID, p *core.Position) {
	m, h := &v.markets[id], v.ledger.HoldingRef(u, id)
	p.Market, p.Generation, p.Number = id, m.Generation, m.Number
	p.Yes, p.No, p.Cost = h.Contracts(core.Yes), h.Contracts(core.No), h.Cost[core.Yes]+h.Cost[core.No]
	p.YesReserved, p.NoReserved = core.Qty(h.Reserved[core.Yes]), core.Qty(h.Reserved[core.No])
}

// UsedID reports whether an account has used a client_order_id
// (docs/rules/orders.md#client-order-id).
func (v *Venue) UsedID(u core.UserID, id uint64) bool {
	return v.userExists(u) && v.accounts[u].ids.has(id)
}

// IDBytes returns the memory, in bytes, of the sets of used client order ids.
func (v *Venue) IDBytes() (n uint64) {
	for i := range v.accounts {
		n += v.accounts[i].ids.size()
	}
	return n
}

// MarketState is a market as readers see it (docs/rules/prices.md#what-a-market-shows). Quantities are
// in contracts. Book is the venue's own: it is valid until the next command.
type MarketState struct {
	core.Round
	LastTick core.Tick
	Volume   core.Qty
	Open     core.Qty // open pairs
	Book     *book.Book
	BookSeq  uint64 // seq of the last command that changed the book or its grid; the key of cached books
	Halted   bool   // an operator has paused it; Paused is also set while its feed is stale
}

// BestLevel returns the tick and the quantity of the best bid or ask of YES, 0 if there is none. It is
// valid as long as Book.
func (s *MarketState) BestLevel(bid bool) (tick core.Tick, qty core.Qty) {
	for l := range s.Book.Levels(bid) {
		return l.Tick, l.Qty
	}
	return 0, 0
}

// Market returns the current or last round of a slot, or false if none ever opened in it.
func (v *Venue) Market(id core.MarketID) (MarketState, bool) {
	m := v.market(id)
	if m == nil {
		return MarketState{}, false
	}
	return MarketState{v.roundOf(m), m.lastTick, m.volume, v.ledger.Pairs(id), m.book, m.bookSeq, m.halted}, true
}

// Index returns a feed's newest index tick (ok is false if it has none), whether the feed is stale,
// and whether its session is open.
func (v *Venue) Index(f core.Feed) (tick core.IndexTick, ok, stale, open bool) {
	s := &v.feeds[f]
	tick, ok = s.Ring.Last()
	return tick, ok, s.Stale, s.Open
}

// Session returns whether a feed is in session, and until when, in ns; 0 means that the session has
// no end.
func (v *Venue) Session(f core.Feed) (open bool, until int64) {
	return v.feeds[f].Open, v.feeds[f].Until
}

// Quote returns the state of the round that a series trades, or false if it trades none. A category
// of no series has none.
func (v *Venue) Quote(category uint16) (q core.Quote, ok bool) {
	if category < 1 || int(category) > core.SeriesCount || v.trading[category-1] == 0 {
		return q, false
	}
	m := &v.markets[v.trading[category-1]]
	q.Number, q.Category, q.CloseTs, q.Last, q.Volume = m.Number, category, m.CloseTs, m.lastTick, m.volume
	if ticks := v.feeds[m.Feed].Ring.Ticks; len(ticks) > 0 {
		q.Index = ticks[len(ticks)-1].Price
	}
	if t, ok := m.book.BestTick(true); ok {
		q.Bid = t
	}
	if t, ok := m.book.BestTick(false); ok {
		q.Ask = t
	}
	return q, true
}

// Depositor returns the account of a deposit_id, or false if it is not used.
func (v *Venue) Depositor(id string) (core.UserID, bool) {
	d, found := v.deposits.Get(id)
	return d.User, found
}

// Withdrawal returns a withdrawal by its id, or false if there is none.
func (v *Venue) Withdrawal(id uint64) (core.Withdrawal, bool) {
	if w, ok := v.withdrawals.Get(id); ok {
		return *w, true
	}
	return core.Withdrawal{}, false
}

// ClientWithdrawal returns a withdrawal by the id that its account gave it, or false if there is none.
func (v *Venue) ClientWithdrawal(u core.UserID, clientID string) (core.Withdrawal, bool) {
	return v.Withdrawal(v.clientWds[clientWithdrawal{u, clientID}]) // no withdrawal has the id 0
}

// QueueAhead returns the contracts ahead of a resting order at its price
// (docs/rules/orders.md#queue-ahead), or false if the order does not rest. It takes time in
// proportion to the orders ahead: a number kept by each order would have to change with every order
// ahead of it, on the path of matching.
func (v *Venue) QueueAhead(id core.OrderID) (core.Qty, bool) {
	r := v.pool.Find(id)
	if r == book.None {
		return 0, false
	}
	return v.markets[v.pool.At(r).Market()].book.Ahead(r), true
}

// Resting returns the number of orders in all books.
func (v *Venue) Resting() int { return v.pool.Len() }

// Audit recomputes all sums of money and contracts from the accounts, and checks the best prices of
// all books. It panics with core.InvariantViolation if something differs. It takes time in proportion
// to accounts and holdings.
func (v *Venue) Audit() {
	v.ledger.Audit()
	for id := range v.markets {
		if b := v.markets[id].book; b != nil {
			if !b.BestPricesAreCorrect() {
				panic(core.InvariantViolation{Detail: "a book's best price is wrong"})
			}
			bid, bids := b.BestTick(true)
			ask, asks := b.BestTick(false)
			if bids && asks && bid >= ask {
				panic(core.InvariantViolation{Detail: "a book is crossed"})
			}
		}
	}
}

// ClientTransfer returns the transfer that an owner has made with an id of its own.
func (v *Venue) ClientTransfer(owner core.UserID, id string) (core.Transferred, bool) {
	seq, ok := v.clientTransfers[clientTransfer{owner, id}]
	if !ok {
		return core.Transferred{}, false
	}
	t, _ := v.transfers.Get(seq)
	return *t, true
}
