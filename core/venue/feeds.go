package venue

import (
	"duplex/core"
	"duplex/core/feed"
)

// feedState is the state of one feed. Its fields are encoded in snapshots.
type feedState struct {
	Ring    feed.Ring
	FreshAt int64 `cbor:"Fresh"` // stamp of the last tick with a fresh source, ns; older snapshots call it Fresh
	Stale   bool  // no fresh source for Rules.StaleNs, or none ever
	Open    bool  // the session is open
	Until   int64 // end of the session, ns; 0 if it has none
}

// pauseStaleFeeds pauses the markets of each feed that has had no fresh source for more than
// Rules.StaleNs at ts (docs/rules/prices-sources.md#silence).
func (v *Venue) pauseStaleFeeds(ts int64) {
	for f := range v.feeds {
		if s := &v.feeds[f]; !s.Stale && ts-s.FreshAt > v.rules.StaleNs {
			s.Stale = true
			if v.rules.Revision >= core.RevisionMakers {
				v.cancelOfPausedFeed(core.Feed(f))
			}
			v.emitFeedRounds(core.Feed(f))
		}
	}
}

// cancelOfPausedFeed cancels the orders that a pause cancels, in the trading rounds of a feed. Else the first order
// after the silence would meet prices from before it.
func (v *Venue) cancelOfPausedFeed(f core.Feed) {
	for m := range v.markets {
		if mk := &v.markets[m]; mk.Status == core.Trading && mk.Feed == f {
			v.cancelMarketOrders(mk, core.Paused)
		}
	}
}

// emitFeedRounds emits the feed's trading rounds, whose pause has just begun or ended. A market that
// an operator paused stays paused and is left out.
func (v *Venue) emitFeedRounds(f core.Feed) {
	for m := range v.markets {
		if mk := &v.markets[m]; mk.Status == core.Trading && mk.Feed == f && !mk.halted {
			v.emitRound(mk, nil)
		}
	}
}

// applyIndexTick adds a feed's index tick of one second, and ends the feed's pause if the tick has a
// fresh source. It ignores a tick that has no price, is of a second that the feed already has or has
// passed, is more than 60 s old or more than 1 s early, has fewer sources than the rules require, or is of
// a feed that the revision of the rules does not have (docs/rules/prices-sources.md#which-tick-counts).
func (v *Venue) applyIndexTick(t *core.IndexTick) core.Reject {
	if !v.hasFeed(t.Feed) {
		return core.OK
	}
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

// hasFeed reports whether a feed has series under the revision of the rules.
func (v *Venue) hasFeed(f core.Feed) bool {
	_, feeds := core.SeriesSince(v.rules.Revision)
	return int(f) < feeds
}

// setSession opens or closes a feed's session (docs/rules/prices-sources.md#sessions).
func (v *Venue) setSession(c *core.SetSession) core.Reject {
	s := &v.feeds[c.Feed]
	if !v.hasFeed(c.Feed) || s.Open == c.Open && s.Until == c.Until {
		return core.OK
	}
	s.Open, s.Until = c.Open, c.Until
	v.ev.Add(&core.SessionChanged{Feed: c.Feed, Open: c.Open, Until: c.Until})
	return core.OK
}
