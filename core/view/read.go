package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// Orders iterates over the orders of u with a created_seq below from (0: all), newest first.
func (w *View) Orders(u core.UserID, from uint64) iter.Seq[*Order] {
	return func(yield func(*Order) bool) {
		r := &w.account(u).rows
		for i := r.indexBelow(from) - 1; i >= 0; i-- {
			if o := r.all[i].order; o != nil && !yield(o) {
				return
			}
		}
	}
}

// Order returns an order of u by its id, or nil if it is not among the rows of u.
func (w *View) Order(u core.UserID, id core.OrderID) *Order {
	if id == 0 {
		return nil
	}
	for o := range w.Orders(u, uint64(id)+1) {
		if o.ID == id {
			return o
		}
		return nil
	}
	return nil
}

// ByClientID returns the newest order of u with that client_order_id, or nil if no row of it
// is kept.
func (w *View) ByClientID(u core.UserID, id uint64) *Order {
	for o := range w.Orders(u, 0) {
		if o.ClientID == id {
			return o
		}
	}
	return nil
}

// Fills iterates over the fills of u with a number below from (0: all), newest first, with
// their numbers.
func (w *View) Fills(u core.UserID, from uint64) iter.Seq2[uint64, *Fill] {
	a := w.account(u)
	return func(yield func(uint64, *Fill) bool) {
		for n, f := range a.fills.newestFirst(u, from) {
			a.keys.name(f.Key, &f.APIKey)
			if f.N != n { // an older entry that was decoded: readers share the others
				f.N = n
			}
			if !yield(n, f) {
				return
			}
		}
	}
}

// Settlements iterates over the settlements of u with a number below from (0: all), newest
// first, with their numbers.
func (w *View) Settlements(u core.UserID, from uint64) iter.Seq2[uint64, *Settlement] {
	return w.account(u).settlements.newestFirst(u, from)
}

// Trades iterates over the public trades of slot m with a number below from (0: all), newest
// first, with their numbers.
func (w *View) Trades(m core.MarketID, from uint64) iter.Seq2[uint64, *Trade] {
	if t := w.tapes[m]; t != nil {
		return t.newestFirst(from)
	}
	return func(func(uint64, *Trade) bool) {}
}

// Withdrawals returns the withdrawals of u, oldest first.
func (w *View) Withdrawals(u core.UserID) []core.Withdrawal {
	return w.account(u).withdrawals
}

// Rounds iterates over the rounds kept with a number below from (0: all), newest first.
func (w *View) Rounds(from uint64) iter.Seq[*Round] {
	return func(yield func(*Round) bool) {
		for i := w.rounds.indexBelow(from) - 1; i >= 0; i-- {
			if !yield(w.rounds.all[i]) {
				return
			}
		}
	}
}

// RoundCount returns the number of rounds of a series that are kept.
func (w *View) RoundCount(category uint16) int { return w.rounds.count[category] }

// Round returns the newest round of slot m, or nil if none opened or it is no longer kept.
func (w *View) Round(m core.MarketID) *Round { return w.rounds.newestOf[m] }

// Volume30 returns the contracts that u filled on the UTC day of ts (ns) and the 29 days
// before (docs/rules/limits.md#write-rate).
func (w *View) Volume30(u core.UserID, ts int64) core.Qty {
	return w.account(u).volume.sum(ts)
}

// Changes returns a counter that rises with every event of u. While it is unchanged, so are
// all rows of u.
func (w *View) Changes(u core.UserID) uint64 {
	return w.account(u).events.end()
}

// Events iterates over the events of u with a number below from (0: all), newest first, with their
// numbers (docs/rules/events.md#the-account).
func (w *View) Events(u core.UserID, from uint64) iter.Seq2[uint64, *UserEvent] {
	return func(yield func(uint64, *UserEvent) bool) {
		a := w.account(u)
		for n, e := range a.events.newestFirst(u, from) {
			a.keys.nameEvent(e)
			if !yield(n, e) {
				return
			}
		}
	}
}

// EventsAfter returns the events of u with a seq above seq, oldest first
// (docs/rules/events.md#resume). It returns false if some of them are no longer kept. The
// history keeps one event more than the cap: a caller that has seen all but the newest
// caps.Events is then known to have missed none.
func (w *View) EventsAfter(u core.UserID, seq uint64) ([]UserEvent, bool) {
	a := w.account(u)
	var out []UserEvent
	for _, e := range a.events.newestFirst(u, 0) {
		if e.Seq <= seq {
			slices.Reverse(out)
			return out, true
		}
		a.keys.nameEvent(e)
		out = append(out, *e)
	}
	slices.Reverse(out)
	return out, a.events.oldest() == 1 && len(out) <= w.caps.Events
}
