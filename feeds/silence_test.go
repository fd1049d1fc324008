package feeds_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/venue"
	"duplex/feeds"
)

// clocked is a venue without a sequencer. The clock stamps its commands, and paused
// performs what is due.
type clocked struct {
	mu sync.Mutex
	v  *venue.Venue
	at core.Stamp
}

func (c *clocked) submit(_ context.Context, cmd core.Command) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply(cmd)
	return nil
}

func (c *clocked) apply(cmd core.Command) {
	c.at = core.Stamp{Seq: c.at.Seq + 1, Ts: max(c.at.Ts+1, time.Now().UnixNano())}
	c.v.Apply(c.at, cmd, &core.Events{})
}

// paused performs what is due and reports whether the markets of a feed are paused.
func (c *clocked) paused(f core.Feed) (paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.v.Due() <= time.Now().UnixNano() {
		c.apply(&core.Clock{})
	}
	_, _, paused, _ = c.v.Index(f)
	return paused
}

// source sends one price until it falls silent.
type source struct {
	feed  core.Feed
	until time.Time // of its last price
}

func (s source) Name() string    { return "a" }
func (s source) Feed() core.Feed { return s.feed }

func (s source) Run(ctx context.Context, out func(core.Price, time.Time)) error {
	for ctx.Err() == nil && time.Now().Before(s.until) {
		out(100, time.Now())
		time.Sleep(min(250*time.Millisecond, time.Until(s.until)))
	}
	out(100, time.Now())
	<-ctx.Done()
	return ctx.Err()
}

// TestSilenceUntilThePause checks the times of docs/rules/prices-sources.md#silence: the
// last price stays fresh for 5 s (BTC) or 15 s, and the markets pause 5 s after the last
// tick. Both together are 9 to 10 s, or 19 to 20 s, depending on when in its second the
// last price arrives.
func TestSilenceUntilThePause(t *testing.T) {
	for f, sum := range map[core.Feed]time.Duration{core.BTC: 10 * time.Second, core.Gold: 20 * time.Second, core.WTI: 20 * time.Second} {
		if stages := time.Duration(feed.FreshFor(f)) + time.Duration(core.DefaultRules().StaleNs); stages != sum {
			t.Errorf("%s: both stages take %s, want %s", f, stages, sum)
		}
		for _, into := range []time.Duration{0, time.Millisecond, 400 * time.Millisecond, 999 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				last := time.Now().Truncate(time.Second).Add(30*time.Second + into)
				c := &clocked{v: venue.New()}
				p, err := feeds.NewPoster(c.submit, source{f, last})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); p.Run(ctx) }()
				time.Sleep(time.Until(last))
				if c.paused(f) {
					t.Fatalf("%s is paused before its source falls silent", f)
				}
				for !c.paused(f) {
					time.Sleep(time.Millisecond)
				}
				// The last tick is the last whole second at which the last price is fresh.
				want := sum - into
				if got := time.Since(last); got < want || got > want+2*time.Millisecond {
					t.Errorf("%s, last price %s into its second: paused after %s, want %s", f, into, got, want)
				}
				if want <= sum-time.Second || want > sum {
					t.Errorf("%s is not within the second before %s", want, sum)
				}
				stop()
				<-done
			})
		}
	}
}
