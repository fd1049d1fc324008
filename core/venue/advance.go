package venue

import (
	"duplex/core"
	"duplex/core/book"
	"duplex/core/round"
)

// advance does whatever is due at the stamp's time, in one fixed order: expiries,
// dead-man switches, stale feeds, rounds by slot, openings by series.
func (v *Venue) advance() {
	ts := v.now.Ts
	v.expire(ts)
	v.fireDeadmen(ts)
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

// Due is the earliest time at which a clock tick would do something. It is the
// stamp of the last command, or before, when that is now. It tidies the timers, so
// it belongs to whoever applies.
func (v *Venue) Due() int64 {
	ts := v.now.Ts
	at := min(v.expiryDue(), v.deadmanDue())
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

func (v *Venue) expiryDue() int64 {
	v.expiries.prune(v.pool.Len(), v.expiryCurrent)
	return v.expiries.firstCurrent(v.expiryCurrent)
}

func (v *Venue) deadmanDue() int64 {
	v.deadmen.prune(len(v.accounts), v.deadmanCurrent)
	return v.deadmen.firstCurrent(v.deadmanCurrent)
}

func (v *Venue) deadmanCurrent(t timer) bool { return v.accounts[t.key].deadline == t.at }

func (v *Venue) expiryCurrent(t timer) bool { return v.pool.Find(core.OrderID(t.key)) != book.None }

func (v *Venue) expire(ts int64) {
	for {
		t, ok := v.expiries.pop(ts)
		if !ok {
			return
		}
		if r := v.pool.Find(core.OrderID(t.key)); r != book.None {
			v.closeOrder(r, core.Expired, core.ExpiryReached, core.CauseExpiry)
		}
	}
}

func (v *Venue) fireDeadmen(ts int64) {
	for {
		t, ok := v.deadmen.pop(ts)
		if !ok {
			return
		}
		a := &v.accounts[t.key]
		if a.deadline != t.at {
			continue // refreshed or disarmed since
		}
		a.deadline, a.timeout = 0, 0
		v.cancelAccountOrders(a.ID, core.DeadmanFired, anyOrder)
		v.ev.Add(&core.DeadmanChanged{User: a.ID, Fired: true})
	}
}

// pauseStaleFeeds pauses the markets of a feed that has had no fresh index for too long
// (docs/rules/prices-sources.md#silence).
func (v *Venue) pauseStaleFeeds(ts int64) {
	for f := range v.feeds {
		if s := &v.feeds[f]; !s.Stale && ts-s.FreshAt > v.rules.StaleNs {
			s.Stale = true
			v.emitFeedRounds(core.Feed(f))
		}
	}
}

// emitFeedRounds tells the pause or its end on every trading round of a feed.
func (v *Venue) emitFeedRounds(f core.Feed) {
	for m := range v.markets {
		if mk := &v.markets[m]; mk.Status == core.Trading && mk.Feed == f && !mk.halted {
			v.emitRound(mk, nil)
		}
	}
}

// applyIndexTick takes in a feed's tick of one second. A tick that came twice, is of a time that
// cannot be, or has fewer sources than the rules want, does nothing: its second has no
// index.
func (v *Venue) applyIndexTick(t *core.IndexTick) core.Reject {
	s := &v.feeds[t.Feed]
	now := v.now.Ts / core.NsPerSec
	if t.Price == 0 || t.Count < v.rules.MinSources[t.Feed] || t.Second > now+1 || t.Second < now-60 || !s.Ring.Put(*t) {
		return core.OK
	}
	v.ev.Add(&core.Indexed{Tick: *t})
	if t.Count > 0 {
		s.FreshAt = v.now.Ts
		if s.Stale {
			s.Stale = false
			v.emitFeedRounds(t.Feed)
		}
	}
	return core.OK
}

func (v *Venue) setSession(c *core.SetSession) core.Reject {
	s := &v.feeds[c.Feed]
	if s.Open == c.Open && s.Until == c.Until {
		return core.OK
	}
	s.Open, s.Until = c.Open, c.Until
	v.ev.Add(&core.SessionChanged{Feed: c.Feed, Open: c.Open, Until: c.Until})
	return core.OK
}
