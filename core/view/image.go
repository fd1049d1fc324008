package view

import (
	"iter"
	"runtime"
	"slices"

	"duplex/core"
)

// Image is the view at one seq, which is encoded while commands go on. What belongs to no account is
// copied at once. An account is copied when Pieces reaches it, or before the first command that changes
// it. The copy shares what never changes (encoded chunks, terminal orders), so it takes a few KB and
// microseconds.
type Image struct {
	view   *View
	rest   restState
	copies []*account // by user id; nil: not copied yet; encoded: no longer needed
}

// Image begins an image of the current state. It needs exclusive access. Only one image can be in
// progress, until its End.
func (w *View) Image() *Image {
	m := &Image{view: w, copies: make([]*account, len(w.users))}
	m.rest = restState{Format: stateFormat, Accounts: uint64(len(w.users) - 1), Tapes: w.tapeStates(), Trail: w.auditTrail.state()}
	for _, x := range w.rounds.all {
		c := *x
		m.rest.Rounds = append(m.rest.Rounds, &c)
	}
	w.image = m
	return m
}

// copyAccount copies an account, unless it is copied or encoded already. It needs exclusive access.
func (m *Image) copyAccount(u core.UserID) {
	if int(u) < len(m.copies) && m.copies[u] == nil {
		m.copies[u] = m.view.users[u].clone()
	}
}

// Lock is the lock that gives exclusive access to the view.
type Lock interface {
	Lock()
	Unlock()
}

// Pieces returns the encoded image in pieces, see restState: an account is copied under the lock and
// encoded without it. A piece is valid until the next one is asked for. Pieces can be called once.
func (m *Image) Pieces(l Lock) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		b, err := encoding.Marshal(&m.rest)
		if !yield(b, err) || err != nil {
			return
		}
		var e encoder
		for u := core.UserID(1); int(u) < len(m.copies); u++ {
			l.Lock()
			m.copyAccount(u)
			a := m.copies[u]
			m.copies[u] = encoded
			l.Unlock()
			e = encoder{b: e.b[:0]}
			a.encode(&e, u)
			if !yield(e.b, nil) {
				return
			}
			runtime.Gosched() // commands have priority
		}
	}
}

// End ends the image: commands no longer copy accounts.
func (m *Image) End(l Lock) {
	l.Lock()
	defer l.Unlock()
	m.view.image = nil
}

// encoded marks an account that Pieces has encoded.
var encoded = new(account)

// clone returns a copy of the account. It copies resting orders too, because they can still change.
func (a *account) clone() *account {
	c := &account{
		fills: a.fills.clone(), settlements: a.settlements.clone(), events: a.events.clone(), withdrawals: slices.Clone(a.withdrawals), volume: a.volume,
	}
	c.rows.terminal = slices.Clone(a.rows.terminal)
	c.rows.all = make([]row, 0, len(a.rows.all)-a.rows.evicted)
	for _, x := range a.rows.all {
		switch {
		case x.order == nil:
			continue
		case x.order.Status.Live():
			x.order = ptr(*x.order)
		}
		c.rows.all = append(c.rows.all, x)
	}
	return c
}
