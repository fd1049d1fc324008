package view

import (
	"iter"
	"runtime"
	"slices"

	"duplex/core"
)

// Image is the view at one seq, written while commands continue. The state shared by all
// accounts is copied at once; an account is copied when Pieces reaches it, or before the
// first command that changes it. The copy shares what never changes (encoded chunks and
// orders in a final status), so it takes a few KB and microseconds
// (with the price history of a whole day about 100 KB).
type Image struct {
	view     *View
	shared   sharedState
	prices   [core.Feeds]history[PriceTick]
	seconds  roundSeconds
	accounts []*account // by user id; nil: not copied yet
}

// Image begins an image of the view at the current seq. The caller holds the lock that keeps
// commands out. At most one image exists at a time, from Image to End.
func (w *View) Image() *Image {
	m := &Image{view: w, accounts: make([]*account, len(w.accounts))}
	m.shared = sharedState{
		Format: stateFormat, Accounts: uint64(len(w.accounts) - 1), Tapes: w.tapeStates(), Trail: w.auditTrail.state(),
		Ledgers: ledgersState{On: true, FirstRound: 1, ReleasedRound: w.rounds.released.Newest, ReleasedSeq: w.rounds.released.Seq},
	}
	for f := range w.prices {
		m.prices[f] = w.prices[f].clone()
	}
	m.seconds = w.seconds.image()
	for _, x := range w.rounds.all {
		c := *x
		m.shared.Rounds = append(m.shared.Rounds, &c)
	}
	w.image = m
	return m
}

// copyAccount copies an account unless it was copied before.
func (m *Image) copyAccount(u core.UserID) {
	if int(u) < len(m.accounts) && m.accounts[u] == nil {
		m.accounts[u] = m.view.accounts[u].clone()
	}
}

// Lock keeps commands out while it is held.
type Lock interface {
	Lock()
	Unlock()
}

// Pieces returns the pieces of the snapshot, one account at a time: each is copied under the
// lock and encoded without it. A piece is valid until the next is taken. The sequence can be
// iterated once; an error is the last element.
func (m *Image) Pieces(l Lock) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		m.shared.Prices, m.shared.Seconds = encodePrices(&m.prices), m.seconds.states()
		b, err := encoding.Marshal(&m.shared)
		if !yield(b, err) || err != nil {
			return
		}
		var c coder
		for u := core.UserID(1); int(u) < len(m.accounts); u++ {
			l.Lock()
			m.copyAccount(u)
			a := m.accounts[u]
			m.accounts[u] = encodedAccount
			l.Unlock()
			c = coder{b: c.b[:0], user: u}
			a.code(&c, stateFormat)
			if !yield(c.b, nil) {
				return
			}
			runtime.Gosched() // lets waiting commands run first
		}
	}
}

// End releases the image: later commands no longer copy accounts for it.
func (m *Image) End(l Lock) {
	l.Lock()
	defer l.Unlock()
	m.view.image = nil
}

// encodedAccount marks an account that Pieces has already encoded.
var encodedAccount = new(account)

// clone returns a copy that later commands do not change. Resting orders may still change,
// so they are copied too.
func (a *account) clone() *account {
	c := &account{
		fills: a.fills.clone(), settlements: a.settlements.clone(), events: a.events.clone(), withdrawals: slices.Clone(a.withdrawals), volume: a.volume,
		keys: slices.Clone(a.keys), owner: a.owner, activity: a.activity.clone(),
		balance: a.balance, ledger: a.ledger.clone(), rounds: a.rounds.clone(), finalRounds: a.finalRounds, roundsReleased: a.roundsReleased, deposits: a.deposits.clone(),
		forecasts: a.forecasts.clone(), asks: asks{waiting: slices.Clone(a.asks.waiting), ended: a.asks.ended.clone()},
	}
	c.rows.terminal, c.rows.released = slices.Clone(a.rows.terminal), a.rows.released
	c.rows.all = make([]row, 0, len(a.rows.all)-a.rows.evicted)
	for _, x := range a.rows.all {
		switch {
		case x.order == nil:
			continue
		case x.order.Status.Live():
			x.order = new(*x.order)
		}
		c.rows.all = append(c.rows.all, x)
	}
	return c
}
