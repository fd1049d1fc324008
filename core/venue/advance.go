package venue

import (
	"duplex/core"
	"duplex/core/book"
	"duplex/core/round"
)

// advance does everything that is due at the command's stamp, in a fixed order: order expiries,
// waiting orders, dead-man switches, lost machines, mandates, grants, stale feeds, round transitions by slot,
// openings by series (docs/rules/rounds.md#due).
func (v *Venue) advance() {
	ts := v.now.Ts
	v.expire(ts)
	v.expireAsks(ts)
	v.fireDeadmanSwitches(ts)
	v.lapse(ts)
	v.expireMandates(ts)
	v.endGrants(ts)
	v.pauseStaleFeeds(ts)
	for m := core.MarketID(1); m <= Slots; m++ {
		if mk := &v.markets[m]; !mk.Status.Final() && mk.Status != core.NeverOpened && round.NextTransition(&mk.Round, &v.rules) <= ts {
			v.advanceRound(mk)
		}
	}
	for i, s := range core.AllSeries() {
		if ok, _ := v.mayOpen(i, s, ts); ok {
			v.openRound(i, s)
		}
	}
}

// Due returns the earliest time at which a clock tick would change something, in ns since the Unix
// epoch; the largest int64 if only another command can. A time at or before the last command's
// stamp means that a tick is due now. Due removes outdated timers, so it needs exclusive access.
func (v *Venue) Due() int64 {
	ts := v.now.Ts
	at := min(v.expiryDue(), v.askDue(), v.deadmanDue(), v.lapseDue(), v.mandateDue(), v.grantDue())
	for f := range v.feeds {
		if s := &v.feeds[f]; !s.Stale {
			at = min(at, s.FreshAt+v.rules.StaleNs+1)
		}
	}
	for m := 1; m <= Slots; m++ {
		if mk := &v.markets[m]; !mk.Status.Final() && mk.Status != core.NeverOpened {
			at = min(at, round.NextTransition(&mk.Round, &v.rules))
		}
	}
	for i, s := range core.AllSeries() {
		_, next := v.mayOpen(i, s, ts)
		at = min(at, next)
	}
	return at
}

// expiryDue returns the earliest expiry of a resting order, or never.
func (v *Venue) expiryDue() int64 {
	v.expiryTimers.prune(v.pool.Len(), v.expiryCurrent)
	return v.expiryTimers.firstCurrent(v.expiryCurrent)
}

// expiryCurrent reports whether the timer's order still rests.
func (v *Venue) expiryCurrent(t timer) bool { return v.pool.Find(core.OrderID(t.key)) != book.None }

// expire ends the orders whose expiry has passed at ts (docs/rules/orders.md#expiry).
func (v *Venue) expire(ts int64) {
	for {
		t, ok := v.expiryTimers.pop(ts)
		if !ok {
			return
		}
		if r := v.pool.Find(core.OrderID(t.key)); r != book.None {
			v.closeOrder(r, core.Expired, core.ExpiryReached, core.CauseExpiry)
		}
	}
}
