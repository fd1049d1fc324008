package view

import (
	"iter"
	"runtime"
	"slices"

	"duplex/core"
)

// Image is the view at one seq, taken while commands go on. What belongs to no account
// is copied at once; an account is copied when Pieces comes to it, or before the first
// command that would change it. A copy shares what never changes (encoded chunks, and
// orders that ended), so that it takes a few KB and microseconds.
type Image struct {
	view *View
	rest restState
	kept []*account // by user id; nil: not copied yet
}

// Image begins one. It is called under the lock that keeps commands out, and there is
// one at a time, until End.
func (w *View) Image() *Image {
	m := &Image{view: w, kept: make([]*account, len(w.users))}
	m.rest = restState{Format: stateFormat, Accounts: uint64(len(w.users) - 1), Tapes: w.tapeStates(), Trail: w.auditTrail.state()}
	for _, x := range w.rounds.all {
		c := *x
		m.rest.Rounds = append(m.rest.Rounds, &c)
	}
	w.image = m
	return m
}

// keep copies an account unless that was done.
func (m *Image) keep(u core.UserID) {
	if int(u) < len(m.kept) && m.kept[u] == nil {
		m.kept[u] = m.view.users[u].copied()
	}
}

// Lock keeps commands out while it is held.
type Lock interface {
	Lock()
	Unlock()
}

// Pieces gives the image as a snapshot keeps it, an account at a time: each is copied
// under the lock and encoded without it. A piece is valid until the next is asked for.
// It can be called once.
func (m *Image) Pieces(l Lock) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		b, err := encoding.Marshal(&m.rest)
		if !yield(b, err) || err != nil {
			return
		}
		var e encoder
		for u := core.UserID(1); int(u) < len(m.kept); u++ {
			l.Lock()
			m.keep(u)
			a := m.kept[u]
			m.kept[u] = encoded
			l.Unlock()
			e = encoder{b: e.b[:0]}
			a.encode(&e, u)
			if !yield(e.b, nil) {
				return
			}
			runtime.Gosched() // whoever trades goes first
		}
	}
}

// End lets commands go on without copying.
func (m *Image) End(l Lock) {
	l.Lock()
	defer l.Unlock()
	m.view.image = nil
}

// encoded stands for an account that an image is done with.
var encoded = new(account)

// copied is the account as it is now. Resting orders may change later, so they are
// copied as well.
func (a *account) copied() *account {
	c := &account{
		fills: a.fills.copied(), settlements: a.settlements.copied(), events: a.events.copied(), withdrawals: slices.Clone(a.withdrawals), volume: a.volume,
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
