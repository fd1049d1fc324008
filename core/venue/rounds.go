package venue

import (
	"duplex/core"
	"duplex/core/book"
	"duplex/core/ledger"
	"duplex/core/round"
)

// market is one slot: the round that it holds or held last, and the book of that round.
type market struct {
	core.Round
	book     *book.Book // nil until the slot's first round
	halted   bool       // paused by an operator
	lastTick core.Tick  // of the last fill, YES space; 0 before the first
	volume   core.Qty   // contracts filled
	bookSeq  uint64     // see MarketState.BookSeq
}

// market returns slot m, or nil if no round ever opened in it.
func (v *Venue) market(m core.MarketID) *market {
	if m == 0 || m > Slots || v.markets[m].Status == core.NeverOpened {
		return nil
	}
	return &v.markets[m]
}

// closed reports whether a trading market takes no more placements at ts: its boundary has passed,
// although no tick has frozen it yet (docs/rules/rounds.md#close).
func (v *Venue) closed(m *market, ts int64) bool {
	return ts >= m.CloseTs
}

// paused reports whether a trading market rejects placements (docs/rules/rounds.md#pauses).
func (v *Venue) paused(m *market) bool { return m.halted || v.feeds[m.Feed].Stale }

// mayOpen reports whether series i opens a round at ts (docs/rules/rounds.md#opening). If not, next
// is the time at which a clock tick could open one, in ns, or never if another command has to come
// first.
func (v *Venue) mayOpen(i int, s core.Series, ts int64) (ok bool, next int64) {
	f := &v.feeds[s.Feed]
	if s.Since > v.rules.Revision || v.trading[i] != 0 || f.Stale || !f.Open || len(v.free) == 0 {
		return false, never
	}
	_, end := round.Period(s, ts)
	if f.Until != 0 && end > f.Until {
		return false, never // the round would outlast the session
	}
	return round.MayOpen(s, ts, v.last[i])
}

// openRound opens a round of series i in the slot that has been free for longest. Its strike is
// the newest index tick (docs/rules/rounds.md#strike).
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

// emitRound emits the round's current state, with index ticks as evidence of its strike or of its
// settle price.
func (v *Venue) emitRound(m *market, evidence []core.IndexTick) {
	v.ev.Add(&core.RoundChanged{Round: v.roundOf(m), Evidence: evidence})
}

// roundOf returns the round as readers see it, with Paused set.
func (v *Venue) roundOf(m *market) core.Round {
	r := m.Round
	r.Paused = r.Status == core.Trading && v.paused(m)
	return r
}

// advanceRound makes the round's one transition that is due: freeze, propose, void or settle.
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

// freezeRound ends trading and fixes the settle price and its coverage
// (docs/rules/rounds.md#freeze). Orders without cancel_on_pause keep resting until the proposal.
func (v *Venue) freezeRound(m *market) {
	v.cancelMarketOrders(m, core.Paused)
	ring := &v.feeds[m.Feed].Ring
	round.Freeze(&m.Round, ring, v.now.Ts)
	v.trading[m.Category-1] = 0
	v.emitRound(m, ring.Window(m.CloseTs/core.NsPerSec, m.Window))
}

// proposeRound cancels the remaining orders and proposes a settle price; the dispute window begins
// (docs/rules/rounds.md#proposal).
func (v *Venue) proposeRound(m *market, price core.Price, byOperator bool) {
	v.cancelMarketOrders(m, core.RoundClosed)
	round.Propose(&m.Round, price, byOperator, v.now.Ts)
	v.emitRound(m, nil)
}

// settleRound pays core.Payout pips for every winning contract (docs/rules/money.md#payouts).
func (v *Venue) settleRound(m *market) {
	m.Status = core.Settled
	v.payOut(m, func(o core.Outcome) core.Pips {
		if o == m.Winner {
			return core.Payout
		}
		return 0
	})
}

// voidRound cancels all orders and pays core.VoidPayout pips for every contract of either outcome
// (docs/rules/money.md#void-payouts).
func (v *Venue) voidRound(m *market) {
	v.cancelMarketOrders(m, core.RoundClosed)
	if m.Status == core.Trading {
		v.trading[m.Category-1] = 0
	}
	m.Status, m.Winner = core.Void, core.NoOutcome
	v.payOut(m, func(core.Outcome) core.Pips { return core.VoidPayout })
}

// payOut pays every holder and frees the slot. pay returns the pips for a contract of an outcome.
func (v *Venue) payOut(m *market, pay func(core.Outcome) core.Pips) {
	m.ResolveTs = v.now.Ts
	v.ledger.Settle(m.Market, pay, func(u core.UserID, h ledger.Holding, paid core.Pips) {
		v.ev.Add(&core.AccountSettled{
			User: u, Market: m.Market, Generation: m.Generation, Number: m.Number, Status: m.Status, Winner: m.Winner,
			Yes: h.Contracts(core.Yes), No: h.Contracts(core.No), Payout: paid, Cost: h.Cost[core.Yes] + h.Cost[core.No],
		})
	})
	v.free = append(v.free, m.Market)
	v.emitRound(m, nil)
}

// pause pauses a trading market, or lifts an operator's pause (docs/rules/rounds.md#pauses).
// Pausing a paused market is a no-op and emits no event.
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
		v.cancelMarketOrders(m, core.Paused)
	}
	v.emitRound(m, nil)
	return core.OK
}

// voidMarket voids a round that is not over, by order of an operator (docs/rules/rounds.md#void).
func (v *Venue) voidMarket(c *core.VoidMarket) core.Reject {
	m := v.market(c.Market)
	if r := checkVoid(m); r != core.OK {
		return r
	}
	v.voidRound(m)
	return core.OK
}

// proposePrice proposes an operator's settle price for a frozen round, or replaces the proposed one
// (docs/rules/rounds.md#operators-price).
func (v *Venue) proposePrice(c *core.ProposePrice) core.Reject {
	m := v.market(c.Market)
	if r := checkPropose(m); r != core.OK {
		return r
	}
	v.proposeRound(m, c.Price, true)
	return core.OK
}

// checkVoid returns why a round, nil if there is none, cannot be voided.
func checkVoid(m *market) core.Reject {
	switch {
	case m == nil:
		return core.UnknownMarket
	case m.Status.Final():
		return core.InvalidTransition
	}
	return core.OK
}

// checkPropose returns why an operator cannot propose the settle price of a round, nil if there is
// none.
func checkPropose(m *market) core.Reject {
	switch {
	case m == nil:
		return core.UnknownMarket
	case m.Status != core.Frozen && m.Status != core.Proposed:
		return core.InvalidTransition
	}
	return core.OK
}
