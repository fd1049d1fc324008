package view

import (
	"runtime"

	"github.com/fxamacker/cbor/v2"

	"duplex/core"
)

// Image is the view at one seq, taken while commands go on. What is small is copied
// at once; an account is copied by Finish in its turn, or before the first command
// that would change it.
type Image struct {
	view   *View
	tapes  []tapeState
	rounds []Round
	trail  trailState
	kept   []*accountState // by user id; nil: not copied yet
}

// Image begins one. It is called under the lock that keeps commands out, and there is
// one at a time; Finish ends it.
func (w *View) Image() *Image {
	m := &Image{view: w, tapes: w.tapeStates(), trail: w.trail.state(), kept: make([]*accountState, len(w.users))}
	for _, x := range w.rounds.all {
		m.rounds = append(m.rounds, *x)
	}
	w.image = m
	return m
}

// keep copies an account unless that was done.
func (m *Image) keep(u core.UserID) {
	if int(u) < len(m.kept) && m.kept[u] == nil {
		m.kept[u] = m.view.users[u].state()
	}
}

// Lock keeps commands out while it is held.
type Lock interface {
	Lock()
	Unlock()
}

// Finish copies and encodes what is left, an account at a time: each is copied under
// the lock and encoded without it.
func (m *Image) Finish(l Lock) ([]byte, error) {
	defer func() {
		l.Lock()
		m.view.image = nil
		l.Unlock()
	}()
	s := packed{Tapes: m.tapes, Trail: m.trail}
	for i := range m.rounds {
		s.Rounds = append(s.Rounds, &m.rounds[i])
	}
	for u := 1; u < len(m.kept); u++ {
		l.Lock()
		m.keep(core.UserID(u))
		l.Unlock()
		b, err := encoding.Marshal(m.kept[u])
		if err != nil {
			return nil, err
		}
		s.Users = append(s.Users, b)
		*m.kept[u] = accountState{} // copied still, and its memory is free
		runtime.Gosched()           // whoever trades goes first
	}
	return encoding.Marshal(&s)
}

// packed is state with its accounts encoded.
type packed struct {
	_      struct{} `cbor:",toarray"`
	Users  []cbor.RawMessage
	Tapes  []tapeState
	Rounds []*Round
	Trail  trailState
}

// state copies an account. Its rows may change later, so they are copied as well.
func (a *account) state() *accountState {
	x := &accountState{
		Fills: a.fills.list(), NextFill: a.fills.next, Settlements: a.settlements.list(), NextSettled: a.settlements.next,
		Withdrawals: append([]core.Withdrawal(nil), a.withdrawals...), Events: make([]eventState, 0, len(a.events.buf)), NextEvent: a.events.next, Volume: a.volume,
	}
	for _, e := range a.events.list() {
		x.Events = append(x.Events, e.state())
	}
	rows := make([]Order, 0, len(a.rows.all)-a.rows.evicted)
	for _, o := range a.rows.all {
		if !o.evicted {
			rows = append(rows, *o)
			x.Rows = append(x.Rows, &rows[len(rows)-1])
		}
	}
	for _, o := range a.rows.terminal {
		x.Ended = append(x.Ended, o.CreatedSeq)
	}
	return x
}
