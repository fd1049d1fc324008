package view

import "duplex/core"

// Released says which rows of a list memory no longer keeps: some or all of those with a position of
// at most Newest, none if that is 0. Every one of them has its last state since the command Seq, so
// that another store which has applied that command has them all
// (docs/rules/history.md#reads-beyond-memory).
type Released struct{ Newest, Seq uint64 }

// note adds a row that memory drops.
func (r *Released) note(position, seq uint64) {
	r.Newest, r.Seq = max(r.Newest, position), max(r.Seq, seq)
}

// releasedBefore returns the bounds of a numbered list by the number and the seq of its oldest row:
// each row before has a lower seq.
func releasedBefore(oldest, seq uint64) Released {
	if oldest <= 1 {
		return Released{}
	}
	return Released{Newest: oldest - 1, Seq: seq}
}

func (h *encodedHistory[T, P]) released(u core.UserID, seq func(*T) uint64) Released {
	n := h.oldest()
	if n <= 1 {
		return Released{}
	}
	for _, x := range h.newestFirst(u, n+1) {
		return releasedBefore(n, seq(x))
	}
	return releasedBefore(n, 0) // no entry is kept, and none was added since a snapshot with a higher cap
}

// FillsReleased returns the bounds of the fills of u that memory released, by number.
func (w *View) FillsReleased(u core.UserID) Released {
	return w.account(u).fills.released(u, func(f *Fill) uint64 { return f.Seq })
}

// SettlementsReleased is FillsReleased of the settlements.
func (w *View) SettlementsReleased(u core.UserID) Released {
	return w.account(u).settlements.released(u, func(s *Settlement) uint64 { return s.Seq })
}

// LedgerReleased is FillsReleased of the ledger.
func (w *View) LedgerReleased(u core.UserID) Released {
	return w.account(u).ledger.released(u, func(r *LedgerRow) uint64 { return r.Seq })
}

// DepositsReleased is FillsReleased of the deposits, by seq.
func (w *View) DepositsReleased(u core.UserID) Released {
	r := w.account(u).deposits.released(u, func(d *Deposit) uint64 { return d.Seq })
	if r.Newest != 0 {
		r.Newest = r.Seq - 1
	}
	return r
}

// OrdersReleased is FillsReleased of the orders, by created_seq.
func (w *View) OrdersReleased(u core.UserID) Released { return w.account(u).rows.released }

// AccountRoundsReleased is FillsReleased of the rounds of an account, by the number of the round.
func (w *View) AccountRoundsReleased(u core.UserID) Released { return w.account(u).roundsReleased }

// TradesReleased returns the bounds of the trades of slot m that memory released, by number.
func (w *View) TradesReleased(m core.MarketID) Released {
	t := w.tapes[m]
	if t == nil || len(t.buf) == 0 {
		return Released{}
	}
	n := t.oldest()
	return releasedBefore(n, t.at(n).Seq)
}

// RoundsReleased returns the bounds of the rounds that memory released, by number.
func (w *View) RoundsReleased() Released { return w.rounds.released }

// ActionsReleased returns the bounds of the actions that memory released, by seq.
func (w *View) ActionsReleased() (out Released) {
	for _, r := range []*ring[Action]{&w.auditTrail.actions, &w.auditTrail.routine} {
		if n := r.oldest(); n > 1 && len(r.buf) > 0 {
			out.note(r.at(n).Seq-1, r.at(n).Seq)
		}
	}
	return out
}
