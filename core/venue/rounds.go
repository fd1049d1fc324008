package venue

import (
	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
	"duplex/core/round"
)

// mayOpen tells whether series i opens a round at ts, and if not when the clock
// alone could bring it about; never when something else has to happen first.
func (v *Venue) mayOpen(i int, s core.Series, ts int64) (ok bool, next int64) {
	f := &v.feeds[s.Feed]
	if v.trading[i] != 0 || f.Stale || !f.Open || len(v.free) == 0 {
		return false, never
	}
	_, end := round.Period(s, ts)
	if f.Until != 0 && end > f.Until {
		return false, never // until the session changes
	}
	return round.MayOpen(s, ts, v.last[i])
}

// openRound starts a round of series i in the slot that has been free for longest.
func (v *Venue) openRound(i int, s core.Series) {
	id := v.free[0]
	v.free = append(v.free[:0], v.free[1:]...)
	start, end := round.Period(s, v.now.Ts)
	tick, _ := v.feeds[s.Feed].Ring.Last()
	v.rounds++
	m := &v.markets[id]
	*m = market{book: m.book, bookSeq: v.now.Seq, Round: core.Round{
		Market: id, Generation: m.Generation + 1, Number: v.rounds, Category: s.Category, Feed: s.Feed, Window: s.Window,
		Status: core.Trading, Strike: tick.Price, Winner: core.NoOutcome, OpenTs: v.now.Ts, CloseTs: end,
	}}
	if m.book == nil {
		m.book = book.New(v.pool)
	}
	v.trading[i], v.last[i] = id, start
	v.emitRound(m, []core.IndexTick{tick})
}

// emitRound emits the round as it stands.
func (v *Venue) emitRound(m *market, evidence []core.IndexTick) {
	v.ev.Add(&core.RoundChanged{Round: v.roundOf(m), Evidence: evidence})
}

func (v *Venue) roundOf(m *market) core.Round {
	r := m.Round
	r.Paused = r.Status == core.Trading && v.paused(m)
	return r
}

// advanceRound moves a round on by one transition that is due.
func (v *Venue) advanceRound(m *market) {
	switch m.Status {
	case core.Trading:
		v.freezeRound(m)
	case core.Frozen:
		if round.HasCoverage(&m.Round, &v.rules) {
			v.proposeRound(m, m.Settle, false)
		} else {
			v.voidRound(m)
		}
	case core.Proposed:
		v.settleRound(m)
	}
}

func (v *Venue) freezeRound(m *market) {
	v.cancelMarketOrders(m, core.Paused, cancelsOnPause)
	ring := &v.feeds[m.Feed].Ring
	round.Freeze(&m.Round, ring, v.now.Ts)
	v.trading[m.Category-1] = 0
	v.emitRound(m, ring.Window(m.CloseTs/core.NsPerSec, m.Window))
}

func (v *Venue) proposeRound(m *market, price core.Price, byOperator bool) {
	v.cancelMarketOrders(m, core.RoundClosed, anyOrder)
	round.Propose(&m.Round, price, byOperator, v.now.Ts)
	v.emitRound(m, nil)
}

// settleRound pays 10000 pips for every winning contract.
func (v *Venue) settleRound(m *market) {
	m.Status = core.Settled
	v.payOut(m, func(o core.Outcome) core.Pips {
		if o == m.Winner {
			return core.Payout
		}
		return 0
	})
}

// voidRound pays 5000 pips for every contract, whatever its outcome.
func (v *Venue) voidRound(m *market) {
	v.cancelMarketOrders(m, core.RoundClosed, anyOrder)
	if m.Status == core.Trading {
		v.trading[m.Category-1] = 0
	}
	m.Status, m.Winner = core.Void, core.NoOutcome
	v.payOut(m, func(core.Outcome) core.Pips { return core.VoidPayout })
}

func (v *Venue) payOut(m *market, pay func(core.Outcome) core.Pips) {
	m.ResolveTs = v.now.Ts
	v.ledger.Settle(m.Market, pay, func(u core.UserID, h ledger.Holding, paid core.Pips) {
		v.ev.Add(&core.AccountSettled{
			User: u, Market: m.Market, Generation: m.Generation, Number: m.Number, Status: m.Status, Winner: m.Winner,
			Yes: h.Held[core.Yes], No: h.Held[core.No], Payout: paid,
		})
	})
	v.free = append(v.free, m.Market)
	v.emitRound(m, nil)
}

func (v *Venue) pause(c *core.PauseMarket) core.Reject {
	m := v.market(c.Market)
	switch {
	case m == nil:
		return core.UnknownMarket
	case m.Status != core.Trading:
		return core.InvalidTransition
	case m.halted == !c.Lift:
		return core.OK
	}
	m.halted = !c.Lift
	if m.halted {
		v.cancelMarketOrders(m, core.Paused, cancelsOnPause)
	}
	v.emitRound(m, nil)
	return core.OK
}

func (v *Venue) voidMarket(c *core.VoidMarket) core.Reject {
	m := v.market(c.Market)
	switch {
	case m == nil:
		return core.UnknownMarket
	case m.Status.Final():
		return core.InvalidTransition
	}
	v.voidRound(m)
	return core.OK
}

func (v *Venue) proposePrice(c *core.ProposePrice) core.Reject {
	m := v.market(c.Market)
	switch {
	case m == nil:
		return core.UnknownMarket
	case m.Status != core.Frozen && m.Status != core.Proposed:
		return core.InvalidTransition
	}
	v.proposeRound(m, c.Price, true)
	return core.OK
}
