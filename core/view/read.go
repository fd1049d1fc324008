package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// Orders returns an account's orders with a created_seq below from (0: all), newest first. Like every
// pointer that a read returns, an order is valid until the next Fold and read-only.
func (w *View) Orders(u core.UserID, from uint64) iter.Seq[*Order] {
	return func(yield func(*Order) bool) {
		if int(u) >= len(w.users) {
			return
		}
		r := &w.users[u].rows
		for i := r.below(from) - 1; i >= 0; i-- {
			if o := r.all[i].order; o != nil && !yield(o) {
				return
			}
		}
	}
}

// Order returns one of an account's orders, or nil if its row is not kept.
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

// ByClientID returns an account's order by its client_order_id, or nil if its row is not kept. It searches
// all rows of the account.
func (w *View) ByClientID(u core.UserID, id uint64) *Order {
	for o := range w.Orders(u, 0) {
		if o.ClientID == id {
			return o
		}
	}
	return nil
}

// Fills returns an account's fills with a number below from (0: all), newest first. Numbers count from 1
// and never change.
func (w *View) Fills(u core.UserID, from uint64) iter.Seq2[uint64, *Fill] {
	if int(u) >= len(w.users) {
		return func(func(uint64, *Fill) bool) {}
	}
	return w.users[u].fills.newestFirst(u, from)
}

// Settlements returns an account's settlements with a number below from (0: all), newest first.
func (w *View) Settlements(u core.UserID, from uint64) iter.Seq2[uint64, *Settlement] {
	if int(u) >= len(w.users) {
		return func(func(uint64, *Settlement) bool) {}
	}
	return w.users[u].settlements.newestFirst(u, from)
}

// Trades returns a market's trades with a number below from (0: all), newest first.
func (w *View) Trades(m core.MarketID, from uint64) iter.Seq2[uint64, *Trade] {
	if t := w.tapes[m]; t != nil {
		return t.newestFirst(from)
	}
	return func(func(uint64, *Trade) bool) {}
}

// Withdrawals returns an account's withdrawals, oldest first.
func (w *View) Withdrawals(u core.UserID) []core.Withdrawal {
	if int(u) >= len(w.users) {
		return nil
	}
	return w.users[u].withdrawals
}

// Rounds returns the kept rounds with a number below from (0: all), highest number first.
func (w *View) Rounds(from uint64) iter.Seq[*Round] {
	return func(yield func(*Round) bool) {
		for i := w.rounds.below(from) - 1; i >= 0; i-- {
			if !yield(w.rounds.all[i]) {
				return
			}
		}
	}
}

// Round returns the current or last round of a slot, or nil if there is none or it is no longer kept.
func (w *View) Round(m core.MarketID) *Round { return w.rounds.bySlot[m] }

// Volume30 returns the contracts that an account filled on the UTC day of ts and the 29 days before
// (docs/rules/limits.md#write-rate). ts is in ns.
func (w *View) Volume30(u core.UserID, ts int64) core.Qty {
	if int(u) >= len(w.users) {
		return 0
	}
	return w.users[u].volume.sum(ts)
}

// Changes returns a number that rises with every change of an account's rows or events. It is the key of
// cached responses.
func (w *View) Changes(u core.UserID) uint64 {
	if int(u) >= len(w.users) {
		return 0
	}
	return w.users[u].events.next
}

// EventsAfter returns an account's events after seq, oldest first. The second result is false if there
// were more than are kept (docs/rules/events.md#resume). One event more than the cap is kept, to tell a
// reader who missed exactly the cap from one who missed more.
func (w *View) EventsAfter(u core.UserID, seq uint64) ([]UserEvent, bool) {
	if int(u) >= len(w.users) {
		return nil, true
	}
	r := &w.users[u].events
	var out []UserEvent
	for _, e := range r.newestFirst(u, 0) {
		if e.Seq <= seq {
			slices.Reverse(out)
			return out, true
		}
		out = append(out, *e)
	}
	slices.Reverse(out)
	return out, r.oldest() == 1 && len(out) <= w.caps.Events
}
