package model

import (
	"cmp"
	"math/big"
	"slices"

	"duplex/core"
)

const (
	second = int64(1_000_000_000)
	minute = 60 * second
)

func (v *Venue) paused(m market) bool { return m.halted || v.feeds[m.Feed].stale }

// advance does everything that is due: expiries, dead-man switches, mandates, stale feeds, rounds
// by slot, then openings by series (docs/rules/rounds.md#due).
func (v *Venue) advance() {
	now := v.now.Ts
	for _, o := range v.resting(func(o order) bool { return o.TIF == core.GTT && o.Expiry <= now }) {
		v.close(o, core.Expired, core.ExpiryReached)
	}
	v.expireAsks()
	for id, d := range v.deadmen {
		if d.at <= now {
			delete(v.deadmen, id)
			v.sweep(core.DeadmanFired, id.has)
		}
	}
	v.lapse()
	v.expireMandates()
	v.endGrants()
	for f := range v.feeds {
		if now-v.feeds[f].fresh > v.rules.StaleNs {
			if !v.feeds[f].stale && v.rules.Revision >= core.RevisionMakers {
				v.sweep(core.Paused, func(o order) bool {
					m := v.markets[o.Market]
					return m.Feed == core.Feed(f) && m.Status == core.Trading && o.Flags.Has(core.CancelOnPause)
				})
			}
			v.feeds[f].stale = true
		}
	}
	for m := core.MarketID(1); m <= slots; m++ {
		if r, ok := v.markets[m]; ok {
			v.advanceRound(r)
		}
	}
	for _, s := range core.AllSeries() {
		v.open(s)
	}
}

// advanceRound makes the next transition of a round if it is due.
func (v *Venue) advanceRound(m market) {
	now := v.now.Ts
	decided := m.Covered*100 >= m.Window*80 && m.FreshCount >= 1 && m.FreshCount >= v.rules.MinSources[m.Feed]
	switch {
	case m.Status == core.Trading && now >= m.CloseTs:
		v.freeze(m)
	case m.Status == core.Frozen && decided && now > m.FreezeTs:
		v.propose(m, m.Settle, false)
	case m.Status == core.Frozen && !decided && now >= m.FreezeTs+v.rules.CoverageWaitNs:
		v.void(m)
	case m.Status == core.Proposed && now >= m.ProposedTs+v.rules.DisputeNs:
		v.settle(m)
	}
}

func (v *Venue) open(s core.Series) {
	f, now := &v.feeds[s.Feed], v.now.Ts
	span := s.Cadence * minute
	start := now / span * span
	end := start + span
	late := s.Cadence > 1 && end-now >= minute
	trading := slices.ContainsFunc(v.list(), func(m market) bool { return m.Category == s.Category && m.Status == core.Trading })
	switch {
	case s.Since > v.rules.Revision, trading, f.stale, !f.open, len(v.free) == 0:
		return
	case f.until != 0 && end > f.until:
		return
	case v.lastStart[s.Category] >= start || now-start >= 5*second && !late:
		return
	}
	id := v.free[0]
	v.free = slices.Clone(v.free[1:])
	v.rounds++
	v.lastStart[s.Category] = start
	v.markets[id] = market{Round: core.Round{
		Market: id, Generation: v.markets[id].Generation + 1, Number: v.rounds, Category: s.Category, Feed: s.Feed, Window: s.Window,
		Status: core.Trading, Strike: f.ticks[f.last].Price, Winner: core.NoOutcome, OpenTs: now, CloseTs: end,
	}}
}

func (v *Venue) list() (all []market) {
	for _, m := range v.markets {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b market) int { return cmp.Compare(a.Market, b.Market) })
	return all
}

func (v *Venue) freeze(m market) {
	v.sweep(core.Paused, func(o order) bool { return o.Market == m.Market && o.Flags.Has(core.CancelOnPause) })
	boundary := m.CloseTs / second
	m.Status, m.FreezeTs = core.Frozen, v.now.Ts
	m.Settle, m.Covered = v.feeds[m.Feed].mean(boundary-m.Window, boundary)
	if t, ok := v.feeds[m.Feed].at(boundary - 1); ok && boundary-t.Second <= 5 {
		m.FreshCount = t.Count
	}
	v.markets[m.Market] = m
}

// at returns the tick of second s, or the newest of the 5 seconds before
// (docs/rules/rounds.md#settle-price).
func (f *feed) at(s int64) (core.IndexTick, bool) {
	for back := range int64(6) {
		if t, ok := f.ticks[s-back]; ok {
			return t, true
		}
	}
	return core.IndexTick{}, false
}

// mean returns the mean of the ticks of the seconds in [from, to), rounded down, and the
// number of seconds that have a price.
func (f *feed) mean(from, to int64) (core.Price, int64) {
	sum, n := integer(0), int64(0)
	for s := from; s < to; s++ {
		if t, ok := f.at(s); ok {
			sum = plus(sum, new(big.Int).SetUint64(uint64(t.Price)))
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return core.Price(floor(sum, n).Uint64()), n
}

func (v *Venue) propose(m market, p core.Price, byOperator bool) {
	v.sweep(core.RoundClosed, func(o order) bool { return o.Market == m.Market })
	m.Status, m.Settle, m.ProposedTs, m.ByOperator = core.Proposed, p, v.now.Ts, byOperator
	m.Gen++
	m.Winner = core.No
	if p > m.Strike {
		m.Winner = core.Yes
	}
	v.markets[m.Market] = m
}

func (v *Venue) settle(m market) {
	m.Status = core.Settled
	v.payOut(m, func(o core.Outcome) int64 {
		if o == m.Winner {
			return 10000
		}
		return 0
	})
}

func (v *Venue) void(m market) {
	v.sweep(core.RoundClosed, func(o order) bool { return o.Market == m.Market })
	m.Status, m.Winner = core.Void, core.NoOutcome
	v.payOut(m, func(core.Outcome) int64 { return 5000 })
}

// payOut pays worth pips for each contract and frees the slot.
func (v *Venue) payOut(m market, worth func(core.Outcome) int64) {
	m.ResolveTs = v.now.Ts
	kind := "settlement"
	if m.Status == core.Void {
		kind = "void"
	}
	for u := range v.users {
		paid := integer(0)
		for _, o := range []core.Outcome{core.Yes, core.No} {
			l := contract{m.Market, o}
			p, ok := v.users[u].held[l]
			if !ok {
				continue
			}
			payout := times(int64(p.n), worth(o))
			v.pay(core.UserID(u), payout)
			paid = plus(paid, payout)
			v.realize(core.UserID(u), m.Market, minus(payout, p.cost))
			delete(v.users[u].held, l)
		}
		v.enter(core.UserID(u), kind, paid, v.inRound(m.Market))
	}
	v.free = append(slices.Clone(v.free), m.Market)
	v.markets[m.Market] = m
}

// hasFeed reports whether a series of the feed exists under the revision of the rules.
func (v *Venue) hasFeed(f core.Feed) bool {
	for _, s := range core.AllSeries() {
		if s.Feed == f && s.Since <= v.rules.Revision {
			return true
		}
	}
	return false
}

// index applies an index tick (docs/rules/prices-sources.md#which-tick-counts). It ignores a
// tick that is late, impossible, of too few sources, or of a feed without series.
func (v *Venue) index(t core.IndexTick) {
	f, now := &v.feeds[t.Feed], v.now.Ts/second
	replaces := t.Second == f.last && t.Manual
	if !v.hasFeed(t.Feed) || t.Price == 0 || t.Count < v.rules.MinSources[t.Feed] || t.Second > now+1 || t.Second < now-60 || t.Second <= f.last && !replaces {
		return
	}
	f.ticks[t.Second], f.last = t, t.Second
	if t.Count > 0 {
		f.fresh, f.stale = v.now.Ts, false
	}
}

func (v *Venue) pause(c *core.PauseMarket) core.Reject {
	m, opened := v.markets[c.Market]
	switch {
	case !opened:
		return core.UnknownMarket
	case m.Status != core.Trading:
		return core.InvalidTransition
	}
	if !c.Lift && !m.halted {
		v.sweep(core.Paused, func(o order) bool { return o.Market == c.Market && o.Flags.Has(core.CancelOnPause) })
	}
	m.halted = !c.Lift
	v.markets[c.Market] = m
	return core.OK
}

func (v *Venue) voidMarket(c *core.VoidMarket) core.Reject {
	m, opened := v.markets[c.Market]
	switch {
	case !opened:
		return core.UnknownMarket
	case m.Status == core.Settled || m.Status == core.Void:
		return core.InvalidTransition
	}
	v.void(m)
	return core.OK
}

func (v *Venue) proposePrice(c *core.ProposePrice) core.Reject {
	m, opened := v.markets[c.Market]
	switch {
	case !opened:
		return core.UnknownMarket
	case m.Status != core.Frozen && m.Status != core.Proposed:
		return core.InvalidTransition
	}
	v.propose(m, c.Price, true)
	return core.OK
}
