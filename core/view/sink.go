package view

import "duplex/core"

// Sink gets each row of a view when it is added and whenever it changes. An order and the round of an
// account may be reported several times by one command; the last state counts. A pointer is valid
// during the call only, and what it points to is read-only.
type Sink interface {
	User(u *core.User)
	Order(o *Order)
	Fill(u core.UserID, f *Fill)
	Trade(n uint64, t *Trade)
	Settlement(u core.UserID, n uint64, s *Settlement)
	Ledger(u core.UserID, r *LedgerRow)
	Forecast(u core.UserID, f *Forecast) // without what follows from later commands
	Round(r *Round)
	RoundSecond(number uint64, s *RoundSecond)
	Tick(f core.Feed, t *PriceTick)
	AccountRound(u core.UserID, x *AccountRound)
	Action(a *Action)
}

// SetSink sets the sink; nil removes it. Without one, reporting costs nothing.
func (w *View) SetSink(s Sink) { w.sink = s }
