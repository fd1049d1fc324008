package view

import (
	"iter"
	"slices"

	"duplex/core"
)

// Orders walks an account's orders, newest first by created_seq, from the first
// below seq `from` (0: from the newest).
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

// Order finds one of an account's orders; nil if it is not among its rows.
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

// ByClientID finds an account's order by its client_order_id; nil if no row of it
// is kept.
func (w *View) ByClientID(u core.UserID, id uint64) *Order {
	for o := range w.Orders(u, 0) {
		if o.ClientID == id {
			return o
		}
	}
	return nil
}

// Fills, Settlements, Withdrawals and Trades walk from the newest below entry
// `from` (0: the newest) and give each entry's number.
func (w *View) Fills(u core.UserID, from uint64) iter.Seq2[uint64, *Fill] {
	if int(u) >= len(w.users) {
		return func(func(uint64, *Fill) bool) {}
	}
	return w.users[u].fills.newestFirst(u, from)
}

func (w *View) Settlements(u core.UserID, from uint64) iter.Seq2[uint64, *Settlement] {
	if int(u) >= len(w.users) {
		return func(func(uint64, *Settlement) bool) {}
	}
	return w.users[u].settlements.newestFirst(u, from)
}

func (w *View) Trades(m core.MarketID, from uint64) iter.Seq2[uint64, *Trade] {
	if t := w.tapes[m]; t != nil {
		return t.newestFirst(from)
	}
	return func(func(uint64, *Trade) bool) {}
}

// Withdrawals gives an account's requests, oldest first.
func (w *View) Withdrawals(u core.UserID) []core.Withdrawal {
	if int(u) >= len(w.users) {
		return nil
	}
	return w.users[u].withdrawals
}

// Rounds walks all kept rounds by falling number, from below `from` (0: newest).
func (w *View) Rounds(from uint64) iter.Seq[*Round] {
	return func(yield func(*Round) bool) {
		for i := w.rounds.below(from) - 1; i >= 0; i-- {
			if !yield(w.rounds.all[i]) {
				return
			}
		}
	}
}

// Round is the latest life of a slot; nil if it never opened or is past the ring.
func (w *View) Round(m core.MarketID) *Round { return w.rounds.byslot[m] }

// Volume30 is what an account filled on the UTC day of ts and the 29 before.
func (w *View) Volume30(u core.UserID, ts int64) core.Qty {
	if int(u) >= len(w.users) {
		return 0
	}
	return w.users[u].volume.sum(ts)
}

// Changes counts what has entered an account's stream. While it stays the same, so do
// all of the account's rows.
func (w *View) Changes(u core.UserID) uint64 {
	if int(u) >= len(w.users) {
		return 0
	}
	return w.users[u].events.next
}

// EventsAfter gives an account's events after a seq, oldest first; false if they are
// more than are kept. The ring holds one beyond those, so that who has seen all but
// the newest is known to miss none.
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
