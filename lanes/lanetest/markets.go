package lanetest

import (
	"context"
	"errors"
	"time"

	"duplex/core"
	"duplex/core/engine"
	"duplex/core/venue"
	"duplex/core/view"
)

// StartPrice is the BTC index with which the markets open: 65,000 dollars.
const StartPrice = core.Price(6_500_000_000_000)

// StaleAfter is how long a feed may be silent before its markets pause. Most tests post one
// price, so with the default of 5 s a slow machine would reach the pause within a test.
const StaleAfter = time.Minute

// OpenMarkets opens the three BTC markets in slots 1 to 3: it opens the session, posts
// StartPrice and waits until the markets trade. disputeNs is the dispute window, as in
// core.Rules. The clock must be stopped, because a slow machine would miss the 5 s in which
// rounds open.
func OpenMarkets(e *engine.Engine, now, disputeNs int64) error {
	rules := core.DefaultRules()
	rules.StaleNs, rules.DisputeNs = int64(StaleAfter), disputeNs
	for _, cmd := range []core.Command{&core.SetRules{Rules: rules}, &core.SetSession{Feed: core.BTC, Open: true}, IndexTick(core.BTC, now, StartPrice), &core.Clock{}} {
		if _, err := e.Submit(context.Background(), cmd); err != nil {
			return err
		}
	}
	return WaitUntil(e, func(v *venue.Venue, _ *view.View) bool {
		s, ok := v.Market(3)
		return ok && s.Status == core.Trading
	})
}

// IndexTick returns the command that posts a price by hand for the second of now.
func IndexTick(f core.Feed, now int64, p core.Price) *core.PostIndex {
	return &core.PostIndex{Tick: core.IndexTick{Feed: f, Second: now / core.NsPerSec, Price: p, Count: 3, Manual: true}}
}

// WaitUntil waits until ok holds. It returns an error after 3 min.
func WaitUntil(e *engine.Engine, ok func(*venue.Venue, *view.View) bool) error {
	f := e.Follow()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for {
		var holds bool
		e.Read(func(v *venue.Venue, w *view.View) { holds = ok(v, w) })
		if holds {
			return nil
		}
		if _, err := f.Next(ctx); err != nil {
			return errors.New("the condition did not hold in time")
		}
	}
}
