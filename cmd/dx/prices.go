package main

import (
	"errors"
	"fmt"
	"os"

	"duplex/cmd/dx/cli"
	"duplex/core"
	"duplex/core/feed"
	"duplex/feeds"
	"duplex/feeds/session"
)

// limitFlags are what the index of each feed requires of its sources.
type limitFlags struct {
	MinSources map[string]uint8 `help:"Minimum number of fresh sources for the index of a feed, such as BTC=2; 1 for a feed that is not named. With fewer there is no index: markets pause, and a round that needs it waits for the operator." placeholder:"FEED=N"`
	FeedJump   map[string]uint8 `help:"By how many percent a source may differ from the last index of its feed, if that is at most 30 s old, and two sources from each other. 0 is no limit. A feed that is not named keeps its default." default:"BTC=10;gold=10;WTI=10"`
}

// jumpDefault is the jump limit of a feed that --feed-jump does not name, in percent.
const jumpDefault = 10

// limits returns the limits of every feed. It is an error if a feed has fewer sources than
// it requires, unless there are no sources at all and prices are posted by hand.
func (l *limitFlags) limits(sources []feeds.Source) (out [core.Feeds]feed.Limit, err error) {
	var have [core.Feeds]int
	for _, s := range sources {
		have[s.Feed()]++
	}
	for f := range out {
		out[f].JumpPct = jumpDefault
	}
	for name, n := range l.MinSources {
		f, known := core.FeedNamed(name)
		switch {
		case !known:
			return out, cli.BadFlag("min-sources", errNoFeed(name))
		case n < 1 || n > feed.MaxSources:
			return out, cli.BadFlag("min-sources", fmt.Errorf("%s: must be 1 to %d", f, feed.MaxSources))
		case len(sources) > 0 && int(n) > have[f]:
			return out, cli.BadFlag("min-sources", fmt.Errorf("%s has %d sources and can never have an index of %d", f, have[f], n))
		}
		out[f].MinSources = n
	}
	for name, pct := range l.FeedJump {
		f, known := core.FeedNamed(name)
		switch {
		case !known:
			return out, cli.BadFlag("feed-jump", errNoFeed(name))
		case pct > 100:
			return out, cli.BadFlag("feed-jump", fmt.Errorf("%s: must be 0 to 100 percent", f))
		}
		out[f].JumpPct = pct
	}
	return out, nil
}

func errNoFeed(name string) error {
	return fmt.Errorf("there is no feed %q; the feeds are %s", name, core.FeedNames(core.AllFeeds()))
}

// sessionFlags name additions to the calendar of the feeds with sessions.
type sessionFlags struct {
	Holidays string `help:"File with holidays of more years, or of years to replace. docs/operations describes its format." type:"path"`
}

// calendar returns the embedded calendar with the years of --holidays.
func (f *sessionFlags) calendar() (*session.Calendar, error) {
	if f.Holidays == "" {
		return session.Load()
	}
	file, err := os.Open(f.Holidays)
	if err != nil {
		return nil, cli.BadFlag("holidays", err)
	}
	c, err := session.LoadWith(file)
	if err != nil {
		err = cli.BadFlag("holidays", fmt.Errorf("%s, %w", f.Holidays, err))
	}
	return c, errors.Join(err, file.Close())
}
